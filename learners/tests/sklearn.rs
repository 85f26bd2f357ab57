//! Held against scikit-learn: `golden/scikit_learn.py` wrote the figures.

// Helpers of tests fail as tests do.
#![allow(clippy::unwrap_used)]

use enerinfer_artifacts::Feature;
use enerinfer_learners::{BoostParams, CodedMatrix, ForestParams, predict, relative_weights};
use linfa::ParamGuard;

const GOLDEN: &str = include_str!("golden/scikit_learn.csv");

/// Golden lines of one kind as `[seed or leaves, figure, figure]`.
fn golden(what: &str) -> Vec<[f64; 3]> {
    let lines = GOLDEN.lines().filter_map(|line| line.strip_prefix(what)?.strip_prefix(','));
    let out: Vec<[f64; 3]> = lines
        .map(|line| {
            let numbers: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
            numbers.try_into().unwrap()
        })
        .collect();
    assert!(!out.is_empty(), "no golden figures of {what}");
    out
}

struct Table {
    x: CodedMatrix,
    y: Vec<f64>,
    train: Vec<u32>,
    test: Vec<u32>,
}

/// The script's table, by the same formula in whole numbers.
fn table() -> Table {
    let (models, points) = (150u32, 12u64);
    let mut state = 1u64;
    let mut draw = move |n: u64| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    };
    let mut columns = vec![Vec::new(); 5];
    let mut y = Vec::new();
    for _ in 0..models {
        let shape = [40, 25, 60, 5].map(|size| draw(size) + 1);
        for clock in 1..=points {
            let noise = draw(2001) + 99_000;
            let work = shape[0] * shape[1] * 50 + shape[2] * shape[2] * 7 + shape[3] * 900 + 2000;
            y.push((noise * clock * 40 * 1024 / (work + 300 * clock)) as f64 / 1024.0);
            for (column, v) in columns.iter_mut().zip(shape.into_iter().chain([clock * 1000])) {
                column.push(v as u32);
            }
        }
    }
    let (test, train) =
        (0..models * points as u32).partition(|row| (row / points as u32).is_multiple_of(5));
    let x = CodedMatrix::new(Feature::ALL[..5].to_vec(), columns).unwrap();
    Table { x, y, train, test }
}

impl Table {
    fn targets(&self, rows: &[u32]) -> Vec<f64> {
        rows.iter().map(|&r| self.y[r as usize]).collect()
    }

    /// Held-out MAPE in percent and R².
    fn scores(&self, params: &ForestParams, seed: u64) -> (f64, f64) {
        let params = params.check_ref().unwrap();
        let y = self.targets(&self.train);
        let forest = params.fit(&self.x, &self.train, &y, None, seed).unwrap();
        let p = predict(&forest, &self.x, &self.test).unwrap();
        let y = self.targets(&self.test);
        let n = y.len() as f64;
        let mean = y.iter().sum::<f64>() / n;
        let mape = p.iter().zip(&y).map(|(p, y)| ((p - y) / y).abs()).sum::<f64>() / n;
        let residual: f64 = p.iter().zip(&y).map(|(p, y)| (p - y) * (p - y)).sum();
        let total: f64 = y.iter().map(|y| (y - mean) * (y - mean)).sum();
        (100.0 * mape, 1.0 - residual / total)
    }
}

fn mean_and_variance(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0))
}

/// Mean of ours, of theirs, and how far these may be apart by chance: two means of ten seeds each
/// differ with variance `(s₁² + s₂²)/10`, and more than four of its roots (1 in 16,000 for a normal
/// law) is a difference between the learners.
fn compare(what: &str, ours: &[f64], theirs: &[f64]) -> (f64, f64, f64) {
    let ((a, va), (b, vb)) = (mean_and_variance(ours), mean_and_variance(theirs));
    let limit = 4.0 * ((va + vb) / ours.len() as f64).sqrt();
    println!("{what}: ours {a:.4}, theirs {b:.4}, limit {limit:.4}");
    (a, b, limit)
}

/// Held-out MAPE and R² of ours and theirs over the golden seeds.
fn scores(table: &Table, what: &str, params: &ForestParams) -> [(f64, f64, f64); 2] {
    let theirs = golden(what);
    let ours: Vec<(f64, f64)> =
        (0..theirs.len() as u64).map(|seed| table.scores(params, seed)).collect();
    let mape: Vec<f64> = ours.iter().map(|s| s.0).collect();
    let r2: Vec<f64> = ours.iter().map(|s| s.1).collect();
    let golden = |i: usize| theirs.iter().map(|line| line[i]).collect::<Vec<f64>>();
    [
        compare(&format!("{what}: MAPE"), &mape, &golden(1)),
        compare(&format!("{what}: R²"), &r2, &golden(2)),
    ]
}

#[test]
fn forests_are_as_accurate() {
    let table = table();
    let base = ForestParams::new().n_trees(100);
    for (what, params) in
        [("all_features", base.clone()), ("all_features_leaf_3", base.clone().min_samples_leaf(3))]
    {
        for (ours, theirs, limit) in scores(&table, what, &params) {
            assert!((ours - theirs).abs() <= limit, "{what}");
        }
    }
    // scikit-learn counts features that turn out constant among the drawn ones, we draw until two
    // that vary were seen. Ours sees more and may be better, not worse.
    let params = base.max_features(Some(2)).min_samples_leaf(3);
    let [mape, r2] = scores(&table, "two_features_leaf_3", &params);
    assert!(mape.0 <= mape.1 + mape.2 && r2.0 >= r2.1 - r2.2);
}

#[test]
fn trees_are_equal() {
    let table = table();
    let y = table.targets(&table.train);
    for (depth, leaf) in [(4, 1), (8, 5), (20, 1)] {
        let params = ForestParams::new().n_trees(1).bootstrap(false);
        let params = params.max_depth(depth).min_samples_leaf(leaf).check().unwrap();
        let tree = params.fit(&table.x, &table.train, &y, None, 0).unwrap();
        let p = predict(&tree, &table.x, &table.train).unwrap();
        let [leaves, squares, moment] = golden(&format!("tree_{depth}_{leaf}"))[0];
        assert_eq!(f64::from(tree.stats().leaves), leaves);
        // numpy adds pairwise, we in order: 1,440 terms differ by a few 1e-15.
        assert_moments(&p, squares, moment, 1e-13);
    }
}

#[test]
fn boosted_trees_are_equal() {
    let table = table();
    let y = table.targets(&table.train);
    let w = relative_weights(&y);
    for (leaves, w) in [(4, None), (9, Some(&w[..]))] {
        let params = BoostParams::new().n_rounds(40).learning_rate(0.25).max_leaves(leaves);
        let forest = params.check().unwrap().fit(&table.x, &table.train, &y, w, 0).unwrap();
        let p = predict(&forest, &table.x, &table.train).unwrap();
        let [rounds, squares, moment] = golden(&format!("boosted_{leaves}"))[0];
        assert_eq!(forest.roots.len() as f64, rounds);
        // Weights are rounded to 2⁻³⁵ of the largest.
        assert_moments(&p, squares, moment, 1e-9);
    }
}

/// Sums over the training rows that tell apart any two sets of predictions.
fn assert_moments(p: &[f64], squares: f64, moment: f64, tolerance: f64) {
    let ours: f64 = p.iter().map(|p| p * p).sum();
    assert!((ours - squares).abs() < tolerance * squares, "{ours} against {squares}");
    let ours: f64 = p.iter().zip(1..).map(|(p, i)| p * f64::from(i)).sum();
    assert!((ours - moment).abs() < tolerance * moment, "{ours} against {moment}");
}
