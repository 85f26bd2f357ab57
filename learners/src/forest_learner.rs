//! The random forest as a family of the search.

use std::collections::BTreeMap;

use enerinfer_hyperparam::{Space, below, log_uniform_int};
use linfa::ParamGuard;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::learner::{Learner, Model};
use crate::share::{HeldOut, evaluate_forests, forest_groups};
use crate::{
    CodedMatrix, Fold, ForestParams, ForestValidParams, LearnError, MAX_DEPTH, MAX_FOREST_TREES,
};

/// Random forests (EnerInfer §4.3: depth ≤ 20, at most 200 trees).
///
/// | parameter | drawn from |
/// |---|---|
/// | `n_trees` | 5 … 200, logarithm uniform |
/// | `max_depth` | 2 … 20, uniform |
/// | `min_samples_leaf` | 1, 2, 3, 5, 8 |
/// | `min_samples_split` | 2, 4, 8, 16 |
/// | `max_features` | 1 … all, uniform |
/// | `sample_fraction` | 0.5, 1 (bootstrap) |
///
/// Trials that agree in `min_samples_leaf`, `max_features` and `sample_fraction` are evaluated
/// from one fit.
#[derive(Clone, Copy, Debug)]
pub struct RandomForestLearner {
    /// Number of features of the table.
    pub features: u32,
}

/// A value of `choices` (not empty).
pub(crate) fn choose<T: Copy>(rng: &mut Xoshiro256PlusPlus, choices: &[T]) -> T {
    choices[below(rng, choices.len() as u64) as usize]
}

/// A description from names and values.
pub(crate) fn describe<const N: usize>(params: [(&str, String); N]) -> BTreeMap<String, String> {
    params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Space for RandomForestLearner {
    type Params = ForestValidParams;

    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> ForestValidParams {
        let features = 1 + below(rng, u64::from(self.features.max(1))) as u32;
        let params = ForestParams::new()
            .n_trees(log_uniform_int(rng, 5, MAX_FOREST_TREES))
            .max_depth(2 + below(rng, u64::from(MAX_DEPTH) - 1) as u32)
            .min_samples_leaf(choose(rng, &[1, 2, 3, 5, 8]))
            .min_samples_split(choose(rng, &[2, 4, 8, 16]))
            .max_features((features < self.features).then_some(features))
            .sample_fraction(choose(rng, &[0.5, 1.0]));
        params.check().unwrap_or_else(|_| unreachable!("every range above is valid"))
    }

    fn describe(&self, p: &ForestValidParams) -> BTreeMap<String, String> {
        describe([
            ("n_trees", p.n_trees().to_string()),
            ("max_depth", p.max_depth().to_string()),
            ("min_samples_leaf", p.min_samples_leaf().to_string()),
            ("min_samples_split", p.min_samples_split().to_string()),
            ("max_features", p.max_features().map_or("all".to_owned(), |m| m.to_string())),
            ("sample_fraction", p.sample_fraction().to_string()),
        ])
    }
}

impl Learner for RandomForestLearner {
    fn name(&self) -> &'static str {
        "random_forest"
    }

    fn groups(&self, trials: &[ForestValidParams]) -> Vec<Vec<usize>> {
        forest_groups(trials)
    }

    fn evaluate(
        &self,
        group: &[&ForestValidParams],
        fold: Fold<'_>,
    ) -> Result<Vec<Option<HeldOut>>, LearnError> {
        Ok(evaluate_forests(group, fold)?.into_iter().map(Some).collect())
    }

    fn fit(
        &self,
        params: &ForestValidParams,
        x: &CodedMatrix,
        rows: &[u32],
        y: &[f64],
        w: Option<&[f64]>,
        seed: u64,
    ) -> Result<Model, LearnError> {
        Ok(Model::Forest(params.fit(x, rows, y, w, seed)?))
    }
}
