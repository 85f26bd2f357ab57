//! What acting on predictions costs.

use enerinfer_artifacts::record::{Record, Regret};

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::stats::extent;
use crate::svg::{Legend, Mark, Plot, Scale};
use crate::text::number;

/// Class, line class, mark, name and value of a series.
type Series = (&'static str, &'static str, Mark, &'static str, fn(&Regret) -> Option<f64>);

/// The QoE at which the mean regret is largest, and that mean, %: what summaries name.
pub(crate) fn at_worst_qoe(record: &Record) -> Option<(&Regret, f64)> {
    record
        .regret
        .iter()
        .filter_map(|r| Some((r, r.mean_percent.filter(|m| m.is_finite())?)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// Mean and worst regret over the throughput asked for.
pub(super) fn section(record: &Record) -> Option<Section> {
    let regret = &record.regret;
    let (q_lo, q_hi) = extent(regret.iter().map(|r| r.qoe_tok_per_s))?;
    let values = || {
        regret
            .iter()
            .flat_map(|r| [r.mean_percent, r.worst_percent, r.mean_percent_noiseless])
            .flatten()
    };
    let (_, highest) = extent(values())?;
    let mut plot = Plot::new(
        "Efficiency lost by acting on predictions, over QoE",
        Scale::exact("QoE: throughput asked for, tok/s", q_lo, q_hi),
        Scale::linear("Regret, %", 0.0, highest.max(0.1)),
    );
    let series: [Series; 3] = [
        ("a", "line a", Mark::Ring, "mean", |r| r.mean_percent),
        ("b", "line dash b", Mark::Diamond, "worst", |r| r.worst_percent),
        ("c", "line c", Mark::Solid, "mean, noiseless", |r| r.mean_percent_noiseless),
    ];
    for (class, line, mark, name, value) in series {
        let points = || {
            regret.iter().filter_map(|r| {
                let value = value(r).filter(|v| v.is_finite())?;
                Some((r, value))
            })
        };
        plot.line(line, points().map(|(r, v)| (r.qoe_tok_per_s, v)));
        for (r, v) in points() {
            let tooltip = format!(
                "QoE {} tok/s: {name} {} % over {} models",
                number(Some(r.qoe_tok_per_s), 1),
                number(Some(v), 2),
                r.reachable_models
            );
            plot.mark(class, mark, (r.qoe_tok_per_s, v), &tooltip);
        }
    }
    let noiseless = regret.iter().any(|r| r.mean_percent_noiseless.is_some());
    let mut entries = vec![
        Legend { class: "a", mark: Some(Mark::Ring), line: Some("line"), name: "mean" },
        Legend { class: "b", mark: Some(Mark::Diamond), line: Some("line dash"), name: "worst" },
    ];
    if noiseless {
        let (mark, line) = (Some(Mark::Solid), Some("line"));
        entries.push(Legend { class: "c", mark, line, name: "mean, noiseless" });
    }
    plot.legend(&entries);
    let table = Table {
        id: "regret".to_owned(),
        caption: "Regret per QoE over held-out models".to_owned(),
        columns: heads([
            "QoE, tok/s",
            "Mean regret, %",
            "Worst regret, %",
            "Mean regret, noiseless, %",
            "Models that can reach it",
            "Missed before feedback",
        ]),
        rows: regret
            .iter()
            .map(|r| {
                vec![
                    Cell::number(r.qoe_tok_per_s, 1),
                    Cell::Number(r.mean_percent, 2),
                    Cell::Number(r.worst_percent, 2),
                    Cell::Number(r.mean_percent_noiseless, 2),
                    Cell::count(r.reachable_models),
                    Cell::count(r.violations),
                ]
            })
            .collect(),
    };
    Some(Section {
        id: "regret".into(),
        title: "Regret".into(),
        lead: "How much efficiency is lost when the operating point is chosen by prediction \
               instead of by exhaustive measurement; near zero is good, at every QoE. The measured \
               best owes part of its lead to noise, so the noiseless line, where there is one, is \
               the one to judge by."
            .to_owned(),
        parts: vec![Part::Figures(vec![Figure {
            id: "regret".to_owned(),
            caption: "Regret over QoE".to_owned(),
            picture: plot.finish(),
            table,
        }])],
    })
}
