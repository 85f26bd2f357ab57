//! Headline figures: accuracy per target and combined.

use enerinfer_artifacts::compiled_code::Architecture;
use enerinfer_artifacts::record::Record;

use crate::document::{Cell, Part, Section, Table, Tile, heads};
use crate::sections::regret;
use crate::text;

/// The figures at the top of the page.
pub(super) fn tiles(record: &Record) -> Vec<Tile> {
    let percent = |value: Option<f64>| match value {
        Some(v) if v.is_finite() => format!("{} %", text::number(Some(v), 2)),
        _ => text::ABSENT.to_owned(),
    };
    let heldout = format!("MAPE, {} held-out models", record.data.test_models);
    let combined = &record.combined;
    let regret = regret::at_worst_qoe(record);
    let code = record.details.compiled_code.as_ref();
    let compiled = code.and_then(|c| c.on(Architecture::Thumbv7em)?.predictors_bytes());
    let (flash, how) = match compiled {
        Some(bytes) => (bytes, "compiled for thumbv7em"),
        None => (record.size.est_bytes, "estimated"),
    };
    vec![
        Tile {
            name: "Throughput error",
            value: percent(Some(combined.throughput_mape_percent)),
            note: heldout.clone(),
        },
        Tile {
            name: "Power error",
            value: percent(combined.power_mape_percent),
            note: heldout.clone(),
        },
        Tile {
            name: "Efficiency error",
            value: percent(combined.efficiency_mape_percent),
            note: heldout,
        },
        Tile {
            name: "Ranking (tau-b)",
            value: text::number(record.ranking.mean_tau_b, 3),
            note: "mean over held-out models; 1 is perfect".to_owned(),
        },
        Tile {
            name: "Regret",
            value: percent(regret.map(|(_, mean)| mean)),
            note: match regret {
                Some((at, _)) => format!(
                    "efficiency lost, mean at QoE {} tok/s, the worst{}",
                    text::number(Some(at.qoe_tok_per_s), 1),
                    match at.mean_percent_noiseless {
                        Some(mean) => {
                            format!("; {} % there without noise", text::number(Some(mean), 2))
                        }
                        None => String::new(),
                    }
                ),
                None => "efficiency lost".to_owned(),
            },
        },
        Tile {
            name: "Flash",
            value: text::bytes(flash),
            note: format!("{how}, of {}", text::bytes(record.size.budget_bytes)),
        },
    ]
}

/// Accuracy per target, then of what is composed from targets.
pub(super) fn section(record: &Record) -> Section {
    let targets = Table {
        id: "accuracy".to_owned(),
        caption: "Chosen predictor per target".to_owned(),
        columns: heads([
            "Target",
            "Family",
            "CV MAPE, %",
            "± SE, %",
            "Held-out MAPE, %",
            "Raw-target MAPE, %",
            "Normalised by",
            "Trees",
            "Leaves",
            "Depth",
            "Inputs",
        ]),
        rows: record
            .targets
            .iter()
            .map(|t| {
                let stat = |value: Option<u32>| Cell::Number(value.map(f64::from), 0);
                vec![
                    Cell::text(t.target.name()),
                    Cell::text(&t.family),
                    Cell::number(t.cv_mape_percent, 2),
                    Cell::number(t.cv_se_percent, 2),
                    Cell::number(t.heldout_mape_percent, 2),
                    Cell::Number(t.raw_target_mape_percent, 2),
                    Cell::text(t.normaliser.as_deref().unwrap_or(text::ABSENT)),
                    stat(t.forest.map(|f| f.trees)),
                    stat(t.forest.map(|f| f.leaves)),
                    stat(t.forest.map(|f| f.depth)),
                    Cell::text(t.features.join(", ")),
                ]
            })
            .collect(),
    };
    let c = &record.combined;
    let combined = Table {
        id: "combined".to_owned(),
        caption: "Composed predictions on held-out models, all operating points".to_owned(),
        columns: heads(["Prediction", "MAPE, %"]),
        rows: [
            ("throughput = peak · scale", Some(c.throughput_mape_percent)),
            ("power", c.power_mape_percent),
            ("efficiency = throughput / power", c.efficiency_mape_percent),
            ("throughput by one monolithic predictor (baseline)", c.monolithic_mape_percent),
        ]
        .into_iter()
        .filter(|(_, value)| value.is_some())
        .map(|(name, value)| vec![Cell::text(name), Cell::Number(value, 2)])
        .collect(),
    };
    Section {
        id: "accuracy".into(),
        title: "Accuracy".into(),
        lead: "Cross-validated and held-out errors should be close; a held-out error far above \
               means that the held-out models are unlike those trained on."
            .to_owned(),
        parts: vec![Part::Table(combined), Part::Table(targets)],
    }
}
