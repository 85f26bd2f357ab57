//! Model selection: the random search of each target, and a choice that fits the flash together.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use enerinfer_artifacts::{Forest, Target, record};
use enerinfer_hyperparam::{
    GroupedKFold, Space as _, Trial, draw_unique, evaluate, mape_percent, smallest_within_one_se,
};
use enerinfer_learners::{CodedMatrix, LearnError, predict};

use crate::TrainError;
use crate::family::{ForestSpace, ForestTrial, pick};
use crate::samples::Samples;

/// Everything that is known of one target before a trial is chosen.
pub(crate) struct TargetSearch {
    /// The target.
    pub(crate) target: Target,
    /// Samples of the training models.
    pub(crate) samples: Samples,
    x: CodedMatrix,
    weights: Vec<f64>,
    space: ForestSpace,
    candidates: Vec<ForestTrial>,
    trials: Vec<Trial>,
    /// Estimated flash of each trial fitted on all training rows.
    est_bytes: Vec<u64>,
}

impl TargetSearch {
    /// Draws and cross-validates `trials` candidates.
    ///
    /// `progress` gets the number of finished fits of this target.
    ///
    /// # Errors
    /// If the samples cannot be coded.
    pub(crate) fn run(
        target: Target,
        samples: Samples,
        folds: &GroupedKFold,
        settings: Settings,
        progress: &(dyn Fn(usize) + Sync),
    ) -> Result<Self, TrainError> {
        let x = CodedMatrix::new(samples.features.clone(), samples.columns.clone())?;
        let weights = samples.relative_weights();
        let space = ForestSpace {
            features: samples.features.len() as u32,
            rows: samples.values.len() as u32,
            budget_bytes: settings.budget_bytes,
        };
        let candidates = draw_unique(&space, settings.trials as usize, settings.trial_seed);
        let rows: Vec<_> = (0..folds.k()).map(|fold| folds.rows(fold, &samples.models)).collect();
        let bytes: Vec<AtomicU64> = candidates.iter().map(|_| AtomicU64::new(0)).collect();
        // A forest cannot diverge: a failing fit is a fault of the data, and is reported. The first
        // in order is kept, so that the message does not depend on threads.
        let fault: Mutex<Option<(usize, TrainError)>> = Mutex::new(None);
        let score = |trial: usize, fold: usize| -> Option<f64> {
            let (train, test) = &rows[fold];
            let scored = candidates[trial]
                .fit(&x, train, &samples.values, &weights, settings.fit_seed)
                .map_err(TrainError::from)
                .and_then(|forest| {
                    let size = enerinfer_codegen::estimate_bytes(&forest);
                    bytes[trial].fetch_add(size, Ordering::Relaxed);
                    let predicted = predict(&forest, &x, test)?;
                    Ok(mape_percent(&predicted, &pick(&samples.values, test))?)
                });
            match scored {
                Ok(mape) => Some(mape),
                Err(e) => {
                    let order = trial * folds.k() + fold;
                    let mut first = fault.lock().unwrap_or_else(PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(at, _)| order < *at) {
                        *first = Some((order, e));
                    }
                    None
                }
            }
        };
        let trials = evaluate(candidates.len(), folds.k(), &score, &|done, _| progress(done));
        if let Some((_, e)) = fault.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(e);
        }
        // A fold's fit sees (k − 1)/k of the rows; leaves grow at most in proportion to rows.
        let k = folds.k() as u64;
        let est_bytes = bytes.into_iter().map(|sum| (sum.into_inner() / k) * k / (k - 1)).collect();
        Ok(TargetSearch { target, samples, x, weights, space, candidates, trials, est_bytes })
    }

    /// Fits the chosen trial on all training rows.
    ///
    /// # Errors
    /// As the learner's.
    pub(crate) fn refit(&self, chosen: usize, fit_seed: u64) -> Result<Forest<f64>, LearnError> {
        let rows: Vec<u32> = (0..self.samples.values.len() as u32).collect();
        self.candidates[chosen].fit(&self.x, &rows, &self.samples.values, &self.weights, fit_seed)
    }

    /// Fits the chosen trial's hyper-parameters on other samples with the same columns.
    ///
    /// # Errors
    /// As the learner's.
    pub(crate) fn fit_other(
        &self,
        chosen: usize,
        samples: &Samples,
        fit_seed: u64,
    ) -> Result<Forest<f64>, LearnError> {
        let x = CodedMatrix::new(samples.features.clone(), samples.columns.clone())?;
        let rows: Vec<u32> = (0..samples.values.len() as u32).collect();
        let weights = samples.relative_weights();
        self.candidates[chosen].fit(&x, &rows, &samples.values, &weights, fit_seed)
    }

    /// The candidate's hyper-parameters for a record.
    pub(crate) fn params(&self, trial: usize) -> std::collections::BTreeMap<String, String> {
        self.space.describe(&self.candidates[trial])
    }

    /// Mean and standard error of a trial's MAPE over the folds, %.
    pub(crate) fn cv_mape_percent(&self, trial: usize) -> Option<(f64, f64)> {
        let t = &self.trials[trial];
        Some((t.mean()?, t.standard_error().unwrap_or(0.0)))
    }

    /// Number of different candidates, which a small space may keep below what was asked for.
    pub(crate) fn candidates(&self) -> usize {
        self.candidates.len()
    }

    /// All trials for the record, in the order of drawing.
    pub(crate) fn record(&self) -> Vec<record::Trial> {
        let trials = self.trials.iter().enumerate();
        trials
            .map(|(i, t)| record::Trial {
                params: self.params(i),
                fold_mape_percent: t.fold_mape_percent.clone(),
                cv_mape_percent: t.mean(),
                est_bytes: Some(self.est_bytes[i]),
            })
            .collect()
    }

    /// Trials from the one-standard-error choice down: each smaller than the one before, and the
    /// most accurate of its size or less.
    fn front(&self) -> Result<Vec<usize>, TrainError> {
        let start = smallest_within_one_se(&self.trials, |i| self.est_bytes[i])
            .ok_or(TrainError::NoUsableTrial { target: self.target.name() })?;
        let mut smaller: Vec<(u64, f64, usize)> = (0..self.trials.len())
            .filter(|&i| self.est_bytes[i] < self.est_bytes[start])
            .filter_map(|i| Some((self.est_bytes[i], self.trials[i].mean()?, i)))
            .collect();
        smaller.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        let mut front = Vec::new();
        let mut best = f64::INFINITY;
        for (_, mape, i) in smaller {
            if mape < best {
                best = mape;
                front.push(i);
            }
        }
        front.push(start);
        front.reverse();
        Ok(front)
    }
}

