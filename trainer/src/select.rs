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

/// A trial that can be compiled.
#[derive(Clone, Debug)]
struct Compilable {
    choice: Choice,
    bytes: u64,
    trial: Trial,
}

impl Compilable {
    fn mape(&self) -> f64 {
        self.trial.mean().unwrap_or(f64::INFINITY)
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
) -> Result<Vec<(Choice, u64, f64)>, TrainError> {
    let (mut options, smallest) = options(target, searches)?;
    options.retain(|o| o.bytes <= budget_bytes);
    let trials: Vec<Trial> = options.iter().map(|o| o.trial.clone()).collect();
    let Some(start) = smallest_within_one_se(&trials, |i| options[i].bytes) else {
        return Err(TrainError::FlashBudget { smallest, budget: budget_bytes });
    };
    let entry = |o: &Compilable| (o.choice, o.bytes, o.mape());
    let mut smaller: Vec<&Compilable> =
        options.iter().filter(|o| o.bytes < options[start].bytes).collect();
    smaller.sort_by(|a, b| a.bytes.cmp(&b.bytes).then(a.mape().total_cmp(&b.mape())));
    let mut front = Vec::new();
    let mut best = f64::INFINITY;
    for option in smaller {
        if option.mape() < best {
            best = option.mape();
            front.push(entry(option));
        }
    }
    front.push(entry(&options[start]));
    front.reverse();
    Ok(front)
}

/// The most accurate trial of at most `bytes`, the smaller among equals: what a user picked.
///
/// # Errors
/// If no trial can be compiled, or none is so small.
pub(crate) fn picked(
    target: &'static str,
    searches: &[FamilySearch],
    bytes: u64,
) -> Result<(Choice, u64, f64), TrainError> {
    let (options, smallest) = options(target, searches)?;
    options
        .iter()
        .filter(|o| o.bytes <= bytes)
        .map(|o| (o.choice, o.bytes, o.mape()))
        .min_by(|a, b| a.2.total_cmp(&b.2).then(a.1.cmp(&b.1)))
        .ok_or(TrainError::PickedTooSmall { target, bytes, smallest })
}

/// Every trial that can be compiled, and the bytes of the smallest.
fn options(
    target: &'static str,
    searches: &[FamilySearch],
) -> Result<(Vec<Compilable>, u64), TrainError> {
    let mut options: Vec<Compilable> = Vec::new();
    for (family, search) in searches.iter().enumerate() {
        for (trial, c) in search.candidates.iter().enumerate() {
            if let (Some(bytes), Some(_)) = (c.est_bytes, c.trial.mean()) {
                let choice = Choice { family, trial };
                options.push(Compilable { choice, bytes, trial: c.trial.clone() });
            }
        }
    }
    match options.iter().map(|o| o.bytes).min() {
        Some(smallest) => Ok((options, smallest)),
        None => Err(TrainError::NoUsableTrial { target }),
    }
}

/// Index into each list of `(choice, bytes, MAPE)`, largest first, so that the bytes together fit:
/// while they do not, the step down that costs the least MAPE per byte saved.
///
/// # Errors
/// If the smallest of all lists together exceed the budget.
pub(crate) fn fit_together(
    fronts: &[Vec<(Choice, u64, f64)>],
    budget_bytes: u64,
) -> Result<Vec<Choice>, TrainError> {
    let mut at = vec![0; fronts.len()];
    loop {
        let total: u64 = fronts.iter().zip(&at).map(|(list, &i)| list[i].1).sum();
        if total <= budget_bytes {
            return Ok(fronts.iter().zip(at).map(|(list, i)| list[i].0).collect());
        }
        // A step may skip entries: a later one can be a better bargain than the next.
        let step = fronts
            .iter()
            .enumerate()
            .flat_map(|(t, list)| {
                let (_, bytes, mape) = list[at[t]];
                list.iter()
                    .enumerate()
                    .skip(at[t] + 1)
                    .map(move |(i, &(_, b, m))| ((m - mape) / (bytes - b).max(1) as f64, t, i))
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

    fn list(costs: &[(u64, f64)]) -> Vec<(Choice, u64, f64)> {
        let choice = |trial| Choice { family: 0, trial };
        costs.iter().enumerate().map(|(i, &(bytes, mape))| (choice(i), bytes, mape)).collect()
    }

    fn picked(fronts: &[Vec<(Choice, u64, f64)>], budget: u64) -> Vec<usize> {
        fit_together(fronts, budget).unwrap().into_iter().map(|c| c.trial).collect()
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
