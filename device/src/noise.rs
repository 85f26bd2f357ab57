//! Seeded measurement noise.

use rand::RngExt as _;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Largest standard deviation that keeps every noisy value positive (the noise is bounded by six
/// standard deviations).
const MAX_RELATIVE_SD: f64 = 0.15;
/// Length of the sample that [`Noise::relative_sd`] speaks of.
const REFERENCE_TOKENS: f64 = 256.0;

/// Measurement noise: each measured value is multiplied by `1 + relative_sd·z`, `z` standard
/// normal and bounded by six.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Relative standard deviation of a sample of 256 tokens; 0 is noiseless. Values outside
    /// 0…0.15 are taken as the nearer end, NaN as 0.
    pub relative_sd: f64,
}

impl Noise {
    /// The noise of a sample of `tokens` tokens: averaging more tokens narrows it by the square
    /// root of their number, so short samples are noisy.
    pub fn for_tokens(self, tokens: u32) -> Noise {
        let scale = (REFERENCE_TOKENS / f64::from(tokens.max(1))).sqrt();
        Noise { relative_sd: self.relative_sd * scale }
    }

    /// Multiplies each of three values by its own noise, drawn for one (model, point) of a seed.
    pub(crate) fn apply(self, values: [f64; 3], seed: u64, model: usize, point: usize) -> [f64; 3] {
        if self.relative_sd.is_nan() || self.relative_sd <= 0.0 {
            return values;
        }
        let sd = self.relative_sd.min(MAX_RELATIVE_SD);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(mix(mix(seed, model as u64), point as u64));
        values.map(|value| {
            // Irwin–Hall: no libm, so the same bits on every machine, and bounded.
            let z = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
            value * (1.0 + sd * z)
        })
    }
}

/// The finaliser of SplitMix64 over both values; each cell gets its own stream, whatever the
/// order or thread in which cells are simulated.
pub(crate) fn mix(seed: u64, value: u64) -> u64 {
    let mut z = seed ^ value.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sd_of(noise: Noise) -> f64 {
        let n = 4000;
        let mean_square = (0..n)
            .map(|i| noise.apply([1.0; 3], 7, i, i % 44)[0] - 1.0)
            .map(|e| e * e)
            .sum::<f64>()
            / n as f64;
        mean_square.sqrt()
    }

    #[test]
    fn standard_deviation_is_as_asked_and_grows_for_short_samples() {
        let one_percent = Noise { relative_sd: 0.01 };
        assert!((sd_of(one_percent) - 0.01).abs() < 5e-4);
        assert!((sd_of(one_percent.for_tokens(64)) - 0.02).abs() < 1e-3);
        assert!((sd_of(one_percent.for_tokens(1024)) - 0.005).abs() < 3e-4);
    }

    #[test]
    fn wild_standard_deviations_stay_positive() {
        for relative_sd in [f64::NAN, -1.0, 0.0, 1.0, f64::INFINITY] {
            for cell in 0..2000 {
                let noisy = Noise { relative_sd }.apply([1.0; 3], 1, cell, cell);
                assert!(noisy.iter().all(|v| v.is_finite() && *v > 0.0), "{relative_sd}");
            }
        }
    }

    #[test]
    fn cells_of_one_table_are_independent() {
        let noise = Noise { relative_sd: 0.01 };
        let transposed = noise.apply([1.0; 3], 1, 2, 3);
        assert_ne!(transposed, noise.apply([1.0; 3], 1, 3, 2));
        assert_eq!(transposed, noise.apply([1.0; 3], 1, 2, 3));
    }
}
