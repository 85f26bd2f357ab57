//! Throughput as `peak · scale` against throughput directly.

use enerinfer_artifacts::record::Record;

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::svg::{Row, draw_rows};

/// Both designs per learner family, or of the compiled predictors alone.
pub(super) fn section(record: &Record) -> Option<Section> {
    let (rows, table) = match record.details.designs.is_empty() {
        true => compiled(record)?,
        false => per_family(record),
    };
    let caption = "Held-out throughput error by design".to_owned();
    Some(Section {
        id: "designs".into(),
        title: "One predictor or two".into(),
        lead: "Splitting throughput into its peak and the scale at an operating point (second \
               colour) should beat predicting it directly."
            .to_owned(),
        parts: vec![Part::Figures(vec![Figure {
            id: "designs".to_owned(),
            picture: draw_rows(caption.clone(), "Held-out MAPE, %", 2, &rows),
            caption,
            table,
        }])],
    })
}

fn per_family(record: &Record) -> (Vec<Row>, Table) {
    let designs = &record.details.designs;
    let rows = designs.iter().flat_map(|d| {
        [
            ("peak · scale", d.disaggregated_mape_percent, true),
            ("direct", d.monolithic_mape_percent, false),
        ]
        .into_iter()
        .filter_map(|(design, value, chosen)| {
            let value = value.filter(|v| v.is_finite())?;
            Some(Row { name: format!("{}, {design}", d.family), value, chosen })
        })
    });
    let table = Table {
        id: "designs".to_owned(),
        caption: "Designs per family, each by its best trial whatever its size".to_owned(),
        columns: heads([
            "Family",
            "Peak · scale, MAPE, %",
            "Direct, MAPE, %",
            "Published for the family (EnerInfer, on its own devices and models), MAPE, %",
        ]),
        rows: designs
            .iter()
            .map(|d| {
                vec![
                    Cell::text(&d.family),
                    Cell::Number(d.disaggregated_mape_percent, 2),
                    Cell::Number(d.monolithic_mape_percent, 2),
                    Cell::Number(d.published_mape_percent, 2),
                ]
            })
            .collect(),
    };
    (rows.collect(), table)
}

fn compiled(record: &Record) -> Option<(Vec<Row>, Table)> {
    let direct = record.combined.monolithic_mape_percent?;
    let rows = [
        ("peak · scale", record.combined.throughput_mape_percent, true),
        ("direct", direct, false),
    ]
    .map(|(name, value, chosen)| Row { name: name.to_owned(), value, chosen });
    let table = Table {
        id: "designs".to_owned(),
        caption: "Compiled predictors in both designs".to_owned(),
        columns: heads(["Design", "Held-out MAPE, %"]),
        rows: rows
            .iter()
            .map(|row| vec![Cell::text(&row.name), Cell::number(row.value, 2)])
            .collect(),
    };
    Some((rows.into(), table))
}
