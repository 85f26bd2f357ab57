//! Cumulative energy counters (RAPL, NVML, hwmon) that wrap.

/// Turns readings of a cumulative counter into non-negative increments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyCounter {
    last: Option<f64>,
}

/// What a reading means.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Increment {
    /// The first reading: nothing to compare with.
    First,
    /// Energy since the last reading, in the counter's unit.
    Plain(f64),
    /// The same across a wrap of known range.
    Wrapped(f64),
    /// The counter fell and its range is unknown: the increment is not known.
    Lost,
}

impl EnergyCounter {
    /// Takes a reading; `range` is the value at which the counter wraps, if known.
    pub fn read(&mut self, value: f64, range: Option<f64>) -> Increment {
        let Some(last) = self.last.replace(value) else { return Increment::First };
        if value >= last {
            return Increment::Plain(value - last);
        }
        match range {
            Some(r) if r >= last && r >= value => Increment::Wrapped(r - last + value),
            _ => Increment::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_fall_without_range_is_lost_not_negative() {
        let mut c = EnergyCounter::default();
        assert_eq!(c.read(4e9, None), Increment::First);
        assert_eq!(c.read(1e4, None), Increment::Lost);
        assert_eq!(c.read(262143000000.0, Some(262143328850.0)), Increment::Plain(262142990000.0));
        assert_eq!(c.read(500000.0, Some(262143328850.0)), Increment::Wrapped(828850.0));
    }

    proptest! {
        #[test]
        fn increments_are_never_negative(
            v in proptest::collection::vec((0f64..1e12, proptest::option::of(0f64..1e12)), 1..50)
        ) {
            let mut c = EnergyCounter::default();
            for (value, range) in v {
                if let Increment::Plain(d) | Increment::Wrapped(d) = c.read(value, range) {
                    prop_assert!(d >= 0.0);
                }
            }
        }
    }
}
