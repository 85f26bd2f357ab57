//! Kendall's tau-b between predicted and measured efficiency tables.

use enerinfer_artifacts::record::Record;

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::stats::extent;
use crate::svg::{Bar, Bars, Scale};
use crate::text::{ABSENT, number};

/// Widths of bins, in tau.
const BINS: [f64; 5] = [0.005, 0.01, 0.02, 0.05, 0.1];

/// Histogram over held-out models.
pub(super) fn section(record: &Record) -> Option<Section> {
    let ranking = &record.ranking;
    let taus = || {
        ranking
            .per_model
            .iter()
            .filter_map(|m| m.kendall_tau_b)
            .filter(|t| (-1.0..=1.0).contains(t))
    };
    let (lowest, _) = extent(taus())?;
    // The finest bins of which not too many are needed, and room on the left to show that there
    // is nothing worse. Bins are numbered from tau = -1; tau = 1 belongs to the last.
    let width = BINS.into_iter().find(|w| (1.0 - lowest) / w < 18.0).unwrap_or(0.2);
    let bins = (2.0 / width).round() as usize;
    let bin = |tau: f64| (((tau + 1.0) / width + 1e-9) as usize).min(bins - 1);
    let first = bin(lowest).saturating_sub(1).min(bins - 10);
    let mut counts = vec![0u32; bins - first];
    for tau in taus() {
        if let Some(count) = counts.get_mut(bin(tau) - first) {
            *count += 1;
        }
    }
    let left = |i: usize| (first + i) as f64 * width - 1.0;
    let every = counts.len().div_ceil(8);
    let decimals = if width < 0.01 { 3 } else { 2 };
    let bars: Vec<Bar> = counts
        .iter()
        .enumerate()
        .map(|(i, &count)| Bar {
            label: if i % every == 0 { number(Some(left(i)), decimals) } else { String::new() },
            value: f64::from(count),
            tooltip: format!(
                "tau-b {} to {}: {count} models",
                number(Some(left(i)), decimals),
                number(Some(left(i + 1)), decimals)
            ),
        })
        .collect();
    let most = counts.iter().copied().max().unwrap_or(1);
    let mut chart = Bars::new(
        "Histogram of Kendall's tau-b over held-out models",
        "tau-b (lower end of bin)",
        // Five at least, so that there are no ticks between whole numbers.
        &Scale::linear("Models", 0.0, f64::from(most.max(5))),
        &bars,
    );
    if let Some(mean) = ranking.mean_tau_b {
        let from = left(0);
        chart.marker((mean - from) / (1.0 - from), &format!("mean {}", number(Some(mean), 3)));
    }
    let summary = [
        ("mean", ranking.mean_tau_b),
        ("median", ranking.median_tau_b),
        ("10th percentile", ranking.p10_tau_b),
        ("mean against the noiseless table", ranking.mean_tau_b_noiseless),
    ];
    let summary = Table {
        id: "tau_summary".to_owned(),
        caption: "Tau-b over held-out models".to_owned(),
        columns: heads(["Statistic", "tau-b"]),
        rows: summary
            .into_iter()
            .filter(|(_, value)| value.is_some())
            .map(|(name, value)| vec![Cell::text(name), Cell::Number(value, 3)])
            .collect(),
    };
    let per_model = Table {
        id: "tau".to_owned(),
        caption: "Tau-b per held-out model".to_owned(),
        columns: heads(["Model", "tau-b", "tau-b, noiseless", "Why undefined"]),
        rows: ranking
            .per_model
            .iter()
            .map(|m| {
                vec![
                    Cell::text(&m.model),
                    Cell::Number(m.kendall_tau_b, 3),
                    Cell::Number(m.kendall_tau_b_noiseless, 3),
                    Cell::text(m.reason.as_deref().unwrap_or(ABSENT)),
                ]
            })
            .collect(),
    };
    Some(Section {
        id: "ranking".into(),
        title: "Ranking of operating points".into(),
        lead: "Tau-b compares the order of operating points by predicted and by measured \
               efficiency for each model: 1 is the same order, 0 is no relation, and all bars \
               should stand at the right."
            .to_owned(),
        parts: vec![
            Part::Figures(vec![Figure {
                id: "tau".to_owned(),
                caption: "Kendall's tau-b over held-out models".to_owned(),
                picture: chart.finish(),
                table: per_model,
            }]),
            Part::Table(summary),
        ],
    })
}
