//! What the numbers were made from.

use enerinfer_artifacts::record::{DataSummary, Record};

use super::search::params;
use crate::document::{Cell, Part, Section, Table, heads};
use crate::text::{ABSENT, mhz, number};

/// Facts of the run, chosen parameters and notes.
pub(super) fn section(record: &Record) -> Section {
    let (id, data) = (&record.platform, &record.data);
    let range = |khz: &[u32]| match (khz.first(), khz.last()) {
        (Some(&lo), Some(&hi)) => format!("{} levels, {} to {} MHz", khz.len(), mhz(lo), mhz(hi)),
        _ => ABSENT.to_owned(),
    };
    let noise = match data.noise_percent {
        Some(v) => format!("{} % standard deviation", number(Some(v), 2)),
        None => ABSENT.to_owned(),
    };
    let facts = [
        ("Platform", id.name.clone()),
        ("Engine", id.engine.clone()),
        ("Weight format", id.weight_format.clone()),
        ("Power domain", id.power_domain.clone()),
        ("Data source", id.source.clone()),
        (
            "Simulated or measured",
            if super::is_simulated(record) { "SIMULATED".into() } else { "measured".to_owned() },
        ),
        ("Simulated noise", noise),
        ("Measurement table, BLAKE3", data.digest.clone()),
        ("Bundle, BLAKE3", record.model_digest.clone().unwrap_or(ABSENT.to_owned())),
        ("Rows", data.rows.to_string()),
        (
            "Models",
            format!(
                "{}: {} trained on, {} held out",
                data.models, data.train_models, data.test_models
            ),
        ),
        ("Folds, grouped by model", folds(data)),
        ("Accelerator clocks", range(&record.clocks.accel_khz)),
        ("Memory clocks", range(&record.clocks.mem_khz)),
        ("Seed", record.seed.to_string()),
        ("Trials per target and family", record.trials.to_string()),
        ("Tool version", record.tool_version.clone()),
        ("Record schema", record.schema_version.to_string()),
    ];
    let facts = Table {
        id: "provenance".to_owned(),
        caption: "The run".to_owned(),
        columns: heads(["Fact", "Value"]),
        rows: facts
            .into_iter()
            .map(|(name, value)| vec![Cell::text(name), Cell::text(value)])
            .collect(),
    };
    let chosen = Table {
        id: "parameters".to_owned(),
        caption: "Chosen hyper-parameters".to_owned(),
        columns: heads(["Target", "Family", "Parameters"]),
        rows: record
            .targets
            .iter()
            .map(|t| {
                vec![
                    Cell::text(t.target.name()),
                    Cell::text(&t.family),
                    Cell::text(params(&t.params)),
                ]
            })
            .collect(),
    };
    let mut parts = vec![Part::Table(facts), Part::Table(chosen)];
    if !record.notes.is_empty() {
        parts.push(Part::List(record.notes.clone()));
    }
    Section {
        id: "provenance".into(),
        title: "Provenance".into(),
        lead: "The same table, seed and tool version give the same report, byte for byte."
            .to_owned(),
        parts,
    }
}

/// Folds and how many models each has, where that is known.
fn folds(data: &DataSummary) -> String {
    let models: Vec<String> = data.models_per_fold.iter().map(u32::to_string).collect();
    match &models[..] {
        [] => data.folds.to_string(),
        _ => format!("{} of {} models", data.folds, models.join(", ")),
    }
}
