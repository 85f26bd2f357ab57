//! Random search of a family by grouped cross-validation, in full or by successive halving.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use enerinfer_hyperparam::{
    GroupedKFold, Progress, Trial, best, draw_unique, evaluate_groups, mape_percent,
};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::draw::below;
use crate::learner::Learner;
use crate::share::{Fold, ForestSize, HeldOut};
use crate::store::{Known, Scored, Store};
use crate::{CodedMatrix, LearnError};

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
    /// Whether the scores come from fits to all training rows: always in a full search, for the
    /// finalists of a halving one.
    pub complete: Vec<bool>,
}

impl<P> Search<P> {
    /// The trial of lowest mean MAPE among those fitted to all rows; `None` if all diverged.
    pub fn best(&self) -> Option<usize> {
        let complete: Vec<usize> =
            (0..self.trials.len()).filter(|&trial| self.complete[trial]).collect();
        let trials: Vec<Trial> = complete.iter().map(|&t| self.trials[t].clone()).collect();
        best(&trials).map(|i| complete[i])
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
/// Data that no trial could be fitted to, found before the search starts; a store that fails.
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
    let parts: Vec<Part> = (0..folds.k()).map(|f| Part::new(&task, folds, f, false)).collect();
    let params = draw_unique(learner, n, draw_seed);
    let all: Vec<usize> = (0..params.len()).collect();
    let (trials, sizes) = Round { learner, task: &task, parts: &parts, params: &params }
        .run(&all, None, store, progress)?;
    let complete = vec![true; trials.len()];
    Ok(Search { params, trials, sizes, complete })
}

/// Successive halving over rows (Jamieson and Talwalkar 2016).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Halving {
    /// Trials of the first round.
    pub trials: usize,
    /// Training rows per fold in the first round, at least 1.
    pub first_rows: usize,
    /// Each round keeps one trial in `factor` and takes `factor` times the rows; at least 2.
    pub factor: usize,
}

impl Halving {
    /// Trials and training rows of each round for folds of `rows` training rows; the last round
    /// has all rows. It is the only one where the rows are few: a first round on more than one in
    /// `factor` of them would save little.
    pub fn rounds(&self, rows: usize) -> Vec<(usize, usize)> {
        let factor = self.factor.max(2);
        let (mut trials, mut cap) = (self.trials, self.first_rows.max(1));
        let mut rounds = Vec::new();
        if rows <= cap.saturating_mul(factor) {
            return vec![(trials, rows)];
        }
        while cap < rows {
            rounds.push((trials, cap));
            trials = trials.div_ceil(factor);
            cap = cap.saturating_mul(factor);
        }
        rounds.push((trials, rows));
        rounds
    }
}

/// As [`search`], for families whose fits to all rows are too slow to be made `n` times: all
/// trials start on few rows, and only the best go on to more. Trials that were left behind keep
/// their last scores and are not [`Search::complete`]. Progress counts training rows of all fits, since a
/// fit to more rows takes longer.
///
/// # Errors
///
/// As [`search`].
pub fn search_by_halving<L: Learner>(
    learner: &L,
    task: Task<'_>,
    folds: &GroupedKFold,
    halving: Halving,
    draw_seed: u64,
    store: &dyn Store,
    progress: Progress<'_>,
) -> Result<Search<L::Params>, LearnError> {
    check(&task)?;
    let parts: Vec<Part> = (0..folds.k()).map(|f| Part::new(&task, folds, f, true)).collect();
    let most_rows = parts.iter().map(|part| part.rows.len()).max().unwrap_or(0);
    let params = draw_unique(learner, halving.trials, draw_seed);
    // A small space may have fewer members than were asked for.
    let rounds = Halving { trials: params.len(), ..halving }.rounds(most_rows);
    let total: usize = rounds.iter().map(|(trials, rows)| trials * rows * folds.k()).sum();
    let mut done = 0;
    let round = Round { learner, task: &task, parts: &parts, params: &params };

    let mut trials = vec![Trial { fold_mape_percent: vec![None; folds.k()] }; params.len()];
    let mut sizes = vec![None; params.len()];
    let mut complete = vec![false; params.len()];
    let mut left: Vec<usize> = (0..params.len()).collect();
    for (count, rows) in rounds {
        // Diverged trials are worst; among equals the first drawn goes on.
        let score = |&trial: &usize| trials[trial].mean().unwrap_or(f64::INFINITY);
        left.sort_by(|a, b| score(a).total_cmp(&score(b)).then(a.cmp(b)));
        left.truncate(count);
        left.sort_unstable();
        let last = rows >= most_rows;
        let few = (!last).then_some(rows);
        let (scores, found) = round.run(&left, few, store, &|now, _| {
            progress(done + now * rows, total);
        })?;
        done += count * rows * folds.k();
        for ((&trial, score), size) in left.iter().zip(scores).zip(found) {
            trials[trial] = score;
            sizes[trial] = size;
            complete[trial] = last;
        }
    }
    Ok(Search { params, trials, sizes, complete })
}

