//! Fixed-point form of the linear shell-temperature model `f(T, P_acc, t)` (EnerInfer §4.4).

use crate::temperature::MilliCelsius;
use crate::units::MicroWatt;
use crate::window::{Window, WINDOW};

/// Coefficients of
/// `f = intercept + Σ wᵢ·Tᵢ + a·P + t·(c + d·P + Σ vᵢ·Tᵢ)`.
///
/// `d` and `v` are zero in the paper's additive form. For a fixed window and power `f` is a
/// straight line in `t`, so the time at which it reaches a threshold has a closed form.
///
/// Temperature-like coefficients are in µ°C, weights of temperatures in units of 2⁻²⁴: over the
/// plausible range and a horizon of 21 s the rounding is below 0.01 °C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThermalModel {
    /// Intercept, µ°C.
    pub intercept_uc: i64,
    /// Weight of each temperature of the window, oldest first, × 2²⁴.
    pub history_q24: [i32; WINDOW],
    /// µ°C per W of accelerator power.
    pub power_uc_per_w: i32,
    /// µ°C per second ahead.
    pub time_uc_per_s: i32,
    /// µ°C per W and second.
    pub time_power_uc_per_ws: i32,
    /// Weight per second ahead of each temperature of the window, oldest first, × 2²⁴.
    pub time_history_q24: [i32; WINDOW],
}

/// `Σ weightᵢ·Tᵢ` in µ°C. With weights of 32 bits and plausible temperatures the sum of products
/// is below 2⁵³, so nothing here can overflow for values that passed the sensor guard.
fn weigh(weights_q24: &[i32; WINDOW], temperatures: impl Iterator<Item = MilliCelsius>) -> i64 {
    let sum = weights_q24
        .iter()
        .zip(temperatures)
        .fold(0i64, |sum, (w, t)| sum.saturating_add(i64::from(*w).saturating_mul(i64::from(t.0))));
    sum.saturating_mul(125) >> 21 // × 1000 µ°C per m°C / 2²⁴
}

/// `coefficient · power`, from µ°C/W and µW to µ°C, without a division: those of 64 bits take a
/// hundred instructions on a microcontroller. Power is rounded to 2⁻²⁰ W.
fn per_watt(coefficient: i64, power: MicroWatt) -> i64 {
    const W_PER_UW_Q50: u64 = 0x431b_de83; // 2⁵⁰ / 10⁶
    let watts_q20 = (u64::from(power.0) * W_PER_UW_Q50) >> 30;
    coefficient.saturating_mul(watts_q20 as i64) >> 20
}

impl ThermalModel {
    /// A model that expects the present temperature to stay: what is used when no thermal model
    /// was trained. Control is then by the threshold alone.
    pub const PERSISTENCE: ThermalModel = {
        let mut history_q24 = [0; WINDOW];
        history_q24[WINDOW - 1] = 1 << 24;
        ThermalModel {
            intercept_uc: 0,
            history_q24,
            power_uc_per_w: 0,
            time_uc_per_s: 0,
            time_power_uc_per_ws: 0,
            time_history_q24: [0; WINDOW],
        }
    };

    fn forecast_of(&self, temperatures: impl Iterator<Item = MilliCelsius> + Clone) -> Forecast {
        Forecast {
            level_uc: self
                .intercept_uc
                .saturating_add(weigh(&self.history_q24, temperatures.clone())),
            slope_uc_per_s: i64::from(self.time_uc_per_s)
                .saturating_add(weigh(&self.time_history_q24, temperatures)),
            power_uc_per_w: self.power_uc_per_w,
            time_power_uc_per_ws: self.time_power_uc_per_ws,
        }
    }

    /// Evaluates what depends on the window: 40 multiplications.
    pub fn forecast(&self, window: &Window) -> Forecast {
        let mut samples = [MilliCelsius(0); WINDOW];
        for (slot, t) in samples.iter_mut().zip(window.iter()) {
            *slot = t;
        }
        self.forecast_of(samples.iter().copied())
    }

    /// Forecast from a temperature that has been constant over the window.
    pub fn forecast_steady(&self, t: MilliCelsius) -> Forecast {
        self.forecast_of(core::iter::repeat(t).take(WINDOW))
    }

    /// Rise over a horizon per watt, µ°C/W.
    pub fn gain_uc_per_w(&self, horizon_ms: u32) -> i64 {
        let slope = i64::from(self.time_power_uc_per_ws).saturating_mul(i64::from(horizon_ms));
        i64::from(self.power_uc_per_w).saturating_add(slope / 1_000)
    }

    /// Accelerator power that keeps a steady temperature `t` steady, by the model's own account,
    /// in µW: the solution of `f(T…T, P, horizon) = T`. `None` if the model sees no effect of
    /// power. Negative if the device would be warmer than `t` even without load.
    pub fn sustainable_uw(&self, t: MilliCelsius, horizon_ms: u32) -> Option<i64> {
        let gain_uc_per_w = self.gain_uc_per_w(horizon_ms);
        if gain_uc_per_w <= 0 {
            return None;
        }
        let unloaded = self.forecast_steady(t).line(MicroWatt(0)).at_uc(horizon_ms);
        let rise = (i64::from(t.0).saturating_mul(1_000)).saturating_sub(unloaded);
        Some(rise.saturating_mul(1_000_000) / gain_uc_per_w.max(1))
    }
}

