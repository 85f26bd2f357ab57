//! Which trial is compiled for each target, so that all of them together fit the flash.

use enerinfer_hyperparam::{Trial, smallest_within_one_se};

use crate::TrainError;
use crate::search::FamilySearch;

/// A trial among all families of a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Choice {
    /// Index of the family's search.
    pub(crate) family: usize,
    /// Trial of it.
    pub(crate) trial: usize,
}

/// A choice, its size and its cross-validated error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sized {
    /// The choice.
    pub(crate) choice: Choice,
    /// Its size.
    pub(crate) bytes: u64,
    /// Its cross-validated MAPE, %.
    pub(crate) mape_percent: f64,
}

/// A trial that can be compiled.
#[derive(Clone, Debug)]
struct Compilable {
    choice: Choice,
    bytes: u64,
    trial: Trial,
}

impl Compilable {
    fn sized(&self) -> Sized {
        let mape_percent = self.trial.mean().unwrap_or(f64::INFINITY);
        Sized { choice: self.choice, bytes: self.bytes, mape_percent }
    }
}

/// Trials of one target from the preferred one down: each smaller than the one before, and the
/// most accurate of its size or less.
///
/// Preferred is the smallest within one standard error of the most accurate that fits the budget
/// by itself (Breiman et al. 1984).
///
/// # Errors
/// If no trial can be compiled, or none fits the budget.
pub(crate) fn front(
    target: &'static str,
    searches: &[FamilySearch],
    budget_bytes: u64,
) -> Result<Vec<Sized>, TrainError> {
    let options = options(target, searches, budget_bytes)?;
    let trials: Vec<Trial> = options.iter().map(|o| o.trial.clone()).collect();
    let Some(start) = smallest_within_one_se(&trials, |i| options[i].bytes) else {
        return Err(TrainError::NoUsableTrial { target });
    };
    let smaller = options.iter().filter(|o| o.bytes < options[start].bytes);
    let mut front = pareto(smaller.map(Compilable::sized).collect());
    front.push(options[start].sized());
    front.reverse();
    Ok(front)
}

/// Trials of every family that no trial of the same family beats in both size and accuracy,
/// smallest first; none if none fits the budget.
///
/// # Errors
/// If no trial can be compiled.
pub(crate) fn efficient(
    target: &'static str,
    searches: &[FamilySearch],
    budget_bytes: u64,
) -> Result<Vec<Sized>, TrainError> {
    let options = match options(target, searches, budget_bytes) {
        Err(TrainError::FlashBudget { .. }) => Vec::new(),
        options => options?,
    };
    let of_family = |family| {
        let members = options.iter().filter(move |o| o.choice.family == family);
        pareto(members.map(Compilable::sized).collect())
    };
    Ok((0..searches.len()).flat_map(of_family).collect())
}

/// Those that are more accurate than everything smaller, smallest first; of equals the first.
fn pareto(mut all: Vec<Sized>) -> Vec<Sized> {
    all.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.mape_percent.total_cmp(&b.mape_percent)));
    let mut best = f64::INFINITY;
    all.retain(|one| {
        let better = one.mape_percent < best;
        best = best.min(one.mape_percent);
        better
    });
    all
}

/// Every trial that can be compiled and fits the budget by itself; there is one.
fn options(
    target: &'static str,
    searches: &[FamilySearch],
    budget_bytes: u64,
) -> Result<Vec<Compilable>, TrainError> {
    let mut options: Vec<Compilable> = Vec::new();
    for (family, search) in searches.iter().enumerate() {
        for (trial, c) in search.candidates.iter().enumerate() {
            if let (Some(bytes), Some(_)) = (c.est_bytes, c.trial.mean()) {
                let choice = Choice { family, trial };
                options.push(Compilable { choice, bytes, trial: c.trial.clone() });
            }
        }
    }
    let Some(smallest) = options.iter().map(|o| o.bytes).min() else {
        return Err(TrainError::NoUsableTrial { target });
    };
    options.retain(|o| o.bytes <= budget_bytes);
    if options.is_empty() {
        return Err(TrainError::FlashBudget { smallest, budget: budget_bytes });
    }
    Ok(options)
}

/// A choice of each list, largest first, so that the bytes together fit: while they do not, the
/// step down that costs the least MAPE per byte saved.
///
/// # Errors
/// If the smallest of all lists together exceed the budget.
pub(crate) fn fit_together(
    fronts: &[Vec<Sized>],
    budget_bytes: u64,
) -> Result<Vec<Choice>, TrainError> {
    let mut at = vec![0; fronts.len()];
    loop {
        let total: u64 = fronts.iter().zip(&at).map(|(list, &i)| list[i].bytes).sum();
        if total <= budget_bytes {
            return Ok(fronts.iter().zip(at).map(|(list, i)| list[i].choice).collect());
        }
        // A step may skip entries: a later one can be a better bargain than the next.
        let step = fronts
            .iter()
            .enumerate()
            .flat_map(|(t, list)| {
                let from = list[at[t]];
                list.iter().enumerate().skip(at[t] + 1).map(move |(i, to)| {
                    let saved = (from.bytes - to.bytes).max(1) as f64;
                    ((to.mape_percent - from.mape_percent) / saved, t, i)
                })
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

    fn list(costs: &[(u64, f64)]) -> Vec<Sized> {
        let sized = |(trial, &(bytes, mape_percent))| Sized {
            choice: Choice { family: 0, trial },
            bytes,
            mape_percent,
        };
        costs.iter().enumerate().map(sized).collect()
    }

    fn picked(fronts: &[Vec<Sized>], budget: u64) -> Vec<usize> {
        fit_together(fronts, budget).unwrap().into_iter().map(|c| c.trial).collect()
    }

    #[test]
    fn a_front_has_what_is_better_than_everything_smaller() {
        let all = list(&[(30, 2.0), (10, 5.0), (20, 5.0), (10, 5.0), (30, 1.0), (40, 1.0)]);
        let trials: Vec<usize> = pareto(all).iter().map(|one| one.choice.trial).collect();
        assert_eq!(trials, [1, 4]);
    }

    #[test]
    fn everything_fits_nothing_changes() {
        let fronts = [list(&[(100, 2.0), (10, 5.0)]), list(&[(50, 1.0)])];
        assert_eq!(picked(&fronts, 150), [0, 0]);
    }

    #[test]
    fn the_cheapest_accuracy_is_given_up_first() {
        let fronts =
            [list(&[(100, 2.0), (60, 2.1), (10, 9.0)]), list(&[(100, 2.0), (60, 4.0), (10, 5.0)])];
        assert_eq!(picked(&fronts, 160), [1, 0]);
        assert_eq!(picked(&fronts, 120), [1, 2]);
        assert_eq!(picked(&fronts, 20), [2, 2]);
        let error = fit_together(&fronts, 19).unwrap_err().to_string();
        assert!(error.contains("20 bytes") && error.contains("19"), "{error}");
    }
}
