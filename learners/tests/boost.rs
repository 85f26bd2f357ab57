//! Laws of boosted trees.

// Helpers of tests fail as tests do.
#![allow(clippy::unwrap_used)]

use enerinfer_artifacts::{Feature, Forest, Node};
use enerinfer_learners::{BoostParams, CodedMatrix, predict};
use linfa::ParamGuard;
use proptest::prelude::*;

fn matrix(columns: Vec<Vec<u32>>) -> CodedMatrix {
    CodedMatrix::new(Feature::ALL[..columns.len()].to_vec(), columns).unwrap()
}

fn fit(params: &BoostParams, x: &CodedMatrix, y: &[f64], w: Option<&[f64]>) -> Forest<f64> {
    let rows: Vec<u32> = (0..x.n_rows() as u32).collect();
    params.check_ref().unwrap().fit(x, &rows, y, w, 11).unwrap()
}

fn squared_error(forest: &Forest<f64>, x: &CodedMatrix, y: &[f64], w: &[f64]) -> f64 {
    (0..x.n_rows())
        .map(|r| {
            let e = forest.predict(&x.row(r)) - y[r];
            w[r] * e * e
        })
        .sum()
}

/// Leaf counts per tree.
fn leaves(forest: &Forest<f64>) -> Vec<usize> {
    let mut from = 0;
    forest
        .roots
        .iter()
        .map(|&root| {
            let tree = &forest.nodes[from..=root as usize];
            from = root as usize + 1;
            tree.iter().filter(|n| matches!(n, Node::Leaf(_))).count()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Without sampling, every round lowers the weighted squared error on the training rows.
    #[test]
    fn the_training_error_never_rises(
        rows in prop::collection::vec((0u32..9, 0u32..30, -500i32..500, 1u32..9), 2..80),
        rate in 0.05f64..1.0,
        l2 in 0.0f64..20.0,
    ) {
        let x = matrix(vec![
            rows.iter().map(|r| r.0).collect(),
            rows.iter().map(|r| r.1).collect(),
        ]);
        let y: Vec<f64> = rows.iter().map(|r| f64::from(r.2) / 7.0).collect();
        let w: Vec<f64> = rows.iter().map(|r| f64::from(r.3)).collect();
        let mut last = f64::INFINITY;
        for rounds in [1, 2, 5, 20] {
            let params = BoostParams::new().n_rounds(rounds).learning_rate(rate).l2(l2);
            let forest = fit(&params, &x, &y, Some(&w));
            let error = squared_error(&forest, &x, &y, &w);
            prop_assert!(error.is_finite() && error <= last * (1.0 + 1e-9) + 1e-9);
            last = error;
        }
    }

    #[test]
    fn predictions_are_finite_and_limits_hold(
        rows in prop::collection::vec((0u32..9, any::<u32>(), -1e6f64..1e6), 1..60),
        max_leaves in 2u32..9,
        max_depth in 1u32..5,
        probe in prop::collection::vec(any::<u32>(), 2),
    ) {
        let x = matrix(vec![
            rows.iter().map(|r| r.0).collect(),
            rows.iter().map(|r| r.1).collect(),
        ]);
        let y: Vec<f64> = rows.iter().map(|r| r.2).collect();
        let params = BoostParams::new().n_rounds(15).max_leaves(max_leaves).max_depth(max_depth)
            .subsample(0.7).feature_fraction(0.5);
        let forest = fit(&params, &x, &y, None);
        forest.validate().unwrap();
        prop_assert!(forest.predict(&probe).is_finite());
        prop_assert!(forest.stats().depth <= max_depth);
        prop_assert!(leaves(&forest).iter().all(|&n| n >= 2 && n <= max_leaves as usize));
        prop_assert_eq!(&forest, &fit(&params, &x, &y, None));
    }
}

#[test]
fn one_full_round_reproduces_distinct_rows() {
    let x = matrix(vec![(0..40).collect()]);
    let y: Vec<f64> = (0..40).map(|i| f64::from(i * i % 17)).collect();
    let params = BoostParams::new().n_rounds(1).learning_rate(1.0).max_leaves(40);
    let forest = fit(&params, &x, &y, None);
    for (p, y) in predict(&forest, &x, &(0..40).collect::<Vec<_>>()).unwrap().iter().zip(&y) {
        assert!((p - y).abs() < 1e-9);
    }
}

#[test]
fn the_split_that_gains_most_comes_first() {
    // The step at 30 is larger than the one at 10, though it is in fewer rows.
    let x = matrix(vec![(0..40).collect()]);
    let y: Vec<f64> = (0..40)
        .map(|i| {
            if i < 10 {
                0.0
            } else if i < 30 {
                1.0
            } else {
                9.0
            }
        })
        .collect();
    let thresholds = |leaves| {
        let params = BoostParams::new().n_rounds(1).max_leaves(leaves);
        fit(&params, &x, &y, None).thresholds()[0].clone()
    };
    assert_eq!(thresholds(2), [29]);
    assert_eq!(thresholds(3), [9, 29]);
}

#[test]
fn l2_shrinks_leaves_by_rows() {
    // Two leaves of four rows each, residuals ∓1: shrunk by 4/(4 + 4).
    let x = matrix(vec![vec![0, 0, 0, 0, 1, 1, 1, 1]]);
    let y = [1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 3.0];
    let params = BoostParams::new().n_rounds(1).learning_rate(1.0).l2(4.0);
    let forest = fit(&params, &x, &y, None);
    assert_eq!((forest.predict(&[0]), forest.predict(&[1])), (1.5, 2.5));
    // The unit of the weights does not matter.
    assert_eq!(forest, fit(&params, &x, &y, Some(&[1024.0; 8])));
}

#[test]
fn a_constant_target_needs_no_tree() {
    let x = matrix(vec![(0..50).collect()]);
    let w: Vec<f64> = (1..=50).map(|i| 1.0 / f64::from(i)).collect();
    let forest = fit(&BoostParams::new(), &x, &[5.0; 50], Some(&w));
    assert_eq!((forest.roots.len(), forest.predict(&[3])), (0, 5.0));
}

#[test]
fn rows_of_weight_zero_are_left_out() {
    let x = matrix(vec![vec![0, 1, 1, 2]]);
    let params = BoostParams::new().n_rounds(5);
    let with = params.check_ref().unwrap();
    let zero = with
        .fit(&x, &[1, 1, 0, 3], &[99.0, 4.0, 2.0, 7.0], Some(&[0.0, 1.0, 1.0, 1.0]), 3)
        .unwrap();
    let without = with.fit(&x, &[1, 0, 3], &[4.0, 2.0, 7.0], None, 3).unwrap();
    for v in 0..3 {
        assert!((zero.predict(&[v]) - without.predict(&[v])).abs() < 1e-9);
    }
}

#[test]
fn every_parameter_changes_some_fit() {
    let x = matrix(vec![
        (0..200).map(|i| i * 7 % 31).collect(),
        (0..200).map(|i| i * 11 % 47).collect(),
        (0..200).map(|i| i % 5).collect(),
    ]);
    let y: Vec<f64> = (0..200)
        .map(|r| f64::from(x.value(r, 0) * x.value(r, 2)) + f64::from(x.value(r, 1)).sqrt())
        .collect();
    let base = BoostParams::new().n_rounds(10);
    let reference = fit(&base, &x, &y, None);
    for (name, changed) in [
        ("n_rounds", base.clone().n_rounds(11)),
        ("learning_rate", base.clone().learning_rate(0.2)),
        ("max_leaves", base.clone().max_leaves(5)),
        ("max_depth", base.clone().max_depth(2)),
        ("min_samples_leaf", base.clone().min_samples_leaf(30)),
        ("subsample", base.clone().subsample(0.5)),
        ("feature_fraction", base.clone().feature_fraction(0.4)),
        ("l2", base.clone().l2(3.0)),
    ] {
        assert_ne!(fit(&changed, &x, &y, None), reference, "{name}");
    }
}

#[test]
fn parameters_outside_their_range_are_named() {
    for (params, name) in [
        (BoostParams::new().n_rounds(0), "n_rounds = 0"),
        (BoostParams::new().n_rounds(2001), "n_rounds = 2001"),
        (BoostParams::new().learning_rate(0.0), "learning_rate = 0"),
        (BoostParams::new().max_leaves(1), "max_leaves = 1"),
        (BoostParams::new().max_leaves(257), "max_leaves = 257"),
        (BoostParams::new().max_depth(21), "max_depth = 21"),
        (BoostParams::new().min_samples_leaf(0), "min_samples_leaf = 0"),
        (BoostParams::new().subsample(1.1), "subsample = 1.1"),
        (BoostParams::new().feature_fraction(f64::NAN), "feature_fraction = NaN"),
        (BoostParams::new().l2(-1.0), "l2 = -1"),
        (BoostParams::new().l2(f64::INFINITY), "l2 = inf"),
    ] {
        let error = params.check().unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
}
