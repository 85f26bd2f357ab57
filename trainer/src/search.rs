//! Model selection: the random searches of a target, over all families that were asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use enerinfer_artifacts::{Forest, Target, record};
use enerinfer_codegen::estimate_bytes_of;
use enerinfer_hyperparam::{GroupedKFold, Space, Trial, best};
use enerinfer_learners::{
    BoostedLearner, CodedMatrix, Fold, Halving, HeldOut, Known, LearnError, Learner, MlpLearner,
    Model, NoStore, PolyLearner, Pruner, RandomForestLearner, Scored, Store, StoreError,
    SvrLearner, Task, permutation_importance, search, search_by_halving,
};

use rand_xoshiro::Xoshiro256PlusPlus;

use crate::TrainError;
use crate::journal::Journal;
use crate::samples::Samples;

/// A learner family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Family {
    /// Random forest (compiled).
    RandomForest,
    /// Boosted trees (compiled).
    BoostedTrees,
    /// ε-support-vector regression (for comparison).
    Svr,
    /// Polynomial ridge (for comparison).
    Polynomial,
    /// Multilayer perceptron (for comparison).
    Mlp,
}

/// Most training rows of one fit of the SVR, whose solver keeps a matrix of rows × rows.
const SVR_MAX_ROWS: usize = 1000;
/// Most training rows of one fit of the perceptron within the search: all of our tables'.
const MLP_MAX_ROWS: usize = 10_000;
/// Training rows of the first round of successive halving.
const FIRST_ROWS: usize = 100;
/// Each round keeps one trial in this many, and takes as many times the rows.
const HALVING_FACTOR: usize = 5;

impl Family {
    /// Every family.
    pub const ALL: [Family; 5] =
        [Family::RandomForest, Family::BoostedTrees, Family::Svr, Family::Polynomial, Family::Mlp];

    /// Name in records and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Family::RandomForest => "random_forest",
            Family::BoostedTrees => "boosted_trees",
            Family::Svr => "svr",
            Family::Polynomial => "polynomial",
            Family::Mlp => "mlp",
        }
    }

    /// Whether its models can be compiled for a device.
    pub fn compiles(self) -> bool {
        matches!(self, Family::RandomForest | Family::BoostedTrees)
    }

    /// Whether its trials run by successive halving over rows where there are many: the families
    /// whose fits are slow at size.
    pub fn halves(self) -> bool {
        matches!(self, Family::Svr | Family::Mlp)
    }
}

/// Settings that all searches share.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'a> {
    /// Trials per target and family.
    pub(crate) trials: usize,
    /// Seed of the drawn hyper-parameters.
    pub(crate) trial_seed: u64,
    /// Seed of every fit. One for all trials: trials then differ in their parameters alone.
    pub(crate) fit_seed: u64,
    /// Where scores go, and come from when a run is resumed.
    pub(crate) journal: &'a Journal,
}

/// Samples of one target, ready to be learnt from.
pub(crate) struct TargetData {
    /// The target.
    pub(crate) target: Target,
    /// Samples of the training models.
    pub(crate) samples: Samples,
    x: CodedMatrix,
    weights: Vec<f64>,
    rows: Vec<u32>,
}

impl TargetData {
    /// Codes the samples.
    ///
    /// # Errors
    /// If they cannot be coded.
    pub(crate) fn new(target: Target, samples: Samples) -> Result<Self, TrainError> {
        let x = CodedMatrix::new(samples.features.clone(), samples.columns.clone())?;
        let weights = enerinfer_learners::relative_weights(&samples.values);
        let rows = (0..samples.values.len() as u32).collect();
        Ok(TargetData { target, samples, x, weights, rows })
    }

    /// Thresholds that forests on these samples can have at most.
    fn thresholds(&self) -> u64 {
        let columns = 0..self.samples.features.len();
        columns.map(|f| self.x.distinct(f).len().saturating_sub(1) as u64).sum()
    }

    /// Predictions of a model that was fitted to the same columns, one per sample.
    ///
    /// # Errors
    /// As the learner's.
    pub(crate) fn predict(&self, model: &Model) -> Result<Vec<f64>, TrainError> {
        Ok(model.predict(&self.x, &self.rows)?)
    }

    /// Permutation importance of a forest's inputs on these samples.
    ///
    /// # Errors
    /// As the learner's.
    pub(crate) fn importance(
        &self,
        forest: &Forest<f64>,
        seed: u64,
    ) -> Result<Vec<f64>, TrainError> {
        let values = &self.samples.values;
        Ok(permutation_importance(forest, &self.x, &self.rows, values, 3, seed)?)
    }

    /// The columns.
    pub(crate) fn matrix(&self) -> &CodedMatrix {
        &self.x
    }

    /// A forest that was fitted to `rows`, ready to be pruned by what they say.
    ///
    /// # Errors
    /// As the learner's.
    pub(crate) fn pruner(&self, forest: &Forest<f64>, rows: &[u32]) -> Result<Pruner, LearnError> {
        Pruner::new(forest, &self.x, rows, Some(&at(&self.weights, rows)))
    }

