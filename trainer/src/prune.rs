//! Pruning the preferred predictors to the flash budget, scored on held-out folds.

use enerinfer_artifacts::{Bundle, Forest, Predictor};
use enerinfer_codegen::estimate_bytes;
use enerinfer_hyperparam::{GroupedKFold, Trial, mape_percent};
use enerinfer_learners::{Model, Pruner, predict};

use crate::TrainError;
use crate::pipeline::{Searched, predictor};
use crate::search::compiled;
use crate::select::Choice;
use crate::size_front::compiled_bytes_of_all;

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
    /// Its fit to all training rows.
    pub(crate) whole: Predictor,
}

/// Predictors that fit, and what the same cost of a leaf makes of the folds' fits.
pub(crate) struct Pruned {
    pub(crate) predictors: Vec<Predictor>,
    /// Scores of the folds' fits, pruned alike, per predictor.
    pub(crate) scores: Vec<Trial>,
}

/// Prunes the preferred trials' fits to all training rows at one cost of a leaf, as low as the
/// budget allows. Errors are relative, so that one cost is right for all targets.
///
/// # Errors
/// As the learners'; a budget that constants exceed.
pub(crate) fn prune(
    preferred: &[Preferred<'_>],
    folds: &GroupedKFold,
    frame: &Bundle,
    budget_bytes: u64,
    fit_seed: u64,
) -> Result<Pruned, TrainError> {
    let pruners = preferred
        .iter()
        .map(|p| {
            let data = &p.searched.data;
            let all: Vec<u32> = (0..data.samples.values.len() as u32).collect();
            Ok(data.pruner(&p.whole.forest, &all)?)
        })
        .collect::<Result<Vec<Pruner>, TrainError>>()?;
    let forests = |leaf_cost: f64| -> Vec<Forest<f64>> {
        preferred.iter().zip(&pruners).map(|(p, pruner)| p.prune(pruner, leaf_cost)).collect()
    };
    let mut allowed = budget_bytes;
    let (leaf_cost, predictors) = loop {
        let leaf_cost = lowest_cost(forests, allowed)
            .map_err(|smallest| TrainError::FlashBudget { smallest, budget: budget_bytes })?;
        let predictors = preferred
            .iter()
            .zip(forests(leaf_cost))
            .map(|(p, forest)| predictor(&p.searched.data, Model::Forest(forest)))
            .collect::<Result<Vec<Predictor>, TrainError>>()?;
        let actual = compiled_bytes_of_all(frame, &predictors)?;
        if actual <= budget_bytes {
            break (leaf_cost, predictors);
        }
        // The passes that follow made more of them than the estimate before: ask for less.
        allowed = (allowed.saturating_mul(budget_bytes) / actual).min(allowed - 1);
    };
    let mut scores = Vec::new();
    for p in preferred {
        scores.push(p.cross_validate(folds, leaf_cost, fit_seed)?);
    }
    Ok(Pruned { predictors, scores })
}

/// The lowest cost of a leaf at which forests are at most so large before the passes; the error is
/// the smallest size.
fn lowest_cost(forests: impl Fn(f64) -> Vec<Forest<f64>>, most_bytes: u64) -> Result<f64, u64> {
    let bytes = |leaf_cost: f64| forests(leaf_cost).iter().map(estimate_bytes).sum::<u64>();
    let (mut low, mut high) = COSTS;
    let smallest = bytes(high.exp2());
    if smallest > most_bytes {
        return Err(smallest);
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        *if bytes(middle.exp2()) <= most_bytes { &mut high } else { &mut low } = middle;
    }
    Ok(high.exp2())
}

impl<'a> Preferred<'a> {
    /// Fits a trial to all training rows.
    pub(crate) fn fit(
        searched: &'a Searched,
        choice: Choice,
        fixed: bool,
        fit_seed: u64,
    ) -> Result<Self, TrainError> {
        let data = &searched.data;
        let model = searched.families[choice.family].refit(choice.trial, data, fit_seed)?;
        Ok(Preferred { searched, choice, fixed, whole: predictor(data, model)? })
    }

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

#[cfg(test)]
mod tests {
    use enerinfer_artifacts::{PlatformId, Provenance, Target};
    use enerinfer_datasets::sampler;
    use enerinfer_device::{Noise, SimulatedDevice};

    use super::*;
    use crate::journal::Journal;
    use crate::samples::{FeatureSet, samples};
    use crate::search::{Family, FamilySearch, Settings, TargetData};
    use crate::size_front::compiled_bytes;

    #[test]
    fn folds_are_pruned_as_the_whole_and_at_no_cost_score_as_the_trial() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::start(&folder.path().join("search.jsonl"), "run").unwrap();
        let device = SimulatedDevice::builtin("h_phone", None).unwrap();
        let models = sampler::sample(12, 5).unwrap();
        let table = device.measure(&models, Noise { relative_sd: 0.01 }, 1);
        let features = FeatureSet::Paper.features(Target::Power);
        let data = TargetData::new(Target::Power, samples(&table, Target::Power, &features, None));
        let data = data.unwrap();
        let folds = GroupedKFold::new(12, 4, 3).unwrap();
        let settings = Settings { trials: 2, trial_seed: 1, fit_seed: 2, journal: &journal };
        let families = [Family::RandomForest, Family::BoostedTrees]
            .map(|family| FamilySearch::run(family, &data, &folds, settings, &|_, _| {}).unwrap());
        let searched = Searched { data, families: families.into() };
        for family in 0..2 {
            for trial in 0..2 {
                let choice = Choice { family, trial };
                let p = Preferred::fit(&searched, choice, false, 2).unwrap();
                let found = p.cross_validate(&folds, 0.0, 2).unwrap().fold_mape_percent;
                let known = &searched.families[family].candidates[trial].trial.fold_mape_percent;
                for (found, known) in found.iter().zip(known) {
                    assert!((found.unwrap() - known.unwrap()).abs() < 1e-9, "{found:?} {known:?}");
                }
            }
        }
        let all = |fixed| {
            [0, 1].map(|family| {
                Preferred::fit(&searched, Choice { family, trial: 0 }, fixed, 2).unwrap()
            })
        };
        let frame = Bundle {
            platform: PlatformId {
                name: "h_phone".to_owned(),
                engine: String::new(),
                weight_format: String::new(),
                power_domain: String::new(),
                source: "simulated:h_phone".to_owned(),
            },
            clocks: table.platform.clocks.clone(),
            predictors: Vec::new(),
            thermal: None,
            accuracy: Vec::new(),
            test_shapes: table.models.iter().take(4).map(|m| *m.shape.dims()).collect(),
            provenance: Provenance { data_digest: String::new(), seed: 0, command: String::new() },
        };
        let bytes = |pruned: &Pruned| -> Vec<u64> {
            let compiled = |p: &Predictor| compiled_bytes(&frame, p.clone()).unwrap();
            pruned.predictors.iter().map(compiled).collect()
        };
        let whole = bytes(&prune(&all(false), &folds, &frame, 1 << 40, 2).unwrap());
        let total: u64 = whole.iter().sum();
        let half = prune(&all(false), &folds, &frame, total / 2, 2).unwrap();
        assert!(bytes(&half).iter().sum::<u64>() <= total / 2);
        assert!(half.scores.iter().all(|score| score.mean().is_some()));
        let fixed = |budget| prune(&all(true), &folds, &frame, budget, 2);
        assert_eq!(bytes(&fixed(1 << 40).unwrap()), whole, "picked ones stay");
        let error = fixed(total / 2).err().unwrap().to_string();
        assert!(error.contains("flash budget"), "{error}");
    }
}
