//! Figure 2: time per operator of one decoded token.

use enerinfer_artifacts::exhibit::{
    Axis, Bar, Chart, Column, DataTable, Drawing, Exhibit, Provenance,
};
use enerinfer_datasets::{GemvOp, LlmShape, survey};
use enerinfer_device::SimulatedDevice;

use super::device_name;

/// The model of the paper's figure.
const MODEL: &str = "LLaMA2-1.3B";

/// Operators as the figure groups them.
const GROUPS: [&str; 4] = ["self-attention", "FFN", "expert router", "LM head"];

pub(super) fn exhibit(devices: &[SimulatedDevice]) -> Exhibit {
    let shape = survey::find(MODEL).map(|m| m.shape);
    let shown: Vec<(&SimulatedDevice, [f64; 4])> = shape
        .iter()
        .flat_map(|shape| {
            devices.iter().filter(|d| d.fits(shape)).map(|d| (d, milliseconds(d, shape)))
        })
        .collect();
    let rows = || {
        shown.iter().flat_map(|(device, ms)| {
            let total: f64 = ms.iter().sum();
            let present = GROUPS.iter().zip(ms).filter(|(_, ms)| **ms > 0.0);
            present.map(move |(group, ms)| (device_name(device), *group, *ms, 100.0 * ms / total))
        })
    };
    let table = DataTable {
        id: "fig2_operators".to_owned(),
        caption: format!("{MODEL}, one token at the highest clocks"),
        columns: vec![
            Column::key("Device", rows().map(|r| r.0)),
            Column::key("Operator", rows().map(|r| r.1)),
            Column::numbers("Time", "ms", Provenance::Simulated, 2, rows().map(|r| r.2)),
            Column::numbers("Share", "%", Provenance::Simulated, 1, rows().map(|r| r.3)),
        ],
    };
    let charts = shown.iter().map(|(device, ms)| {
        let bars = GROUPS.iter().zip(ms).filter(|(_, ms)| **ms > 0.0);
        Chart {
            id: format!("fig2_{}", device.platform().name),
            caption: format!("Time of one token of {MODEL} on {}", device_name(device)),
            drawing: Drawing::Bars {
                value: Axis::new("Time", "ms"),
                decimals: 2,
                bars: bars
                    .map(|(group, &value)| Bar {
                        name: (*group).to_owned(),
                        provenance: Provenance::Simulated,
                        value,
                    })
                    .collect(),
            },
        }
    });
    Exhibit {
        id: "fig2".to_owned(),
        title: "Time per operator of one token".to_owned(),
        source: "EnerInfer Figure 2".to_owned(),
        caption: "The paper draws a timeline of four layers and the LM head without numbers, and \
                  concludes that matrix products of attention, FFN and LM head dominate a token. \
                  The simulated device knows nothing but matrix products; their shares are what \
                  can be compared. The shape of LLaMA2-1.3B is inferred."
            .to_owned(),
        tables: vec![table],
        charts: charts.collect(),
    }
}

/// Time per group, ms.
fn milliseconds(device: &SimulatedDevice, shape: &LlmShape) -> [f64; 4] {
    let mut out = [0.0; 4];
    for (gemv, seconds) in device.operator_times(shape, device.platform().clocks.highest()) {
        let group = match gemv.op {
            GemvOp::Gate | GemvOp::Up | GemvOp::Down => 1,
            GemvOp::Router => 2,
            GemvOp::LmHead => 3,
            // Query, key, value and output projection.
            _ => 0,
        };
        out[group] += 1e3 * seconds;
    }
    out
}
