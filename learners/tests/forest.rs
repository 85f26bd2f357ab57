//! Laws of the forest learner, and faults that others' forests had.

// Helpers of tests fail as tests do.
#![allow(clippy::unwrap_used)]

use enerinfer_artifacts::{Feature, Forest, Node};
use enerinfer_learners::{
    CodedMatrix, ForestParams, LearnError, RandomForest, out_of_bag, permutation_importance,
    predict, relative_weights,
};
use linfa::ParamGuard;
use linfa::dataset::Dataset;
use linfa::traits::{Fit, Predict};
use ndarray::{Array1, Array2};
use proptest::prelude::*;

fn matrix(columns: Vec<Vec<u32>>) -> CodedMatrix {
    CodedMatrix::new(Feature::ALL[..columns.len()].to_vec(), columns).unwrap()
}

fn all_rows(x: &CodedMatrix) -> Vec<u32> {
    (0..x.n_rows() as u32).collect()
}

/// One tree on all rows: plain CART.
fn tree(x: &CodedMatrix, y: &[f64], params: ForestParams) -> Forest<f64> {
    let params = params.n_trees(1).bootstrap(false).check().unwrap();
    params.fit(x, &all_rows(x), y, None, 0).unwrap()
}

/// CART by the definition: every boundary, every feature, sums from scratch. Predictions on the
/// training rows.
fn reference(x: &[Vec<u32>], y: &[f64], w: &[f64], depth: u32, min_leaf: usize) -> Vec<f64> {
    fn sse(rows: &[usize], y: &[f64], w: &[f64]) -> f64 {
        let sw: f64 = rows.iter().map(|&r| w[r]).sum();
        let mean = rows.iter().map(|&r| w[r] * y[r]).sum::<f64>() / sw;
        rows.iter().map(|&r| w[r] * (y[r] - mean) * (y[r] - mean)).sum()
    }
    fn go(
        x: &[Vec<u32>],
        y: &[f64],
        w: &[f64],
        rows: &[usize],
        depth: u32,
        least: usize,
        out: &mut [f64],
    ) {
        let mut best: Option<(f64, Vec<usize>, Vec<usize>)> = None;
        if depth > 0 && rows.len() >= 2 {
            for column in x {
                let mut values: Vec<u32> = rows.iter().map(|&r| column[r]).collect();
                values.sort_unstable();
                values.dedup();
                for v in values.windows(2) {
                    let (l, r): (Vec<usize>, Vec<usize>) =
                        rows.iter().partition(|&&r| column[r] <= v[0]);
                    if l.len() < least || r.len() < least {
                        continue;
                    }
                    let gain = sse(rows, y, w) - sse(&l, y, w) - sse(&r, y, w);
                    // First of equal gains: lowest feature, lowest threshold.
                    if gain > 1e-9 && best.as_ref().is_none_or(|b| gain > b.0 * (1.0 + 1e-9)) {
                        best = Some((gain, l, r));
                    }
                }
            }
        }
        if let Some((_, l, r)) = best {
            go(x, y, w, &l, depth - 1, least, out);
            go(x, y, w, &r, depth - 1, least, out);
        } else {
            let sw: f64 = rows.iter().map(|&r| w[r]).sum();
            let mean = rows.iter().map(|&r| w[r] * y[r]).sum::<f64>() / sw;
            rows.iter().for_each(|&r| out[r] = mean);
        }
    }
    let mut out = vec![0.0; y.len()];
    let rows: Vec<usize> = (0..y.len()).collect();
    go(x, y, w, &rows, depth, min_leaf, &mut out);
    out
}