/// What all rounds of a search have in common.
struct Round<'a, L: Learner> {
    learner: &'a L,
    task: &'a Task<'a>,
    parts: &'a [Part],
    params: &'a [L::Params],
}

impl<L: Learner> Round<'_, L> {
    /// Scores the trials `which`, fitted to the first `rows` training rows per fold, or to all.
    fn run(
        &self,
        which: &[usize],
        rows: Option<usize>,
        store: &dyn Store,
        progress: Progress<'_>,
    ) -> Result<(Vec<Trial>, Vec<Option<ForestSize>>), LearnError> {
        let chosen: Vec<L::Params> = which.iter().map(|&t| self.params[t].clone()).collect();
        let groups = self.learner.groups(&chosen);
        let sizes: Vec<OnceLock<ForestSize>> = which.iter().map(|_| OnceLock::new()).collect();
        let failed = AtomicBool::new(false);
        let score = |members: &[usize], fold: usize| -> Vec<Option<f64>> {
            let trials: Vec<usize> = members.iter().map(|&member| which[member]).collect();
            let known: Vec<Option<Known>> =
                trials.iter().map(|&trial| store.known(trial, fold, rows)).collect();
            // Each result is that of its trial alone, so only what is missing needs a fit.
            let missing: Vec<usize> =
                trials.iter().zip(&known).filter(|(_, k)| k.is_none()).map(|(&t, _)| t).collect();
            let mut fitted = Vec::new();
            if !missing.is_empty() && !failed.load(Ordering::Relaxed) {
                let started = Instant::now();
                fitted = self.fit_and_score(&missing, fold, rows);
                if store.keep(fold, rows, &fitted, started.elapsed().as_secs_f64()).is_err() {
                    failed.store(true, Ordering::Relaxed);
                }
            }
            let mut fitted = fitted.into_iter();
            let results = known.into_iter().zip(members).map(|(known, &member)| {
                let known = known.or_else(|| fitted.next().map(|s| s.known))?;
                if let (0, Some(size)) = (fold, known.size) {
                    // Only this fold writes, and each trial stands in one group.
                    let _ = sizes[member].set(size);
                }
                known.mape_percent
            });
            results.collect()
        };
        let trials = evaluate_groups(&groups, self.parts.len(), &score, progress);
        if failed.into_inner() {
            return Err(LearnError::Store);
        }
        Ok((trials, sizes.into_iter().map(OnceLock::into_inner).collect()))
    }

    /// Results of `trials` on a fold, in order, from as few fits as their family needs.
    fn fit_and_score(&self, trials: &[usize], fold: usize, rows: Option<usize>) -> Vec<Scored> {
        let part = &self.parts[fold];
        let group: Vec<&L::Params> = trials.iter().map(|&trial| &self.params[trial]).collect();
        // Data faults were found before; what is left is a fault of these parameters.
        let results = self.learner.evaluate(&group, part.fold(self.task, rows));
        let mut results = results.unwrap_or_default();
        results.resize(trials.len(), None);
        let scored = trials.iter().zip(results).map(|(&trial, result)| {
            let known = match result {
                None => Known { mape_percent: None, size: None },
                Some(HeldOut { predictions, size }) => {
                    let mape = mape_percent(&predictions, &part.truth).ok();
                    Known { mape_percent: mape.filter(|m| m.is_finite()), size }
                }
            };
            Scored { trial, params: self.learner.describe(&self.params[trial]), known }
        });
        scored.collect()
    }
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

/// Rows of one fold. Training rows are shuffled when a search begins with few of them, so that
/// each beginning is a sample.
struct Part {
    rows: Vec<u32>,
    y: Vec<f64>,
    w: Option<Vec<f64>>,
    test: Vec<u32>,
    truth: Vec<f64>,
}

impl Part {
    fn new(task: &Task<'_>, folds: &GroupedKFold, fold: usize, shuffled: bool) -> Self {
        let (mut train, test) = folds.rows(fold, task.group_of_row);
        if shuffled {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(task.seed);
            for i in (1..train.len()).rev() {
                train.swap(i, below(&mut rng, i + 1));
            }
        }
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

    /// The fold with its first `rows` training rows, or all.
    fn fold<'a>(&'a self, task: &Task<'a>, rows: Option<usize>) -> Fold<'a> {
        let n = rows.map_or(self.rows.len(), |rows| rows.min(self.rows.len()));
        Fold {
            x: task.x,
            rows: &self.rows[..n],
            y: &self.y[..n],
            w: self.w.as_ref().map(|w| &w[..n]),
            test: &self.test,
            seed: task.seed,
        }
    }
}
