//! Seeded sampler of synthetic shapes that look like the survey without copying it.
//!
//! The paper picks its hyper-parameters at random inside the survey's ranges "to achieve a broader
//! range of combinations" (EnerInfer §4.2). Independent picks would give shapes that nobody builds
//! (six layers of width 4096), so each sample has an *anchor* in the survey that sets its size, and
//! takes its depth, width, head size, FFN, key/value groups and vocabulary each from another
//! *donor* among the models of similar size. Sizes are then varied, and rounded to the multiples
//! that real models use.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::survey;
use crate::{LlmShape, Model, ShapeSpec};

/// Sizes that are sampled (total parameters).
pub const TOTAL_PARAMS: RangeInclusive<u64> = 100_000_000..=7_000_000_000;

/// Largest sample. Far above need; keeps the search for new shapes short.
pub const MAX_SAMPLE: usize = 20_000;

/// Head sizes that are sampled; others of the survey (86, 100, 120, 160) are one family each.
pub const HEAD_DIMS: [u32; 5] = [64, 80, 96, 128, 256];

/// Models on each side of the anchor, by size, that give a sample its features: an eighth of the
/// survey in all, so that a small model never gets the depth of a large one.
const NEIGHBOURS: usize = 11;

/// How far a sample's total may be from its anchor's, as a factor: holds the sizes to the survey's.
const SIZE_FACTOR: f64 = 1.15;

/// Candidates tried per sample before giving up; about three in four are refused.
pub(crate) const MAX_TRIES: usize = 10_000;

/// Why a sample could not be drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// The count is zero or too large.
    #[error("cannot sample {0} shapes; ask for 1 to {MAX_SAMPLE}")]
    Count(usize),
    /// The range of sizes holds no shape.
    #[error(
        "no shape has {low} to {high} parameters; shapes vary dense models of the survey, which \
         have {smallest} to {largest}: choose a range that holds several of them"
    )]
    NoneInRange {
        /// Smallest total asked for.
        low: u64,
        /// Largest total asked for.
        high: u64,
        /// Total of the survey's smallest dense model.
        smallest: u64,
        /// Total of its largest.
        largest: u64,
    },
    /// No new shape was found.
    #[error("found only {found} of {wanted} distinct shapes; ask for fewer, or for a wider range")]
    Exhausted {
        /// Shapes found.
        found: usize,
        /// Shapes asked for.
        wanted: usize,
    },
}

/// Draws `count` dense models named `synthetic-0001` and so on.
///
/// The same seed gives the same models, and a smaller sample is the beginning of a larger one. No
/// two shapes are equal, and none has all its sizes within 2 % of a survey model's.
///
/// # Errors
/// If `count` is 0, above [`MAX_SAMPLE`], or more than the distinct shapes that can be found.
pub fn sample(count: usize, seed: u64) -> Result<Vec<Model>, SampleError> {
    sample_within(TOTAL_PARAMS, count, seed)
}

/// [`sample`] with totals in another range of sizes. Below [`TOTAL_PARAMS`] the survey has few
/// models, so that samples there resemble the same few.
///
/// # Errors
/// As [`sample`]; a range without survey models gives no shapes.
pub fn sample_within(
    total_params: RangeInclusive<u64>,
    count: usize,
    seed: u64,
) -> Result<Vec<Model>, SampleError> {
    if count == 0 || count > MAX_SAMPLE {
        return Err(SampleError::Count(count));
    }
    let (low, high) = (*total_params.start(), *total_params.end());
    draw(&Pool::of_survey(total_params), count, seed).map_err(|e| {
        let survey = Pool::of_survey(0..=u64::MAX).shapes;
        match (e, survey.first(), survey.last()) {
            (SampleError::Exhausted { found: 0, .. }, Some(first), Some(last)) => {
                let (smallest, largest) = (first.total_params(), last.total_params());
                SampleError::NoneInRange { low, high, smallest, largest }
            }
            _ => e,
        }
    })
}

fn draw(pool: &Pool, count: usize, seed: u64) -> Result<Vec<Model>, SampleError> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut seen = BTreeSet::new();
    let mut models = Vec::with_capacity(count);
    while models.len() < count {
        let found = (0..MAX_TRIES)
            .find_map(|_| pool.candidate(&mut rng).filter(|shape| !seen.contains(shape)));
        let Some(shape) = found else {
            return Err(SampleError::Exhausted { found: models.len(), wanted: count });
        };
        seen.insert(shape);
        models.push(Model { name: format!("synthetic-{:04}", models.len() + 1), shape });
    }
    Ok(models)
}

