//! Seeded sampler of dense shapes whose sizes are even on a logarithmic scale.
//!
//! [`crate::sampler`] follows the survey, which starts at 0.1 B parameters and has few small models.
//! Here the range of sizes is given, and every proportion is drawn by itself from the values that
//! published models have: what can be measured within minutes, on a machine without an
//! accelerator, still covers a range of 30 to 1.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::sampler::SampleError;
use crate::{LlmShape, Model, ShapeSpec};

/// Vocabularies of published models.
const VOCABS: [u32; 7] = [16_384, 32_000, 32_768, 49_152, 50_304, 65_536, 128_256];
/// Head sizes.
const HEAD_DIMS: [u32; 3] = [32, 64, 128];
/// Queries per key/value head.
const GROUPS: [u32; 4] = [1, 2, 4, 8];
/// FFN width over width, gated.
const FFN_RATIOS: RangeInclusive<f64> = 2.0..=5.0;
/// Layers.
const LAYERS: RangeInclusive<f64> = 4.0..=40.0;
/// Width over layers, published models lie between 16 (deep) and 128 (shallow).
const ASPECTS: RangeInclusive<f64> = 14.0..=160.0;
/// Largest share of the embedding in all parameters.
const MAX_EMBEDDING: f64 = 0.6;
/// How far a shape's size may be from the size that was drawn for it.
const SIZE_TOLERANCE: f64 = 0.1;
/// Candidates tried per sample before giving up.
const MAX_TRIES: usize = 100_000;

/// Draws `count` dense models of `total_params` parameters, named `sized-0001` and so on.
///
/// The same seed gives the same models, and a smaller sample is the beginning of a larger one.
///
/// # Errors
/// If `count` is 0 or above [`crate::sampler::MAX_SAMPLE`], or no shape of some size is found.
pub fn sample(
    count: usize,
    total_params: RangeInclusive<u64>,
    seed: u64,
) -> Result<Vec<Model>, SampleError> {
    if count == 0 || count > crate::sampler::MAX_SAMPLE {
        return Err(SampleError::Count(count));
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (low, high) = ((*total_params.start() as f64).ln(), (*total_params.end() as f64).ln());
    let mut seen = BTreeSet::new();
    let mut models = Vec::with_capacity(count);
    while models.len() < count {
        let wanted = (low + (high - low) * rng.random::<f64>()).exp();
        let found = (0..MAX_TRIES).find_map(|_| {
            candidate(&mut rng).filter(|shape| {
                let size = shape.total_params();
                (size as f64 / wanted).ln().abs() <= SIZE_TOLERANCE
                    && total_params.contains(&size)
                    && !seen.contains(shape)
            })
        });
        let Some(shape) = found else {
            return Err(SampleError::Exhausted { found: models.len(), wanted: count });
        };
        seen.insert(shape);
        models.push(Model { name: format!("sized-{:04}", models.len() + 1), shape });
    }
    Ok(models)
}

/// One draw; `None` if its parts do not go together.
fn candidate(rng: &mut Xoshiro256PlusPlus) -> Option<LlmShape> {
    let mut even = |range: &RangeInclusive<f64>| {
        let (low, high) = (range.start().ln(), range.end().ln());
        (low + (high - low) * rng.random::<f64>()).exp()
    };
    let layers = even(&LAYERS).round() as u32;
    let width = f64::from(layers) * even(&ASPECTS);
    let ffn_ratio = even(&FFN_RATIOS);
    let head_dim = *HEAD_DIMS.choose(rng)?;
    let group = *GROUPS.choose(rng)?;
    let vocab = *VOCABS.choose(rng)?;
    let tied = rng.random::<bool>();
    // Widths are multiples of 64, and heads of the group.
    let step = (head_dim * group).max(64);
    let hidden = ((width / f64::from(step)).round() as u32).max(1) * step;
    let ffn = ((f64::from(hidden) * ffn_ratio / 64.0).round() as u32).max(1) * 64;
    let heads = hidden / head_dim;
    let shape = LlmShape::new(ShapeSpec {
        layers,
        hidden,
        heads,
        kv_heads: heads / group,
        head_dim: Some(head_dim),
        ffn,
        vocab,
        gated: Some(true),
        tied: Some(tied),
        ..ShapeSpec::default()
    })
    .ok()?;
    let embedding = f64::from(vocab) * f64::from(hidden) * if tied { 1.0 } else { 2.0 };
    (embedding <= MAX_EMBEDDING * shape.total_params() as f64).then_some(shape)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RANGE: RangeInclusive<u64> = 30_000_000..=1_000_000_000;

    #[test]
    fn sizes_are_even_on_a_logarithmic_scale() -> Result<(), SampleError> {
        let models = sample(400, RANGE, 1)?;
        let mut tenths = [0; 10];
        for m in &models {
            let at = (m.shape.total_params() as f64 / 3e7).ln() / (1e9f64 / 3e7).ln();
            tenths[((at * 10.0) as usize).min(9)] += 1;
        }
        // Of 40 expected, 20 is more than three standard deviations away.
        assert!(tenths.iter().all(|n| (20..=60).contains(n)), "{tenths:?}");
        Ok(())
    }

    #[test]
    fn impossible_requests_are_refused() {
        assert_eq!(sample(0, RANGE, 1), Err(SampleError::Count(0)));
        assert_eq!(sample(2, 10..=20, 1), Err(SampleError::Exhausted { found: 0, wanted: 2 }));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn the_seed_decides_and_every_shape_is_in_range(seed: u64, n in 1usize..20) {
            let long = sample(20, RANGE, seed)?;
            prop_assert_eq!(&sample(n, RANGE, seed)?, &long[..n]);
            let distinct: BTreeSet<LlmShape> = long.iter().map(|m| m.shape).collect();
            prop_assert_eq!(distinct.len(), long.len());
            for m in &long {
                let d = m.shape.dims();
                prop_assert!(RANGE.contains(&d.total_params));
                prop_assert_eq!(d.heads % d.kv_heads, 0);
                prop_assert_eq!((d.hidden % 64, d.ffn % 64), (0, 0));
            }
        }
    }
}
