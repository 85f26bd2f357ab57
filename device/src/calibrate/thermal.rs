//! Calibration of h_phone's thermal model.
//!
//! The paper prints four times and no start states: from rest at the highest clocks the shell
//! exceeds 42 °C in 100 s and 45 °C in 200 s (observation 3); from 37 °C it takes 40 s to 42 °C at
//! the highest clocks and 165 s at the energy-aware point (Figure 14). So the start states are
//! free too: the shell "at rest", and how much warmer the core is when the stress test starts.

use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::neldermead::NelderMead;
use enerinfer_datasets::{OperatingPoint, survey};

use crate::thermal::{Temperatures, ThermalModel};
use crate::{DeviceError, SimulatedDevice};

/// Ambient temperature (assumed), °C.
const AMBIENT_CELSIUS: f64 = 25.0;
/// Core above shell at rest (assumed), °C.
const REST_CORE_CELSIUS: f64 = 1.0;
/// The energy-aware point for QoE 10 (EnerInfer Table 2 and Figure 4).
const ENERGY_AWARE: OperatingPoint = OperatingPoint { mem: 6, accel: 1 };

/// A published time to a shell temperature.
#[derive(Clone, Debug, PartialEq)]
pub struct ThermalTarget {
    /// Where it is published.
    pub source: &'static str,
    /// Start.
    pub from: Temperatures,
    /// Power of accelerator and memory, W.
    pub power_w: f64,
    /// Ambient temperature, °C.
    pub ambient_celsius: f64,
    /// Shell temperature to be reached, °C.
    pub threshold_celsius: f64,
    /// Published time, s.
    pub seconds: f64,
}

impl ThermalTarget {
    /// The simulated time, s; none within ten minutes.
    pub fn simulate(&self, model: &ThermalModel) -> Option<f64> {
        let ThermalTarget { from, power_w, ambient_celsius, threshold_celsius, .. } = *self;
        model.seconds_to_shell(from, power_w, ambient_celsius, threshold_celsius, 600.0)
    }
}

/// A thermal model with the start states it was fitted with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThermalFit {
    /// Heat capacity of the core, J/K.
    pub core_j_per_k: f64,
    /// Resistance between core and shell, K/W.
    pub core_to_shell_k_per_w: f64,
    /// Heat capacity of the shell, J/K.
    pub shell_j_per_k: f64,
    /// Resistance between shell and ambient, K/W.
    pub shell_to_ambient_k_per_w: f64,
    /// Shell at rest, °C.
    pub rest_shell_celsius: f64,
    /// Core above shell at the start of the stress test, °C.
    pub stress_core_celsius: f64,
}

/// The start states that the committed h_phone model was fitted with.
pub const H_PHONE_REST_SHELL_CELSIUS: f64 = 35.5;
/// See [`H_PHONE_REST_SHELL_CELSIUS`].
pub const H_PHONE_STRESS_CORE_CELSIUS: f64 = 6.42;

/// The published times with given start states; powers are h_phone's simulated ones.
///
/// # Errors
/// None for the embedded platform file.
pub fn thermal_targets(
    rest_shell_celsius: f64,
    stress_core_celsius: f64,
) -> Result<Vec<ThermalTarget>, DeviceError> {
    let phone = SimulatedDevice::builtin("h_phone", None)?;
    let Some(qwen) = survey::find("Qwen2.5-1.5B") else { return Ok(Vec::new()) };
    let highest = phone.decode(&qwen.shape, phone.platform().clocks.highest()).power_w;
    let energy_aware = phone.decode(&qwen.shape, ENERGY_AWARE).power_w;
    let rest = Temperatures {
        core_celsius: rest_shell_celsius + REST_CORE_CELSIUS,
        shell_celsius: rest_shell_celsius,
    };
    let stress = Temperatures { core_celsius: 37.0 + stress_core_celsius, shell_celsius: 37.0 };
    Ok([
        ("EnerInfer observation 3", rest, highest, 42.0, 100.0),
        ("EnerInfer observation 3", rest, highest, 45.0, 200.0),
        ("EnerInfer Figure 14, Default", stress, highest, 42.0, 40.0),
        ("EnerInfer Figure 14, Ener", stress, energy_aware, 42.0, 165.0),
    ]
    .map(|(source, from, power_w, threshold_celsius, seconds)| ThermalTarget {
        source,
        from,
        power_w,
        ambient_celsius: AMBIENT_CELSIUS,
        threshold_celsius,
        seconds,
    })
    .to_vec())
}