    fn task(&self, seed: u64) -> Task<'_> {
        Task {
            x: &self.x,
            rows: &self.rows,
            y: &self.samples.values,
            w: Some(&self.weights),
            group_of_row: &self.samples.models,
            seed,
        }
    }
}

/// Values at some rows.
fn at(values: &[f64], rows: &[u32]) -> Vec<f64> {
    rows.iter().map(|&row| values[row as usize]).collect()
}

/// One trial of a family's search.
pub(crate) struct Candidate {
    /// Hyper-parameters.
    pub(crate) params: BTreeMap<String, String>,
    /// Scores.
    pub(crate) trial: Trial,
    /// Whether the scores come from fits to all rows, rather than from a round of successive
    /// halving that the trial did not survive.
    pub(crate) complete: bool,
    /// Estimated flash when fitted on all rows; `None` for what cannot be compiled.
    pub(crate) est_bytes: Option<u64>,
}

/// A finished search of one family for one target.
pub(crate) struct FamilySearch {
    /// Name of the family.
    pub(crate) name: &'static str,
    /// Whether its trials ran by successive halving.
    pub(crate) halved: bool,
    /// Trials in the order of drawing.
    pub(crate) candidates: Vec<Candidate>,
    fit: Box<Fit>,
    cross_validate: Box<CrossValidate>,
}

/// Fits candidate `usize` on rows of some data.
type Fit = dyn Fn(usize, &TargetData, &[u32], u64) -> Result<Model, TrainError> + Send + Sync;

/// Scores candidate `usize` by cross-validation on some data.
type CrossValidate =
    dyn Fn(usize, &TargetData, &GroupedKFold, u64) -> Result<Trial, TrainError> + Send + Sync;

impl FamilySearch {
    /// Draws and cross-validates the family's trials; `progress` gets `(done, total)`.
    ///
    /// # Errors
    /// Data that no trial can be fitted to, or a journal that cannot be written.
    pub(crate) fn run(
        family: Family,
        data: &TargetData,
        folds: &GroupedKFold,
        settings: Settings<'_>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self, TrainError> {
        match family {
            Family::RandomForest => {
                let features = data.samples.features.len() as u32;
                run(family, RandomForestLearner { features }, data, folds, settings, progress)
            }
            Family::BoostedTrees => run(family, BoostedLearner, data, folds, settings, progress),
            Family::Svr => {
                let learner = SvrLearner { max_rows: SVR_MAX_ROWS };
                run(family, learner, data, folds, settings, progress)
            }
            Family::Polynomial => run(family, PolyLearner, data, folds, settings, progress),
            Family::Mlp => {
                let learner = MlpLearner { max_rows: MLP_MAX_ROWS };
                run(family, learner, data, folds, settings, progress)
            }
        }
    }

    /// Fits a candidate on all rows of `data`, which has the columns of the search.
    ///
    /// # Errors
    /// As the learner's.
    pub(crate) fn refit(
        &self,
        candidate: usize,
        data: &TargetData,
        seed: u64,
    ) -> Result<Model, TrainError> {
        self.fit(candidate, data, &data.rows, seed)
    }

    /// Fits a candidate on some rows of `data`, likewise.
    ///
    /// # Errors
    /// As the learner's.
    pub(crate) fn fit(
        &self,
        candidate: usize,
        data: &TargetData,
        rows: &[u32],
        seed: u64,
    ) -> Result<Model, TrainError> {
        (self.fit)(candidate, data, rows, seed)
    }

    /// Scores a candidate by cross-validation on `data`, which may have other columns.
    ///
    /// # Errors
    /// As the search's.
    pub(crate) fn cross_validate(
        &self,
        candidate: usize,
        data: &TargetData,
        folds: &GroupedKFold,
        seed: u64,
    ) -> Result<Trial, TrainError> {
        (self.cross_validate)(candidate, data, folds, seed)
    }

    /// The candidate of lowest cross-validated MAPE among those scored on all rows; `None` if all
    /// diverged.
    pub(crate) fn best(&self) -> Option<usize> {
        let complete: Vec<usize> =
            (0..self.candidates.len()).filter(|&i| self.candidates[i].complete).collect();
        let trials: Vec<Trial> =
            complete.iter().map(|&i| self.candidates[i].trial.clone()).collect();
        best(&trials).map(|i| complete[i])
    }

    /// All trials for the record, in the order of drawing.
    pub(crate) fn record(&self) -> Vec<record::Trial> {
        self.candidates
            .iter()
            .map(|c| record::Trial {
                params: c.params.clone(),
                fold_mape_percent: c.trial.fold_mape_percent.clone(),
                cv_mape_percent: c.trial.mean(),
                est_bytes: c.est_bytes,
            })
            .collect()
    }
}