/// The dense survey models inside the size range, smallest first.
pub(crate) struct Pool {
    shapes: Vec<LlmShape>,
    total_params: RangeInclusive<u64>,
}

impl Pool {
    pub(crate) fn of_survey(total_params: RangeInclusive<u64>) -> Self {
        let mut shapes: Vec<LlmShape> = survey::all()
            .iter()
            // An inferred shape is nobody's published design.
            .filter(|m| !m.inferred && m.shape.dims().experts == 1)
            .map(|m| m.shape)
            .filter(|s| total_params.contains(&s.total_params()))
            .collect();
        shapes.sort_by_key(|s| (s.total_params(), *s));
        Pool { shapes, total_params }
    }

    /// A shape that obeys all rules but distinctness, or `None` if this draw came to nothing.
    pub(crate) fn candidate(&self, rng: &mut Xoshiro256PlusPlus) -> Option<LlmShape> {
        if self.shapes.is_empty() {
            return None;
        }
        let at = rng.random_range(0..self.shapes.len());
        let anchor = &self.shapes[at];
        let near = at.saturating_sub(NEIGHBOURS)..(at + NEIGHBOURS + 1).min(self.shapes.len());
        let mut donor = || self.shapes[rng.random_range(near.clone())].dims();
        // Each pair that families set together comes from one donor: head size and how queries
        // relate to the width, FFN ratio and gate, vocabulary and tied embeddings.
        let (depth, width, head, group, ffn, vocab) =
            (donor(), donor(), donor(), donor(), donor(), donor());
        // Half the samples keep the donor's conventional FFN ratio or vocabulary as it is.
        let (usual_ratio, usual_vocab) = (rng.random::<bool>(), rng.random::<bool>());
        let mut vary =
            |value: u32, by: f64| f64::from(value) * (1.0 + by * (2.0 * rng.random::<f64>() - 1.0));

        let head_dim = *HEAD_DIMS.iter().find(|d| **d == head.head_dim)?;
        let free_width = head.heads * head.head_dim != head.hidden;
        let queries_per_kv = group.heads / group.kv_heads;
        let wanted_width = vary(width.hidden, 0.15);
        let layers = vary(depth.layers, 0.12).round() as u32;
        let ffn_ratio = vary(ffn.ffn, if usual_ratio { 0.0 } else { 0.08 }) / f64::from(ffn.hidden);
        let vocab_size = vary(vocab.vocab, 0.02);

        // Multi-query models have one key/value head whatever the number of heads.
        let group_size = if group.kv_heads == 1 { 1 } else { queries_per_kv };
        let query_ratio = if free_width {
            f64::from(head.heads * head.head_dim) / f64::from(head.hidden)
        } else {
            1.0
        };
        // The query width is a multiple of 64, as all of the survey's but three are.
        let step = lcm(64 / gcd(64, head_dim), group_size);
        let heads = round_to(wanted_width * query_ratio / f64::from(head_dim), step);
        let hidden = if free_width { round_to(wanted_width, 64) } else { heads * head_dim };
        let shape = LlmShape::new(ShapeSpec {
            layers,
            hidden,
            heads,
            kv_heads: if group.kv_heads == 1 { 1 } else { heads / group_size },
            head_dim: Some(head_dim),
            ffn: round_to(f64::from(hidden) * ffn_ratio, if hidden < 1024 { 64 } else { 256 }),
            vocab: if usual_vocab { vocab.vocab } else { round_to(vocab_size, 64) },
            gated: Some(ffn.gated),
            tied: Some(vocab.tied),
            ..ShapeSpec::default()
        })
        .ok()?;
        let size = shape.total_params();
        let factor = size as f64 / anchor.total_params() as f64;
        let fits = self.total_params.contains(&size)
            && (1.0 / SIZE_FACTOR..=SIZE_FACTOR).contains(&factor)
            && !self.shapes.iter().any(|s| is_near(&shape, s));
        fits.then_some(shape)
    }
}