/// Bounds of core J/K, core–shell K/W, shell J/K, shell–ambient K/W, rest shell °C and core above
/// shell °C. A phone at rest in the hand is at most 35.5 °C warm; a core is not far above its shell.
const BOUNDS: [(f64, f64); 6] =
    [(5.0, 120.0), (1.0, 25.0), (10.0, 150.0), (2.0, 25.0), (30.0, 35.5), (0.5, 8.0)];

struct Problem {
    background: ThermalModel,
}

impl Problem {
    fn value(&self, position: &[f64], index: usize) -> f64 {
        let (low, high) = BOUNDS[index];
        low + (high - low) * position[index].clamp(0.0, 1.0)
    }

    fn fit(&self, position: &[f64]) -> ThermalFit {
        ThermalFit {
            core_j_per_k: self.value(position, 0),
            core_to_shell_k_per_w: self.value(position, 1),
            shell_j_per_k: self.value(position, 2),
            shell_to_ambient_k_per_w: self.value(position, 3),
            rest_shell_celsius: self.value(position, 4),
            stress_core_celsius: self.value(position, 5),
        }
    }
}

impl CostFunction for &Problem {
    type Param = Vec<f64>;
    type Output = f64;

    /// Squared relative errors of the four times, in units of the 15 % that are allowed.
    fn cost(&self, position: &Vec<f64>) -> Result<f64, Error> {
        let fit = self.fit(position);
        let model = ThermalModel {
            core_j_per_k: fit.core_j_per_k,
            core_to_shell_k_per_w: fit.core_to_shell_k_per_w,
            shell_j_per_k: fit.shell_j_per_k,
            shell_to_ambient_k_per_w: fit.shell_to_ambient_k_per_w,
            ..self.background
        };
        let outside: f64 = position.iter().map(|z| (z - z.clamp(0.0, 1.0)).powi(2)).sum();
        let targets = thermal_targets(fit.rest_shell_celsius, fit.stress_core_celsius)?;
        let errors = targets.iter().map(|target| {
            let r = (target.simulate(&model).unwrap_or(600.0) / target.seconds).ln() / 0.15;
            r * r + r.powi(6)
        });
        Ok(errors.sum::<f64>() + 100.0 * outside)
    }
}

/// Fits h_phone's thermal model.
///
/// # Errors
/// None for the embedded platform file.
pub fn calibrate_thermal() -> Result<ThermalFit, DeviceError> {
    let phone = SimulatedDevice::builtin("h_phone", None)?;
    let problem = Problem { background: *phone.thermal() };
    let mut best = vec![0.1, 0.05, 0.05, 0.6, 0.9, 0.7];
    for turn in 0..6 {
        let side = if turn % 2 == 0 { 0.1 } else { -0.05 };
        let vertices = std::iter::once(best.clone())
            .chain((0..best.len()).map(|axis| {
                let mut vertex = best.clone();
                vertex[axis] += side;
                vertex
            }))
            .collect();
        let run = NelderMead::new(vertices).with_sd_tolerance(1e-6).and_then(|solver| {
            Executor::new(&problem, solver).configure(|state| state.max_iters(300)).run()
        });
        // The cost function is total; if the solver fails all the same, the best so far stands.
        if let Some(found) = run.ok().and_then(|mut result| result.state.take_best_param()) {
            best = found;
        }
    }
    Ok(problem.fit(&best))
}
