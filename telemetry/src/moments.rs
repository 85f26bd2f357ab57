//! Streaming mean and sample standard deviation.

/// Mean (Kahan sum) and variance (Welford) of a stream, in constant memory.
///
/// The same two recurrences as pandas' group mean and variance, so that results agree to
/// rounding. An infinite value makes the mean infinite and the deviation undefined.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    n: u64,
    sum: f64,
    compensation: f64,
    mean: f64,
    m2: f64,
}

impl Moments {
    /// Adds a value; NaN is skipped.
    #[inline]
    pub fn add(&mut self, v: f64) {
        if v.is_nan() {
            return;
        }
        self.n += 1;
        let y = v - self.compensation;
        let t = self.sum + y;
        self.compensation = (t - self.sum) - y;
        if self.compensation.is_nan() {
            self.compensation = 0.0;
        }
        self.sum = t;
        let delta = v - self.mean;
        self.mean += delta / self.n as f64;
        self.m2 += delta * (v - self.mean);
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        self.n
    }

    /// Mean; NaN without values.
    pub fn mean(&self) -> f64 {
        if self.n == 0 { f64::NAN } else { self.sum / self.n as f64 }
    }

    /// Sample standard deviation (divisor n − 1); NaN below two values.
    pub fn std(&self) -> f64 {
        if self.n < 2 { f64::NAN } else { (self.m2 / (self.n - 1) as f64).sqrt() }
    }

    /// Both streams together.
    pub fn merged(&self, other: &Moments) -> Moments {
        if self.n == 0 || other.n == 0 {
            return if self.n == 0 { *other } else { *self };
        }
        let n = self.n + other.n;
        let delta = other.mean - self.mean;
        let (a, b) = (self.n as f64, other.n as f64);
        Moments {
            n,
            sum: self.sum + other.sum,
            compensation: self.compensation + other.compensation,
            mean: self.mean + delta * b / (a + b),
            m2: self.m2 + other.m2 + delta * delta * a * b / (a + b),
        }
    }

    /// All values at once.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut m = Moments::default();
        values.into_iter().for_each(|v| m.add(v));
        m
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn infinity_spoils_the_deviation_only() {
        let m = Moments::of([1.0, f64::INFINITY, 2.0]);
        assert_eq!(m.mean(), f64::INFINITY);
        assert!(m.std().is_nan());
    }

    #[test]
    fn a_constant_has_no_deviation() {
        assert_eq!(Moments::of([31421.1; 7]).std(), 0.0);
        assert!(Moments::of([1.0]).std().is_nan());
        assert!(Moments::default().mean().is_nan());
    }

    proptest! {
        #[test]
        fn equals_the_two_pass_formula(v in proptest::collection::vec(-1e6f64..1e6, 2..200)) {
            let m = Moments::of(v.iter().copied());
            let mean = v.iter().sum::<f64>() / v.len() as f64;
            let var = v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (v.len() - 1) as f64;
            prop_assert!((m.mean() - mean).abs() <= 1e-9 * (1.0 + mean.abs()));
            prop_assert!((m.std() - var.sqrt()).abs() <= 1e-9 * (1.0 + var.sqrt()));
            let (a, b) = v.split_at(v.len() / 3);
            let both = Moments::of(a.iter().copied()).merged(&Moments::of(b.iter().copied()));
            prop_assert!((both.mean() - m.mean()).abs() <= 1e-9 * (1.0 + mean.abs()));
            prop_assert!((both.std() - m.std()).abs() <= 1e-9 * (1.0 + var.sqrt()));
        }
    }
}
