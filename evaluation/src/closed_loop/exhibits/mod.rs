//! The closed loop's figures and tables as exhibits.

mod fig14;
mod fig15;
mod interference;
mod optima;
mod robustness;
mod table2;
mod workloads;

use enerinfer_artifacts::exhibit::{Column, Exhibit, Provenance};

use super::LoopError;
use crate::figures::Judged;

pub use fig14::exhibit as fig14;
pub use fig15::exhibit as fig15;
pub use interference::{Beside, exhibit as interference, sessions as beside_apps};
pub use optima::{Cell, cells, exhibit as optima};
pub use robustness::exhibit as robustness;
pub use table2::exhibit as table2;
pub use workloads::exhibit as workloads;

/// Seed of the thermal fits and of disturbed predictions: one device, one fit, whatever the run.
const SEED: u64 = 1;

/// All exhibits of the closed loop, in the order of a report. `judged` may be empty: Table 2 is
/// then played without predicted tables.
///
/// # Errors
/// None for the embedded platform files and survey.
pub fn all(judged: &[Judged]) -> Result<Vec<Exhibit>, LoopError> {
    Ok(vec![
        fig14()?,
        optima()?,
        robustness()?,
        interference()?,
        workloads()?,
        fig15()?,
        table2(judged)?,
    ])
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
