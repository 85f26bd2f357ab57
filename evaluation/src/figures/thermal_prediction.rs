//! Figure 11: accuracy of the thermal model.

use enerinfer_artifacts::exhibit::{
    Axis, Chart, Column, DataTable, Drawing, Exhibit, Provenance, Series,
};
use enerinfer_artifacts::record::ThermalAccuracy;
use enerinfer_device::SimulatedDevice;

use super::{charts, device_name};

/// What EnerInfer §4.4 prints for the phone: mean absolute error, °C, and R².
const PUBLISHED: (&str, f64, f64) = ("h_phone", 0.16, 0.988);

pub(super) fn exhibit(thermal: &[(SimulatedDevice, ThermalAccuracy)]) -> Exhibit {
    let published = |value: f64| {
        thermal.iter().map(move |(d, _)| (d.platform().name == PUBLISHED.0).then_some(value))
    };
    let ours = |name: &str, unit: &str, decimals, of: fn(&ThermalAccuracy) -> Option<f64>| {
        let values = thermal.iter().map(|(_, a)| of(a));
        Column::optional(name, unit, Provenance::Simulated, decimals, values)
    };
    let accuracy = DataTable {
        id: "fig11_accuracy".to_owned(),
        caption: "Shell temperature 1 to 21 s ahead, on held-out models and ambient temperatures"
            .to_owned(),
        columns: vec![
            Column::key("Device", thermal.iter().map(|(d, _)| device_name(d))),
            ours("Segments fitted on", "", 0, |a| Some(f64::from(a.training_segments))),
            ours("Segments tested on", "", 0, |a| Some(f64::from(a.segments))),
            Column::optional(
                "Mean absolute error",
                "°C",
                Provenance::Published,
                2,
                published(PUBLISHED.1),
            ),
            ours("Mean absolute error", "°C", 3, |a| Some(a.mae_c)),
            ours("The same of the paper's additive form", "°C", 3, |a| a.additive_mae_c),
            Column::optional("R²", "", Provenance::Published, 3, published(PUBLISHED.2)),
            ours("R²", "", 4, |a| a.r2),
            ours("R² of the paper's additive form", "", 4, |a| a.additive_r2),
            ours("Within 0.5 °C", "%", 1, |a| a.within_half_c_percent),
        ],
    };
    let by_horizon: Vec<Series> = thermal
        .iter()
        .map(|(d, a)| {
            let points = a.by_horizon.iter().map(|h| (h.ahead_s, h.mae_c));
            Series::new(&device_name(d), Provenance::Simulated, points)
        })
        .collect();
    let mut pictures =
        charts("fig11_horizon", "Error over time ahead", &by_horizon, |series| Drawing::Lines {
            x: Axis::new("Time ahead", "s"),
            y: Axis::new("Mean absolute error", "°C"),
            series,
        });
    for (device, a) in thermal.iter().filter(|(_, a)| !a.scatter.is_empty()) {
        let mut times: Vec<f64> = a.scatter.iter().map(|p| p.ahead_s).collect();
        times.sort_by(f64::total_cmp);
        times.dedup();
        pictures.push(Chart {
            id: format!("fig11_{}", device.platform().name),
            caption: format!("Predicted against true temperature on {}", device_name(device)),
            drawing: Drawing::Points {
                x: Axis::new("True temperature", "°C"),
                y: Axis::new("Predicted temperature", "°C"),
                series: times
                    .iter()
                    .map(|&ahead| {
                        let points = a.scatter.iter().filter(|p| p.ahead_s == ahead);
                        Series::new(
                            &format!("{ahead} s ahead"),
                            Provenance::Simulated,
                            points.map(|p| (p.true_c, p.predicted_c)),
                        )
                    })
                    .collect(),
            },
        });
    }
    Exhibit {
        id: "fig11".to_owned(),
        title: "Accuracy of the thermal model".to_owned(),
        source: "EnerInfer Figure 11".to_owned(),
        caption:
            "A linear model of the last 20 temperatures, accelerator power and time ahead, on \
                  segments of 37 to 45 °C of simulated sessions. Ours has interactions of time \
                  with history and power; the paper's additive form stands beside it. Devices \
                  that do not get warm enough are left out."
                .to_owned(),
        tables: vec![accuracy],
        charts: pictures,
    }
}
