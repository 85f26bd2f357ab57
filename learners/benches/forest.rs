//! One forest at the paper's upper end: 200 trees, depth 20, 13,500 rows × 9 features, all features
//! per node, one thread; smartcore on the same data with the same parameters as peer.

mod table;

use criterion::{Criterion, criterion_group, criterion_main};
use enerinfer_learners::{CodedMatrix, ForestParams, relative_weights};
use linfa::ParamGuard;
use smartcore::ensemble::random_forest_regressor::{
    RandomForestRegressor, RandomForestRegressorParameters,
};
use smartcore::linalg::basic::matrix::DenseMatrix;

fn forests(c: &mut Criterion) {
    let (features, columns, y) = table::table(300, 1);
    let dense: Vec<Vec<f64>> =
        (0..y.len()).map(|r| columns.iter().map(|c| f64::from(c[r])).collect()).collect();
    let matrix = CodedMatrix::new(features, columns).expect("the table is well-formed");
    let rows: Vec<u32> = (0..y.len() as u32).collect();
    let w = relative_weights(&y);
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread");
    let params = ForestParams::new().n_trees(200).check().expect("valid");

    let mut group = c.benchmark_group("forest_200x20_13500x9");
    group.sample_size(10);
    group.bench_function("enerinfer", |b| {
        b.iter(|| single.install(|| params.fit(&matrix, &rows, &y, None, 1)));
    });
    group.bench_function("enerinfer_relative_weights", |b| {
        b.iter(|| single.install(|| params.fit(&matrix, &rows, &y, Some(&w), 1)));
    });
    let x = DenseMatrix::from_2d_vec(&dense).expect("the table is well-formed");
    let peer = RandomForestRegressorParameters::default()
        .with_n_trees(200)
        .with_max_depth(20)
        .with_m(9)
        .with_min_samples_leaf(1)
        .with_min_samples_split(2);
    group.bench_function("smartcore", |b| {
        b.iter(|| RandomForestRegressor::fit(&x, &y, peer.clone()));
    });
    group.finish();
}

criterion_group!(benches, forests);
criterion_main!(benches);
