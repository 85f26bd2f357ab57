//! Synthetic shapes as the paper drew them: each hyper-parameter on its own.
//!
//! "We generate 300 untrained models by randomly selecting the six parameters within the ranges
//! derived from the survey" (EnerInfer §3). That is broader than what [`sampler`](crate::sampler)
//! draws, and holds shapes that nobody builds; the ranges that the paper's Figures 6–8 print are
//! for such a sample, so it is what stands beside them.

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{LlmShape, ShapeSpec};

/// Draws `count` shapes of 0.5 to 7 B parameters; the same seed gives the same shapes.
pub fn sample(count: usize, seed: u64) -> Vec<LlmShape> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut sample = Vec::with_capacity(count);
    while sample.len() < count {
        let head_dim = [64, 128][rng.random_range(0..2)];
        let kv_heads: u32 = rng.random_range(1..=8);
        let heads = kv_heads * rng.random_range(1..=8);
        let hidden = heads * head_dim;
        let spec = ShapeSpec {
            layers: rng.random_range(4..=48),
            hidden,
            heads,
            kv_heads,
            ffn: (f64::from(hidden) * rng.random_range(2.0..6.0)) as u32 / 64 * 64,
            vocab: rng.random_range(32_000..=152_000),
            tied: Some(rng.random::<bool>()),
            ..ShapeSpec::default()
        };
        let Ok(shape) = LlmShape::new(spec) else { continue };
        if (512..=4096).contains(&hidden) && (5e8..7e9).contains(&(shape.total_params() as f64)) {
            sample.push(shape);
        }
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_decides_and_shorter_samples_are_prefixes() {
        let long = sample(40, 1);
        assert_eq!(sample(10, 1), long[..10]);
        assert_ne!(sample(40, 2), long);
        assert!(long.iter().all(|s| (500_000_000..7_000_000_000).contains(&s.total_params())));
    }
}
