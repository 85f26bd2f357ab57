//! Calibration: parameters of a simulated device from published figures.
//!
//! Parameters are fitted by Nelder–Mead (argmin) in the logarithm of each parameter within its
//! bounds, from a fixed set of seeded starts, so that anyone can run it again:
//! `measure calibrate --platform orin`.
//! What is fitted, and between which bounds, stands in `recipe`; the figures in
//! [`crate::published`]. Nothing is fitted per model or per figure.

mod knob;
mod objective;
mod recipe;
mod report;
mod search;
mod thermal;

pub use self::report::{comparison, markdown};
pub use self::thermal::{
    H_PHONE_REST_SHELL_CELSIUS, H_PHONE_STRESS_CORE_CELSIUS, ThermalFit, ThermalTarget,
    calibrate_thermal, thermal_targets,
};
use crate::{DeviceError, builtin, parameters};

use self::objective::Objective;
use self::recipe::Bound;

/// A fitted parameter of the platform file.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// Path in the platform file, e.g. `["memory", "ramp_rows"]`.
    pub path: Vec<String>,
    /// Value, or one value per level, rounded to five significant digits.
    pub values: Vec<f64>,
}

/// The result of a calibration.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// Platform.
    pub platform: String,
    /// Number of parameters that were free.
    pub free_parameters: usize,
    /// Number of published values that they answer to.
    pub published_values: usize,
    /// Cost of the parameters in the platform file: mean over the published values of
    /// `r² + r⁶`, `r` the error in units of the figure's tolerance.
    pub committed_cost: f64,
    /// Cost of the fitted parameters.
    pub fitted_cost: f64,
    /// The fitted parameters.
    pub fitted: Vec<Fitted>,
}

/// How much work a calibration does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effort {
    /// From several starts that know nothing of the platform file.
    Cold,
    /// One descent from the parameters in the platform file.
    Refine,
}

/// The platform file of a built-in platform, to write fitted parameters into.
///
/// # Errors
/// The platform is unknown.
pub fn platform_file(platform: &str) -> Result<&'static str, DeviceError> {
    builtin::text(platform)
}

/// How many parameters of a built-in platform are fitted.
///
/// # Errors
/// The platform is unknown or has no recipe.
pub fn free_parameters(platform: &str) -> Result<usize, DeviceError> {
    Ok(recipe::bounds(platform)?.len())
}

/// Fits the parameters of a built-in platform.
///
/// # Errors
/// The platform is unknown or has no recipe (nothing published to fit to).
pub fn calibrate(platform: &str, effort: Effort) -> Result<Calibration, DeviceError> {
    let text = builtin::text(platform)?;
    let file = parameters::parse(text, &format!("platforms/{platform}.toml"))?;
    let bounds = recipe::bounds(platform)?;
    let committed: Vec<f64> = bounds.iter().map(|b| b.position(&file)).collect();
    let objective = Objective::new(file, bounds)?;
    let best = match effort {
        Effort::Cold => search::from_cold(&objective),
        Effort::Refine => search::descend(&objective, committed.clone()),
    };
    Ok(Calibration {
        platform: platform.to_owned(),
        free_parameters: objective.bounds().len(),
        published_values: objective.published_values(),
        committed_cost: objective.committed_cost(),
        fitted_cost: objective.cost(&best),
        fitted: knob::fitted(objective.bounds(), &objective.file_at(&best)),
    })
}
