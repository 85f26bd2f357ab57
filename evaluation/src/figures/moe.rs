//! Accuracy on mixtures of experts, apart from dense models.

use enerinfer_artifacts::exhibit::{Column, DataTable, Exhibit, Provenance};

use super::real_llms::{ModelRow, row, rows_table};
use super::scores::Scores;
use super::{FigureError, Judged, JudgedModel, device_name};

pub(super) fn exhibit(judged: &[Judged]) -> Result<Exhibit, FigureError> {
    let rows_of = |models: fn(&Judged) -> &[JudgedModel]| -> Result<Vec<ModelRow>, FigureError> {
        let mut rows = Vec::new();
        for j in judged {
            for m in models(j).iter().filter(|m| m.is_moe()) {
                rows.extend(row(j, m)?);
            }
        }
        Ok(rows)
    };
    let mut tables = Vec::new();
    let lines = lines(judged)?;
    if !lines.is_empty() {
        tables.push(summary_table(&lines));
    }
    tables.push(rows_table(
        "moe_models_dense",
        "Mixtures that fit the device, predicted from dense models alone",
        &rows_of(|j| &j.real)?,
    ));
    let by_mixtures = rows_of(|j| j.with_mixtures.as_ref().map_or(&[], |w| &w.real))?;
    if !by_mixtures.is_empty() {
        tables.push(rows_table(
            "moe_models",
            "The same, predicted from dense models and synthetic mixtures",
            &by_mixtures,
        ));
    }
    Ok(Exhibit {
        id: "moe".to_owned(),
        title: "Accuracy on mixtures of experts".to_owned(),
        source: "EnerInfer §4.6".to_owned(),
        caption: "The paper says that its predictors extend to mixtures of experts, and prints no \
                  figures. To a predictor of dense models a mixture is the dense model that reads \
                  the same weights per token; what its router and the experts' short rows cost is \
                  not known to it. Predictors that are trained on synthetic mixtures too are also \
                  told the numbers of experts. The simulated devices run the active experts of a \
                  layer as one operation, as llama.cpp does."
            .to_owned(),
        tables,
        charts: Vec::new(),
    })
}

/// Models of a device as both predictors see them.
struct Line {
    device: String,
    set: &'static str,
    models: usize,
    dense: Option<Scores>,
    mixtures: Option<Scores>,
}

fn lines(judged: &[Judged]) -> Result<Vec<Line>, FigureError> {
    let mut lines = Vec::new();
    for j in judged {
        let Some(with) = &j.with_mixtures else { continue };
        let of = |models: &[JudgedModel], moe: bool| -> Vec<JudgedModel> {
            models.iter().filter(|m| m.is_moe() == moe).cloned().collect()
        };
        for (set, dense, mixtures) in [
            ("held-out dense models", j.held_out.clone(), with.held_out.clone()),
            ("dense LLMs", of(&j.real, false), of(&with.real, false)),
            (
                "held-out mixtures",
                with.held_out_mixtures_by_dense.clone(),
                with.held_out_mixtures.clone(),
            ),
            ("mixtures of the survey", of(&j.real, true), of(&with.real, true)),
        ] {
            lines.push(Line {
                device: device_name(&j.device),
                set,
                models: dense.len(),
                dense: Scores::of(&dense)?,
                mixtures: Scores::of(&mixtures)?,
            });
        }
    }
    Ok(lines)
}

fn summary_table(lines: &[Line]) -> DataTable {
    let pair = |name: &str, unit: &str, decimals, of: fn(&Scores) -> Option<f64>| {
        let values: [fn(&Line) -> Option<&Scores>; 2] =
            [|l| l.dense.as_ref(), |l| l.mixtures.as_ref()];
        let column = |trained: &str, scores: fn(&Line) -> Option<&Scores>| {
            Column::optional(
                &format!("{name}, {trained}"),
                unit,
                Provenance::Simulated,
                decimals,
                lines.iter().map(|l| scores(l).and_then(of)),
            )
        };
        [column("dense only", values[0]), column("with mixtures", values[1])]
    };
    let mut columns = vec![
        Column::key("Device", lines.iter().map(|l| l.device.clone())),
        Column::key("Models", lines.iter().map(|l| l.set)),
        Column::numbers(
            "Count",
            "",
            Provenance::Simulated,
            0,
            lines.iter().map(|l| l.models as f64),
        ),
    ];
    columns.extend(pair("Throughput MAPE", "%", 2, |s| Some(s.throughput_percent)));
    columns.extend(pair("Power MAPE", "%", 2, |s| Some(s.power_percent)));
    columns.extend(pair("tau-b, noiseless", "", 3, Scores::mean_tau_noiseless));
    DataTable {
        id: "moe_summary".to_owned(),
        caption: "What training on mixtures besides buys, and what it costs dense models"
            .to_owned(),
        columns,
    }
}
