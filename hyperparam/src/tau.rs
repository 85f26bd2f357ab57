//! Kendall's rank correlation, tau-b (Kendall 1945), by Knight's algorithm (1966).

use crate::Error;
use crate::error::{all_finite, same_length};

/// Why tau-b has no value.
pub const UNDEFINED_REASON: &str = "constant ranking";

/// Kendall's tau-b of two rankings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tau {
    /// Value in [-1, 1]; `None` when one side has no two different values ([`UNDEFINED_REASON`]).
    pub kendall_tau_b: Option<f64>,
}

impl Tau {
    /// Why there is no value.
    pub fn reason(&self) -> Option<&'static str> {
        self.kendall_tau_b.is_none().then_some(UNDEFINED_REASON)
    }
}

/// `tau_b = (C − D) / sqrt((n₀ − n₁)(n₀ − n₂))` with `n₀ = n(n−1)/2` pairs, `n₁`, `n₂` of them tied
/// in `x`, `y`, and `C`, `D` concordant and discordant ones. O(n log n).
///
/// # Errors
///
/// Different lengths, no values, or a value that is not finite (named by index).
pub fn kendall_tau_b(x: &[f64], y: &[f64]) -> Result<Tau, Error> {
    same_length("the two rankings", x.len(), y.len())?;
    all_finite("x", x)?;
    all_finite("y", y)?;

    let mut order: Vec<usize> = (0..x.len()).collect();
    order.sort_by(|&a, &b| x[a].total_cmp_zero(x[b]).then(y[a].total_cmp_zero(y[b])));
    let tied_x = tied_pairs(&order, |a, b| x[a] == x[b]);
    let tied_both = tied_pairs(&order, |a, b| x[a] == x[b] && y[a] == y[b]);

    // Within equal x, y ascends, so every inversion of y is a discordant pair.
    let mut by_y: Vec<f64> = order.iter().map(|&i| y[i]).collect();
    let discordant = count_inversions(&mut by_y, &mut vec![0.0; x.len()]);
    let sorted: Vec<usize> = (0..by_y.len()).collect();
    let tied_y = tied_pairs(&sorted, |a, b| by_y[a] == by_y[b]);

    let n = x.len() as u128;
    let pairs = n * (n - 1) / 2;
    let (left, right) = (pairs - tied_x, pairs - tied_y);
    if left == 0 || right == 0 {
        return Ok(Tau { kendall_tau_b: None });
    }
    // C + D counts the pairs tied in neither.
    let untied = pairs + tied_both - tied_x - tied_y;
    let difference = untied as i128 - 2 * discordant as i128;
    // The product in floating point: it may not fit any integer, and the root of a rounded square
    // is exact, so that a perfect ranking gives exactly 1.
    let tau = difference as f64 / (left as f64 * right as f64).sqrt();
    Ok(Tau { kendall_tau_b: Some(tau.clamp(-1.0, 1.0)) })
}

/// Order of finite numbers in which −0 equals 0, as `==` has it.
trait FiniteOrder {
    fn total_cmp_zero(self, other: Self) -> std::cmp::Ordering;
}

impl FiniteOrder for f64 {
    fn total_cmp_zero(self, other: f64) -> std::cmp::Ordering {
        (self + 0.0).total_cmp(&(other + 0.0))
    }
}

/// Pairs inside runs of equal neighbours.
fn tied_pairs(order: &[usize], equal: impl Fn(usize, usize) -> bool) -> u128 {
    let mut pairs = 0u128;
    let mut run = 0u128;
    for w in order.windows(2) {
        run = if equal(w[0], w[1]) { run + 1 } else { 0 };
        pairs += run;
    }
    pairs
}

