//! What the predictors cost as compiled code, measured.

use enerinfer_artifacts::compiled_code::{Architecture, CodeCost, CompiledCode};
use enerinfer_artifacts::record::Record;

use crate::code_cost::Quantity;
use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::svg::{Row, draw_rows};

/// The section's anchor.
pub(super) const ID: &str = "compiled_code";

/// Where the values come from: code was compiled and run, whatever the predictors learnt from.
pub(super) const LABEL: &str = "compiled code";

/// Shown instead of a value that a missing tool left out.
const NOT_MEASURED: &str = "not measured";

/// What the report's notice has to add.
pub(super) fn exception(record: &Record) -> &'static str {
    match record.details.compiled_code {
        None => "",
        Some(_) => {
            " Compiled code has another source: it was built for every architecture and run, in \
             emulators but for x86-64."
        }
    }
}

/// Table of all quantities and bytes per leaf as bars.
pub(super) fn section(record: &Record) -> Option<Section> {
    let code = record.details.compiled_code.as_ref()?;
    let options = match &*code.options {
        "" => String::new(),
        options => format!(" compile-forest {options};"),
    };
    Some(Section {
        id: ID.into(),
        title: "Compiled code".into(),
        lead: format!(
            "What a device pays for {} leaves;{options} opt-level {}. No shape takes more than {} \
             comparisons to look up ranks, then {} in the trees (computed).",
            code.leaves, code.opt_level, code.lookup_comparisons, code.tree_comparisons
        ),
        parts: vec![
            Part::Table(table(code)),
            Part::Figures(vec![per_leaf(code)]),
            Part::List(compilers(code)),
        ],
    })
}

fn or_not_measured(value: Option<f64>, decimals: usize) -> Cell {
    value.map_or(Cell::text(NOT_MEASURED), |v| Cell::number(v, decimals))
}

fn table(code: &CompiledCode) -> Table {
    let row = |quantity: Quantity| {
        let cell = |on| or_not_measured(quantity.value(code, on), quantity.decimals());
        let mut row = vec![Cell::text(quantity.title())];
        row.extend(Architecture::ALL.map(cell));
        row
    };
    let mut columns = heads(["What"]);
    columns.extend(Architecture::ALL.map(|on| on.to_string().into()));
    Table {
        id: ID.to_owned(),
        caption: "What the code costs".to_owned(),
        columns,
        rows: Quantity::ALL.map(row).into(),
    }
}

fn compilers(code: &CompiledCode) -> Vec<String> {
    let of =
        |cost: &CodeCost| Some(format!("{}: rustc {}", cost.architecture, cost.rustc.as_ref()?));
    code.costs.iter().filter_map(of).collect()
}

fn per_leaf(code: &CompiledCode) -> Figure {
    let quantities = [(Quantity::TextPerLeaf, ".text"), (Quantity::PerLeaf, "with .rodata")];
    let of = |(on, (quantity, what)): (Architecture, (Quantity, &str))| {
        let value = quantity.value(code, on)?;
        Some(Row { name: format!("{on}, {what}"), value, chosen: quantity == Quantity::PerLeaf })
    };
    let rows: Vec<Row> = Architecture::ALL
        .into_iter()
        .flat_map(|on| quantities.map(|quantity| (on, quantity)))
        .filter_map(of)
        .collect();
    let caption = "Bytes of the predictors per leaf".to_owned();
    Figure {
        id: "compiled_code_per_leaf".to_owned(),
        picture: draw_rows(caption.clone(), "Bytes per leaf", 2, &rows),
        table: Table {
            id: "compiled_code_per_leaf".to_owned(),
            caption: caption.clone(),
            columns: heads(["Architecture", ".text, bytes", ".text and .rodata, bytes"]),
            rows: Architecture::ALL
                .into_iter()
                .map(|on| {
                    let mut row = vec![Cell::text(on.to_string())];
                    row.extend(quantities.map(|(q, _)| or_not_measured(q.value(code, on), 2)));
                    row
                })
                .collect(),
        },
        caption,
    }
}
