//! The paper's inputs against the derived ones.

use enerinfer_artifacts::record::{FeatureSetScore, Record};

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::svg::{Row, draw_rows};
use crate::text::ABSENT;

/// Both sets of inputs, per target.
pub(super) fn section(record: &Record) -> Option<Section> {
    let scores = &record.details.feature_sets;
    if scores.is_empty() {
        return None;
    }
    let rows: Vec<Row> = scores
        .iter()
        .flat_map(|s| {
            let target = s.target.name();
            [
                ("derived", s.derived_cv_mape_percent, true),
                ("paper", s.paper_cv_mape_percent, false),
            ]
            .into_iter()
            .filter_map(move |(set, value, chosen)| {
                let value = value.filter(|v| v.is_finite())?;
                Some(Row { name: format!("{target}, {set}"), value, chosen })
            })
        })
        .collect();
    let caption = "Cross-validated error by set of inputs".to_owned();
    Some(Section {
        id: "feature-sets".into(),
        title: "Sets of inputs".into(),
        lead: "The same learner and hyper-parameters with the paper's inputs and with derived \
               ones (second colour): the shorter bar is the better set. The default was decided on \
               measurements of a real machine, where neither was better, for the paper's."
            .to_owned(),
        parts: vec![Part::Figures(vec![Figure {
            id: "feature_sets".to_owned(),
            picture: draw_rows(caption.clone(), "CV MAPE, %", 2, &rows),
            table: Table {
                id: "feature_sets".to_owned(),
                caption: caption.clone(),
                columns: heads([
                    "Target",
                    "Family",
                    "Paper's inputs, CV MAPE, %",
                    "Derived inputs, CV MAPE, %",
                    "Lower",
                ]),
                rows: scores
                    .iter()
                    .map(|s| {
                        vec![
                            Cell::text(s.target.name()),
                            Cell::text(&s.family),
                            Cell::Number(s.paper_cv_mape_percent, 2),
                            Cell::Number(s.derived_cv_mape_percent, 2),
                            Cell::text(lower(s)),
                        ]
                    })
                    .collect(),
            },
            caption,
        }])],
    })
}

/// The set of lower error.
fn lower(s: &FeatureSetScore) -> &'static str {
    match (s.paper_cv_mape_percent, s.derived_cv_mape_percent) {
        (Some(paper), Some(derived)) if paper < derived => "paper's",
        (Some(paper), Some(derived)) if derived < paper => "derived",
        _ => ABSENT,
    }
}
