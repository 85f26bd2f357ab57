//! Flash taken by the predictors, and what accuracy it buys.

use enerinfer_artifacts::record::{Record, TargetRecord};

use super::search::params;
use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::stats::extent;
use crate::svg::{Legend, Mark, Plot, Scale};
use crate::text::{bytes, number};

/// Table of compiled predictors and, per target, size against accuracy over all trials.
pub(super) fn section(record: &Record) -> Option<Section> {
    let size = &record.size;
    let figures: Vec<Figure> = record.targets.iter().filter_map(figure).collect();
    if size.predictors.is_empty() && figures.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    if !size.predictors.is_empty() {
        parts.push(Part::Table(table(record)));
    }
    if !figures.is_empty() {
        parts.push(Part::Figures(figures));
    }
    Some(Section {
        id: "size".into(),
        title: "Size against accuracy".into(),
        lead: format!(
            "All predictors together are estimated at {} of a budget of {}; the choice (filled) \
             should sit where the cloud stops falling, not at its far right.",
            bytes(size.est_bytes),
            bytes(size.budget_bytes)
        ),
        parts,
    })
}

fn table(record: &Record) -> Table {
    Table {
        id: "size".to_owned(),
        caption: "Compiled predictors, estimated for thumbv7em".to_owned(),
        columns: heads([
            "Target",
            "Estimated bytes",
            "Trees",
            "Distinct nodes",
            "Distinct leaves",
            "Depth",
            "Largest quantisation error",
        ]),
        rows: record
            .size
            .predictors
            .iter()
            .map(|p| {
                vec![
                    Cell::text(p.target.name()),
                    Cell::count(p.est_bytes),
                    Cell::count(p.forest.trees),
                    Cell::count(p.forest.nodes),
                    Cell::count(p.forest.leaves),
                    Cell::count(p.forest.depth),
                    Cell::number(p.quantisation_error, 7),
                ]
            })
            .collect(),
    }
}

fn figure(target: &TargetRecord) -> Option<Figure> {
    let trials = || {
        (1u32..).zip(&target.trials).filter_map(|(i, t)| {
            let score = t.cv_mape_percent.filter(|v| v.is_finite() && *v > 0.0)?;
            let size = t.est_bytes.filter(|b| *b > 0)? as f64;
            Some((i, size, score, t))
        })
    };
    let (x_lo, x_hi) = extent(trials().map(|t| t.1))?;
    let (y_lo, y_hi) = extent(trials().map(|t| t.2))?;
    let name = target.target.name();
    let mut plot = Plot::new(
        format!("Size against accuracy for {name}"),
        Scale::log("Estimated size, bytes", x_lo, x_hi),
        Scale::log("CV MAPE, %", y_lo, y_hi),
    );
    // Thousands of trials are one element; the efficient ones and the choice get tooltips.
    plot.dots("a", trials().map(|(_, size, score, _)| (size, score)), "");
    let mut efficient: Vec<_> = trials().collect();
    efficient.sort_by(|p, q| p.1.total_cmp(&q.1).then(p.2.total_cmp(&q.2)).then(p.0.cmp(&q.0)));
    let mut best = f64::INFINITY;
    efficient.retain(|&(_, _, score, trial)| {
        let keep = score < best || trial.params == target.params;
        best = best.min(score);
        keep
    });
    for &(i, size, score, trial) in &efficient {
        let parameters = params(&trial.params);
        let tooltip =
            format!("trial {i}: {size} bytes, {} %; {parameters}", number(Some(score), 3));
        if trial.params == target.params {
            plot.mark("b", Mark::Solid, (size, score), &format!("chosen, {tooltip}"));
        } else {
            plot.mark("a", Mark::Ring, (size, score), &tooltip);
        }
    }
    plot.legend(&[
        Legend { class: "a", mark: Some(Mark::Ring), line: None, name: "best of its size" },
        Legend { class: "b", mark: Some(Mark::Solid), line: None, name: "chosen" },
    ]);
    Some(Figure {
        id: format!("size_{name}"),
        caption: format!("{name}: size against accuracy of {}", target.family),
        picture: plot.finish(),
        table: Table {
            id: format!("size_{name}"),
            caption: format!("{name}: trials that no smaller one beats, and the choice"),
            columns: heads(["Trial", "Estimated bytes", "CV MAPE, %", "Parameters"]),
            rows: efficient
                .into_iter()
                .map(|(i, size, score, trial)| {
                    vec![
                        Cell::count(i),
                        Cell::number(size, 0),
                        Cell::number(score, 3),
                        Cell::text(params(&trial.params)),
                    ]
                })
                .collect(),
        },
    })
}
