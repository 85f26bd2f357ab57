//! Statistics of predicted against measured values.

use enerinfer_artifacts::record::ScatterPoint;

/// A value of a held-out row: predicted and measured, in one unit.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    /// Measured.
    pub(crate) measured: f64,
    /// Predicted.
    pub(crate) predicted: f64,
}

impl Pair {
    /// Throughput of a row, tok/s.
    pub(crate) fn throughput(row: &ScatterPoint) -> Option<Pair> {
        Pair::new(row.measured_tok_per_s, row.predicted_tok_per_s)
    }

    /// Power of a row, W.
    pub(crate) fn power(row: &ScatterPoint) -> Option<Pair> {
        Pair::new(row.measured_w?, row.predicted_w?)
    }

    /// Efficiency of a row, tok/J.
    pub(crate) fn efficiency(row: &ScatterPoint) -> Option<Pair> {
        let (speed, power) = (Pair::throughput(row)?, Pair::power(row)?);
        Pair::new(speed.measured / power.measured, speed.predicted / power.predicted)
    }

    /// `None` unless both are finite and the measured one is positive, as percentages need.
    fn new(measured: f64, predicted: f64) -> Option<Pair> {
        (measured.is_finite() && predicted.is_finite() && measured > 0.0)
            .then_some(Pair { measured, predicted })
    }

    /// Signed error relative to the measured value, %.
    pub(crate) fn error_percent(self) -> f64 {
        (self.predicted - self.measured) / self.measured * 100.0
    }
}

/// Mean of the values; `None` without any.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0u32), |(sum, count), v| (sum + v, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// Mean absolute percentage error; `None` without pairs.
pub(crate) fn mape_percent(pairs: impl Iterator<Item = Pair>) -> Option<f64> {
    mean(pairs.map(|p| p.error_percent().abs()))
}

/// Smallest and largest finite value.
pub(crate) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|v| v.is_finite()).fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((lo, hi)) => Some((v.min(lo), v.max(hi))),
    })
}
