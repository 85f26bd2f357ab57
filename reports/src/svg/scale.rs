//! Mapping of values to positions, with round ticks.

/// A value axis.
#[derive(Clone, Debug)]
pub(crate) struct Scale {
    /// Name and unit.
    pub(crate) label: String,
    lo: f64,
    hi: f64,
    log: bool,
}

/// About this many ticks are aimed at.
const TICKS: f64 = 5.0;

impl Scale {
    /// A linear scale whose ends are the ticks around `lo..hi`.
    pub(crate) fn linear(label: impl Into<String>, lo: f64, hi: f64) -> Self {
        let (lo, hi) = sane(lo, hi);
        let step = step(lo, hi);
        Scale {
            label: label.into(),
            lo: (lo / step).floor() * step,
            hi: (hi / step).ceil() * step,
            log: false,
        }
    }

    /// A linear scale with exactly these ends.
    pub(crate) fn exact(label: impl Into<String>, lo: f64, hi: f64) -> Self {
        let (lo, hi) = sane(lo, hi);
        Scale { label: label.into(), lo, hi, log: false }
    }

    /// A logarithmic scale, a little wider than `lo..hi`; linear if a value is not positive.
    pub(crate) fn log(label: impl Into<String>, lo: f64, hi: f64) -> Self {
        if !(lo > 0.0 && hi.is_finite()) {
            return Scale::linear(label, lo, hi);
        }
        Scale { label: label.into(), lo: lo / 1.1, hi: hi.max(lo * 1.2) * 1.1, log: true }
    }

    /// Position of `value` in 0..=1; values outside the ends go to the nearer end.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let t = if self.log {
            (value / self.lo).ln() / (self.hi / self.lo).ln()
        } else {
            (value - self.lo) / (self.hi - self.lo)
        };
        // NaN (a negative value on a log scale) goes to the start.
        if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) }
    }

    /// Lower end.
    pub(crate) fn lo(&self) -> f64 {
        self.lo
    }

    /// Upper end.
    pub(crate) fn hi(&self) -> f64 {
        self.hi
    }

    /// Round values within the ends and their labels.
    pub(crate) fn ticks(&self) -> Vec<(f64, String)> {
        let values = if self.log { self.log_ticks() } else { linear_ticks(self.lo, self.hi) };
        values.into_iter().map(|v| (v, label(v))).collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.lo.log10().floor() as i32)..=(self.hi.log10().ceil() as i32);
        // The densest series that is not too dense.
        for digits in [
            &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0][..],
            &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0],
            &[1.0, 2.0, 5.0],
            &[1.0, 3.0],
            &[1.0],
        ] {
            let ticks: Vec<f64> = decades
                .clone()
                .flat_map(|d| digits.iter().map(move |m| m * 10f64.powi(d)))
                .filter(|v| (self.lo..=self.hi).contains(v))
                .collect();
            if ticks.len() <= 7 && ticks.len() >= 2 {
                return ticks;
            }
        }
        linear_ticks(self.lo, self.hi)
    }
}

/// Ends that can be divided by their distance, which must not overflow.
fn sane(lo: f64, hi: f64) -> (f64, f64) {
    const LARGEST: f64 = 1e300;
    let (lo, hi) = (lo.clamp(-LARGEST, LARGEST), hi.clamp(-LARGEST, LARGEST));
    match (lo.is_finite() && hi.is_finite(), hi > lo) {
        (true, true) => (lo, hi),
        // Wide enough to differ from `lo` at any magnitude.
        (true, false) => (lo - (lo.abs() * 0.1).max(0.5), lo + (lo.abs() * 0.1).max(0.5)),
        _ => (0.0, 1.0),
    }
}

/// 1, 2 or 5 times a power of ten, so that about [`TICKS`] steps fit.
fn step(lo: f64, hi: f64) -> f64 {
    let raw = (hi - lo) / TICKS;
    let magnitude = 10f64.powf(raw.log10().floor());
    let factor = match raw / magnitude {
        f if f < 1.5 => 1.0,
        f if f < 3.5 => 2.0,
        f if f < 7.5 => 5.0,
        _ => 10.0,
    };
    factor * magnitude
}

fn linear_ticks(lo: f64, hi: f64) -> Vec<f64> {
    let step = step(lo, hi);
    let first = (lo / step - 1e-9).ceil();
    let count = ((hi / step + 1e-9).floor() - first).clamp(0.0, 20.0) as u32;
    (0..=count).map(|i| (first + f64::from(i)) * step).collect()
}

fn label(value: f64) -> String {
    let magnitude = value.abs();
    let text = match magnitude {
        m if m >= 1e9 => return format!("{value:.0e}"),
        m if m >= 1e6 => return format!("{}M", label(value / 1e6)),
        m if m >= 1e4 => return format!("{}k", label(value / 1e3)),
        0.0 => return "0".to_owned(),
        m if m >= 100.0 => format!("{value:.0}"),
        m if m >= 1.0 => format!("{value:.2}"),
        m if m >= 1e-3 => format!("{value:.4}"),
        _ => return format!("{value:.0e}"),
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn round_ticks() {
        let scale = Scale::linear("", 0.3, 9.7);
        let labels: Vec<String> = scale.ticks().into_iter().map(|(_, l)| l).collect();
        assert_eq!(labels, ["0", "2", "4", "6", "8", "10"]);
        let scale = Scale::log("", 1.0, 900.0);
        let labels: Vec<String> = scale.ticks().into_iter().map(|(_, l)| l).collect();
        assert_eq!(labels, ["1", "3", "10", "30", "100", "300"]);
    }

    proptest! {
        #[test]
        fn any_range_gives_a_few_ticks_inside(lo in any::<f64>(), hi in any::<f64>()) {
            for scale in [Scale::linear("", lo, hi), Scale::exact("", lo, hi)] {
                let ticks = scale.ticks();
                prop_assert!(ticks.len() <= 21);
                prop_assert!(ticks.iter().all(|(v, label)| v.is_finite() && label.len() < 12));
                prop_assert!((0.0..=1.0).contains(&scale.position(lo)));
            }
        }

        #[test]
        fn order_is_kept(lo in 1e-3..1e3f64, span in 1e-3..1e3f64, t in 0.0..1.0f64) {
            for scale in [Scale::linear("", lo, lo + span), Scale::log("", lo, lo + span)] {
                let middle = scale.position(lo + t * span);
                prop_assert!(scale.position(lo) <= middle + 1e-12);
                prop_assert!(middle <= scale.position(lo + span) + 1e-12);
                prop_assert!(scale.ticks().len() >= 2, "{:?}", scale);
            }
        }
    }
}
