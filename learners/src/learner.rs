//! Model families behind one trait.

use enerinfer_artifacts::Forest;
use enerinfer_hyperparam::Space;

use crate::{CodedMatrix, Fold, HeldOut, LearnError, predict};

/// A family of models with its space of hyper-parameters.
pub trait Learner: Space<Params: Clone + Send + Sync> + Sync {
    /// Name in reports, e.g. `random_forest`.
    fn name(&self) -> &'static str;

    /// Groups of trials that one fit serves exactly; each alone unless a family knows better.
    fn groups(&self, trials: &[Self::Params]) -> Vec<Vec<usize>> {
        (0..trials.len()).map(|trial| vec![trial]).collect()
    }

    /// Fits the trials of one group and predicts the test rows; `None` where a fit diverged.
    /// All preprocessing is learnt from the fold's training rows.
    ///
    /// # Errors
    ///
    /// Data that no trial could be fitted to.
    fn evaluate(
        &self,
        group: &[&Self::Params],
        fold: Fold<'_>,
    ) -> Result<Vec<Option<HeldOut>>, LearnError>;

    /// Fits one model to rows of `x`; `y` and `w` are indexed like `rows`.
    ///
    /// # Errors
    ///
    /// Data that cannot be fitted, or a fit that diverged.
    fn fit(
        &self,
        params: &Self::Params,
        x: &CodedMatrix,
        rows: &[u32],
        y: &[f64],
        w: Option<&[f64]>,
        seed: u64,
    ) -> Result<Model, LearnError>;
}

/// A fitted model.
pub enum Model {
    /// A forest, which can be compiled.
    Forest(Forest<f64>),
    /// A model for comparison on the workstation.
    Other(Box<dyn Regressor>),
}

/// A fitted model that predicts rows of a matrix with the columns that it was fitted to.
pub trait Regressor: Send + Sync {
    /// Predictions, indexed like `rows`.
    ///
    /// # Errors
    ///
    /// Other columns than those of the fit, or a row outside the matrix.
    fn predict(&self, x: &CodedMatrix, rows: &[u32]) -> Result<Vec<f64>, LearnError>;
}

impl Model {
    /// Predictions, indexed like `rows`.
    ///
    /// # Errors
    ///
    /// A feature that the matrix lacks, or a row outside it.
    pub fn predict(&self, x: &CodedMatrix, rows: &[u32]) -> Result<Vec<f64>, LearnError> {
        match self {
            Model::Forest(forest) => predict(forest, x, rows),
            Model::Other(model) => model.predict(x, rows),
        }
    }

    /// The forest, if it is one.
    pub fn forest(&self) -> Option<&Forest<f64>> {
        match self {
            Model::Forest(forest) => Some(forest),
            Model::Other(_) => None,
        }
    }
}
