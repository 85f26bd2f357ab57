//! Figure 7: throughput relative to the highest clocks, over models.

use enerinfer_artifacts::OperatingPoint;
use enerinfer_artifacts::exhibit::{
    Axis, Chart, Column, DataTable, Drawing, Exhibit, FiveNumbers, Provenance,
};
use enerinfer_datasets::LlmShape;
use enerinfer_device::SimulatedDevice;

use super::{boxes_of_points, device_name, point_name};

pub(super) fn exhibit(devices: &[SimulatedDevice], models: &[LlmShape]) -> Exhibit {
    let scaled = |device: &SimulatedDevice, point: OperatingPoint| -> Option<FiveNumbers> {
        let highest = device.platform().clocks.highest();
        let fitting = models.iter().filter(|s| device.fits(s));
        let values: Vec<f64> = fitting
            .map(|s| {
                device.decode(s, point).throughput_tok_per_s
                    / device.decode(s, highest).throughput_tok_per_s
            })
            .collect();
        FiveNumbers::of(&values)
    };
    let slow = |device: &SimulatedDevice| OperatingPoint {
        accel: 0,
        ..device.platform().clocks.highest()
    };
    let at_slow: Vec<Option<FiveNumbers>> = devices.iter().map(|d| scaled(d, slow(d))).collect();
    let published =
        |end: f64| devices.iter().map(move |d| (d.platform().name == "laptop").then_some(end));
    let simulated = |end: fn(&FiveNumbers) -> f64| at_slow.iter().map(move |s| s.as_ref().map(end));
    let table = DataTable {
        id: "fig7_slow".to_owned(),
        caption: "Relative throughput with the accelerator at its lowest clock".to_owned(),
        columns: vec![
            Column::key("Device", devices.iter().map(device_name)),
            Column::key("Operating point", devices.iter().map(|d| point_name(slow(d)))),
            Column::optional("Smallest", "", Provenance::Published, 2, published(0.6)),
            Column::optional("Smallest", "", Provenance::Simulated, 2, simulated(|s| s.min)),
            Column::optional("Median", "", Provenance::Simulated, 2, simulated(|s| s.median)),
            Column::optional("Largest", "", Provenance::Published, 2, published(0.9)),
            Column::optional("Largest", "", Provenance::Simulated, 2, simulated(|s| s.max)),
        ],
    };
    let charts = devices.iter().filter_map(|device| {
        let boxes = boxes_of_points(device, |point| scaled(device, point));
        (!boxes.is_empty()).then(|| Chart {
            id: format!("fig7_{}", device.platform().name),
            caption: format!(
                "Throughput relative to the highest clocks on {}",
                device_name(device)
            ),
            drawing: Drawing::Boxes { value: Axis::new("Relative throughput", ""), boxes },
        })
    });
    Exhibit {
        id: "fig7".to_owned(),
        title: "Throughput relative to the highest clocks".to_owned(),
        source: "EnerInfer Figure 7".to_owned(),
        caption: "The same step down in clocks costs some models much more than others; a box is \
                  one operating point over models drawn as the paper did. Published figures are \
                  the laptop's at M6 N0."
            .to_owned(),
        tables: vec![table],
        charts: charts.collect(),
    }
}
