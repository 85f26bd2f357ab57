//! Learner families as the search sees them: a space to draw from, and a fit.

use std::collections::BTreeMap;

use enerinfer_artifacts::Forest;
use enerinfer_hyperparam::{Space, below, log_uniform_int};
use enerinfer_learners::{CodedMatrix, ForestParams, LearnError};
use linfa::ParamGuard as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// Estimated flash per leaf (thumbv7em) that bounds the search space before anything is fitted.
const BYTES_PER_LEAF: u64 = 10;

/// Hyper-parameters of one random-forest trial, in scikit-learn's and ranger's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForestTrial {
    /// Trees, 1–200 (EnerInfer §4.2: "no more than 200").
    pub(crate) n_trees: u32,
    /// Longest path in splits, 2–20 (EnerInfer §4.2: "maximum depth of 20").
    pub(crate) max_depth: u32,
    /// Fewest rows in a leaf, 1–32.
    pub(crate) min_samples_leaf: u32,
    /// Features drawn per node (mtry), 1 to all.
    pub(crate) max_features: u32,
}

impl ForestTrial {
    /// Fits on `rows` of a matrix; `y` and `weights` have one value per row of the matrix.
    ///
    /// # Errors
    /// As the learner's.
    pub(crate) fn fit(
        &self,
        x: &CodedMatrix,
        rows: &[u32],
        y: &[f64],
        weights: &[f64],
        seed: u64,
    ) -> Result<Forest<f64>, LearnError> {
        ForestParams::new()
            .n_trees(self.n_trees)
            .max_depth(self.max_depth)
            .min_samples_leaf(self.min_samples_leaf)
            .max_features(Some(self.max_features))
            .check()?
            .fit(x, rows, &pick(y, rows), Some(&pick(weights, rows)), seed)
    }
}

/// Values of some rows.
pub(crate) fn pick(values: &[f64], rows: &[u32]) -> Vec<f64> {
    rows.iter().map(|&r| values[r as usize]).collect()
}

/// The random forest's search space, limited by flash: a trial that could not fit the budget even
/// if it were alone is not drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForestSpace {
    /// Number of features.
    pub(crate) features: u32,
    /// Training rows.
    pub(crate) rows: u32,
    /// Flash for all predictors, bytes.
    pub(crate) budget_bytes: u64,
}

impl ForestSpace {
    fn largest_bytes(&self, t: &ForestTrial) -> u64 {
        let by_depth = 1u64 << t.max_depth;
        let by_rows = u64::from((self.rows / t.min_samples_leaf).max(1));
        u64::from(t.n_trees) * by_depth.min(by_rows) * BYTES_PER_LEAF
    }
}

impl Space for ForestSpace {
    type Params = ForestTrial;

    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> ForestTrial {
        loop {
            let trial = ForestTrial {
                n_trees: log_uniform_int(rng, 1, 200),
                max_depth: 2 + below(rng, 19) as u32,
                min_samples_leaf: log_uniform_int(rng, 1, 32),
                max_features: 1 + below(rng, u64::from(self.features.max(1))) as u32,
            };
            // One tree of depth 2 is always accepted, so this ends.
            let smallest = trial.n_trees == 1 && trial.max_depth == 2;
            if smallest || self.largest_bytes(&trial) <= self.budget_bytes {
                return trial;
            }
        }
    }

    fn describe(&self, t: &ForestTrial) -> BTreeMap<String, String> {
        BTreeMap::from([
            ("n_trees".to_owned(), t.n_trees.to_string()),
            ("max_depth".to_owned(), t.max_depth.to_string()),
            ("min_samples_leaf".to_owned(), t.min_samples_leaf.to_string()),
            ("max_features".to_owned(), t.max_features.to_string()),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use enerinfer_hyperparam::draw_unique;

    #[test]
    fn draws_fit_the_budget_and_cover_the_space() {
        let space = ForestSpace { features: 9, rows: 10_560, budget_bytes: 128 << 10 };
        let trials = draw_unique(&space, 1000, 3);
        assert_eq!(trials.len(), 1000);
        assert!(trials.iter().all(|t| space.largest_bytes(t) <= space.budget_bytes));
        assert!(trials.iter().any(|t| t.n_trees > 150));
        assert!(trials.iter().any(|t| t.max_depth > 15));
        assert!(trials.iter().any(|t| t.max_features == 9));
    }

    #[test]
    fn a_tiny_budget_still_ends() {
        let space = ForestSpace { features: 1, rows: 1, budget_bytes: 1 };
        assert!(!draw_unique(&space, 5, 3).is_empty());
    }
}
