//! Regressors that are trained for compilation: random forests on integer-coded features.
//!
//! - [`CodedMatrix`]: columns of whole numbers, coded once, shared by all fits;
//! - [`ForestParams`] → [`ForestValidParams::fit`]: a forest as `enerinfer_artifacts::Forest<f64>`;
//! - [`predict`]: predictions for rows of a matrix.
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

mod best_first;
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
mod search;
mod share;
mod split;
mod store;
mod svr;
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
pub use search::{Halving, Search, Task, search, search_by_halving};
pub use share::{
    Fold, ForestSize, HeldOut, boost_groups, evaluate_boosted, evaluate_forests, forest_groups,
};
pub use store::{Known, NoStore, Scored, Store, StoreError};
pub use svr::{SvrKernel, SvrLearner, SvrParams};
pub use weights::relative_weights;
