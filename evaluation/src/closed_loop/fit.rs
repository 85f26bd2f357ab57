//! The thermal model that the controllers are told, fitted on segments of simulated sessions.

use enerinfer_artifacts::THERMAL_WINDOW;
use enerinfer_device::thermal::Temperatures;
use enerinfer_learners::{Segment, THERMAL_HORIZON_S, ThermalForm};
use enerinfer_runtime::thermal_model::ThermalModel;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{HeatSplit, LoopError, Scenario};

/// Sessions and their length.
const SESSIONS: usize = 60;
const SESSION_S: usize = 300;
/// How long a point is kept, s.
const HOLD_S: std::ops::Range<usize> = 30..90;
/// Shell temperatures that sessions start from, °C.
const START_CELSIUS: std::ops::Range<f64> = 35.0..42.0;
/// Ambient temperatures around the scenario's, K.
const AMBIENT_K: std::ops::Range<f64> = -3.0..3.0;
/// Resolution of the sensor of the sessions, °C, as for the bundles' thermal models. Exact
/// temperatures would let the regression trust differences that no device shows.
const SENSOR_CELSIUS: f64 = 0.1;
/// Seconds between segments of one session: neighbours say nearly the same.
const STRIDE_S: usize = 5;

/// Fits the thermal model of EnerInfer §4.4, with interactions, on sessions of the scenario's
/// device at random points and ambient temperatures. Its power is that of `regressor`, which need
/// not be what really warms the device.
///
/// # Errors
/// The coefficients do not fit the device.
pub fn fit_thermal(
    scenario: &Scenario,
    regressor: HeatSplit,
    seed: u64,
) -> Result<ThermalModel, LoopError> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut segments = Vec::new();
    for _ in 0..SESSIONS {
        let ambient = scenario.ambient_celsius + rng.random_range(AMBIENT_K);
        let shell = rng.random_range(START_CELSIUS);
        let mut at =
            Temperatures { core_celsius: shell + rng.random::<f64>(), shell_celsius: shell };
        let (mut power, mut shells) = (Vec::new(), Vec::new());
        let (mut decode, mut hold_s) = (scenario.truth[0], 0);
        for _ in 0..SESSION_S {
            if hold_s == 0 {
                hold_s = rng.random_range(HOLD_S);
                decode = scenario.truth[rng.random_range(0..scenario.truth.len())];
            }
            hold_s -= 1;
            shells.push((at.shell_celsius / SENSOR_CELSIUS).round() * SENSOR_CELSIUS);
            power.push(regressor.heat_w(&decode));
            at = scenario.thermal.step(at, scenario.heat.heat_w(&decode), ambient, 1.0);
        }
        for now in (THERMAL_WINDOW - 1..SESSION_S - THERMAL_HORIZON_S).step_by(STRIDE_S) {
            let held = power[now..].iter().take_while(|p| **p == power[now]).count();
            let ahead = &shells[now + 1..=now + held.min(THERMAL_HORIZON_S)];
            let mut history_celsius = [0.0; THERMAL_WINDOW];
            history_celsius.copy_from_slice(&shells[now + 1 - THERMAL_WINDOW..=now]);
            segments.push(Segment {
                history_celsius,
                power_w: power[now],
                ahead_celsius: ahead.to_vec(),
            });
        }
    }
    let int = ThermalForm::Interactions.fit(&segments)?.to_int()?;
    Ok(ThermalModel {
        intercept_uc: int.intercept_uc,
        history_q24: int.history_q24,
        power_uc_per_w: int.power_uc_per_w,
        time_uc_per_s: int.time_uc_per_s,
        time_power_uc_per_ws: int.time_power_uc_per_ws,
        time_history_q24: int.time_history_q24,
    })
}
