//! Progress of the hyper-parameter search.

use std::collections::BTreeMap;

use enerinfer_artifacts::record::{Record, TargetRecord};

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::stats::extent;
use crate::svg::{Legend, Mark, Plot, Scale};
use crate::text::number;

/// Score of every trial and the best so far, per target.
pub(super) fn section(record: &Record) -> Option<Section> {
    let figures: Vec<Figure> = record.targets.iter().filter_map(figure).collect();
    (!figures.is_empty()).then(|| Section {
        id: "search".into(),
        title: "Search progress".into(),
        lead: "Each dot is one trial and the line is the best score so far; a line still falling \
               at its end asks for more trials."
            .to_owned(),
        parts: vec![Part::Figures(figures)],
    })
}

/// Parameters as one line.
pub(crate) fn params(params: &BTreeMap<String, String>) -> String {
    params.iter().map(|(k, v)| format!("{k} = {v}")).collect::<Vec<_>>().join(", ")
}

fn figure(target: &TargetRecord) -> Option<Figure> {
    let scores = || {
        (1u32..).zip(&target.trials).filter_map(|(i, t)| {
            Some((i, t.cv_mape_percent.filter(|v| v.is_finite() && *v > 0.0)?, t))
        })
    };
    let (lo, hi) = extent(scores().map(|(_, v, _)| v))?;
    let name = target.target.name();
    let count = target.trials.len() as f64;
    let mut plot = Plot::new(
        format!("Search progress for {name}"),
        Scale::linear("Trial", 0.0, count),
        Scale::log("CV MAPE, %", lo, hi),
    );
    // Thousands of trials are one element; those of the line get tooltips below.
    plot.dots("a", scores().map(|(i, score, _)| (f64::from(i), score)), "");
    let mut best_rows = Vec::new();
    let mut steps: Vec<(f64, f64)> = Vec::new();
    let mut improvements = Vec::new();
    for (i, score, trial) in scores() {
        let best = steps.last().map(|s| s.1);
        if best.is_none_or(|b| score < b) {
            steps.extend(best.map(|b| (f64::from(i), b)));
            steps.push((f64::from(i), score));
            let tooltip =
                format!("trial {i}: {} %; {}", number(Some(score), 3), params(&trial.params));
            improvements.push(((f64::from(i), score), tooltip));
            best_rows.push(vec![
                Cell::count(i),
                Cell::number(score, 3),
                Cell::Number(trial.est_bytes.map(|b| b as f64), 0),
                Cell::text(params(&trial.params)),
            ]);
        }
    }
    steps.extend(steps.last().map(|s| (count, s.1)));
    plot.line("line b", steps.into_iter());
    for (point, tooltip) in improvements {
        plot.mark("b", Mark::Diamond, point, &tooltip);
    }
    plot.legend(&[
        Legend { class: "a", mark: Some(Mark::Solid), line: None, name: "trial" },
        Legend { class: "b", mark: Some(Mark::Diamond), line: Some("line"), name: "best so far" },
    ]);
    Some(Figure {
        id: format!("search_{name}"),
        caption: format!("{name}: {} trials of {}", target.trials.len(), target.family),
        picture: plot.finish(),
        table: Table {
            id: format!("search_{name}"),
            caption: format!("{name}: trials that improved on all before"),
            columns: heads([
                "Trial",
                "CV MAPE, %",
                "Bytes, estimated from the folds",
                "Parameters",
            ]),
            rows: best_rows,
        },
    })
}
