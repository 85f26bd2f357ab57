//! Model families behind one trait, and their search by cross-validation.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use enerinfer_artifacts::Forest;
use enerinfer_hyperparam::{
    GroupedKFold, Progress, Space, Trial, draw_unique, evaluate_groups, mape_percent,
};

use crate::share::ForestSize;
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

/// What a search learns from: training rows only, held-out models never enter it.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The table.
    pub x: &'a CodedMatrix,
    /// Training rows of it.
    pub rows: &'a [u32],
    /// Target per training row.
    pub y: &'a [f64],
    /// Weight per training row.
    pub w: Option<&'a [f64]>,
    /// Group (model) per training row, numbered from 0 as the folds number them.
    pub group_of_row: &'a [u32],
    /// Seed of the fits.
    pub seed: u64,
}

/// A finished search.
#[derive(Clone, Debug)]
pub struct Search<P> {
    /// Hyper-parameters of the trials.
    pub params: Vec<P>,
    /// Scores per trial.
    pub trials: Vec<Trial>,
    /// Size of each trial's forest as fitted in the first fold; `None` for other families and
    /// diverged fits.
    pub sizes: Vec<Option<ForestSize>>,
}

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

/// Keeps the results of a search as they come, and gives back those of an interrupted one.
pub trait Store: Sync {
    /// Result of a trial on a fold, if it is known already.
    fn known(&self, trial: usize, fold: usize) -> Option<Known>;

    /// Keeps results of trials that one fit served; `seconds` is the time of all of them.
    ///
    /// # Errors
    /// The search ends as soon as something cannot be kept; the store knows why.
    fn keep(&self, fold: usize, scored: &[Scored], seconds: f64) -> Result<(), StoreError>;
}

/// A result could not be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreError;

/// Keeps nothing.
pub struct NoStore;

impl Store for NoStore {
    fn known(&self, _: usize, _: usize) -> Option<Known> {
        None
    }

    fn keep(&self, _: usize, _: &[Scored], _: f64) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Draws `n` unique trials and scores each by grouped cross-validation (MAPE per fold). A fit that
/// diverges scores worst and the search goes on.
///
/// The result depends on the arguments alone, not on the number of threads; results that `store`
/// knows are taken from it and change nothing else.
///
/// # Errors
///
/// Data that no trial could be fitted to: it is fitted once, as far as its checks, before the
/// search starts; a store that fails.
pub fn search<L: Learner>(
    learner: &L,
    task: Task<'_>,
    folds: &GroupedKFold,
    n: usize,
    draw_seed: u64,
    store: &dyn Store,
    progress: Progress<'_>,
) -> Result<Search<L::Params>, LearnError> {
    check(&task)?;
    let params = draw_unique(learner, n, draw_seed);
    let groups = learner.groups(&params);
    let parts: Vec<Part> = (0..folds.k()).map(|fold| Part::new(&task, folds, fold)).collect();
    let sizes: Vec<OnceLock<ForestSize>> = params.iter().map(|_| OnceLock::new()).collect();
    let failed = AtomicBool::new(false);
    let score = |members: &[usize], fold: usize| -> Vec<Option<f64>> {
        let known: Vec<Option<Known>> = members.iter().map(|&t| store.known(t, fold)).collect();
        // Each result is that of its trial alone, so only what is missing needs a fit.
        let missing: Vec<usize> =
            members.iter().zip(&known).filter(|(_, k)| k.is_none()).map(|(&t, _)| t).collect();
        let mut fitted = Vec::new();
        if !missing.is_empty() && !failed.load(Ordering::Relaxed) {
            let started = Instant::now();
            fitted =
                fit_and_score(learner, &params, &missing, parts[fold].fold(&task), &parts[fold]);
            if store.keep(fold, &fitted, started.elapsed().as_secs_f64()).is_err() {
                failed.store(true, Ordering::Relaxed);
            }
        }
        let mut fitted = fitted.into_iter();
        known
            .into_iter()
            .zip(members)
            .map(|(known, &trial)| {
                let Known { mape_percent, size } =
                    known.or_else(|| fitted.next().map(|s| s.known))?;
                if let (0, Some(size)) = (fold, size) {
                    // Only this fold writes, and each trial stands in one group.
                    let _ = sizes[trial].set(size);
                }
                mape_percent
            })
            .collect()
    };
    let trials = evaluate_groups(&groups, folds.k(), &score, progress);
    if failed.into_inner() {
        return Err(LearnError::Store);
    }
    let sizes = sizes.into_iter().map(OnceLock::into_inner).collect();
    Ok(Search { params, trials, sizes })
}

/// Results of `trials` on a fold, in order, from as few fits as their family needs.
fn fit_and_score<L: Learner>(
    learner: &L,
    params: &[L::Params],
    trials: &[usize],
    fold: Fold<'_>,
    part: &Part,
) -> Vec<Scored> {
    let group: Vec<&L::Params> = trials.iter().map(|&trial| &params[trial]).collect();
    let mut results = learner.evaluate(&group, fold).unwrap_or_default();
    results.resize(trials.len(), None);
    trials
        .iter()
        .zip(results)
        .map(|(&trial, result)| {
            let known = match result {
                None => Known { mape_percent: None, size: None },
                Some(HeldOut { predictions, size }) => {
                    let mape = mape_percent(&predictions, &part.truth).ok();
                    Known { mape_percent: mape.filter(|m| m.is_finite()), size }
                }
            };
            Scored { trial, params: learner.describe(&params[trial]), known }
        })
        .collect()
}

/// Refuses what would make every trial fail.
fn check(task: &Task<'_>) -> Result<(), LearnError> {
    task.x.check_rows(task.rows)?;
    let n = task.rows.len();
    if task.group_of_row.len() != n {
        let what = "the list of groups".to_owned();
        return Err(LearnError::Length { what, found: task.group_of_row.len(), expected: n });
    }
    crate::fixed::FixedRows::new(task.rows, task.y, task.w)?;
    match task.y.iter().position(|&y| y == 0.0) {
        Some(i) => Err(LearnError::Value {
            what: "target",
            row: task.rows[i],
            value: 0.0,
            rule: "a percentage of zero is undefined",
        }),
        None => Ok(()),
    }
}

/// Rows of one fold.
struct Part {
    rows: Vec<u32>,
    y: Vec<f64>,
    w: Option<Vec<f64>>,
    test: Vec<u32>,
    truth: Vec<f64>,
}

impl Part {
    fn new(task: &Task<'_>, folds: &GroupedKFold, fold: usize) -> Self {
        let (train, test) = folds.rows(fold, task.group_of_row);
        let rows = |at: &[u32]| at.iter().map(|&i| task.rows[i as usize]).collect();
        let values = |v: &[f64], at: &[u32]| at.iter().map(|&i| v[i as usize]).collect();
        Part {
            rows: rows(&train),
            y: values(task.y, &train),
            w: task.w.map(|w| values(w, &train)),
            test: rows(&test),
            truth: values(task.y, &test),
        }
    }

    fn fold<'a>(&'a self, task: &Task<'a>) -> Fold<'a> {
        Fold {
            x: task.x,
            rows: &self.rows,
            y: &self.y,
            w: self.w.as_deref(),
            test: &self.test,
            seed: task.seed,
        }
    }
}
