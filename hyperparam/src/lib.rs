//! Search spaces, random search, grouped cross-validation and scores.
//!
//! - [`mape_percent`], [`kendall_tau_b`], [`regret`], [`pareto_front`]: how good predictions are;
//! - [`GroupedKFold`], [`split_by_model`]: which rows are held out, always whole models;
//! - [`Space`], [`draw_unique`], [`evaluate`], [`best`], [`smallest_within_one_se`]: random search.
//!
//! A search in short:
//!
//! ```
//! use enerinfer_hyperparam::{GroupedKFold, Space, best, draw_unique, evaluate};
//! use rand_xoshiro::Xoshiro256PlusPlus;
//! use std::collections::BTreeMap;
//!
//! struct Constants;
//! impl Space for Constants {
//!     type Params = u64;
//!     fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> u64 {
//!         1 + enerinfer_hyperparam::below(rng, 9)
//!     }
//!     fn describe(&self, p: &u64) -> BTreeMap<String, String> {
//!         BTreeMap::from([("constant".to_owned(), p.to_string())])
//!     }
//! }
//!
//! let truth = [4.0, 5.0, 6.0, 5.0];
//! let folds = GroupedKFold::new(4, 2, 7)?;
//! let candidates = draw_unique(&Constants, 5, 1);
//! let trials = evaluate(candidates.len(), folds.k(), &|trial, fold| {
//!     let held_out: Vec<f64> =
//!         folds.test_groups(fold).iter().map(|&g| truth[g as usize]).collect();
//!     let predicted = vec![candidates[trial] as f64; held_out.len()];
//!     enerinfer_hyperparam::mape_percent(&predicted, &held_out).ok()
//! }, &|_, _| {});
//! let winner = best(&trials).expect("no trial diverged");
//! assert_eq!(trials[winner].fold_mape_percent.len(), 2);
//! # Ok::<(), enerinfer_hyperparam::Error>(())
//! ```

mod draw;
mod error;
mod fold;
mod mape;
mod pareto;
mod regret;
mod search;
mod tau;

pub use draw::{below, log_uniform, log_uniform_int, unit};
pub use error::Error;
pub use fold::{GroupedKFold, Split, split_by_model};
pub use mape::mape_percent;
pub use pareto::{choose, pareto_front};
pub use regret::{Outcome, regret};
pub use search::{
    Progress, Space, Trial, best, draw_unique, evaluate, evaluate_groups, smallest_within_one_se,
};
pub use tau::{Tau, UNDEFINED_REASON, kendall_tau_b};