/// Whether all sizes of a shape are within 2 % of another's.
pub(crate) fn is_near(a: &LlmShape, b: &LlmShape) -> bool {
    let (a, b) = (a.dims(), b.dims());
    [
        (a.layers, b.layers),
        (a.hidden, b.hidden),
        (a.heads, b.heads),
        (a.kv_heads, b.kv_heads),
        (a.ffn, b.ffn),
        (a.vocab, b.vocab),
    ]
    .into_iter()
    .all(|(a, b)| 50 * u64::from(a.abs_diff(b)) <= u64::from(b))
}

/// The positive multiple of `step` nearest to `value`.
pub(crate) fn round_to(value: f64, step: u32) -> u32 {
    // Survey sizes are far below 2^32; `as` saturates for everything else.
    ((value / f64::from(step)).round() as u32).max(1).saturating_mul(step)
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

fn lcm(a: u32, b: u32) -> u32 {
    a / gcd(a, b) * b
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use proptest::prelude::*;

    use super::*;

    type Named = (&'static str, fn(&LlmShape) -> f64);

    /// What is compared with the survey: each hyper-parameter, and the ratios that tie them.
    const FEATURES: [Named; 12] = [
        ("layers", |s| f64::from(s.dims().layers)),
        ("hidden", |s| f64::from(s.dims().hidden)),
        ("heads", |s| f64::from(s.dims().heads)),
        ("kv_heads", |s| f64::from(s.dims().kv_heads)),
        ("head_dim", |s| f64::from(s.dims().head_dim)),
        ("ffn", |s| f64::from(s.dims().ffn)),
        ("vocab", |s| f64::from(s.dims().vocab)),
        ("total_params", |s| s.total_params() as f64),
        ("ffn / hidden", |s| f64::from(s.dims().ffn) / f64::from(s.dims().hidden)),
        ("hidden / layers", |s| f64::from(s.dims().hidden) / f64::from(s.dims().layers)),
        ("gated", |s| f64::from(u8::from(s.dims().gated))),
        ("tied", |s| f64::from(u8::from(s.dims().tied))),
    ];

    fn sorted(shapes: &[LlmShape], feature: fn(&LlmShape) -> f64) -> Vec<f64> {
        let mut values: Vec<f64> = shapes.iter().map(feature).collect();
        values.sort_by(f64::total_cmp);
        values
    }

    fn quantile(sorted: &[f64], q: f64) -> f64 {
        sorted[((sorted.len() - 1) as f64 * q).round() as usize]
    }

    fn share(sorted: &[f64], keep: impl Fn(f64) -> bool) -> f64 {
        sorted.iter().filter(|v| keep(**v)).count() as f64 / sorted.len() as f64
    }

    fn shapes(models: &[Model]) -> Vec<LlmShape> {
        models.iter().map(|m| m.shape).collect()
    }

    const QUANTILES: [f64; 5] = [0.10, 0.25, 0.50, 0.75, 0.90];

    /// Survey and sample side by side, for the test's output.
    fn quantile_table(survey: &[LlmShape], sampled: &[LlmShape]) -> String {
        let mut table = format!("{:16} {:>45} {:>45}\n", "", "survey 10/25/50/75/90 %", "sample");
        for (name, feature) in FEATURES {
            let _ = write!(table, "{name:16}");
            for shapes in [survey, sampled] {
                let values = sorted(shapes, feature);
                table.push(' ');
                for q in QUANTILES {
                    let value = quantile(&values, q);
                    let _ = if value >= 1e7 {
                        write!(table, " {:>7.2}B", value / 1e9)
                    } else {
                        write!(table, " {:>8}", (value * 100.0).round() / 100.0)
                    };
                }
            }
            table.push('\n');
        }
        table
    }

    /// At each survey quantile, the sample's distribution function must be within 0.13: the
    /// distance above which two samples of 300 and 177 differ at the 5 % level
    /// (Kolmogorov–Smirnov, 1.36·sqrt(1/300 + 1/177)). Features are discrete, so the function may
    /// jump over the quantile at its value.
    #[test]
    fn quantiles_follow_the_survey() -> Result<(), SampleError> {
        const TOLERANCE: f64 = 0.13;
        let survey = Pool::of_survey(TOTAL_PARAMS).shapes;
        for seed in 1..=5 {
            let sampled = shapes(&sample(300, seed)?);
            let table = quantile_table(&survey, &sampled);
            println!("seed {seed}, 300 shapes; survey: {} of 0.1 to 7 B\n{table}", survey.len());
            for (name, feature) in FEATURES {
                let (real, ours) = (sorted(&survey, feature), sorted(&sampled, feature));
                for q in QUANTILES {
                    let value = quantile(&real, q);
                    let (below, upto) = (share(&ours, |v| v < value), share(&ours, |v| v <= value));
                    assert!(
                        below - TOLERANCE <= q && q <= upto + TOLERANCE,
                        "{name}: the survey's {q} quantile {value} is the sample's {below:.3} to \
                         {upto:.3}\n{table}"
                    );
                }
            }
        }
        Ok(())
    }

    /// Not copies of families: most combinations of depth and width are new.
    #[test]
    fn combinations_are_broader_than_the_survey() -> Result<(), SampleError> {
        let pairs = |shapes: &[LlmShape]| -> BTreeSet<(u32, u32)> {
            shapes.iter().map(|s| (s.dims().layers, s.dims().hidden)).collect()
        };
        let survey = pairs(&Pool::of_survey(TOTAL_PARAMS).shapes);
        let sampled = pairs(&shapes(&sample(300, 1)?));
        assert!(sampled.len() > 2 * survey.len(), "{} against {}", sampled.len(), survey.len());
        Ok(())
    }

    #[test]
    fn impossible_counts_are_refused() {
        for count in [0, MAX_SAMPLE + 1, usize::MAX] {
            assert_eq!(sample(count, 1), Err(SampleError::Count(count)));
        }
    }

    #[test]
    fn a_pool_without_shapes_is_exhausted() {
        let pool = Pool { shapes: Vec::new(), total_params: TOTAL_PARAMS };
        assert_eq!(draw(&pool, 2, 1), Err(SampleError::Exhausted { found: 0, wanted: 2 }));
    }

    #[test]
    fn the_range_of_sizes_can_be_another() -> Result<(), SampleError> {
        let range = 30_000_000..=1_000_000_000;
        let models = sample_within(range.clone(), 120, 1)?;
        assert!(models.iter().all(|m| range.contains(&m.shape.total_params())));
        assert!(models.iter().any(|m| m.shape.total_params() < *TOTAL_PARAMS.start()));
        assert!(matches!(sample_within(1..=2, 1, 1), Err(SampleError::NoneInRange { .. })));
        Ok(())
    }

    #[test]
    fn a_large_sample_is_possible() -> Result<(), SampleError> {
        let distinct: BTreeSet<LlmShape> = shapes(&sample(MAX_SAMPLE, 3)?).into_iter().collect();
        assert_eq!(distinct.len(), MAX_SAMPLE);
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_sample_obeys_the_joint_rules(seed: u64) {
            let models = sample(100, seed)?;
            let survey = Pool::of_survey(TOTAL_PARAMS).shapes;
            let (vocab_min, vocab_max) = (29_000, 268_000);
            let mut seen = BTreeSet::new();
            for model in &models {
                let d = model.shape.dims();
                prop_assert!(seen.insert(model.shape), "repeated {:?}", d);
                prop_assert!(TOTAL_PARAMS.contains(&d.total_params));
                prop_assert_eq!(d.total_params, d.formula_total_params());
                prop_assert!(HEAD_DIMS.contains(&d.head_dim));
                prop_assert_eq!(d.heads % d.kv_heads, 0);
                prop_assert_eq!(d.hidden % 64, 0);
                prop_assert_eq!(d.ffn % 64, 0);
                prop_assert_eq!((d.experts, d.active_experts), (1, 1));
                prop_assert!((vocab_min..=vocab_max).contains(&d.vocab));
                prop_assert!((1.5..=9.0).contains(&(f64::from(d.ffn) / f64::from(d.hidden))));
                prop_assert!(!survey.iter().any(|s| is_near(&model.shape, s)));
            }
        }

        #[test]
        fn the_seed_decides_and_shorter_samples_are_prefixes(seed: u64, n in 1usize..40) {
            let long = sample(40, seed)?;
            prop_assert_eq!(&sample(n, seed)?, &long[..n]);
            prop_assert_ne!(&sample(40, seed.wrapping_add(1))?, &long);
        }
    }
}
