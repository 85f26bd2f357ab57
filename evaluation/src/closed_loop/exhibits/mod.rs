//! The closed loop's figures and tables as exhibits.

mod fig13;
mod fig14;
mod fig15;
mod interference;
mod optima;
mod robustness;
mod table2;
mod workloads;

use enerinfer_artifacts::exhibit::{Column, Provenance};
use enerinfer_datasets::LlmShape;
use enerinfer_device::{Decode, SimulatedDevice};

use super::{Scenario, Stop};
use crate::figures::JudgedModel;

pub use fig13::exhibit as fig13;
pub use fig14::exhibit as fig14;
pub use fig15::exhibit as fig15;
pub use interference::{Beside, exhibit as interference, sessions as beside_apps};
pub use optima::{Cell, cells, exhibit as optima};
pub use robustness::exhibit as robustness;
pub use table2::exhibit as table2;
pub use workloads::exhibit as workloads;

/// Seed of the thermal fits and of disturbed predictions: one device, one fit, whatever the run.
const SEED: u64 = 1;

/// Length of the sessions in which the energy-aware policy alone is played, s.
const PLAYED_S: f64 = 120.0;

/// A decode of [`PLAYED_S`] in which nothing is hot: the loop of Algorithm 2 alone.
fn cool(device: &SimulatedDevice, shape: &LlmShape, qoe_tok_per_s: f64) -> Scenario {
    Scenario {
        threshold_celsius: 1_000.0,
        stop: Stop { after_s: PLAYED_S, at_shell_celsius: None },
        ..Scenario::new(device, shape, qoe_tok_per_s)
    }
}

/// What the predictors say of a model.
fn predicted(model: &JudgedModel) -> Vec<Decode> {
    let predicted = &model.predicted;
    let decodes = predicted.tok_per_s.iter().zip(&predicted.power_w);
    decodes
        .map(|(throughput_tok_per_s, power_w)| Decode {
            throughput_tok_per_s: *throughput_tok_per_s,
            power_w: *power_w,
            // Not needed without thermal control.
            accel_power_w: *power_w,
        })
        .collect()
}

/// A column of simulated numbers, one per row.
fn simulated<R>(
    name: &str,
    unit: &str,
    decimals: u8,
    rows: &[R],
    of: impl Fn(&R) -> Option<f64>,
) -> Column {
    numbers(Provenance::Simulated, name, unit, decimals, rows, of)
}

/// A column of published numbers, one per row.
fn published<R>(
    name: &str,
    unit: &str,
    decimals: u8,
    rows: &[R],
    of: impl Fn(&R) -> Option<f64>,
) -> Column {
    numbers(Provenance::Published, name, unit, decimals, rows, of)
}

fn numbers<R>(
    provenance: Provenance,
    name: &str,
    unit: &str,
    decimals: u8,
    rows: &[R],
    of: impl Fn(&R) -> Option<f64>,
) -> Column {
    let values: Vec<Option<f64>> = rows.iter().map(of).collect();
    Column::optional(name, unit, provenance, decimals, values)
}

/// A column that names rows.
fn key<R>(name: &str, rows: &[R], of: impl Fn(&R) -> String) -> Column {
    Column::key(name, rows.iter().map(of))
}

/// Gain over a base, %.
fn gain_percent(value: f64, base: f64) -> f64 {
    100.0 * (value / base - 1.0)
}
