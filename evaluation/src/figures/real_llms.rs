//! Figure 12: accuracy on real LLMs that training did not see.

use enerinfer_artifacts::exhibit::{Axis, Column, DataTable, Drawing, Exhibit, Provenance, Series};

use super::scores::Scores;
use super::{FigureError, Judged, JudgedModel, charts, device_name, headline};

/// Models in the table of the largest errors, per device.
const WORST: usize = 5;

pub(super) fn exhibit(judged: &[Judged]) -> Result<Exhibit, FigureError> {
    let mut papers = Vec::new();
    let mut summary = Vec::new();
    let mut worst = Vec::new();
    let (mut sizes, mut taus) = (Vec::new(), Vec::new());
    for j in judged {
        for m in j.papers_llms() {
            papers.extend(row(j, m)?);
        }
        let mut dense = Vec::new();
        for m in j.dense() {
            dense.extend(row(j, m)?);
        }
        let name = device_name(&j.device);
        let points = dense.iter().map(|r| (r.read_b, r.scores.throughput_percent));
        sizes.push(Series::new(&name, Provenance::Simulated, points));
        if let Some(all) = Scores::of(j.dense())? {
            taus.push(Series::cdf(&name, Provenance::Simulated, &all.tau));
        }
        dense.sort_by(|a, b| b.scores.throughput_percent.total_cmp(&a.scores.throughput_percent));
        worst.extend(dense.into_iter().take(WORST));
        let in_range: Vec<&JudgedModel> = j.dense_in_range().collect();
        summary.push(Line {
            set: "the paper's LLMs",
            models: j.papers_llms().len(),
            skipped: None,
            published: headline::of(j.platform()),
            scores: Scores::of(j.papers_llms())?,
            device: name.clone(),
        });
        summary.push(Line {
            set: "dense LLMs of the synthetic models' sizes",
            models: in_range.len(),
            skipped: None,
            published: headline::Headline::default(),
            scores: Scores::of(in_range)?,
            device: name.clone(),
        });
        summary.push(Line {
            set: "all dense LLMs below 7 B",
            models: j.dense().count(),
            skipped: Some(j.skipped),
            published: headline::Headline::default(),
            scores: Scores::of(j.dense())?,
            device: name,
        });
    }
    let mut pictures =
        charts("fig12_by_size", "Throughput error of every dense real LLM", &sizes, |series| {
            Drawing::Points {
                x: Axis::new("Parameters read per token", "billion"),
                y: Axis::new("Throughput MAPE", "%"),
                series,
            }
        });
    pictures.extend(charts("fig12_tau_cdf", "Tau-b over dense real LLMs", &taus, |series| {
        Drawing::Lines {
            x: Axis::new("tau-b", ""),
            y: Axis::new("Models up to this tau-b", "%"),
            series,
        }
    }));
    Ok(Exhibit {
        id: "fig12".to_owned(),
        title: "Accuracy on real LLMs".to_owned(),
        source: "EnerInfer Figure 12".to_owned(),
        caption: "No synthetic model has all its sizes within 2 % of a surveyed one's. The paper tests two or three LLMs per platform and \
                  prints their mean deviation and tau in the text; below are those LLMs, then \
                  every dense LLM of the survey below 7 B that fits the device. Synthetic models \
                  have 0.1 to 7 B parameters: trees do not extrapolate to smaller ones. \
                  LLaMA2-1.3B's shape is inferred."
            .to_owned(),
        tables: vec![
            summary_table(&summary),
            rows_table("fig12_papers", "The paper's LLMs", &papers),
            rows_table(
                "fig12_worst",
                &format!("The {WORST} dense LLMs of the largest throughput error per device"),
                &worst,
            ),
        ],
        charts: pictures,
    })
}

/// One model on one device.
pub(super) struct ModelRow {
    device: String,
    model: String,
    /// Parameters read per token, billion.
    read_b: f64,
    scores: Scores,
}

/// Scores of one model.
pub(super) fn row(judged: &Judged, model: &JudgedModel) -> Result<Option<ModelRow>, FigureError> {
    Ok(Scores::of([model])?.map(|scores| ModelRow {
        device: device_name(&judged.device),
        model: model.name.clone(),
        read_b: model.shape.dims().read_params() as f64 / 1e9,
        scores,
    }))
}

/// A table of models.
pub(super) fn rows_table(id: &str, caption: &str, rows: &[ModelRow]) -> DataTable {
    let column = |name: &str, unit: &str, decimals, of: fn(&ModelRow) -> Option<f64>| {
        Column::optional(name, unit, Provenance::Simulated, decimals, rows.iter().map(of))
    };
    DataTable {
        id: id.to_owned(),
        caption: caption.to_owned(),
        columns: vec![
            Column::key("Device", rows.iter().map(|r| r.device.clone())),
            Column::key("Model", rows.iter().map(|r| r.model.clone())),
            column("Read per token", "billion", 2, |r| Some(r.read_b)),
            column("Throughput MAPE", "%", 2, |r| Some(r.scores.throughput_percent)),
            column("Power MAPE", "%", 2, |r| Some(r.scores.power_percent)),
            column("Efficiency MAPE", "%", 2, |r| Some(r.scores.efficiency_percent)),
            column("tau-b", "", 3, |r| r.scores.mean_tau()),
            column("tau-b, noiseless", "", 3, |r| r.scores.mean_tau_noiseless()),
        ],
    }
}

/// A set of models on a device.
struct Line {
    device: String,
    set: &'static str,
    models: usize,
    skipped: Option<u32>,
    published: headline::Headline,
    scores: Option<Scores>,
}

fn summary_table(lines: &[Line]) -> DataTable {
    use Provenance::{Published, Simulated};
    let theirs =
        |of: fn(&headline::Headline) -> Option<f64>| lines.iter().map(move |l| of(&l.published));
    let ours =
        |of: fn(&Scores) -> Option<f64>| lines.iter().map(move |l| l.scores.as_ref().and_then(of));
    DataTable {
        id: "fig12_summary".to_owned(),
        caption: "Means over models; LLMs that do not fit the device's memory are skipped"
            .to_owned(),
        columns: vec![
            Column::key("Device", lines.iter().map(|l| l.device.clone())),
            Column::key("Models", lines.iter().map(|l| l.set)),
            Column::numbers("Count", "", Simulated, 0, lines.iter().map(|l| l.models as f64)),
            Column::optional(
                "Skipped",
                "",
                Simulated,
                0,
                lines.iter().map(|l| l.skipped.map(f64::from)),
            ),
            Column::optional("Mean deviation", "%", Published, 1, theirs(|h| h.real_percent)),
            Column::optional(
                "Throughput MAPE",
                "%",
                Published,
                2,
                theirs(|h| h.real_throughput_percent),
            ),
            Column::optional(
                "Throughput MAPE",
                "%",
                Simulated,
                2,
                ours(|s| Some(s.throughput_percent)),
            ),
            Column::optional("Power MAPE", "%", Published, 2, theirs(|h| h.real_power_percent)),
            Column::optional("Power MAPE", "%", Simulated, 2, ours(|s| Some(s.power_percent))),
            Column::optional(
                "Efficiency MAPE",
                "%",
                Simulated,
                2,
                ours(|s| Some(s.efficiency_percent)),
            ),
            Column::optional("tau-b", "", Published, 2, theirs(|h| h.real_tau)),
            Column::optional("tau-b", "", Simulated, 3, ours(Scores::mean_tau)),
            Column::optional(
                "tau-b, noiseless",
                "",
                Simulated,
                3,
                ours(Scores::mean_tau_noiseless),
            ),
        ],
    }
}
