//! `--thermal FILE`: temperature traces, or a thermal model that was fitted elsewhere.

use std::path::Path;

use anyhow::{Context as _, Result};
use enerinfer_artifacts::console::say;
use enerinfer_artifacts::{THERMAL_WINDOW, ThermalModel};
use enerinfer_datasets::TemperatureTrace;
use enerinfer_learners::THERMAL_HORIZON_S;
use serde::Deserialize;

use crate::job::BadInput;
use crate::thermal::{self, Thermal};

/// Reads a file by its extension: `.json` is a fitted model, anything else are traces.
///
/// # Errors
/// The first fault, with its place.
pub fn read(path: &Path, seed: u64) -> Result<Thermal> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
        return fitted(path);
    }
    let (traces, warnings) = TemperatureTrace::read(path)?;
    for warning in warnings {
        say(format_args!("warning: {}: {warning}", path.display()));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    thermal::from_traces(&traces, &name, seed).with_context(|| path.display().to_string())
}

/// Largest file of a fitted model, bytes: far above forty numbers.
const MOST_BYTES: u64 = 1 << 20;

/// Steady temperatures at which a model is tried, °C: the range of the controllers (EnerInfer §4.4).
const TRIED_CELSIUS: [f64; 2] = [37.0, 45.0];
/// Without power, what was steady for twenty seconds stays within so many °C up to the horizon.
const MOST_DRIFT_CELSIUS: f64 = 20.0;
/// Most that a watt warms up to the horizon, °C. Phones do with about one.
const MOST_WARMING_CELSIUS_PER_W: f64 = 50.0;

/// The file, by the field names of the bundle's [`ThermalModel`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fitted {
    window: u32,
    intercept_c: f64,
    history: Vec<f64>,
    power_c_per_w: f64,
    time_c_per_s: f64,
    time_power_c_per_ws: f64,
    time_history: Vec<f64>,
}

impl Fitted {
    /// The model, if a device can hold it and it is of this world.
    fn checked(self) -> Result<ThermalModel, String> {
        if self.window as usize != THERMAL_WINDOW {
            return Err(format!(
                "window is {}; the device keeps {THERMAL_WINDOW} one-second temperatures",
                self.window
            ));
        }
        let model = ThermalModel {
            window: self.window,
            intercept_c: self.intercept_c,
            history: self.history,
            power_c_per_w: self.power_c_per_w,
            time_c_per_s: self.time_c_per_s,
            time_power_c_per_ws: self.time_power_c_per_ws,
            time_history: self.time_history,
        };
        model.to_int().map_err(|e| e.to_string())?;
        plausible(&model)?;
        Ok(model)
    }
}

/// Refuses coefficients of other units or order than documented, by what they predict.
pub(crate) fn plausible(model: &ThermalModel) -> Result<(), String> {
    // A second after, heat is still on its way to the shell, and a fit to noise may go either way.
    let ahead = [(1, -MOST_WARMING_CELSIUS_PER_W), (THERMAL_HORIZON_S, 0.0)];
    for (ahead_s, least_warming) in ahead.map(|(s, least)| (s as f64, least)) {
        for steady in TRIED_CELSIUS {
            let cool = model.predict_celsius(&[steady; THERMAL_WINDOW], 0.0, ahead_s);
            // NaN is within nothing.
            if !(-MOST_DRIFT_CELSIUS..=MOST_DRIFT_CELSIUS).contains(&(cool - steady)) {
                return Err(format!(
                    "a shell that was at {steady} °C for {THERMAL_WINDOW} s is predicted at \
                     {cool:.1} °C {ahead_s} s later without any power: check units and order of the \
                     coefficients"
                ));
            }
        }
        let warming = model.power_c_per_w + model.time_power_c_per_ws * ahead_s;
        if !(least_warming..=MOST_WARMING_CELSIUS_PER_W).contains(&warming) {
            return Err(format!(
                "a watt more is predicted to change the shell by {warming} °C within {ahead_s} s; \
                 {least_warming} to {MOST_WARMING_CELSIUS_PER_W} are possible: check units and \
                 signs of power_c_per_w and time_power_c_per_ws"
            ));
        }
    }
    Ok(())
}

/// A model as JSON.
fn fitted(path: &Path) -> Result<Thermal> {
    let bad = |why: String| BadInput(format!("{}: {why}", path.display()));
    let length = std::fs::metadata(path).map_err(|e| bad(format!("cannot be read: {e}")))?.len();
    if length > MOST_BYTES {
        return Err(bad(format!("{length} bytes are too many for a fitted thermal model")).into());
    }
    let text = std::fs::read_to_string(path).map_err(|e| bad(format!("cannot be read: {e}")))?;
    let fitted: Fitted = serde_json::from_str(&text)
        .map_err(|e| bad(format!("is no fitted thermal model: {e}; see docs/thermal.md")))?;
    let model = fitted.checked().map_err(bad)?;
    Ok(Thermal { model, accuracy: None })
}
