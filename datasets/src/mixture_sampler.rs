//! Seeded sampler of mixtures of experts (EnerInfer §4.6) that look like the survey's.
//!
//! The survey has only a few mixtures, so they give ranges rather than shapes. What a token passes
//! through is drawn as for dense models: the survey's mixtures have FFNs of 2.7 to 5.5 times their
//! width in all active experts together, as dense models have. That FFN is then split among the
//! active experts, and of these there are several times as many.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::sampler::{MAX_SAMPLE, MAX_TRIES, Pool, SampleError, TOTAL_PARAMS, is_near, round_to};
use crate::survey::{self, SurveyModel};
use crate::{LlmShape, Model, ShapeSpec};

/// Experts that are active for a token: the survey's have 8, other published ones fewer.
pub const ACTIVE_EXPERTS: [u32; 4] = [2, 4, 6, 8];

/// Experts per layer: the survey's 32, 40 and 64, and fewer where fewer are active.
pub const EXPERTS: [u32; 5] = [8, 16, 32, 40, 64];

/// Experts for each active one: the survey's have 4 to 8.
const SPARSITY: RangeInclusive<u32> = 4..=8;

/// Expert widths are multiples of this.
const FFN_STEP: u32 = 64;

/// Draws `count` mixtures of experts named `mixture-0001` and so on.
///
/// The weights that a token reads are those of a dense model of [`TOTAL_PARAMS`]; the total is at
/// most that of the survey's largest mixture. The same seed gives the same models, and a smaller
/// sample is the beginning of a larger one. No two shapes are equal, and none has all its sizes
/// within 2 % of a survey model's.
///
/// # Errors
/// If `count` is 0, above [`MAX_SAMPLE`], or more than the distinct shapes that can be found.
pub fn sample(count: usize, seed: u64) -> Result<Vec<Model>, SampleError> {
    if count == 0 || count > MAX_SAMPLE {
        return Err(SampleError::Count(count));
    }
    let dense = Pool::of_survey(TOTAL_PARAMS);
    let mixtures: Vec<&SurveyModel> =
        survey::all().iter().filter(|m| m.shape.dims().experts > 1).collect();
    let largest = mixtures.iter().map(|m| m.shape.total_params()).max().unwrap_or(0);
    let new = |shape: &LlmShape| {
        shape.total_params() <= largest && !mixtures.iter().any(|m| is_near(shape, &m.shape))
    };
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut seen = BTreeSet::new();
    let mut models = Vec::with_capacity(count);
    while models.len() < count {
        let found = (0..MAX_TRIES).find_map(|_| {
            let shape = split(&dense.candidate(&mut rng)?, &mut rng)?;
            (new(&shape) && !seen.contains(&shape)).then_some(shape)
        });
        let Some(shape) = found else {
            return Err(SampleError::Exhausted { found: models.len(), wanted: count });
        };
        seen.insert(shape);
        models.push(Model { name: format!("mixture-{:04}", models.len() + 1), shape });
    }
    Ok(models)
}

/// The dense shape with its FFN split among experts; `None` if no number of experts is drawn that
/// goes with the active ones.
fn split(dense: &LlmShape, rng: &mut Xoshiro256PlusPlus) -> Option<LlmShape> {
    let d = dense.dims();
    let active_experts = *ACTIVE_EXPERTS.choose(rng)?;
    let experts = *EXPERTS.choose(rng)?;
    let in_range = SPARSITY.contains(&(experts / active_experts));
    // Real experts are no exact parts of a dense FFN.
    let width = f64::from(d.ffn) / f64::from(active_experts) * rng.random_range(0.9..1.1);
    let spec = ShapeSpec {
        layers: d.layers,
        hidden: d.hidden,
        heads: d.heads,
        kv_heads: d.kv_heads,
        head_dim: Some(d.head_dim),
        ffn: round_to(width, FFN_STEP),
        vocab: d.vocab,
        gated: Some(d.gated),
        tied: Some(d.tied),
        experts: Some(experts),
        active_experts: Some(active_experts),
        total_params: None,
    };
    in_range.then(|| LlmShape::new(spec).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Every survey mixture lies within what is drawn, field by field.
    #[test]
    fn the_sample_covers_the_surveys_mixtures() -> Result<(), SampleError> {
        type Feature = (&'static str, fn(&LlmShape) -> f64);
        let features: [Feature; 5] = [
            ("hidden", |s| f64::from(s.dims().hidden)),
            ("expert width", |s| f64::from(s.dims().ffn)),
            ("experts", |s| f64::from(s.dims().experts)),
            ("active experts", |s| f64::from(s.dims().active_experts)),
            ("weights read per token", |s| s.dims().read_params() as f64),
        ];
        let sampled = sample(60, 1)?;
        for model in survey::all().iter().filter(|m| m.shape.dims().experts > 1) {
            for (name, feature) in features {
                let values = sampled.iter().map(|m| feature(&m.shape));
                let (least, most) =
                    values.fold((f64::INFINITY, 0.0), |(a, b), v| (f64::min(a, v), f64::max(b, v)));
                let value = feature(&model.shape);
                assert!(
                    (least..=most).contains(&value),
                    "{name} of {} is {value}, sampled are {least} to {most}",
                    model.name
                );
            }
        }
        Ok(())
    }

    #[test]
    fn impossible_counts_are_refused() {
        for count in [0, MAX_SAMPLE + 1] {
            assert_eq!(sample(count, 1), Err(SampleError::Count(count)));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_sample_obeys_the_joint_rules(seed: u64) {
            let models = sample(60, seed)?;
            let mut seen = BTreeSet::new();
            for model in &models {
                let d = model.shape.dims();
                prop_assert!(seen.insert(model.shape), "repeated {:?}", d);
                prop_assert!(ACTIVE_EXPERTS.contains(&d.active_experts));
                prop_assert!(EXPERTS.contains(&d.experts));
                prop_assert!(SPARSITY.contains(&(d.experts / d.active_experts)), "{:?}", d);
                prop_assert_eq!(d.total_params, d.formula_total_params());
                prop_assert_eq!(d.ffn % FFN_STEP, 0);
                let near = survey::all().iter().any(|m| {
                    m.shape.dims().experts == d.experts && is_near(&model.shape, &m.shape)
                });
                prop_assert!(!near, "a copy of the survey's");
            }
        }

        #[test]
        fn the_seed_decides_and_shorter_samples_are_prefixes(seed: u64, n in 1usize..20) {
            let long = sample(20, seed)?;
            prop_assert_eq!(&sample(n, seed)?, &long[..n]);
            prop_assert_ne!(&sample(20, seed.wrapping_add(1))?, &long);
        }
    }
}
