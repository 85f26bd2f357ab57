//! Decides which temperature readings are believed.

use crate::temperature::MilliCelsius;

/// Consecutive bad readings after which the sensor counts as failed, and consecutive good ones
/// after which a failed sensor is believed again.
pub const TOLERATED: u8 = 3;
/// Largest believable change between two readings a second apart. A shell changes by tenths of a
/// degree; junction zones, which boards report instead, by several degrees.
pub const MAX_STEP: MilliCelsius = MilliCelsius(10_000);

/// Plausibility filter in front of the thermal controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SensorGuard {
    last_good: Option<MilliCelsius>,
    /// A reading that was too far from the last good one: believed once [`TOLERATED`] readings
    /// agree with it.
    doubted: Option<MilliCelsius>,
    bad_run: u8,
    good_run: u8,
    failed: bool,
}

impl SensorGuard {
    /// Takes a reading (`None`: reading failed) and returns the temperature to use: the reading
    /// if it is believed, the last believed one for a few readings otherwise, `None` if the
    /// sensor has failed.
    pub fn accept(&mut self, reading: Option<MilliCelsius>) -> Option<MilliCelsius> {
        let plausible = reading.filter(|t| t.is_plausible());
        let near = |a: MilliCelsius, b: MilliCelsius| {
            a.0.saturating_sub(b.0).saturating_abs() <= MAX_STEP.0
        };
        let good = match (plausible, self.last_good) {
            (Some(t), Some(last)) => near(t, last),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if good {
            self.bad_run = 0;
            self.good_run = self.good_run.saturating_add(1);
            self.doubted = None;
            self.last_good = plausible;
            if self.good_run >= TOLERATED {
                self.failed = false;
            }
        } else {
            let agrees = matches!((plausible, self.doubted), (Some(t), Some(d)) if near(t, d));
            self.good_run = if agrees {
                self.good_run.saturating_add(1)
            } else {
                u8::from(plausible.is_some())
            };
            self.bad_run = self.bad_run.saturating_add(1);
            self.doubted = plausible;
            if self.bad_run >= TOLERATED {
                if self.good_run >= TOLERATED {
                    // The jump was real.
                    self.last_good = plausible;
                    self.doubted = None;
                    self.bad_run = 0;
                    self.failed = false;
                } else {
                    self.failed = true;
                }
            }
        }
        self.temperature()
    }

    /// The temperature to use, as of the last reading.
    pub fn temperature(&self) -> Option<MilliCelsius> {
        if self.failed {
            None
        } else {
            self.last_good
        }
    }

    /// Whether the last reading was believed.
    pub fn is_good(&self) -> bool {
        !self.failed && self.bad_run == 0 && self.last_good.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: MilliCelsius = MilliCelsius(38_000);

    fn guard() -> SensorGuard {
        let mut guard = SensorGuard::default();
        assert_eq!(guard.accept(Some(GOOD)), Some(GOOD));
        guard
    }

    #[test]
    fn invalid_readings_are_bridged_then_fail() {
        for invalid in [
            None,
            Some(MilliCelsius(-273_150)),
            Some(MilliCelsius(-256_000)),
            Some(MilliCelsius(i32::MAX)),
        ] {
            let mut guard = guard();
            assert_eq!(guard.accept(invalid), Some(GOOD));
            assert_eq!(guard.accept(invalid), Some(GOOD));
            assert_eq!(guard.accept(invalid), None);
            // Believed again only after as many good readings.
            assert_eq!(guard.accept(Some(GOOD)), None);
            assert_eq!(guard.accept(Some(GOOD)), None);
            assert_eq!(guard.accept(Some(GOOD)), Some(GOOD));
        }
    }

    #[test]
    fn a_spike_is_ignored_and_a_lasting_jump_believed() {
        let mut spiky = guard();
        assert_eq!(spiky.accept(Some(MilliCelsius(85_000))), Some(GOOD));
        assert_eq!(spiky.accept(Some(GOOD)), Some(GOOD));
        let mut jumped = guard();
        let hot = MilliCelsius(60_000);
        assert_eq!(jumped.accept(Some(hot)), Some(GOOD));
        assert_eq!(jumped.accept(Some(hot)), Some(GOOD));
        assert_eq!(jumped.accept(Some(hot)), Some(hot));
    }

    #[test]
    fn a_sensor_that_never_worked_has_no_temperature() {
        let mut guard = SensorGuard::default();
        for _ in 0..5 {
            assert_eq!(guard.accept(None), None);
        }
    }
}
