//! Model families behind one trait, and their search by cross-validation.

use std::sync::OnceLock;

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

/// Draws `n` unique trials and scores each by grouped cross-validation (MAPE per fold). A fit that
/// diverges scores worst and the search goes on.
///
/// The result depends on the arguments alone, not on the number of threads.
///
/// # Errors
///
/// Data that no trial could be fitted to: it is fitted once, as far as its checks, before the
/// search starts.
pub fn search<L: Learner>(
    learner: &L,
    task: Task<'_>,
    folds: &GroupedKFold,
    n: usize,
    draw_seed: u64,
    progress: Progress<'_>,
) -> Result<Search<L::Params>, LearnError> {
    check(&task)?;
    let params = draw_unique(learner, n, draw_seed);
    let groups = learner.groups(&params);
    let parts: Vec<Part> = (0..folds.k()).map(|fold| Part::new(&task, folds, fold)).collect();
    let sizes: Vec<OnceLock<ForestSize>> = params.iter().map(|_| OnceLock::new()).collect();
    let score = |members: &[usize], fold: usize| -> Vec<Option<f64>> {
        let part = &parts[fold];
        let group: Vec<&L::Params> = members.iter().map(|&trial| &params[trial]).collect();
        let results = learner.evaluate(&group, part.fold(&task)).unwrap_or_default();
        members
            .iter()
            .zip(results)
            .map(|(&trial, result)| {
                let HeldOut { predictions, size } = result?;
                if let (0, Some(size)) = (fold, size) {
                    // Only this fold writes, and each trial stands in one group.
                    let _ = sizes[trial].set(size);
                }
                mape_percent(&predictions, &part.truth).ok()
            })
            .collect()
    };
    let trials = evaluate_groups(&groups, folds.k(), &score, progress);
    let sizes = sizes.into_iter().map(OnceLock::into_inner).collect();
    Ok(Search { params, trials, sizes })
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
