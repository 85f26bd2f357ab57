//! Targets and weights as fixed-point numbers, so that sums are exact in any order.
//!
//! A tree compares sums over subsets of rows. In floating point such sums depend on the order of
//! the rows, and equally good splits differ in the last bit; in integers they do not. A [`Sum`]
//! is two 64-bit words: the weight with the number of rows above it, and the weighted target.

use std::ops::{AddAssign, Sub};

use crate::LearnError;

/// Most rows of one fit.
pub(crate) const MAX_ROWS: usize = 1 << 22;

/// Exact sum over a set of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    /// Number of rows (high bits) and their total weight (low bits).
    packed: u64,
    /// Weighted sum of targets.
    target: i64,
}

impl Sum {
    /// Whether no row was added.
    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.packed == 0
    }
}

impl AddAssign for Sum {
    #[inline(always)]
    fn add_assign(&mut self, other: Sum) {
        self.packed = self.packed.wrapping_add(other.packed);
        self.target = self.target.wrapping_add(other.target);
    }
}

impl Sub for Sum {
    type Output = Sum;
    #[inline(always)]
    fn sub(self, other: Sum) -> Sum {
        Sum {
            packed: self.packed.wrapping_sub(other.packed),
            target: self.target.wrapping_sub(other.target),
        }
    }
}

/// How the words of a [`Sum`] are read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Bits of the weight.
    weight_bits: u32,
    /// Fixed-point units per unit of the target; a power of two.
    target_scale: f64,
    /// Its reciprocal, which is exact.
    target_unit: f64,
    /// Difference of two means (in fixed-point units) that rounding alone can make.
    resolution: f64,
    /// Weight of the pull toward zero (L2 regularisation of leaf values).
    l2: f64,
}

impl Scale {
    #[inline(always)]
    pub(crate) fn rows(&self, sum: Sum) -> u64 {
        sum.packed >> self.weight_bits
    }

    #[inline(always)]
    pub(crate) fn weight(&self, sum: Sum) -> f64 {
        // At most 62 bits, so the signed conversion (one instruction) is right.
        (sum.packed & ((1 << self.weight_bits) - 1)) as i64 as f64
    }

    #[inline(always)]
    pub(crate) fn target(&self, sum: Sum) -> f64 {
        sum.target as f64
    }

    /// Weighted mean of the target, shrunk toward zero by L2.
    pub(crate) fn mean(&self, sum: Sum) -> f64 {
        self.target(sum) / (self.weight(sum) + self.l2) * self.target_unit
    }

    /// How much splitting a set into these two lowers the squared error, in units that are the
    /// same for all ways to split one set.
    ///
    /// The order of operations gives the same bits when the two change places, so that two
    /// features that separate the same rows tie exactly.
    #[inline(always)]
    pub(crate) fn separation(&self, a: Sum, b: Sum) -> f64 {
        let (wa, wb) = (self.weight(a), self.weight(b));
        if self.l2 > 0.0 {
            return self.gain(a, b);
        }
        let (sa, sb) = (self.target(a), self.target(b));
        // (mean_a − mean_b)² · w_a · w_b: the gain times w_a + w_b, without cancellation.
        let difference = sa * wb - sb * wa;
        difference * difference / (wa * wb)
    }

    /// How much splitting a set into these two lowers the (regularised) squared error, in units
    /// that are the same within one tree.
    pub(crate) fn gain(&self, a: Sum, b: Sum) -> f64 {
        let (wa, wb) = (self.weight(a), self.weight(b));
        let (sa, sb) = (self.target(a), self.target(b));
        if self.l2 > 0.0 {
            let both = sa + sb;
            return (sa * sa / (wa + self.l2) + sb * sb / (wb + self.l2))
                - both * both / (wa + wb + self.l2);
        }
        self.separation(a, b) / (wa + wb)
    }

    /// Whether the means of two sets differ by more than rounding explains.
    pub(crate) fn means_differ(&self, a: Sum, b: Sum) -> bool {
        let (a, b) = (self.target(a) / self.weight(a), self.target(b) / self.weight(b));
        (a - b).abs() > self.resolution + f64::EPSILON * (a.abs() + b.abs())
    }
}