fn run<L: Learner + Send + 'static>(
    family: Family,
    learner: L,
    data: &TargetData,
    folds: &GroupedKFold,
    settings: Settings<'_>,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<FamilySearch, TrainError>
where
    L::Params: 'static,
{
    let name = family.name();
    let store = JournalStore {
        journal: settings.journal,
        target: data.target,
        family: name,
        fault: Mutex::new(None),
    };
    let task = data.task(settings.fit_seed);
    let (trials, seed) = (settings.trials, settings.trial_seed);
    let found = if family.halves() {
        let halving = Halving { trials, first_rows: FIRST_ROWS, factor: HALVING_FACTOR };
        search_by_halving(&learner, task, folds, halving, seed, &store, progress)
    } else {
        search(&learner, task, folds, trials, seed, &store, progress)
    };
    // The journal's own message says more than the learner's "store failed".
    if let Some(e) = store.fault.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        return Err(e.into());
    }
    let found = found?;
    let halved = found.complete.contains(&false);
    let thresholds = data.thresholds();
    // A fold's fit sees (k − 1)/k of the rows; leaves grow at most in proportion to rows.
    let k = folds.k() as u64;
    let candidates = found
        .params
        .iter()
        .zip(found.trials)
        .zip(found.sizes.iter().zip(found.complete))
        .map(|((params, trial), (size, complete))| Candidate {
            params: learner.describe(params),
            trial,
            complete,
            est_bytes: size
                .map(|s| estimate_bytes_of(u64::from(s.trees), s.leaves * k / (k - 1), thresholds)),
        })
        .collect();
    let learner = Arc::new(learner);
    let params = Arc::new(found.params);
    let fit = {
        let (learner, params) = (Arc::clone(&learner), Arc::clone(&params));
        move |candidate: usize, data: &TargetData, rows: &[u32], seed| {
            let (y, w) = (at(&data.samples.values, rows), at(&data.weights, rows));
            Ok(learner.fit(&params[candidate], &data.x, rows, &y, Some(&w), seed)?)
        }
    };
    let cross_validate = move |candidate: usize, data: &TargetData, folds: &GroupedKFold, seed| {
        let one = One { learner: &*learner, params: &params[candidate] };
        let mut found = search(&one, data.task(seed), folds, 1, 0, &NoStore, &|_, _| {})?;
        let fault = TrainError::NoUsableTrial { target: data.target.name() };
        found.trials.pop().ok_or(fault)
    };
    Ok(FamilySearch {
        name,
        halved,
        candidates,
        fit: Box::new(fit),
        cross_validate: Box::new(cross_validate),
    })
}

/// A family reduced to one member, so that a search for one trial scores just that.
struct One<'a, L: Learner> {
    learner: &'a L,
    params: &'a L::Params,
}

impl<L: Learner> Space for One<'_, L> {
    type Params = L::Params;

    fn draw(&self, _: &mut Xoshiro256PlusPlus) -> L::Params {
        self.params.clone()
    }

    fn describe(&self, params: &L::Params) -> BTreeMap<String, String> {
        self.learner.describe(params)
    }
}

impl<L: Learner> Learner for One<'_, L> {
    fn name(&self) -> &'static str {
        self.learner.name()
    }

    fn evaluate(
        &self,
        group: &[&L::Params],
        fold: Fold<'_>,
    ) -> Result<Vec<Option<HeldOut>>, LearnError> {
        self.learner.evaluate(group, fold)
    }

    fn fit(
        &self,
        params: &L::Params,
        x: &CodedMatrix,
        rows: &[u32],
        y: &[f64],
        w: Option<&[f64]>,
        seed: u64,
    ) -> Result<Model, LearnError> {
        self.learner.fit(params, x, rows, y, w, seed)
    }
}

/// The journal as a search sees it.
struct JournalStore<'a> {
    journal: &'a Journal,
    target: Target,
    family: &'static str,
    fault: Mutex<Option<crate::JournalError>>,
}

impl Store for JournalStore<'_> {
    fn known(&self, trial: usize, fold: usize, rows: Option<usize>) -> Option<Known> {
        self.journal.known(self.target, self.family, trial, fold, rows)
    }

    fn keep(
        &self,
        fold: usize,
        rows: Option<usize>,
        scored: &[Scored],
        seconds: f64,
    ) -> Result<(), StoreError> {
        let kept = self.journal.append(self.target, self.family, fold, rows, scored, seconds);
        kept.map_err(|e| {
            let mut fault = self.fault.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            fault.get_or_insert(e);
            StoreError
        })
    }
}

/// The forest of a model that can be compiled.
///
/// # Errors
/// If the model is of another kind; families say beforehand whether they compile.
pub(crate) fn compiled(model: Model, target: Target) -> Result<Forest<f64>, TrainError> {
    match model {
        Model::Forest(forest) => Ok(forest),
        Model::Other(_) => Err(TrainError::NoUsableTrial { target: target.name() }),
    }
}
