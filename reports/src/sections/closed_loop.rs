//! Sessions of controllers on a simulated device.

use std::collections::BTreeMap;

use enerinfer_artifacts::record::{ClosedLoopRun, Record};

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::svg::{Row, draw_rows};
use crate::text::number;

/// Pictures beyond these are left to the table.
const MOST_FIGURES: usize = 6;

/// Efficiency of every policy, per model and QoE.
pub(super) fn section(record: &Record) -> Option<Section> {
    let runs = &record.details.closed_loop;
    if runs.is_empty() {
        return None;
    }
    // Groups in order of first appearance.
    let mut groups: Vec<(String, Vec<&ClosedLoopRun>)> = Vec::new();
    let mut index: BTreeMap<String, usize> = BTreeMap::new();
    for run in runs {
        let name = group(run);
        let at = *index.entry(name.clone()).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, members)) => members.push(run),
            None => groups.push((name, vec![run])),
        }
    }
    let figures = groups.iter().take(MOST_FIGURES).enumerate().map(|(i, (name, members))| {
        let rows: Vec<Row> = members
            .iter()
            .filter_map(|r| {
                Some(Row { name: r.policy.clone(), value: efficiency(r)?, chosen: false })
            })
            .collect();
        let caption = format!("Efficiency per policy, {name}");
        Figure {
            id: format!("closed_loop_{i}"),
            picture: draw_rows(caption.clone(), "Efficiency, tok/J", 2, &rows),
            table: table(format!("closed_loop_{i}"), &caption, members),
            caption,
        }
    });
    let mut parts = vec![Part::Figures(figures.collect())];
    if groups.len() > MOST_FIGURES {
        let all: Vec<&ClosedLoopRun> = runs.iter().collect();
        parts.push(Part::Table(table("closed_loop".to_owned(), "All sessions", &all)));
    }
    Some(Section {
        id: "closed-loop".into(),
        title: "Closed-loop runs".into(),
        lead: "Whole sessions with a controller in charge: longer bars do more with the same \
               energy, and count only where the QoE was met."
            .to_owned(),
        parts,
    })
}

fn group(run: &ClosedLoopRun) -> String {
    match run.qoe_tok_per_s {
        Some(qoe) => format!("{}, QoE {} tok/s", run.model, number(Some(qoe), 1)),
        None => format!("{}, no QoE", run.model),
    }
}

fn efficiency(run: &ClosedLoopRun) -> Option<f64> {
    Some(run.tokens as f64 / run.energy_j).filter(|v| v.is_finite())
}

fn table(id: String, caption: &str, runs: &[&ClosedLoopRun]) -> Table {
    Table {
        id,
        caption: caption.to_owned(),
        columns: heads([
            "Model",
            "QoE, tok/s",
            "Policy",
            "Duration, s",
            "Tokens",
            "Energy, J",
            "Efficiency, tok/J",
            "QoE met, % of windows",
            "Highest shell temperature, °C",
        ]),
        rows: runs
            .iter()
            .map(|r| {
                vec![
                    Cell::text(&r.model),
                    Cell::Number(r.qoe_tok_per_s, 1),
                    Cell::text(&r.policy),
                    Cell::number(r.duration_s, 0),
                    Cell::count(r.tokens),
                    Cell::number(r.energy_j, 1),
                    Cell::Number(efficiency(r), 2),
                    Cell::Number(r.qoe_met_percent, 1),
                    Cell::Number(r.max_shell_c, 1),
                ]
            })
            .collect(),
    }
}
