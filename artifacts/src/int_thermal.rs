//! Fixed-point form of the thermal model, as the device crate's `ThermalModel` takes it.

use crate::{Error, ThermalModel};

/// Length of the device's temperature window.
pub const THERMAL_WINDOW: usize = 20;

/// Coefficients in µ°C, weights of temperatures × 2²⁴; field by field the device crate's
/// `thermal_model::ThermalModel`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntThermalModel {
    /// Intercept, µ°C.
    pub intercept_uc: i64,
    /// Weight of each temperature, oldest first, × 2²⁴.
    pub history_q24: [i32; THERMAL_WINDOW],
    /// µ°C per W.
    pub power_uc_per_w: i32,
    /// µ°C per s.
    pub time_uc_per_s: i32,
    /// µ°C per W and s.
    pub time_power_uc_per_ws: i32,
    /// Weight per second of each temperature, oldest first, × 2²⁴.
    pub time_history_q24: [i32; THERMAL_WINDOW],
}

fn scaled(name: &str, value: f64, scale: f64) -> Result<i32, Error> {
    let scaled = (value * scale).round();
    if scaled.abs() <= f64::from(i32::MAX) {
        Ok(scaled as i32)
    } else {
        Err(Error::invalid(format!(
            "thermal model: {name} is {value}; the device holds values up to ±{:.0}: \
             check the units of the fit",
            f64::from(i32::MAX) / scale
        )))
    }
}

fn weights(name: &str, values: &[f64]) -> Result<[i32; THERMAL_WINDOW], Error> {
    let mut out = [0; THERMAL_WINDOW];
    if values.len() != THERMAL_WINDOW {
        return Err(Error::invalid(format!(
            "thermal model: {name} has {} weights, the device keeps {THERMAL_WINDOW} temperatures",
            values.len()
        )));
    }
    for (slot, value) in out.iter_mut().zip(values) {
        *slot = scaled(name, *value, f64::from(1 << 24))?;
    }
    Ok(out)
}

impl ThermalModel {
    /// Rounds to the device's fixed point. Refuses windows of another length and coefficients
    /// that do not fit (temperatures of thousands of degrees, not finite).
    pub fn to_int(&self) -> Result<IntThermalModel, Error> {
        if self.intercept_c.abs() > 1e6 || !self.intercept_c.is_finite() {
            return Err(Error::invalid(format!(
                "thermal model: the intercept is {} °C: check the units of the fit",
                self.intercept_c
            )));
        }
        let time_history = if self.time_history.is_empty() {
            [0; THERMAL_WINDOW]
        } else {
            weights("time_history", &self.time_history)?
        };
        Ok(IntThermalModel {
            intercept_uc: (self.intercept_c * 1e6).round() as i64,
            history_q24: weights("history", &self.history)?,
            power_uc_per_w: scaled("power_c_per_w", self.power_c_per_w, 1e6)?,
            time_uc_per_s: scaled("time_c_per_s", self.time_c_per_s, 1e6)?,
            time_power_uc_per_ws: scaled("time_power_c_per_ws", self.time_power_c_per_ws, 1e6)?,
            time_history_q24: time_history,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> ThermalModel {
        ThermalModel {
            window: 20,
            intercept_c: 1.5,
            history: vec![0.05; 20],
            power_c_per_w: 0.1,
            time_c_per_s: -0.25,
            time_power_c_per_ws: 0.0,
            time_history: Vec::new(),
        }
    }

    #[test]
    fn rounds_to_the_documented_scales() {
        let int = model().to_int().unwrap();
        assert_eq!(int.intercept_uc, 1_500_000);
        assert_eq!(int.history_q24, [838_861; 20]);
        assert_eq!(int.power_uc_per_w, 100_000);
        assert_eq!(int.time_uc_per_s, -250_000);
        assert_eq!(int.time_history_q24, [0; 20]);
    }

    #[test]
    fn refuses_what_the_device_cannot_hold() {
        let short = ThermalModel { history: vec![0.05; 19], ..model() };
        let huge = ThermalModel { power_c_per_w: 1e4, ..model() };
        let nan = ThermalModel { time_c_per_s: f64::NAN, ..model() };
        let infinite = ThermalModel { intercept_c: f64::INFINITY, ..model() };
        for (model, word) in
            [(short, "19 weights"), (huge, "power_c_per_w"), (nan, "NaN"), (infinite, "inf")]
        {
            let message = model.to_int().unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }
}
