//! Regressors that are trained for compilation, on integer-coded features, and families to compare
//! them with.
//!
//! - [`CodedMatrix`]: columns of whole numbers, coded once, shared by all fits;
//! - [`ForestParams`], [`BoostParams`] → `check()` → `fit(…)`: random forest and boosted trees as
//!   `enerinfer_artifacts::Forest<f64>`;
//! - [`predict`]: predictions for rows of a matrix; [`permutation_importance`], [`out_of_bag`];
//! - [`Learner`]: a family with its search space: [`RandomForestLearner`], [`BoostedLearner`] (can be
//!   compiled), [`SvrLearner`], [`PolyLearner`], [`MlpLearner`] (for comparison);
//! - [`search`], [`search_by_halving`]: random search of a family by grouped cross-validation, with
//!   all trials that one fit contains served by it (see [`forest_groups`], [`boost_groups`]).
//!
//! Forests and boosted trees depend on data, parameters and seed alone: the same bits for any
//! number of threads, on any machine. The other families use `exp`, `ln` and `tanh` of the system
//! and are reproducible per machine.
//!
//! Fitting on a training fold and scoring the held-out rows:
//!
//! ```
//! use enerinfer_artifacts::Feature;
//! use enerinfer_learners::{CodedMatrix, ForestParams, predict, relative_weights};
//! use linfa::ParamGuard;
//!
//! let x = CodedMatrix::new(
//!     vec![Feature::Layers, Feature::AccelKhz],
//!     vec![vec![12, 12, 24, 24, 36, 36], vec![306_000, 1_300_500, 306_000, 1_300_500, 306_000, 1_300_500]],
//! )?;
//! let y = [6.0, 24.0, 3.0, 12.0, 2.0, 8.0];
//! let (train, test) = ([0u32, 1, 4, 5], [2u32, 3]);
//! let y_train: Vec<f64> = train.iter().map(|&r| y[r as usize]).collect();
//!
//! let forest = ForestParams::new().n_trees(20).check()?.fit(
//!     &x, &train, &y_train, Some(&relative_weights(&y_train)), 42,
//! )?;
//! let held_out: Vec<f64> = predict(&forest, &x, &test)?;
//! assert!(held_out.iter().all(|p| (2.0..=24.0).contains(p)));
//! # Ok::<(), enerinfer_learners::LearnError>(())
//! ```
//!
//! Searching a family, by model, and fitting the winner to all training rows:
//!
//! ```
//! use enerinfer_artifacts::Feature;
//! use enerinfer_hyperparam::GroupedKFold;
//! use enerinfer_learners::{
//!     BoostedLearner, CodedMatrix, Learner, NoStore, Task, relative_weights, search,
//! };
//!
//! let models = 12u32;
//! let x = CodedMatrix::new(
//!     vec![Feature::Layers, Feature::AccelKhz],
//!     vec![
//!         (0..4 * models).map(|row| 8 + row / 4).collect(),
//!         (0..4 * models).map(|row| 300_000 * (1 + row % 4)).collect(),
//!     ],
//! )?;
//! let rows: Vec<u32> = (0..4 * models).collect();
//! let model_of_row: Vec<u32> = rows.iter().map(|row| row / 4).collect();
//! let y: Vec<f64> = rows.iter().map(|r| f64::from(1 + r % 4) / f64::from(8 + r / 4)).collect();
//! let w = relative_weights(&y);
//! let task =
//!     Task { x: &x, rows: &rows, y: &y, w: Some(&w), group_of_row: &model_of_row, seed: 1 };
//!
//! let folds = GroupedKFold::new(models as usize, 5, 2)?;
//! let found = search(&BoostedLearner, task, &folds, 10, 3, &NoStore, &|_done, _total| {})?;
//! let winner = found.best().expect("no trial of trees diverges");
//! let model = BoostedLearner.fit(&found.params[winner], &x, &rows, &y, Some(&w), 1)?;
//! assert!(model.forest().is_some());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod best_first;
mod bins;
mod boost;
mod boost_learner;
mod dataset;
mod draw;
mod error;
mod fixed;
mod forest;
mod forest_learner;
mod importance;
mod learner;
mod matrix;
mod mlp;
mod oob;
mod poly;
mod predict;
mod prepare;
mod prune;
mod search;
mod share;
mod small;
mod split;
mod store;
mod svr;
mod thermal;
mod tree;
mod weights;

pub use boost::{BoostParams, BoostValidParams, MAX_LEAVES, MAX_ROUNDS};
pub use boost_learner::BoostedLearner;
pub use dataset::RandomForest;
pub use error::LearnError;
pub use forest::{ForestParams, ForestValidParams, MAX_DEPTH, MAX_FOREST_TREES};
pub use forest_learner::RandomForestLearner;
pub use importance::permutation_importance;
pub use learner::{Learner, Model, Regressor};
pub use matrix::{CodedMatrix, MAX_FEATURES};
pub use mlp::{Activation, MlpLearner, MlpParams};
pub use oob::{OutOfBag, out_of_bag};
pub use poly::{PolyLearner, PolyParams};
pub use predict::predict;
pub use prune::Pruner;
pub use search::{Halving, Search, Task, search, search_by_halving};
pub use share::{
    Fold, ForestSize, HeldOut, boost_groups, evaluate_boosted, evaluate_forests, forest_groups,
};
pub use store::{Known, NoStore, Scored, Store, StoreError};
pub use svr::{SvrKernel, SvrLearner, SvrParams};
pub use thermal::{Segment, THERMAL_HORIZON_S, ThermalForm};
pub use weights::relative_weights;
