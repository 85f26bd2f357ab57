//! Pruning the preferred predictors to the flash budget, scored on held-out folds.

use enerinfer_artifacts::{Forest, Predictor};
use enerinfer_codegen::estimate_bytes;
use enerinfer_hyperparam::{GroupedKFold, Trial, mape_percent};
use enerinfer_learners::{Pruner, predict};

use crate::TrainError;
use crate::pipeline::{Searched, predictor};
use crate::search::compiled;
use crate::select::Choice;

/// Steps of the bisection; after so many the cost of a leaf is exact to 2⁻²⁰ of itself.
const STEPS: u32 = 26;
/// Powers of two between which the cost of a leaf is sought, in mean squared relative error: from
/// nothing worth cutting to nothing worth keeping.
const COSTS: (f64, f64) = (-60.0, 4.0);

/// A target and the trial that is preferred for it.
pub(crate) struct Preferred<'a> {
    pub(crate) searched: &'a Searched,
    pub(crate) choice: Choice,
    /// Whether it stays as it is: the user picked it.
    pub(crate) fixed: bool,
}

/// Predictors that fit, and what the same cost of a leaf makes of the folds' fits.
pub(crate) struct Pruned {
    pub(crate) predictors: Vec<Predictor>,
    /// Scores of the folds' fits, pruned alike, per predictor.
    pub(crate) scores: Vec<Trial>,
}

/// Fits the preferred trials to all training rows and prunes them at one cost of a leaf, as low as
/// the budget allows; `None` if nothing fits it. Errors are relative, so that one cost is right for
/// all targets.
///
/// # Errors
/// As the learners'.
pub(crate) fn prune(
    preferred: &[Preferred<'_>],
    folds: &GroupedKFold,
    budget_bytes: u64,
    fit_seed: u64,
) -> Result<Option<Pruned>, TrainError> {
    let pruners = preferred
        .iter()
        .map(|p| {
            let all: Vec<u32> = (0..p.searched.data.samples.values.len() as u32).collect();
            p.pruner(&all, fit_seed)
        })
        .collect::<Result<Vec<Pruner>, TrainError>>()?;
    let forests = |leaf_cost: f64| -> Vec<Forest<f64>> {
        preferred.iter().zip(&pruners).map(|(p, pruner)| p.prune(pruner, leaf_cost)).collect()
    };
    let fits =
        |leaf_cost: f64| forests(leaf_cost).iter().map(estimate_bytes).sum::<u64>() <= budget_bytes;
    let (mut low, mut high) = COSTS;
    if !fits(high.exp2()) {
        return Ok(None);
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        *if fits(middle.exp2()) { &mut high } else { &mut low } = middle;
    }
    let leaf_cost = high.exp2();
    let mut scores = Vec::new();
    for p in preferred {
        scores.push(p.cross_validate(folds, leaf_cost, fit_seed)?);
    }
    let predictors = preferred
        .iter()
        .zip(forests(leaf_cost))
        .map(|(p, forest)| predictor(&p.searched.data, enerinfer_learners::Model::Forest(forest)));
    Ok(Some(Pruned { predictors: predictors.collect::<Result<_, _>>()?, scores }))
}

impl Preferred<'_> {
    /// A fit to some of the rows, ready to be pruned.
    fn pruner(&self, rows: &[u32], fit_seed: u64) -> Result<Pruner, TrainError> {
        let data = &self.searched.data;
        let family = &self.searched.families[self.choice.family];
        let forest = compiled(family.fit(self.choice.trial, data, rows, fit_seed)?, data.target)?;
        Ok(data.pruner(&forest, rows)?)
    }

    fn prune(&self, pruner: &Pruner, leaf_cost: f64) -> Forest<f64> {
        pruner.prune(if self.fixed { 0.0 } else { leaf_cost })
    }

    /// Scores of the folds' fits, pruned at a cost of a leaf.
    fn cross_validate(
        &self,
        folds: &GroupedKFold,
        leaf_cost: f64,
        fit_seed: u64,
    ) -> Result<Trial, TrainError> {
        let data = &self.searched.data;
        let score = |fold| -> Result<Option<f64>, TrainError> {
            let (train, test) = folds.rows(fold, &data.samples.models);
            let forest = self.prune(&self.pruner(&train, fit_seed)?, leaf_cost);
            let truth: Vec<f64> = test.iter().map(|&i| data.samples.values[i as usize]).collect();
            Ok(mape_percent(&predict(&forest, data.matrix(), &test)?, &truth).ok())
        };
        let fold_mape_percent = (0..folds.k()).map(score).collect::<Result<_, _>>()?;
        Ok(Trial { fold_mape_percent })
    }
}
