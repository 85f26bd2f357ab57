//! What accuracy a size buys: the efficient trials of every compiled family, compiled.
//!
//! Sizes are those of the compiled predictors, which the report shows and `--pick` compares; the
//! estimates from the folds only say which trials are worth compiling.

use enerinfer_artifacts::record::SizePoint;
use enerinfer_artifacts::{Bundle, Forest, Predictor, Target};
use enerinfer_codegen::{Options, estimate_bytes, lower};
use rayon::prelude::*;

use crate::TrainError;
use crate::pipeline::{Searched, predictor};
use crate::progress::Progress;
use crate::select::{Choice, Sized, efficient};

/// An efficient trial and the size of its predictor, compiled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    /// The trial; its bytes are those of the compiled predictor.
    pub(crate) sized: Sized,
    /// Bytes as estimated from the folds.
    pub(crate) est_bytes: u64,
}

/// The points of one target, family by family, smallest first.
///
/// `frame` is the bundle that the predictors are for, without any.
///
/// # Errors
/// If no trial can be compiled.
pub(crate) fn points(
    searched: &Searched,
    frame: &Bundle,
    budget_bytes: u64,
    fit_seed: u64,
    progress: &Progress,
) -> Result<Vec<Point>, TrainError> {
    let target = searched.data.target;
    let trials = efficient(target.name(), &searched.families, budget_bytes)?;
    progress.note(&format!("{}: compiling {} efficient trials", target.name(), trials.len()));
    let mut points = trials
        .into_par_iter()
        .map(|trial| {
            let Choice { family, trial: candidate } = trial.choice;
            let model = searched.families[family].refit(candidate, &searched.data, fit_seed)?;
            let bytes = compiled_bytes(frame, predictor(&searched.data, model)?)?;
            Ok(Point { sized: Sized { bytes, ..trial }, est_bytes: trial.bytes })
        })
        .collect::<Result<Vec<Point>, TrainError>>()?;
    points.sort_by_key(|p| (p.sized.choice.family, p.sized.bytes));
    Ok(points)
}

/// Bytes of predictors of `frame` together, after every pass.
pub(crate) fn compiled_bytes_of_all(
    frame: &Bundle,
    predictors: &[Predictor],
) -> Result<u64, TrainError> {
    predictors.iter().map(|p| compiled_bytes(frame, p.clone())).sum()
}

/// Bytes of a predictor of `frame` after every pass. Passes treat each predictor by itself, so the
/// others of the bundle may be constants.
pub(crate) fn compiled_bytes(frame: &Bundle, predictor: Predictor) -> Result<u64, TrainError> {
    let target = predictor.target;
    let constant = |target| Predictor {
        target,
        normaliser: None,
        domain: Vec::new(),
        forest: Forest::constant(Vec::new(), 1.0),
    };
    let mut predictors: Vec<Predictor> =
        [Target::Peak, Target::Scale].into_iter().filter(|&t| t != target).map(constant).collect();
    predictors.push(predictor);
    let options = Options { max_nodes: u64::MAX, ..Options::default() };
    let lowered = lower(&Bundle { predictors, ..frame.clone() }, &options)?;
    Ok(lowered.predictor(target).map_or(0, |p| estimate_bytes(&p.forest)))
}

/// The most accurate point of at most `bytes`, the smaller among equals: what a user picks.
pub(crate) fn picked(points: &[Point], bytes: u64) -> Option<&Point> {
    points.iter().filter(|p| p.sized.bytes <= bytes).min_by(|a, b| {
        let (a, b) = (&a.sized, &b.sized);
        a.mape_percent.total_cmp(&b.mape_percent).then(a.bytes.cmp(&b.bytes))
    })
}

/// The points as the record keeps them.
pub(crate) fn record(searched: &Searched, points: &[Point], chosen: Choice) -> Vec<SizePoint> {
    points
        .iter()
        .map(|point| {
            let Sized { choice, bytes, mape_percent } = point.sized;
            let family = &searched.families[choice.family];
            SizePoint {
                target: searched.data.target,
                family: family.name.to_owned(),
                trial: choice.trial as u32 + 1,
                params: family.candidates[choice.trial].params.clone(),
                cv_mape_percent: mape_percent,
                est_bytes: point.est_bytes,
                compiled_bytes: bytes,
                on_front: picked(points, bytes) == Some(point),
                chosen: choice == chosen,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(sizes: &[(u64, u32)]) -> Vec<Point> {
        let point = |(trial, &(bytes, mape)): (usize, &(u64, u32))| Point {
            sized: Sized {
                choice: Choice { family: trial % 2, trial },
                bytes,
                mape_percent: f64::from(mape),
            },
            est_bytes: 0,
        };
        sizes.iter().enumerate().map(point).collect()
    }

    proptest! {
        /// Whoever picks the size of a point of the front gets that point: nothing of its size is
        /// more accurate, and nothing is better than the whole front.
        #[test]
        fn every_point_of_the_front_is_picked_by_its_size(
            sizes in prop::collection::vec((1u64..20, 1u32..20), 1..30)
        ) {
            let points = points(&sizes);
            let front: Vec<&Point> =
                points.iter().filter(|p| picked(&points, p.sized.bytes) == Some(p)).collect();
            prop_assert!(!front.is_empty());
            for point in &front {
                let beaten = |p: &Point| {
                    p.sized.bytes <= point.sized.bytes
                        && p.sized.mape_percent < point.sized.mape_percent
                };
                prop_assert!(!points.iter().any(beaten), "{:?}", point);
            }
            for point in &points {
                let as_good = |p: &&&Point| {
                    p.sized.bytes <= point.sized.bytes
                        && p.sized.mape_percent <= point.sized.mape_percent
                };
                prop_assert!(front.iter().any(|p| as_good(&p)), "{:?}", point);
            }
            let smallest = sizes.iter().map(|s| s.0).min().unwrap();
            prop_assert_eq!(picked(&points, smallest - 1), None);
        }
    }
}
