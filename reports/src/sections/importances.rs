//! How much each input matters.

use std::collections::BTreeMap;

use enerinfer_artifacts::Target;
use enerinfer_artifacts::record::{Importance, Record};

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::svg::{Row, draw_rows};

/// One picture per target, most important input first.
pub(super) fn section(record: &Record) -> Option<Section> {
    let mut by_target: BTreeMap<Target, Vec<&Importance>> = BTreeMap::new();
    for importance in &record.details.importances {
        by_target.entry(importance.target).or_default().push(importance);
    }
    let figures: Vec<Figure> = by_target
        .into_iter()
        .map(|(target, mut inputs)| {
            inputs.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.feature.cmp(&b.feature)));
            figure(target, &inputs)
        })
        .collect();
    (!figures.is_empty()).then(|| Section {
        id: "importances".into(),
        title: "Importance of inputs".into(),
        lead: "Long bars are the inputs a predictor depends on; an input that should not matter \
               but leads here hints at a leak in the data."
            .to_owned(),
        parts: vec![Part::Figures(figures)],
    })
}

fn figure(target: Target, inputs: &[&Importance]) -> Figure {
    let rows: Vec<Row> = inputs
        .iter()
        .map(|i| Row { name: i.feature.clone(), value: i.share * 100.0, chosen: false })
        .collect();
    let caption = format!("{}: importance of inputs", target.name());
    Figure {
        id: format!("importances_{}", target.name()),
        picture: draw_rows(caption.clone(), "Share, %", 1, &rows),
        table: Table {
            id: format!("importances_{}", target.name()),
            caption: caption.clone(),
            columns: heads(["Input", "Share, %"]),
            rows: inputs
                .iter()
                .map(|i| vec![Cell::text(&i.feature), Cell::number(i.share * 100.0, 1)])
                .collect(),
        },
        caption,
    }
}
