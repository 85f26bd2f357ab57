//! Random search: unique seeded draws, evaluation over folds, selection.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

/// Called with `(done, total)` as work finishes, from any thread.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) + Sync);

/// A space of hyper-parameters from which trials are drawn.
pub trait Space {
    /// Hyper-parameters of one trial.
    type Params;

    /// Draws one trial.
    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> Self::Params;

    /// Names and values, as a report shows them. Two trials are the same trial exactly when their
    /// descriptions are equal, so every parameter must stand in it.
    fn describe(&self, params: &Self::Params) -> BTreeMap<String, String>;
}

/// Repeats in a row after which a space counts as exhausted.
const EXHAUSTED_AFTER: usize = 10_000;

/// Draws `n` different trials, all before anything is evaluated, so that they depend on the seed
/// alone and the first `m` of `n` are those of a search for `m`. A space with fewer than `n`
/// different members gives those that were found.
pub fn draw_unique<S: Space>(space: &S, n: usize, seed: u64) -> Vec<S::Params> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut seen = BTreeSet::new();
    let mut drawn = Vec::with_capacity(n);
    let mut repeats = 0;
    while drawn.len() < n && repeats < EXHAUSTED_AFTER {
        let params = space.draw(&mut rng);
        if seen.insert(space.describe(&params)) {
            drawn.push(params);
            repeats = 0;
        } else {
            repeats += 1;
        }
    }
    drawn
}

/// Scores of one trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// MAPE per fold, %; `None` where the fit diverged or failed.
    pub fold_mape_percent: Vec<Option<f64>>,
}

impl Trial {
    /// Mean over the folds; `None` (worse than any number) if one of them diverged.
    pub fn mean(&self) -> Option<f64> {
        let scores: Option<Vec<f64>> = self.fold_mape_percent.iter().copied().collect();
        let scores = scores.filter(|s| !s.is_empty())?;
        Some(scores.iter().sum::<f64>() / scores.len() as f64)
    }

    /// Standard error of the mean over the folds, with the sample standard deviation (n − 1).
    pub fn standard_error(&self) -> Option<f64> {
        let mean = self.mean()?;
        let n = self.fold_mape_percent.len();
        if n < 2 {
            return None;
        }
        let squares: f64 =
            self.fold_mape_percent.iter().flatten().map(|s| (s - mean) * (s - mean)).sum();
        Some((squares / (n - 1) as f64 / n as f64).sqrt())
    }
}

/// Scores `trials × folds` in parallel with `score(trial, fold)`; `None` or a number that is not
/// finite marks a diverged fit, and the search goes on. The result does not depend on the number
/// of threads as long as `score` depends on its arguments alone.
pub fn evaluate(
    trials: usize,
    folds: usize,
    score: &(impl Fn(usize, usize) -> Option<f64> + Sync),
    progress: Progress<'_>,
) -> Vec<Trial> {
    let groups: Vec<Vec<usize>> = (0..trials).map(|trial| vec![trial]).collect();
    evaluate_groups(&groups, folds, &|group, fold| vec![score(group[0], fold)], progress)
}

/// Like [`evaluate`] for trials that share work: `score(group, fold)` gives one score per trial of
/// the group. Trials are numbered from 0 and each stands in one group; progress counts
/// trials × folds.
pub fn evaluate_groups(
    groups: &[Vec<usize>],
    folds: usize,
    score: &(impl Fn(&[usize], usize) -> Vec<Option<f64>> + Sync),
    progress: Progress<'_>,
) -> Vec<Trial> {
    let trials: usize = groups.iter().map(Vec::len).sum();
    let done = AtomicUsize::new(0);
    let jobs: Vec<(usize, usize)> =
        (0..groups.len()).flat_map(|g| (0..folds).map(move |f| (g, f))).collect();
    let scores: Vec<Vec<Option<f64>>> = jobs
        .par_iter()
        .map(|&(group, fold)| {
            let members = &groups[group];
            let mut scores = score(members, fold);
            scores.resize(members.len(), None);
            let before = done.fetch_add(members.len(), Ordering::Relaxed);
            progress(before + members.len(), trials * folds);
            scores
        })
        .collect();
    let mut out = vec![Trial { fold_mape_percent: vec![None; folds] }; trials];
    for (&(group, fold), scores) in jobs.iter().zip(scores) {
        for (&trial, score) in groups[group].iter().zip(scores) {
            out[trial].fold_mape_percent[fold] = score.filter(|s| s.is_finite());
        }
    }
    out
}