/// Rows of one fit in fixed point.
pub(crate) struct FixedRows {
    pub(crate) scale: Scale,
    mean_weight: f64,
    /// Rows of the matrix with a positive weight, in the order given.
    pub(crate) rows: Vec<u32>,
    /// Where each of them stands among the rows given.
    pub(crate) positions: Vec<usize>,
    /// Weight and weighted target of each.
    units: Vec<(u64, i64)>,
}

/// Largest power of two that is at most `x` (positive, normal).
fn power_of_two_below(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & (0x7ff << 52))
}

/// Most times that a row may be drawn in all (the bootstrap draws at most as many rows as exist).
fn total_bits(rows: usize) -> u32 {
    usize::BITS - rows.leading_zeros()
}

impl FixedRows {
    /// `y` and `w` are indexed like `rows`. Rows of weight zero are left out.
    pub(crate) fn new(rows: &[u32], y: &[f64], w: Option<&[f64]>) -> Result<Self, LearnError> {
        if rows.is_empty() {
            return Err(LearnError::NoRows);
        }
        if rows.len() > MAX_ROWS {
            return Err(LearnError::TooManyRows { rows: rows.len(), max: MAX_ROWS });
        }
        for (what, length) in [("the target", Some(y.len())), ("the weights", w.map(<[f64]>::len))]
        {
            if let Some(found) = length.filter(|&l| l != rows.len()) {
                let what = what.to_owned();
                return Err(LearnError::Length { what, found, expected: rows.len() });
            }
        }
        let weight = |i: usize| w.map_or(1.0, |w| w[i]);
        let mut max_w = 0.0f64;
        for (i, &row) in rows.iter().enumerate() {
            let (value, w) = (y[i], weight(i));
            if !value.is_finite() {
                let rule = "must be finite";
                return Err(LearnError::Value { what: "target", row, value, rule });
            }
            if !(w >= 0.0 && w.is_finite() && (w * value).is_finite()) {
                let rule = "must be finite, not negative, and not overflow with the target";
                return Err(LearnError::Value { what: "weight", row, value: w, rule });
            }
            max_w = max_w.max(w);
        }
        if max_w < f64::MIN_POSITIVE {
            return Err(LearnError::Value {
                what: "weight",
                row: rows[0],
                value: max_w,
                rule: "some row must have a positive weight",
            });
        }

        let bits = total_bits(rows.len());
        let weight_bits = 64 - bits;
        // Weights of all draws together stay below 2^weight_bits.
        let weight_scale = power_of_two_below(2f64.powi((weight_bits - bits - 1) as i32) / max_w);
        if !weight_scale.is_normal() {
            let rule = "the weights are too small: change their unit";
            return Err(LearnError::Value { what: "weight", row: rows[0], value: max_w, rule });
        }
        let kept: Vec<usize> = (0..rows.len()).filter(|&i| weight(i) > 0.0).collect();
        let units: Vec<(u64, i64)> =
            kept.iter().map(|&i| ((weight(i) * weight_scale).round().max(1.0) as u64, 0)).collect();
        let lightest = units.iter().map(|u| u.0).min().unwrap_or(1);
        let total: u64 = units.iter().map(|u| u.0).sum();
        let mut fixed = FixedRows {
            scale: Scale {
                weight_bits,
                target_scale: 1.0,
                target_unit: 1.0,
                resolution: 1.0 / lightest as f64,
                l2: 0.0,
            },
            mean_weight: total as f64 / units.len() as f64,
            rows: kept.iter().map(|&i| rows[i]).collect(),
            positions: kept.clone(),
            units,
        };
        fixed.retarget(|i| y[kept[i]])?;
        Ok(fixed)
    }