fn leaves_between(forest: &Forest<f64>, y: &[f64]) -> bool {
    let trees = forest.roots.len() as f64;
    let (min, max) = y.iter().fold((f64::MAX, f64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
    let slack = 1e-9 * (max - min).max(max.abs());
    forest.nodes.iter().all(|node| match node {
        Node::Leaf(v) => *v * trees >= min - slack && *v * trees <= max + slack,
        Node::Split { .. } => true,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Many rows per value and few, so that sorted, binned and constant nodes all occur.
    #[test]
    fn a_tree_is_cart_by_the_definition(
        rows in prop::collection::vec((0u32..6, 0u32..40, 0u32..3, 1u32..4000, 1u32..5), 2..90),
        depth in 1u32..7,
        min_leaf in 1u32..4,
    ) {
        let columns = vec![
            rows.iter().map(|r| r.0 * 1000).collect::<Vec<u32>>(),
            rows.iter().map(|r| r.1).collect(),
            rows.iter().map(|r| u32::MAX - r.2).collect(),
        ];
        let y: Vec<f64> = rows.iter().map(|r| f64::from(r.3) / 64.0).collect();
        let w: Vec<f64> = rows.iter().map(|r| f64::from(r.4)).collect();
        let x = matrix(columns.clone());
        let params = ForestParams::new().n_trees(1).bootstrap(false).max_depth(depth)
            .min_samples_leaf(min_leaf).check().unwrap();
        let forest = params.fit(&x, &all_rows(&x), &y, Some(&w), 0).unwrap();
        let expected = reference(&columns, &y, &w, depth, min_leaf as usize);
        for (p, e) in predict(&forest, &x, &all_rows(&x)).unwrap().iter().zip(&expected) {
            prop_assert!((p - e).abs() < 1e-9, "{p} against {e}");
        }
    }

    #[test]
    fn predictions_are_finite_and_within_the_targets(
        rows in prop::collection::vec((0u32..9, 0u32..9, -1e6f64..1e6), 1..60),
        probe in prop::collection::vec(any::<u32>(), 2),
        seed: u64,
    ) {
        let x = matrix(vec![
            rows.iter().map(|r| r.0).collect(),
            rows.iter().map(|r| r.1).collect(),
        ]);
        let y: Vec<f64> = rows.iter().map(|r| r.2).collect();
        let params = ForestParams::new().n_trees(7).max_features(Some(1)).check().unwrap();
        let forest = params.fit(&x, &all_rows(&x), &y, None, seed).unwrap();
        forest.validate().unwrap();
        prop_assert!(forest.predict(&probe).is_finite());
        prop_assert!(leaves_between(&forest, &y));
        for (&row, p) in all_rows(&x).iter().zip(predict(&forest, &x, &all_rows(&x)).unwrap()) {
            prop_assert_eq!(p, forest.predict(&x.row(row as usize)));
        }
    }

    /// A row given twice is a row of double weight.
    #[test]
    fn weights_are_repetitions(
        rows in prop::collection::vec((0u32..30, 1u32..1000, 1usize..4), 2..40),
    ) {
        let x = matrix(vec![rows.iter().map(|r| r.0).collect()]);
        let y: Vec<f64> = rows.iter().map(|r| f64::from(r.1) / 8.0).collect();
        let w: Vec<f64> = rows.iter().map(|r| r.2 as f64).collect();
        let params = ForestParams::new().n_trees(1).bootstrap(false).check().unwrap();
        let weighted = params.fit(&x, &all_rows(&x), &y, Some(&w), 0).unwrap();
        let mut repeated_rows = Vec::new();
        let mut repeated_y = Vec::new();
        for (i, r) in rows.iter().enumerate() {
            repeated_rows.extend(std::iter::repeat_n(i as u32, r.2));
            repeated_y.extend(std::iter::repeat_n(y[i], r.2));
        }
        let repeated = params.fit(&x, &repeated_rows, &repeated_y, None, 0).unwrap();
        prop_assert_eq!(
            predict(&weighted, &x, &all_rows(&x)).unwrap(),
            predict(&repeated, &x, &all_rows(&x)).unwrap()
        );
    }
}

/// A table with structure: rows of one shape at several clocks.
fn example(rows: u32) -> (CodedMatrix, Vec<f64>) {
    let columns = vec![
        (0..rows).map(|i| (i / 12) * 37 % 101).collect::<Vec<u32>>(),
        (0..rows).map(|i| (i / 12) * 61 % 89).collect(),
        (0..rows).map(|i| i % 4 * 500).collect(),
        (0..rows).map(|i| i / 4 % 3 * 800).collect(),
    ];
    let y = (0..rows as usize)
        .map(|i| {
            let c = |f: usize| f64::from(columns[f][i]);
            1.0 + c(0) * 0.3 + (c(1) - 40.0).abs() * 0.2 + (c(2) * c(3)).sqrt() / 100.0
        })
        .collect();
    (matrix(columns), y)
}

#[test]
fn threads_change_no_bit() {
    let (x, y) = example(600);
    let w = relative_weights(&y);
    for params in [
        ForestParams::new().n_trees(40),
        ForestParams::new().n_trees(40).max_features(Some(2)).sample_fraction(0.6),
    ] {
        let params = params.check().unwrap();
        let fit = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| params.fit(&x, &all_rows(&x), &y, Some(&w), 5)).unwrap()
        };
        let one = fit(1);
        assert_eq!(one, fit(2));
        assert_eq!(one, fit(5));
    }
}

#[test]
fn seeds_matter_and_trees_differ() {
    let (x, y) = example(300);
    let params = ForestParams::new().n_trees(25).max_depth(6).check().unwrap();
    let fit = |seed| params.fit(&x, &all_rows(&x), &y, None, seed).unwrap();
    let forest = fit(42);
    assert_eq!(forest, fit(42));
    assert_ne!(forest, fit(43));
    let alone =
        |root: u32| -> Vec<f64> { (0..x.n_rows()).map(|r| forest.leaf(root, &x.row(r))).collect() };
    for i in 1..forest.roots.len() {
        for j in 0..i {
            assert_ne!(alone(forest.roots[i]), alone(forest.roots[j]), "trees {i} and {j}");
        }
    }
}

#[test]
fn the_order_of_rows_changes_no_bit_of_a_tree() {
    let (x, y) = example(300);
    let params = ForestParams::new().n_trees(1).bootstrap(false).check().unwrap();
    let forward = params.fit(&x, &all_rows(&x), &y, None, 0).unwrap();
    let rows: Vec<u32> = all_rows(&x).into_iter().rev().collect();
    let reversed: Vec<f64> = y.iter().rev().copied().collect();
    assert_eq!(forward, params.fit(&x, &rows, &reversed, None, 0).unwrap());
}

#[test]
fn nothing_to_split_gives_the_constant() {
    // Constant target, with weights whose rounding must not invent a split; one row; one value.
    let y = vec![5.0; 50];
    let w: Vec<f64> = (1..=50).map(|i| 1.0 / f64::from(i)).collect();
    let x = matrix(vec![(0..50).collect(), (0..50).rev().collect()]);
    let params = ForestParams::new().n_trees(8).check().unwrap();
    for weights in [None, Some(&w[..])] {
        let forest = params.fit(&x, &all_rows(&x), &y, weights, 1).unwrap();
        assert_eq!(forest.stats().depth, 0);
        assert_eq!(forest.predict(&[3, 900]), 5.0);
    }
    let one = params.fit(&x, &[7], &[5.0], None, 1).unwrap();
    assert_eq!(one.predict(&[0, 0]), 5.0);
    let flat = matrix(vec![vec![9; 4]]);
    let forest = params.fit(&flat, &all_rows(&flat), &[1.0, 2.0, 3.0, 4.0], None, 1).unwrap();
    assert_eq!(forest.stats().depth, 0);
    let zero = params.fit(&x, &all_rows(&x), &vec![0.0; 50], None, 1).unwrap();
    assert_eq!(zero.predict(&[1, 1]), 0.0);
}

#[test]
fn ties_go_to_the_lowest_feature_then_threshold() {
    // Columns 0 and 1 are the same but for direction; y has two equally good boundaries.
    let x = matrix(vec![vec![0, 10, 20, 30], vec![33, 22, 11, 0]]);
    let forest = tree(&x, &[0.0, 1.0, 1.0, 2.0], ForestParams::new().max_depth(1));
    let root = forest.nodes[forest.roots[0] as usize];
    assert!(matches!(root, Node::Split { feature: 0, threshold: 5, .. }), "{root:?}");
}

#[test]
fn with_bootstrap_no_feature_wins_every_tie() {
    // Two columns that separate rows equally well, as layers and sizes of a few models do.
    let x = matrix(vec![(0..30).collect(), (0..30).map(|i| i * 100).collect()]);
    let y: Vec<f64> = (0..30).map(f64::from).collect();
    let params = ForestParams::new().n_trees(40).max_depth(1).check().unwrap();
    let forest = params.fit(&x, &all_rows(&x), &y, None, 3).unwrap();
    let of = |wanted: u16| {
        let splits = forest.nodes.iter();
        splits.filter(|n| matches!(n, Node::Split { feature, .. } if *feature == wanted)).count()
    };
    assert_eq!(of(0) + of(1), 40);
    assert!(of(0) > 8 && of(1) > 8, "{} and {}", of(0), of(1));
}

#[test]
fn values_next_to_each_other_are_separated() {
    let x = matrix(vec![vec![u32::MAX, u32::MAX - 1]]);
    let forest = tree(&x, &[1.0, 2.0], ForestParams::new());
    assert_eq!(forest.predict(&[u32::MAX]), 1.0);
    assert_eq!(forest.predict(&[u32::MAX - 1]), 2.0);
}

#[test]
fn duplicate_and_constant_features_do_no_harm() {
    let (x, y) = example(200);
    let plain = tree(&x, &y, ForestParams::new());
    let mut columns: Vec<Vec<u32>> =
        (0..4).map(|f| (0..200).map(|r| x.value(r, f)).collect()).collect();
    columns.push(columns[1].clone());
    columns.push(vec![7; 200]);
    let more = matrix(columns);
    let wide = tree(&more, &y, ForestParams::new());
    assert_eq!(plain.nodes, wide.nodes);
}

#[test]
fn limits_hold() {
    let (x, y) = example(400);
    let rows = all_rows(&x);
    let params = ForestParams::new().n_trees(5).bootstrap(false).max_depth(4).min_samples_leaf(9);
    let forest = params.clone().check().unwrap().fit(&x, &rows, &y, None, 0).unwrap();
    assert!(forest.stats().depth <= 4);
    let mut counts = std::collections::BTreeMap::new();
    for &row in &rows {
        let mut at = forest.roots[0];
        while let Node::Split { feature, threshold, left, right } = forest.nodes[at as usize] {
            let goes_left = x.value(row as usize, usize::from(feature)) <= threshold;
            at = if goes_left { left } else { right };
        }
        *counts.entry(at).or_insert(0) += 1;
    }
    assert!(counts.values().all(|&n| n >= 9), "{counts:?}");
    let unsplit = params.min_samples_split(401).check().unwrap();
    assert_eq!(unsplit.fit(&x, &rows, &y, None, 0).unwrap().stats().depth, 0);
}

#[test]
fn every_parameter_changes_some_fit() {
    let (x, y) = example(300);
    let base = ForestParams::new().n_trees(10);
    let fit =
        |p: &ForestParams| p.check_ref().unwrap().fit(&x, &all_rows(&x), &y, None, 3).unwrap();
    let reference = fit(&base);
    for (name, changed) in [
        ("n_trees", base.clone().n_trees(11)),
        ("max_depth", base.clone().max_depth(5)),
        ("min_samples_leaf", base.clone().min_samples_leaf(4)),
        ("min_samples_split", base.clone().min_samples_split(9)),
        ("max_features", base.clone().max_features(Some(2))),
        ("bootstrap", base.clone().bootstrap(false)),
        ("sample_fraction", base.clone().sample_fraction(0.7)),
    ] {
        assert_ne!(fit(&changed), reference, "{name}");
    }
}

#[test]
fn parameters_outside_their_range_are_named() {
    for (params, name) in [
        (ForestParams::new().n_trees(0), "n_trees = 0"),
        (ForestParams::new().n_trees(201), "n_trees = 201"),
        (ForestParams::new().max_depth(21), "max_depth = 21"),
        (ForestParams::new().max_depth(0), "max_depth = 0"),
        (ForestParams::new().min_samples_leaf(0), "min_samples_leaf = 0"),
        (ForestParams::new().min_samples_split(1), "min_samples_split = 1"),
        (ForestParams::new().max_features(Some(0)), "max_features = 0"),
        (ForestParams::new().sample_fraction(0.0), "sample_fraction = 0"),
        (ForestParams::new().sample_fraction(f64::NAN), "sample_fraction = NaN"),
    ] {
        let error = params.check().unwrap_err().to_string();
        assert!(error.starts_with(name), "{error}");
    }
}

#[test]
fn bad_rows_are_named() {
    let (x, y) = example(20);
    let params = ForestParams::new().n_trees(2).check().unwrap();
    let error = |rows: &[u32], y: &[f64]| params.fit(&x, rows, y, None, 0).unwrap_err().to_string();
    assert_eq!(error(&[], &[]), "no rows to learn from");
    assert_eq!(error(&[3, 20], &y[..2]), "row 20 is not among the matrix's 20 rows");
    assert_eq!(error(&[3, 4], &y[..1]), "the target has 1 values, expected 2");
    assert_eq!(error(&[3], &[f64::INFINITY]), "target of row 3 is inf: must be finite");
}

#[test]
fn out_of_bag_skips_rows_that_every_tree_saw() {
    let (x, y) = example(200);
    let rows: Vec<u32> = (0..5).collect();
    let params = ForestParams::new().n_trees(2).check().unwrap();
    let mut skipped = 0;
    for seed in 0..20 {
        let oob = out_of_bag(&params, &x, &rows, &y[..5], None, seed).unwrap();
        let none = oob.predictions.iter().filter(|p| p.is_none()).count();
        assert_eq!(none, oob.skipped);
        assert!(oob.predictions.iter().flatten().all(|p| p.is_finite()));
        assert_eq!(oob.mape_percent.is_none(), none == 5);
        skipped += none;
    }
    assert!(skipped > 0, "the case must occur");
    let without = ForestParams::new().n_trees(2).bootstrap(false).check().unwrap();
    let oob = out_of_bag(&without, &x, &rows, &y[..5], None, 0).unwrap();
    assert_eq!((oob.skipped, oob.mape_percent), (5, None));
    // With many trees it estimates the error on rows that were not seen.
    let many = ForestParams::new().n_trees(100).check().unwrap();
    let oob = out_of_bag(&many, &x, &all_rows(&x), &y, None, 0).unwrap();
    assert_eq!(oob.skipped, 0);
    assert!(oob.mape_percent.unwrap() < 10.0);
}

#[test]
fn importance_is_finite_and_zero_without_splits() {
    let x = matrix(vec![(0..30).collect(), vec![4; 30]]);
    let rows = all_rows(&x);
    let params = ForestParams::new().n_trees(20).check().unwrap();
    let flat = params.fit(&x, &rows, &[3.0; 30], None, 0).unwrap();
    let zeros = permutation_importance(&flat, &x, &rows, &[3.0; 30], 4, 1).unwrap();
    assert_eq!(zeros, [0.0, 0.0]);

    let y: Vec<f64> = (0..30).map(f64::from).collect();
    let forest = params.fit(&x, &rows, &y, None, 0).unwrap();
    let importance = permutation_importance(&forest, &x, &rows, &y, 4, 1).unwrap();
    assert!(importance[0] > 10.0 && importance[1] == 0.0, "{importance:?}");
    assert_eq!(importance, permutation_importance(&forest, &x, &rows, &y, 4, 1).unwrap());
}

#[test]
fn linfa_traits_fit_and_predict() {
    let (x, y) = example(120);
    let records = Array2::from_shape_fn((120, 4), |(r, f)| f64::from(x.value(r, f)));
    let names: Vec<&str> = x.features().iter().map(|f| f.name()).collect();
    let dataset = Dataset::new(records.clone(), Array1::from(y.clone())).with_feature_names(names);
    let params = ForestParams::new().n_trees(12).seed(8);
    let model: RandomForest = params.fit(&dataset).unwrap();
    let direct = params.check_ref().unwrap().fit(&x, &all_rows(&x), &y, None, 8).unwrap();
    assert_eq!(model.forest, direct);
    let predicted: Array1<f64> = model.predict(&records);
    assert_eq!(predicted.to_vec(), predict(&direct, &x, &all_rows(&x)).unwrap());

    for bad in [0.5, -1.0, f64::NAN, 5e9] {
        let mut wrong = records.clone();
        wrong[[3, 1]] = bad;
        let wrong = dataset
            .clone()
            .with_records(wrong)
            .with_feature_names(x.features().iter().map(|f| f.name()).collect::<Vec<_>>());
        let result: Result<RandomForest, LearnError> = params.fit(&wrong);
        let error = result.unwrap_err().to_string();
        assert!(error.starts_with("row 3, feature `hidden`"), "{error}");
    }
}