/// The trial of lowest mean MAPE; the first among equals; `None` if all diverged.
pub fn best(trials: &[Trial]) -> Option<usize> {
    let means = trials.iter().enumerate().filter_map(|(i, t)| Some((i, t.mean()?)));
    means.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(i, _)| i)
}

/// The smallest trial whose mean MAPE is at most one standard error above the best one's
/// (Breiman et al. 1984, "1 SE rule"); among equal sizes the more accurate, then the first.
pub fn smallest_within_one_se(trials: &[Trial], size: impl Fn(usize) -> u64) -> Option<usize> {
    let best = best(trials)?;
    let limit = trials[best].mean()? + trials[best].standard_error().unwrap_or(0.0);
    let candidates = trials
        .iter()
        .enumerate()
        .filter_map(|(i, t)| t.mean().filter(|&mean| mean <= limit).map(|mean| (i, mean)));
    candidates.min_by(|a, b| size(a.0).cmp(&size(b.0)).then(a.1.total_cmp(&b.1))).map(|(i, _)| i)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::below;

    struct Pairs;
    impl Space for Pairs {
        type Params = (u64, u64);
        fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> (u64, u64) {
            (below(rng, 4), below(rng, 5))
        }
        fn describe(&self, p: &(u64, u64)) -> BTreeMap<String, String> {
            BTreeMap::from([("a".to_owned(), p.0.to_string()), ("b".to_owned(), p.1.to_string())])
        }
    }

    fn trial(scores: &[f64]) -> Trial {
        Trial { fold_mape_percent: scores.iter().map(|&s| Some(s)).collect() }
    }

    #[test]
    fn draws_are_unique_seeded_and_nested() {
        let twenty = draw_unique(&Pairs, 20, 5);
        assert_eq!(twenty.iter().collect::<BTreeSet<_>>().len(), 20);
        assert_eq!(draw_unique(&Pairs, 7, 5), twenty[..7]);
        assert_ne!(draw_unique(&Pairs, 7, 6), twenty[..7]);
        assert_eq!(draw_unique(&Pairs, 1000, 5).len(), 20);
    }

    #[test]
    fn a_diverged_fold_is_worst_and_the_search_goes_on() {
        let trials = evaluate(
            3,
            2,
            &|trial, fold| match (trial, fold) {
                (0, 1) => None,
                (1, 0) => Some(f64::NAN),
                _ => Some(5.0),
            },
            &|_, _| {},
        );
        assert_eq!(trials[0].fold_mape_percent, [Some(5.0), None]);
        assert_eq!((trials[0].mean(), trials[1].mean()), (None, None));
        assert_eq!(best(&trials), Some(2));
        assert_eq!(best(&trials[..2]), None);
        assert_eq!(smallest_within_one_se(&trials[..2], |_| 0), None);
    }

    #[test]
    fn groups_and_threads_change_nothing() {
        let score = |trial: usize, fold: usize| Some((trial * 7 + fold) as f64);
        let alone = evaluate(6, 3, &score, &|_, _| {});
        let groups = vec![vec![4, 0], vec![1, 2, 5], vec![3]];
        for threads in [1, 2] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let calls = AtomicUsize::new(0);
            let last = AtomicUsize::new(0);
            let together = pool.install(|| {
                evaluate_groups(
                    &groups,
                    3,
                    &|members, fold| members.iter().map(|&t| score(t, fold)).collect(),
                    &|done, total| {
                        calls.fetch_add(1, Ordering::Relaxed);
                        last.fetch_max(done, Ordering::Relaxed);
                        assert_eq!(total, 18);
                    },
                )
            });
            assert_eq!(together, alone);
            assert_eq!((calls.into_inner(), last.into_inner()), (9, 18));
        }
    }

    #[test]
    fn one_standard_error_buys_a_smaller_choice() {
        // Best 10 ± 0.577 (scores 9, 10, 11): 10.5 is within, 10.6 is not.
        let trials =
            [trial(&[9., 10., 11.]), trial(&[10.5; 3]), trial(&[10.6; 3]), trial(&[10.4; 3])];
        let sizes = [100, 10, 1, 10];
        assert!((trials[0].standard_error().unwrap() - (1.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(best(&trials), Some(0));
        assert_eq!(smallest_within_one_se(&trials, |i| sizes[i]), Some(3));
        assert_eq!(trial(&[3.0]).standard_error(), None);
    }
}