    /// Replaces the target; `y(i)` belongs to `rows[i]` and is finite.
    pub(crate) fn retarget(&mut self, y: impl Fn(usize) -> f64) -> Result<(), LearnError> {
        let bits = total_bits(self.units.len());
        // The target is weighted by the *rounded* weight, so equal targets keep equal means.
        let mut largest = 0.0f64;
        for (i, units) in self.units.iter().enumerate() {
            largest = largest.max((units.0 as f64 * y(i)).abs());
        }
        self.scale.target_scale = if largest < f64::MIN_POSITIVE {
            1.0
        } else {
            // Sums of all draws stay below 2^62.
            power_of_two_below(2f64.powi(61 - bits as i32) / largest)
        };
        if !self.scale.target_scale.is_normal() {
            let rule = "too large or too small for exact sums: change its unit";
            let value = y(0);
            return Err(LearnError::Value { what: "target", row: self.rows[0], value, rule });
        }
        self.scale.target_unit = 1.0 / self.scale.target_scale;
        for (i, units) in self.units.iter_mut().enumerate() {
            let exact = units.0 as f64 * y(i) * self.scale.target_scale;
            // Rounds half away from zero; `round` is a call on x86-64 without SSE4.1.
            units.1 = (exact + 0.5f64.copysign(exact)) as i64;
        }
        Ok(())
    }

    /// Weighted mean of the target over all rows.
    pub(crate) fn mean(&self) -> f64 {
        let mut all = Sum::default();
        (0..self.units.len()).for_each(|i| all += self.sum(i, 1));
        self.scale.mean(all)
    }

    /// Shrinks means toward zero as if `rows` more rows of mean weight and target 0 were there.
    pub(crate) fn set_l2(&mut self, rows: f64) {
        self.scale.l2 = rows * self.mean_weight;
    }

    /// Sum of row `i` drawn `times` times; it counts as one row.
    #[inline(always)]
    pub(crate) fn sum(&self, i: usize, times: u32) -> Sum {
        let (w, t) = self.units[i];
        Sum {
            packed: (1 << self.scale.weight_bits) | (u64::from(times) * w),
            target: i64::from(times) * t,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dyadic_targets_are_exact() {
        let y = [0.5, -3.25, 1024.125];
        let fixed = FixedRows::new(&[0, 1, 2], &y, None).unwrap();
        for (i, &y) in y.iter().enumerate() {
            assert_eq!(fixed.scale.mean(fixed.sum(i, 3)), y);
        }
        let mut all = fixed.sum(0, 1);
        all += fixed.sum(1, 2);
        assert_eq!(fixed.scale.mean(all), (0.5 - 6.5) / 3.0);
        assert_eq!(fixed.scale.rows(all), 2);
    }

    #[test]
    fn unusable_values_are_named_by_row() {
        let error = |y: f64, w: f64| {
            FixedRows::new(&[7, 9], &[1.0, y], Some(&[1.0, w])).map(|_| ()).unwrap_err().to_string()
        };
        assert_eq!(error(f64::NAN, 1.0), "target of row 9 is NaN: must be finite");
        assert!(error(1.0, -1.0).starts_with("weight of row 9 is -1"));
        assert!(error(1.0, f64::INFINITY).starts_with("weight of row 9 is inf"));
        assert!(FixedRows::new(&[0], &[1.0], Some(&[0.0])).is_err());
        assert!(FixedRows::new(&[0], &[], None).is_err());
        assert!(FixedRows::new(&[], &[], None).is_err());
    }

    #[test]
    fn zero_weights_leave_rows_out() {
        let fixed = FixedRows::new(&[4, 5], &[1.0, 2.0], Some(&[0.0, 2.0])).unwrap();
        assert_eq!(fixed.rows, [5]);
    }

    proptest! {
        #[test]
        fn means_are_close_and_sums_never_wrap(
            rows in prop::collection::vec((-1e6f64..1e6, 1e-4f64..10.0, 0u32..4), 1..50),
        ) {
            let y: Vec<f64> = rows.iter().map(|r| r.0).collect();
            let w: Vec<f64> = rows.iter().map(|r| r.1).collect();
            let ids: Vec<u32> = (0..rows.len() as u32).collect();
            let fixed = FixedRows::new(&ids, &y, Some(&w)).unwrap();
            let (mut sum, mut sw, mut swy, mut left) = (Sum::default(), 0.0, 0.0, rows.len() as u32);
            for (i, &(y, w, times)) in rows.iter().enumerate() {
                // As many draws as rows at most.
                let times = times.min(left);
                left -= times;
                if times > 0 {
                    sum += fixed.sum(i, times);
                    sw += w * f64::from(times);
                    swy += w * f64::from(times) * y;
                }
            }
            prop_assume!(sw > 0.0);
            prop_assert!((fixed.scale.mean(sum) - swy / sw).abs() < 1e-6);
        }
    }
}