/// Settings that all targets share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Trials per target.
    pub(crate) trials: u32,
    /// Flash for all predictors, bytes.
    pub(crate) budget_bytes: u64,
    /// Seed of the drawn hyper-parameters.
    pub(crate) trial_seed: u64,
    /// Seed of every fit. One for all trials: trials then differ in their parameters alone.
    pub(crate) fit_seed: u64,
}

/// Chooses a trial per target: for each the smallest within one standard error of its best; while
/// all together exceed the budget, the step down that costs the least MAPE per byte saved.
///
/// # Errors
/// If a target has no usable trial, or the smallest trials together exceed the budget.
pub(crate) fn choose_together(
    searches: &[TargetSearch],
    budget_bytes: u64,
) -> Result<Vec<usize>, TrainError> {
    let fronts: Vec<Vec<usize>> =
        searches.iter().map(TargetSearch::front).collect::<Result<_, _>>()?;
    let costs: Vec<Vec<(u64, f64)>> = searches
        .iter()
        .zip(&fronts)
        .map(|(s, front)| {
            let cost = |&i: &usize| (s.est_bytes[i], s.trials[i].mean().unwrap_or(f64::INFINITY));
            front.iter().map(cost).collect()
        })
        .collect();
    let picked = fit_budget(&costs, budget_bytes)?;
    Ok(picked.into_iter().zip(fronts).map(|(at, front)| front[at]).collect())
}

/// Index into each list of `(bytes, MAPE)`, largest first, so that the bytes together fit.
fn fit_budget(costs: &[Vec<(u64, f64)>], budget_bytes: u64) -> Result<Vec<usize>, TrainError> {
    let mut at = vec![0; costs.len()];
    loop {
        let total: u64 = costs.iter().zip(&at).map(|(list, &i)| list[i].0).sum();
        if total <= budget_bytes {
            return Ok(at);
        }
        // The cheapest step of any length: a later entry may be a better bargain than the next.
        let step = costs
            .iter()
            .enumerate()
            .flat_map(|(t, list)| {
                let (bytes, mape) = list[at[t]];
                list.iter()
                    .enumerate()
                    .skip(at[t] + 1)
                    .map(move |(i, &(b, m))| ((m - mape) / (bytes - b).max(1) as f64, t, i))
            })
            .min_by(|a, b| a.0.total_cmp(&b.0));
        match step {
            Some((_, t, i)) => at[t] = i,
            None => {
                return Err(TrainError::FlashBudget { smallest: total, budget: budget_bytes });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_fits_nothing_changes() {
        let costs = [vec![(100, 2.0), (10, 5.0)], vec![(50, 1.0)]];
        assert_eq!(fit_budget(&costs, 150).unwrap(), [0, 0]);
    }

    #[test]
    fn the_cheapest_accuracy_is_given_up_first() {
        let costs =
            [vec![(100, 2.0), (60, 2.1), (10, 9.0)], vec![(100, 2.0), (60, 4.0), (10, 5.0)]];
        assert_eq!(fit_budget(&costs, 160).unwrap(), [1, 0]);
        assert_eq!(fit_budget(&costs, 120).unwrap(), [1, 2]);
        assert_eq!(fit_budget(&costs, 20).unwrap(), [2, 2]);
        let error = fit_budget(&costs, 19).unwrap_err().to_string();
        assert!(error.contains("20 bytes") && error.contains("19"), "{error}");
    }
}