/// The model with the window filled in; power and time are still open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    level_uc: i64,
    slope_uc_per_s: i64,
    power_uc_per_w: i32,
    time_power_uc_per_ws: i32,
}

impl Forecast {
    /// Fills in the accelerator power.
    pub fn line(&self, power: MicroWatt) -> Line {
        Line {
            level_uc: self.level_uc.saturating_add(per_watt(self.power_uc_per_w.into(), power)),
            slope_uc_per_s: self
                .slope_uc_per_s
                .saturating_add(per_watt(self.time_power_uc_per_ws.into(), power)),
        }
    }
}

/// Predicted temperature as a line over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    level_uc: i64,
    slope_uc_per_s: i64,
}

impl Line {
    fn at_uc(&self, ms: u32) -> i64 {
        self.level_uc.saturating_add(self.slope_uc_per_s.saturating_mul(i64::from(ms)) / 1_000)
    }

    /// Temperature `ms` from now.
    pub fn at(&self, ms: u32) -> MilliCelsius {
        let milli = self.at_uc(ms) / 1_000;
        MilliCelsius(milli.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32)
    }

    /// Whether the line is at `threshold` or above it, or gets there in less than `horizon_ms`:
    /// whether [`crossing_ms`](Self::crossing_ms) gives a time, without the division.
    pub fn reaches(&self, threshold: MilliCelsius, horizon_ms: u32) -> bool {
        let gap = self.gap_uc(threshold);
        gap <= 0
            || gap.saturating_mul(1_000) < self.slope_uc_per_s.saturating_mul(i64::from(horizon_ms))
    }

    fn gap_uc(&self, threshold: MilliCelsius) -> i64 {
        i64::from(threshold.0).saturating_mul(1_000).saturating_sub(self.level_uc)
    }

    /// `t'`: ms until the line reaches `threshold`, at most `horizon_ms`; `None` if it stays
    /// below. Zero if it is there already.
    pub fn crossing_ms(&self, threshold: MilliCelsius, horizon_ms: u32) -> Option<u32> {
        if !self.reaches(threshold, horizon_ms) {
            return None;
        }
        let gap = self.gap_uc(threshold).max(0);
        let ms = gap.saturating_mul(1_000) / self.slope_uc_per_s.max(1);
        u32::try_from(ms).ok().filter(|ms| *ms < horizon_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn additive() -> ThermalModel {
        ThermalModel {
            intercept_uc: 1_000_000,
            power_uc_per_w: 100_000,
            time_uc_per_s: 20_000,
            ..ThermalModel::PERSISTENCE
        }
    }

    #[test]
    fn persistence_keeps_the_newest_temperature() {
        let mut window = Window::filled(MilliCelsius(30_000));
        window.push(MilliCelsius(41_234));
        let line = ThermalModel::PERSISTENCE.forecast(&window).line(MicroWatt(9_000_000));
        assert_eq!(line.at(21_000), MilliCelsius(41_234));
        assert_eq!(line.crossing_ms(MilliCelsius(42_000), 21_000), None);
        assert_eq!(line.crossing_ms(MilliCelsius(41_000), 21_000), Some(0));
    }

    #[test]
    fn crossing_time_is_where_the_line_meets_the_threshold() {
        // 40 + 1 + 0.1·5 = 41.5 °C now, 0.02 °C/s: 42 °C after 25 s.
        let line = additive().forecast_steady(MilliCelsius(40_000)).line(MicroWatt(5_000_000));
        assert_eq!(line.at(0), MilliCelsius(41_500));
        assert_eq!(line.crossing_ms(MilliCelsius(42_000), 60_000), Some(25_000));
        assert_eq!(line.crossing_ms(MilliCelsius(42_000), 21_000), None);
    }

    #[test]
    fn sustainable_power_keeps_a_steady_temperature() {
        let mut model = additive();
        model.intercept_uc = -800_000; // cools by 0.8 - 0.42 °C in 21 s without load
        let t = MilliCelsius(40_000);
        assert_eq!(model.sustainable_uw(t, 21_000), Some(3_800_000));
        assert_eq!(ThermalModel::PERSISTENCE.sustainable_uw(t, 1), None);
        // Warms by 1 °C without load.
        assert_eq!(additive().sustainable_uw(t, 0), Some(-10_000_000));
    }

    #[test]
    fn extreme_coefficients_saturate() {
        let model = ThermalModel {
            intercept_uc: i64::MAX,
            history_q24: [i32::MAX; WINDOW],
            power_uc_per_w: i32::MAX,
            time_uc_per_s: i32::MAX,
            time_power_uc_per_ws: i32::MAX,
            time_history_q24: [i32::MAX; WINDOW],
        };
        let line = model.forecast_steady(MilliCelsius(i32::MAX)).line(MicroWatt(u32::MAX));
        assert_eq!(line.at(u32::MAX), MilliCelsius(i32::MAX));
    }
}
