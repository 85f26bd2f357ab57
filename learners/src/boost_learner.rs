//! Boosted trees as a family of the search.

use std::collections::BTreeMap;

use enerinfer_hyperparam::Space;
use linfa::ParamGuard;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::forest_learner::{choose, describe};
use crate::learner::{Learner, Model};
use crate::share::{HeldOut, boost_groups, evaluate_boosted};
use crate::{BoostParams, BoostValidParams, CodedMatrix, Fold, LearnError};

/// Boosted trees.
///
/// | parameter | drawn from |
/// |---|---|
/// | `n_rounds` | 25, 50, 75, 100, 150, 200, 300 |
/// | `learning_rate` | 0.03, 0.05, 0.08, 0.12, 0.2, 0.3 |
/// | `max_leaves` | 4, 6, 8, 12, 16, 24, 32 |
/// | `max_depth` | 3, 4, 6, 10, 20 |
/// | `min_samples_leaf` | 1, 2, 4, 8, 16 |
/// | `subsample` | 0.5, 0.75, 1 |
/// | `feature_fraction` | 0.5, 0.75, 1 |
/// | `l2` | 0, 0.3, 1, 3, 10 (rows of mean weight) |
///
/// Trials that differ in `n_rounds` alone are evaluated from one fit. There are no monotone
/// constraints on clocks: they cost accuracy (measured, see this crate's README).
#[derive(Clone, Copy, Debug, Default)]
pub struct BoostedLearner;

impl Space for BoostedLearner {
    type Params = BoostValidParams;

    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> BoostValidParams {
        let params = BoostParams::new()
            .n_rounds(choose(rng, &[25, 50, 75, 100, 150, 200, 300]))
            .learning_rate(choose(rng, &[0.03, 0.05, 0.08, 0.12, 0.2, 0.3]))
            .max_leaves(choose(rng, &[4, 6, 8, 12, 16, 24, 32]))
            .max_depth(choose(rng, &[3, 4, 6, 10, 20]))
            .min_samples_leaf(choose(rng, &[1, 2, 4, 8, 16]))
            .subsample(choose(rng, &[0.5, 0.75, 1.0]))
            .feature_fraction(choose(rng, &[0.5, 0.75, 1.0]))
            .l2(choose(rng, &[0.0, 0.3, 1.0, 3.0, 10.0]));
        params.check().unwrap_or_else(|_| unreachable!("every range above is valid"))
    }

    fn describe(&self, p: &BoostValidParams) -> BTreeMap<String, String> {
        describe([
            ("n_rounds", p.n_rounds().to_string()),
            ("learning_rate", p.learning_rate().to_string()),
            ("max_leaves", p.max_leaves().to_string()),
            ("max_depth", p.max_depth().to_string()),
            ("min_samples_leaf", p.min_samples_leaf().to_string()),
            ("subsample", p.subsample().to_string()),
            ("feature_fraction", p.feature_fraction().to_string()),
            ("l2", p.l2().to_string()),
        ])
    }
}

impl Learner for BoostedLearner {
    fn name(&self) -> &'static str {
        "boosted_trees"
    }

    fn groups(&self, trials: &[BoostValidParams]) -> Vec<Vec<usize>> {
        boost_groups(trials)
    }

    fn evaluate(
        &self,
        group: &[&BoostValidParams],
        fold: Fold<'_>,
    ) -> Result<Vec<Option<HeldOut>>, LearnError> {
        Ok(evaluate_boosted(group, fold)?.into_iter().map(Some).collect())
    }

    fn fit(
        &self,
        params: &BoostValidParams,
        x: &CodedMatrix,
        rows: &[u32],
        y: &[f64],
        w: Option<&[f64]>,
        seed: u64,
    ) -> Result<Model, LearnError> {
        Ok(Model::Forest(params.fit(x, rows, y, w, seed)?))
    }
}