/// Sorts `values` by merging and counts the pairs that stood in descending order.
fn count_inversions(values: &mut [f64], spare: &mut [f64]) -> u128 {
    let n = values.len();
    let mut inversions = 0u128;
    let mut width = 1;
    while width < n {
        for start in (0..n).step_by(2 * width) {
            let middle = (start + width).min(n);
            let end = (start + 2 * width).min(n);
            let (mut i, mut j) = (start, middle);
            for slot in &mut spare[start..end] {
                if j == end || (i < middle && values[i] <= values[j]) {
                    *slot = values[i];
                    i += 1;
                } else {
                    inversions += (middle - i) as u128;
                    *slot = values[j];
                    j += 1;
                }
            }
        }
        values.copy_from_slice(spare);
        width *= 2;
    }
    inversions
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tau(x: &[f64], y: &[f64]) -> Option<f64> {
        kendall_tau_b(x, y).unwrap().kendall_tau_b
    }

    /// The definition, pair by pair.
    fn naive(x: &[f64], y: &[f64]) -> Option<f64> {
        let (mut c, mut d, mut tx, mut ty) = (0i64, 0i64, 0i64, 0i64);
        for i in 0..x.len() {
            for j in 0..i {
                let (a, b) = (x[i] - x[j], y[i] - y[j]);
                tx += i64::from(a == 0.0);
                ty += i64::from(b == 0.0);
                c += i64::from(a * b > 0.0);
                d += i64::from(a * b < 0.0);
            }
        }
        let n0 = (x.len() * (x.len() - 1) / 2) as i64;
        let den = ((n0 - tx) as f64).sqrt() * ((n0 - ty) as f64).sqrt();
        (den > 0.0).then(|| (c - d) as f64 / den)
    }

    #[test]
    fn published_small_cases() {
        // (x, y, tau-b): scipy#9361, scipy#5755, scipy#11175.
        assert!((tau(&[1., 2., 2., 3.], &[1., 2., 3., 4.]).unwrap() - 0.912_871).abs() < 1e-6);
        assert_eq!(tau(&[1., 0., 0.], &[0., 0., 1.]), Some(-0.5));
        assert_eq!(
            tau(&[5., 2., 1., 3., 6., 4., 7., 8.], &[5., 2., 6., 3., 1., 8., 7., 4.]),
            Some(0.0)
        );
    }

    #[test]
    fn a_constant_ranking_has_no_tau() {
        for (x, y) in [([1., 1., 1.], [1., 2., 3.]), ([1., 2., 3.], [5., 5., 5.])] {
            let t = kendall_tau_b(&x, &y).unwrap();
            assert_eq!(t.kendall_tau_b, None);
            assert_eq!(t.reason(), Some("constant ranking"));
        }
        assert_eq!(tau(&[1.0], &[1.0]), None);
        assert_eq!(tau(&[0.0, -0.0], &[1.0, 2.0]), None);
    }

    #[test]
    fn nan_is_an_error_not_minus_one() {
        let error = kendall_tau_b(&[1.0, 3.0], &[1.0, f64::NAN]).unwrap_err();
        assert!(error.to_string().starts_with("y[1] = NaN"), "{error}");
    }

    #[test]
    fn counters_do_not_overflow() {
        // Where 32-bit pair counts, products of 64-bit counts, and cubes of 1291 once wrapped.
        for n in [1291, 65_537, 77_937, 1_000_000] {
            let x: Vec<f64> = (0..n).map(f64::from).collect();
            let reversed: Vec<f64> = x.iter().rev().copied().collect();
            assert_eq!(tau(&x, &x), Some(1.0), "n={n}");
            assert_eq!(tau(&x, &reversed), Some(-1.0), "n={n}");
        }
    }

    #[test]
    fn never_leaves_its_range_by_rounding() {
        for n in 2..200u32 {
            let x: Vec<f64> = (0..n).map(|i| f64::from(i / 3)).collect();
            let y: Vec<f64> = x.iter().map(|v| -v).collect();
            if let Some(t) = tau(&x, &y) {
                assert!((-1.0..-1.0 + 1e-12).contains(&t), "n={n}: {t}");
            }
        }
    }

    proptest! {
        #[test]
        fn equals_the_definition(v in prop::collection::vec((0u8..8, 0u8..8), 2..60)) {
            let x: Vec<f64> = v.iter().map(|p| f64::from(p.0)).collect();
            let y: Vec<f64> = v.iter().map(|p| f64::from(p.1)).collect();
            match (tau(&x, &y), naive(&x, &y)) {
                (Some(a), Some(b)) => prop_assert!((a - b).abs() < 1e-12),
                (a, b) => prop_assert_eq!(a, b),
            }
        }

        #[test]
        fn is_symmetric_and_odd(v in prop::collection::vec((-4i8..4, -4i8..4), 2..60)) {
            let x: Vec<f64> = v.iter().map(|p| f64::from(p.0)).collect();
            let y: Vec<f64> = v.iter().map(|p| f64::from(p.1)).collect();
            let minus: Vec<f64> = y.iter().map(|v| -v).collect();
            prop_assert_eq!(tau(&x, &y), tau(&y, &x));
            prop_assert_eq!(tau(&x, &y).map(|t| -t + 0.0), tau(&x, &minus).map(|t| t + 0.0));
        }
    }
}
