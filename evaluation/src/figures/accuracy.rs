//! Figure 10: accuracy on held-out synthetic models.

use enerinfer_artifacts::exhibit::{
    Axis, Chart, Column, DataTable, Drawing, Exhibit, Provenance, Series,
};

use super::scores::Scores;
use super::{FigureError, Judged, JudgedModel, Tables, charts, device_name, headline};

/// About this many dots are drawn per picture.
const DOTS: usize = 600;

pub(super) fn exhibit(judged: &[Judged]) -> Result<Exhibit, FigureError> {
    let mut scores = Vec::new();
    for j in judged {
        scores.push(Scores::of(&j.held_out)?);
    }
    let published: Vec<headline::Headline> =
        judged.iter().map(|j| headline::of(j.platform())).collect();
    let ours = |of: fn(&Scores) -> Option<f64>| scores.iter().map(move |s| s.as_ref().and_then(of));
    let theirs = |of: fn(&headline::Headline) -> Option<f64>| published.iter().map(of);
    let percent = |name: &str, provenance, values: Vec<Option<f64>>| {
        Column::optional(name, "%", provenance, 2, values)
    };
    let device = || Column::key("Device", judged.iter().map(|j| device_name(&j.device)));
    let models = || {
        let counts = judged.iter().map(|j| j.held_out.len() as f64);
        Column::numbers("Models", "", Provenance::Simulated, 0, counts)
    };
    use Provenance::{Published, Simulated};
    let errors = DataTable {
        id: "fig10_mape".to_owned(),
        caption: "MAPE over held-out synthetic models and all operating points".to_owned(),
        columns: vec![
            device(),
            models(),
            percent("Throughput", Published, theirs(|h| h.throughput_percent).collect()),
            percent("Throughput", Simulated, ours(|s| Some(s.throughput_percent)).collect()),
            percent("Monolithic throughput", Published, theirs(|h| h.monolithic_percent).collect()),
            percent(
                "Monolithic throughput",
                Simulated,
                judged.iter().map(|j| j.monolithic_mape_percent).collect(),
            ),
            percent("Power", Published, theirs(|h| h.power_percent).collect()),
            percent("Power", Simulated, ours(|s| Some(s.power_percent)).collect()),
            percent("Efficiency", Simulated, ours(|s| Some(s.efficiency_percent)).collect()),
        ],
    };
    let tau = |name: &str, of: fn(&Scores) -> Option<f64>| {
        Column::optional(name, "", Simulated, 3, ours(of))
    };
    let ranking = DataTable {
        id: "fig10_tau".to_owned(),
        caption: "Kendall's tau-b of predicted efficiency over held-out synthetic models"
            .to_owned(),
        columns: vec![
            device(),
            models(),
            tau("Mean", Scores::mean_tau),
            tau("Mean against the noiseless table", Scores::mean_tau_noiseless),
            tau("Lowest", |s| s.tau_summary().map(|t| t.min)),
            tau("First quartile", |s| s.tau_summary().map(|t| t.q1)),
            tau("Median", |s| s.tau_summary().map(|t| t.median)),
        ],
    };
    let cdf = |id: &str, caption: &str, of: fn(&Scores) -> &[f64]| {
        let pairs = judged.iter().zip(&scores);
        let series: Vec<Series> = pairs
            .filter_map(|(j, s)| {
                Some(Series::cdf(&device_name(&j.device), Simulated, of(s.as_ref()?)))
            })
            .collect();
        charts(id, caption, &series, |series| Drawing::Lines {
            x: Axis::new("tau-b", ""),
            y: Axis::new("Models up to this tau-b", "%"),
            series,
        })
    };
    let mut pictures = cdf("fig10_tau_cdf", "Tau-b over held-out models", |s| &s.tau);
    pictures.extend(cdf(
        "fig10_tau_noiseless_cdf",
        "Tau-b over held-out models, against noiseless tables",
        |s| &s.tau_noiseless,
    ));
    for j in judged {
        let name = &j.device.platform().name;
        for (quantity, unit, column) in [
            ("Throughput", "tok/s", (|t| &t.tok_per_s) as fn(&Tables) -> &Vec<f64>),
            ("Power", "W", |t| &t.power_w),
        ] {
            pictures.push(Chart {
                id: format!("fig10_{name}_{}", quantity.to_lowercase()),
                caption: format!("{quantity} on {}", device_name(&j.device)),
                drawing: Drawing::Points {
                    x: Axis::log(&format!("Measured {}", quantity.to_lowercase()), unit),
                    y: Axis::log(&format!("Predicted {}", quantity.to_lowercase()), unit),
                    series: vec![Series::new(
                        "held-out models",
                        Simulated,
                        dots(&j.held_out, column),
                    )],
                },
            });
        }
    }
    Ok(Exhibit {
        id: "fig10".to_owned(),
        title: "Accuracy on held-out synthetic models".to_owned(),
        source: "EnerInfer Figure 10".to_owned(),
        caption: format!(
            "Predictions of the compiled integer predictors against measurements of the simulated \
             device, noise included, on models that training did not see. Pictures show about \
             {DOTS} of the values. The paper prints the mean errors; it prints tau-b only for real \
             LLMs (Figure 12)."
        ),
        tables: vec![errors, ranking],
        charts: pictures,
    })
}

/// Every n-th pair of measured and predicted values, so that about [`DOTS`] remain.
fn dots(models: &[JudgedModel], column: fn(&Tables) -> &Vec<f64>) -> Vec<(f64, f64)> {
    let all: Vec<(f64, f64)> = models
        .iter()
        .flat_map(|m| column(&m.measured).iter().copied().zip(column(&m.predicted).iter().copied()))
        .collect();
    let step = all.len().div_ceil(DOTS).max(1);
    all.into_iter().step_by(step).collect()
}
