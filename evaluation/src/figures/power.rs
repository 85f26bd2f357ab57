//! Figure 8: power over models.

use enerinfer_artifacts::OperatingPoint;
use enerinfer_artifacts::exhibit::{
    Axis, Chart, Column, DataTable, Drawing, Exhibit, FiveNumbers, Provenance, Series,
};
use enerinfer_datasets::LlmShape;
use enerinfer_device::SimulatedDevice;

use super::{boxes_of_points, device_name};

pub(super) fn exhibit(devices: &[SimulatedDevice], models: &[LlmShape]) -> Exhibit {
    let watts = |device: &SimulatedDevice, point: OperatingPoint| -> Vec<f64> {
        let fitting = models.iter().filter(|s| device.fits(s));
        fitting.map(|s| device.decode(s, point).power_w).collect()
    };
    let highest: Vec<(&SimulatedDevice, Vec<f64>)> =
        devices.iter().map(|d| (d, watts(d, d.platform().clocks.highest()))).collect();
    let summaries: Vec<Option<FiveNumbers>> =
        highest.iter().map(|(_, w)| FiveNumbers::of(w)).collect();
    let published =
        |end: f64| devices.iter().map(move |d| (d.platform().name == "laptop").then_some(end));
    let simulated =
        |end: fn(&FiveNumbers) -> f64| summaries.iter().map(move |s| s.as_ref().map(end));
    let table = DataTable {
        id: "fig8_highest".to_owned(),
        caption: "Power at the highest clocks, in each platform's own power domain".to_owned(),
        columns: vec![
            Column::key("Device", devices.iter().map(device_name)),
            Column::key("Power domain", devices.iter().map(|d| &*d.platform().power_domain)),
            Column::optional("Lowest", "W", Provenance::Published, 2, published(2.6)),
            Column::optional("Lowest", "W", Provenance::Simulated, 2, simulated(|s| s.min)),
            Column::optional("Median", "W", Provenance::Simulated, 2, simulated(|s| s.median)),
            Column::optional("Highest", "W", Provenance::Published, 2, published(3.8)),
            Column::optional("Highest", "W", Provenance::Simulated, 2, simulated(|s| s.max)),
        ],
    };
    let mut charts = Vec::new();
    for (device, at_highest) in &highest {
        let boxes = boxes_of_points(device, |point| FiveNumbers::of(&watts(device, point)));
        if boxes.is_empty() {
            continue;
        }
        let name = &device.platform().name;
        charts.push(Chart {
            id: format!("fig8_{name}"),
            caption: format!("Power per operating point on {}", device_name(device)),
            drawing: Drawing::Boxes { value: Axis::new("Power", "W"), boxes },
        });
        charts.push(Chart {
            id: format!("fig8_{name}_highest"),
            caption: format!("Power at the highest clocks on {}", device_name(device)),
            drawing: Drawing::Lines {
                x: Axis::new("Power", "W"),
                y: Axis::new("Models up to this power", "%"),
                series: vec![Series::cdf("models", Provenance::Simulated, at_highest)],
            },
        });
    }
    Exhibit {
        id: "fig8".to_owned(),
        title: "Power over models".to_owned(),
        source: "EnerInfer Figure 8".to_owned(),
        caption: "At one operating point models differ in power. Published figures are the \
                  laptop's at M6 N3, over the paper's synthetic models; its Table 2 has models of \
                  3.8 to 4.4 W there, and the simulated laptop follows Table 2."
            .to_owned(),
        tables: vec![table],
        charts,
    }
}
