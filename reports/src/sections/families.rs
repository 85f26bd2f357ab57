//! Learner families against each other.

use std::collections::BTreeMap;

use enerinfer_artifacts::Target;
use enerinfer_artifacts::record::{FamilyScore, Record};

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::svg::{Row, draw_rows};

/// The best of every family, per target.
pub(super) fn section(record: &Record) -> Option<Section> {
    let mut by_target: BTreeMap<Target, Vec<&FamilyScore>> = BTreeMap::new();
    for score in &record.details.families {
        by_target.entry(score.target).or_default().push(score);
    }
    let figures: Vec<Figure> = by_target
        .iter()
        .map(|(target, scores)| {
            let chosen = record.targets.iter().find(|t| t.target == *target).map(|t| &t.family);
            figure(*target, scores, chosen)
        })
        .collect();
    (!figures.is_empty()).then(|| Section {
        id: "families".into(),
        title: "Learner families".into(),
        lead: "The chosen family (second colour) should be the best that can be compiled; a much \
               shorter bar elsewhere is accuracy left on the table."
            .to_owned(),
        parts: vec![Part::Figures(figures)],
    })
}

fn figure(target: Target, scores: &[&FamilyScore], chosen: Option<&String>) -> Figure {
    let name = target.name();
    let rows: Vec<Row> = scores
        .iter()
        .filter_map(|s| {
            let value = s.cv_mape_percent.filter(|v| v.is_finite())?;
            Some(Row { name: s.family.clone(), value, chosen: Some(&s.family) == chosen })
        })
        .collect();
    let caption = format!("{name}: cross-validated error of the best of each family");
    Figure {
        id: format!("families_{name}"),
        picture: draw_rows(caption.clone(), "CV MAPE, %", 2, &rows),
        table: Table {
            id: format!("families_{name}"),
            caption: caption.clone(),
            columns: heads([
                "Family",
                "Trials",
                "Successive halving",
                "CV MAPE, %",
                "Held-out MAPE, %",
                "Bytes, estimated from the folds",
            ]),
            rows: scores
                .iter()
                .map(|s| {
                    vec![
                        Cell::text(&s.family),
                        Cell::count(s.trials),
                        Cell::text(if s.successive_halving { "yes" } else { "no" }),
                        Cell::Number(s.cv_mape_percent, 2),
                        Cell::Number(s.heldout_mape_percent, 2),
                        Cell::Number(s.est_bytes.map(|b| b as f64), 0),
                    ]
                })
                .collect(),
        },
        caption,
    }
}
