//! Figure 6: time per output token over model size.

use std::ops::Range;

use enerinfer_artifacts::exhibit::{Axis, Column, DataTable, Drawing, Exhibit, Provenance, Series};
use enerinfer_datasets::LlmShape;
use enerinfer_device::SimulatedDevice;

use super::{charts, device_name, range};

/// What counts as a model of one billion parameters, read per token.
const ABOUT_1B: Range<f64> = 0.9e9..1.1e9;

pub(super) fn exhibit(devices: &[SimulatedDevice], models: &[LlmShape]) -> Exhibit {
    let points = |device: &SimulatedDevice| -> Vec<(f64, f64)> {
        let highest = device.platform().clocks.highest();
        let fitting = models.iter().filter(|s| device.fits(s));
        fitting
            .map(|s| {
                let ms = 1e3 / device.decode(s, highest).throughput_tok_per_s;
                (s.dims().read_params() as f64 / 1e9, ms)
            })
            .collect()
    };
    let all: Vec<(&SimulatedDevice, Vec<(f64, f64)>)> =
        devices.iter().map(|d| (d, points(d))).collect();
    let about_1b = |points: &[(f64, f64)]| {
        range(points.iter().filter(|p| ABOUT_1B.contains(&(p.0 * 1e9))).map(|p| p.1))
    };
    let published =
        |device: &SimulatedDevice| (device.platform().name == "laptop").then_some((34.0, 62.0));
    let column = |name: &str, provenance, values: Vec<Option<f64>>| {
        Column::optional(name, "ms", provenance, 1, values)
    };
    let p = |end: fn((f64, f64)) -> f64| all.iter().map(|(d, _)| published(d).map(end)).collect();
    let s = |end: fn((f64, f64)) -> f64| all.iter().map(|(_, v)| about_1b(v).map(end)).collect();
    let table = DataTable {
        id: "fig6_1b".to_owned(),
        caption: "Time per token of models that read 0.9 to 1.1 B parameters per token".to_owned(),
        columns: vec![
            Column::key("Device", all.iter().map(|(d, _)| device_name(d))),
            column("Shortest", Provenance::Published, p(|r| r.0)),
            column("Shortest", Provenance::Simulated, s(|r| r.0)),
            column("Longest", Provenance::Published, p(|r| r.1)),
            column("Longest", Provenance::Simulated, s(|r| r.1)),
        ],
    };
    let series: Vec<Series> = all
        .iter()
        .map(|(d, points)| {
            Series::new(&device_name(d), Provenance::Simulated, points.iter().copied())
        })
        .collect();
    let caption = "Time per token at the highest clocks";
    let charts = charts("fig6_tpot", caption, &series, |series| Drawing::Points {
        x: Axis::new("Parameters read per token", "billion"),
        y: Axis::log("Time per output token", "ms"),
        series,
    });
    Exhibit {
        id: "fig6".to_owned(),
        title: "Time per token over model size".to_owned(),
        source: "EnerInfer Figure 6".to_owned(),
        caption: "Time grows almost in proportion to size, and models of one size still differ. \
                  Models are drawn as the paper did, each hyper-parameter on its own; its own \
                  models are not published. The published longest time is not met: Table 2's three \
                  models read weights at one rate, which leaves little room for effects of shape."
            .to_owned(),
        tables: vec![table],
        charts,
    }
}
