//! Figure 5: efficiency ranks of operating points over models.

use enerinfer_artifacts::exhibit::{
    Axis, Chart, Column, DataTable, Drawing, Exhibit, FiveNumbers, NamedBox, Provenance,
};
use enerinfer_datasets::LlmShape;
use enerinfer_device::SimulatedDevice;

use super::{device_name, point_name};

/// Ranks of one device: per operating point, over models.
struct Ranks {
    device: String,
    platform: String,
    names: Vec<String>,
    /// One list per operating point.
    ranks: Vec<Vec<f64>>,
}

pub(super) fn exhibit(devices: &[SimulatedDevice], models: &[LlmShape]) -> Exhibit {
    let all: Vec<Ranks> = devices.iter().map(|d| ranks(d, models)).collect();
    let spread = |r: &Ranks| {
        r.ranks.iter().filter_map(|v| FiveNumbers::of(v)).map(|s| s.max - s.min).fold(0.0, f64::max)
    };
    let best = |r: &Ranks| -> Vec<usize> {
        r.ranks.iter().map(|v| v.iter().filter(|rank| **rank < 1.5).count()).collect()
    };
    let most_often = |r: &Ranks| {
        let counts = best(r);
        // The first of equals.
        let at = (0..counts.len()).rev().max_by_key(|&i| counts[i]);
        at.map_or(String::new(), |i| {
            let models: usize = counts.iter().sum();
            format!("{} ({} of {models} models)", r.names[i], counts[i])
        })
    };
    let table = DataTable {
        id: "fig5_summary".to_owned(),
        caption: "Which operating point is the most efficient depends on the model".to_owned(),
        columns: vec![
            Column::key("Device", all.iter().map(|r| r.device.clone())),
            Column::numbers(
                "Operating points",
                "",
                Provenance::Simulated,
                0,
                all.iter().map(|r| r.ranks.len() as f64),
            ),
            Column::numbers(
                "Of these most efficient for some model",
                "",
                Provenance::Simulated,
                0,
                all.iter().map(|r| best(r).iter().filter(|n| **n > 0).count() as f64),
            ),
            Column::text("Most often the best", Provenance::Simulated, all.iter().map(most_often)),
            Column::numbers(
                "Widest range of ranks",
                "",
                Provenance::Simulated,
                0,
                all.iter().map(spread),
            ),
        ],
    };
    let charts = all.iter().filter_map(|r| {
        let boxes: Vec<NamedBox> = r
            .names
            .iter()
            .zip(&r.ranks)
            .filter_map(|(name, ranks)| {
                Some(NamedBox {
                    name: name.clone(),
                    provenance: Provenance::Simulated,
                    summary: FiveNumbers::of(ranks)?,
                })
            })
            .collect();
        (!boxes.is_empty()).then(|| Chart {
            id: format!("fig5_{}", r.platform),
            caption: format!("Efficiency rank per operating point on {}", r.device),
            drawing: Drawing::Boxes {
                value: Axis::new("Rank (1 is the most efficient)", ""),
                boxes,
            },
        })
    });
    Exhibit {
        id: "fig5".to_owned(),
        title: "Efficiency ranks of operating points".to_owned(),
        source: "EnerInfer Figure 5".to_owned(),
        caption: "Each box sums up the rank of one operating point over the synthetic models, \
                  without noise. The paper prints the phone's boxes without numbers: wide ones, \
                  with the most efficient points at low levels of both clocks, such as M1 N0."
            .to_owned(),
        tables: vec![table],
        charts: charts.collect(),
    }
}

fn ranks(device: &SimulatedDevice, models: &[LlmShape]) -> Ranks {
    let points: Vec<_> = device.platform().clocks.points().collect();
    let mut ranks = vec![Vec::new(); points.len()];
    for shape in models.iter().filter(|s| device.fits(s)) {
        let efficiency: Vec<f64> =
            device.decode_all(shape).iter().map(|(_, d)| d.efficiency_tok_per_j()).collect();
        let mut order: Vec<usize> = (0..efficiency.len()).collect();
        order.sort_by(|&a, &b| efficiency[b].total_cmp(&efficiency[a]).then(a.cmp(&b)));
        for (rank, &point) in order.iter().enumerate() {
            ranks[point].push(rank as f64 + 1.0);
        }
    }
    Ranks {
        device: device_name(device),
        platform: device.platform().name.clone(),
        names: points.into_iter().map(point_name).collect(),
        ranks,
    }
}
