//! Predictors that together fit the flash: the preferred ones if they do, else smaller trials or
//! pruned forests, whichever cross-validate better.

use enerinfer_artifacts::record::{BudgetCut, CutOption};
use enerinfer_artifacts::{Bundle, Predictor};
use enerinfer_hyperparam::{GroupedKFold, Trial};

use crate::TrainError;
use crate::cli::Pick;
use crate::pipeline::{Config, Searched, compiled_targets, predictor};
use crate::prune::{Preferred, Pruned, prune};
use crate::select::{Choice, Sized, fit_together, front};
use crate::size_front::{self, Point, compiled_bytes, compiled_bytes_of_all};

/// What is compiled, per target.
pub(crate) struct Selected {
    /// The trials.
    pub(crate) choices: Vec<Choice>,
    /// Their forests, fitted on all training rows.
    pub(crate) predictors: Vec<Predictor>,
    /// Cross-validated scores.
    pub(crate) scores: Vec<Trial>,
    /// What the budget took; empty if nothing.
    pub(crate) cuts: Vec<BudgetCut>,
}

/// Chooses a trial for every compiled target and fits it on all training rows, so that the fitted
/// forests together, compiled, are within the budget. `frame` is the bundle without predictors.
///
/// # Errors
/// A target without a usable trial, a pick that nothing meets, or a budget that nothing fits.
pub(crate) fn select(
    searched: &[Searched],
    points: &[Vec<Point>],
    config: &Config<'_>,
    folds: &GroupedKFold,
    frame: &Bundle,
    fit_seed: u64,
) -> Result<Selected, TrainError> {
    let smaller = match smaller(searched, points, config, frame, fit_seed) {
        Ok((selected, true)) => return Ok(selected),
        smaller => if_it_fits(smaller.map(|(selected, _)| selected))?,
    };
    let mut preferred = Vec::new();
    for (searched, points) in compiled_targets(searched).zip(points) {
        let best = candidates(searched, points, config, u64::MAX)?[0];
        let fixed = picked(searched, points, config).is_some();
        preferred.push(Preferred::fit(searched, best.choice, fixed, fit_seed)?);
    }
    let pruned = prune(&preferred, folds, frame, config.flash_budget_bytes, fit_seed);
    let pruned = match smaller {
        // What cannot even be pruned to the budget ends here, with what it needs.
        None => Some(pruned?),
        Some(_) => if_it_fits(pruned)?,
    };
    let pruned = pruned.map(|pruned| selected(&preferred, pruned));
    let sum = |selected: &Option<Selected>| -> f64 {
        let scores = selected.iter().flat_map(|s| &s.scores);
        let sum = scores.map(|score| score.mean().unwrap_or(f64::INFINITY)).sum();
        if selected.is_some() { sum } else { f64::INFINITY }
    };
    let pruned_is_compiled = sum(&pruned) < sum(&smaller);
    let mut cuts = Vec::new();
    for (i, p) in preferred.iter().enumerate() {
        let Preferred { searched, choice, whole, .. } = p;
        let of = |s: &Option<Selected>| match s {
            Some(s) => option(frame, &s.predictors[i], &s.scores[i]).map(Some),
            None => Ok(None),
        };
        cuts.push(BudgetCut {
            target: searched.data.target,
            preferred: option(
                frame,
                whole,
                &searched.families[choice.family].candidates[choice.trial].trial,
            )?,
            pruned: of(&pruned)?,
            smaller: of(&smaller)?,
            pruned_is_compiled,
        });
    }
    let chosen = if pruned_is_compiled { pruned } else { smaller };
    chosen.map(|chosen| Selected { cuts, ..chosen }).ok_or(TrainError::MissingPredictor)
}

/// `None` for what exceeds the budget.
fn if_it_fits<T>(found: Result<T, TrainError>) -> Result<Option<T>, TrainError> {
    match found {
        Err(TrainError::FlashBudget { .. }) => Ok(None),
        found => found.map(Some),
    }
}

fn selected(preferred: &[Preferred<'_>], pruned: Pruned) -> Selected {
    let choices = preferred.iter().map(|p| p.choice).collect();
    let Pruned { predictors, scores } = pruned;
    Selected { choices, predictors, scores, cuts: Vec::new() }
}

fn option(frame: &Bundle, predictor: &Predictor, score: &Trial) -> Result<CutOption, TrainError> {
    Ok(CutOption {
        leaves: predictor.forest.stats().leaves,
        compiled_bytes: compiled_bytes(frame, predictor.clone())?,
        cv_mape_percent: score.mean().unwrap_or(f64::MAX),
    })
}

/// The most accurate trials that together fit, and whether they are the preferred ones.
fn smaller(
    searched: &[Searched],
    points: &[Vec<Point>],
    config: &Config<'_>,
    frame: &Bundle,
    fit_seed: u64,
) -> Result<(Selected, bool), TrainError> {
    let budget_bytes = config.flash_budget_bytes;
    let mut allowed = budget_bytes;
    loop {
        let fronts = compiled_targets(searched)
            .zip(points)
            .map(|(s, points)| candidates(s, points, config, allowed))
            .collect::<Result<Vec<_>, _>>()?;
        let choices = fit_together(&fronts, allowed)?;
        let predictors = compiled_targets(searched)
            .zip(&choices)
            .map(|(s, c)| {
                predictor(&s.data, s.families[c.family].refit(c.trial, &s.data, fit_seed)?)
            })
            .collect::<Result<Vec<Predictor>, TrainError>>()?;
        let actual = compiled_bytes_of_all(frame, &predictors)?;
        if actual <= budget_bytes {
            let first = fronts.iter().zip(&choices).all(|(front, c)| front[0].choice == *c);
            let scores = compiled_targets(searched)
                .zip(&choices)
                .map(|(s, c)| s.families[c.family].candidates[c.trial].trial.clone())
                .collect();
            let preferred = first && allowed == budget_bytes;
            return Ok((Selected { choices, predictors, scores, cuts: Vec::new() }, preferred));
        }
        // The forests grew by more than the estimate from the folds: ask for less. `allowed`
        // falls each time, so this ends, at the latest with the budget error.
        allowed = (allowed.saturating_mul(budget_bytes) / actual).min(allowed - 1);
    }
}

/// Trials of a target from the preferred one down (never empty); what the user picked alone.
fn candidates(
    searched: &Searched,
    points: &[Point],
    config: &Config<'_>,
    budget_bytes: u64,
) -> Result<Vec<Sized>, TrainError> {
    let target = searched.data.target.name();
    match picked(searched, points, config) {
        Some(&Pick { bytes, .. }) => {
            let smallest = points.iter().map(|p| p.sized.bytes).min().unwrap_or(0);
            let too_small = || TrainError::PickedTooSmall { target, bytes, smallest };
            Ok(vec![size_front::picked(points, bytes).ok_or_else(too_small)?.sized])
        }
        None => front(target, &searched.families, budget_bytes),
    }
}

/// The user's limit for a target, if there is something to pick from: where no trial is within the
/// budget of all, that is what has to be said.
fn picked<'a>(searched: &Searched, points: &[Point], config: &Config<'a>) -> Option<&'a Pick> {
    let picks = if points.is_empty() { &[] } else { config.picks };
    picks.iter().find(|pick| pick.target == searched.data.target)
}
