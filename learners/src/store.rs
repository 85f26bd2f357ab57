//! Where a search keeps its results as they come, so that an interrupted one can be resumed.

use std::collections::BTreeMap;

use crate::share::ForestSize;

/// What is known of one trial on one fold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// MAPE, %; `None` where the fit diverged.
    pub mape_percent: Option<f64>,
    /// Size of the fitted forest; `None` for other families and diverged fits.
    pub size: Option<ForestSize>,
}

/// A trial that was scored on a fold.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// Number of the trial.
    pub trial: usize,
    /// Its hyper-parameters as a report shows them.
    pub params: BTreeMap<String, String>,
    /// Its result.
    pub known: Known,
}

/// Keeps the results of a search as they come, and gives back those of an interrupted one. `rows`
/// are the training rows of a round of successive halving, none where all were taken.
pub trait Store: Sync {
    /// Result of a trial on a fold, if it is known already.
    fn known(&self, trial: usize, fold: usize, rows: Option<usize>) -> Option<Known>;

    /// Keeps results of trials that one fit served; `seconds` is the time of all of them.
    ///
    /// # Errors
    /// The search ends as soon as something cannot be kept; the store knows why.
    fn keep(
        &self,
        fold: usize,
        rows: Option<usize>,
        scored: &[Scored],
        seconds: f64,
    ) -> Result<(), StoreError>;
}

/// A result could not be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreError;

/// Keeps nothing.
pub struct NoStore;

impl Store for NoStore {
    fn known(&self, _: usize, _: usize, _: Option<usize>) -> Option<Known> {
        None
    }

    fn keep(&self, _: usize, _: Option<usize>, _: &[Scored], _: f64) -> Result<(), StoreError> {
        Ok(())
    }
}
