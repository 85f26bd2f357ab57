//! The thermal model that the controllers are told, fitted on segments of simulated sessions.

use enerinfer_artifacts::ThermalModel as F64Model;
use enerinfer_device::thermal::Temperatures;
use enerinfer_runtime::thermal::HORIZON_STEPS;
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::window::WINDOW;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{LoopError, Scenario};

/// Seconds ago of the temperatures that get a weight. Neighbouring seconds say nearly the same,
/// so that weights for all twenty would not be determined.
const LAGS_S: [usize; 3] = [0, 4, 19];
const FEATURES: usize = 2 * (LAGS_S.len() + 2);
/// Sessions, their length and how long a point is kept.
const SESSIONS: usize = 60;
const SESSION_S: usize = 300;
const MIN_HOLD_S: usize = 30;
/// Relative ridge.
const RIDGE: f64 = 1e-9;

/// Fits `f(T, P, t)` with interactions on the range 37–45 °C (EnerInfer §4.4), from sessions at
/// random points and ambient temperatures around the scenario's.
///
/// # Errors
/// The coefficients do not fit the device.
pub fn fit_thermal(scenario: &Scenario, seed: u64) -> Result<ThermalModel, LoopError> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut normal, mut right) = ([[0.0; FEATURES]; FEATURES], [0.0; FEATURES]);
    for _ in 0..SESSIONS {
        let ambient = scenario.ambient_celsius + 6.0 * (rng.random::<f64>() - 0.5);
        let shell = 35.0 + 7.0 * rng.random::<f64>();
        let mut at = Temperatures { core_celsius: shell + rng.random::<f64>(), shell_celsius: shell };
        let (mut heat, mut shells) = (Vec::new(), Vec::new());
        let mut heat_w = 0.0;
        let mut hold = 0;
        for _ in 0..SESSION_S {
            if hold == 0 {
                hold = MIN_HOLD_S + rng.random_range(0..60);
                heat_w = scenario.heat.heat_w(&scenario.truth[rng.random_range(0..scenario.truth.len())]);
            }
            hold -= 1;
            shells.push(at.shell_celsius);
            heat.push(heat_w);
            at = scenario.thermal.step(at, heat_w, ambient, 1.0);
        }
        let horizon = usize::from(HORIZON_STEPS);
        for now in WINDOW - 1..SESSION_S - horizon {
            for ahead in [1, 5, 10, 15, 21] {
                let constant = heat[now..now + ahead].iter().all(|p| *p == heat[now]);
                let target = shells[now + ahead];
                if !constant || !(37.0..=45.0).contains(&target) {
                    continue;
                }
                let x = features(&shells[..=now], heat[now], ahead as f64);
                let y = target - shells[now];
                for i in 0..FEATURES {
                    right[i] += x[i] * y;
                    for j in 0..FEATURES {
                        normal[i][j] += x[i] * x[j];
                    }
                }
            }
        }
    }
    let w = solve(normal, right);
    let half = FEATURES / 2;
    let history = |from: usize| {
        let mut weights = vec![0.0; WINDOW];
        for (i, lag) in LAGS_S.iter().enumerate() {
            weights[WINDOW - 1 - lag] = w[from + 2 + i];
        }
        weights
    };
    let (mut levels, slopes) = (history(0), history(half));
    // Temperatures were taken relative to CENTRE, the target relative to the present.
    let (intercept, slope) = (
        w[0] - CENTRE * levels.iter().sum::<f64>(),
        w[half] - CENTRE * slopes.iter().sum::<f64>(),
    );
    levels[WINDOW - 1] += 1.0;
    let model = F64Model {
        window: WINDOW as u32,
        intercept_c: intercept,
        history: levels,
        power_c_per_w: w[1],
        time_c_per_s: slope,
        time_power_c_per_ws: w[half + 1],
        time_history: slopes,
    };
    on_device(&model)
}

const CENTRE: f64 = 40.0;

fn features(shells: &[f64], heat_w: f64, ahead_s: f64) -> [f64; FEATURES] {
    let half = FEATURES / 2;
    let mut x = [0.0; FEATURES];
    x[0] = 1.0;
    x[1] = heat_w;
    for (i, lag) in LAGS_S.iter().enumerate() {
        x[2 + i] = shells[shells.len() - 1 - lag] - CENTRE;
    }
    for i in 0..half {
        x[half + i] = x[i] * ahead_s;
    }
    x
}

/// Gaussian elimination with pivoting; a small ridge keeps it from breaking down.
fn solve(mut a: [[f64; FEATURES]; FEATURES], mut b: [f64; FEATURES]) -> [f64; FEATURES] {
    for (i, row) in a.iter_mut().enumerate() {
        row[i] *= 1.0 + RIDGE;
        row[i] += RIDGE;
    }
    for i in 0..FEATURES {
        let pivot = (i..FEATURES).max_by(|p, q| a[*p][i].abs().total_cmp(&a[*q][i].abs()));
        let pivot = pivot.unwrap_or(i);
        a.swap(i, pivot);
        b.swap(i, pivot);
        for j in i + 1..FEATURES {
            let factor = a[j][i] / a[i][i];
            let row = a[i];
            for (to, from) in a[j].iter_mut().zip(row).skip(i) {
                *to -= factor * from;
            }
            b[j] -= factor * b[i];
        }
    }
    for i in (0..FEATURES).rev() {
        let known: f64 = (i + 1..FEATURES).map(|j| a[i][j] * b[j]).sum();
        b[i] = (b[i] - known) / a[i][i];
    }
    b
}

/// The device's form of a model.
pub(super) fn on_device(model: &F64Model) -> Result<ThermalModel, LoopError> {
    let int = model.to_int()?;
    Ok(ThermalModel {
        intercept_uc: int.intercept_uc,
        history_q24: int.history_q24,
        power_uc_per_w: int.power_uc_per_w,
        time_uc_per_s: int.time_uc_per_s,
        time_power_uc_per_ws: int.time_power_uc_per_ws,
        time_history_q24: int.time_history_q24,
    })
}
