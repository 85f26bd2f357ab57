//! Draws whose streams are ours: releases of `rand` may change how a range is sampled.

use rand::Rng;

/// A whole number in `0..n`, by widening multiplication (Lemire, without the rejection step: the
/// bias is below `n / 2⁶⁴`). `n = 0` gives 0.
pub fn below<R: Rng>(rng: &mut R, n: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}

/// A number in `[0, 1)` with 53 random bits.
pub fn unit<R: Rng>(rng: &mut R) -> f64 {
    (rng.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// A number in `[low, high)` whose logarithm is uniform; `0 < low ≤ high`.
///
/// Rounded to four significant digits, so that what a report prints is what was used.
pub fn log_uniform<R: Rng>(rng: &mut R, low: f64, high: f64) -> f64 {
    let x = low * (high / low).powf(unit(rng));
    format!("{x:.3e}").parse().unwrap_or(x)
}

/// A whole number in `low..=high` whose logarithm is about uniform; `1 ≤ low ≤ high`.
pub fn log_uniform_int<R: Rng>(rng: &mut R, low: u32, high: u32) -> u32 {
    // Half a step on each side gives the ends their share.
    let (a, b) = (f64::from(low) - 0.5, f64::from(high) + 0.5);
    let x = (a * (b / a).powf(unit(rng))).round() as u32;
    x.clamp(low, high)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn draws_stay_inside_and_reach_both_ends() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(3);
        let mut seen = [false; 5];
        let mut ints = [false; 8];
        for _ in 0..2000 {
            seen[below(&mut rng, 5) as usize] = true;
            ints[log_uniform_int(&mut rng, 1, 8) as usize - 1] = true;
            assert!((0.0..1.0).contains(&unit(&mut rng)));
            assert!((1e-3..=10.0).contains(&log_uniform(&mut rng, 1e-3, 10.0)));
        }
        assert!(seen.iter().chain(&ints).all(|&s| s));
    }

    #[test]
    fn the_stream_is_pinned() {
        // A change of these numbers changes every result of every user.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(42);
        let drawn: Vec<u64> = (0..6).map(|_| below(&mut rng, 1000)).collect();
        assert_eq!(drawn, [814, 318, 983, 701, 793, 588]);
    }
}
