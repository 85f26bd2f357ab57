//! Ours and smartcore's forest, once each, on the benches' table: CPU time of the fit on one
//! thread and held-out MAPE. `benches/peers.py` does the same for scikit-learn.

use std::sync::LazyLock;
use std::time::Instant;

use enerinfer_learners::{CodedMatrix, ForestParams, predict};
use linfa::ParamGuard;
use smartcore::ensemble::random_forest_regressor::{
    RandomForestRegressor, RandomForestRegressorParameters,
};
use smartcore::linalg::basic::matrix::DenseMatrix;

#[path = "../benches/table/mod.rs"]
mod table;

const TRAIN: usize = 240 * 45;

static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Time that this thread has run; where the system does not tell, time that has passed.
fn seconds_on_cpu() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|s| s.split(' ').next()?.parse::<u64>().ok());
    nanoseconds.map_or_else(|| START.elapsed().as_secs_f64(), |ns| ns as f64 / 1e9)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (features, columns, y) = table::table(300, 1);
    let dense: Vec<Vec<f64>> =
        (0..y.len()).map(|r| columns.iter().map(|c| f64::from(c[r])).collect()).collect();
    let mape = |p: &[f64]| {
        let errors = p.iter().zip(&y[TRAIN..]).map(|(p, y)| (p / y - 1.0).abs());
        100.0 * errors.sum::<f64>() / p.len() as f64
    };

    let x = CodedMatrix::new(features, columns)?;
    let rows: Vec<u32> = (0..y.len() as u32).collect();
    let params = ForestParams::new().n_trees(200).check()?;
    // This thread is the pool, so that its time is the fit's.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let started = seconds_on_cpu();
    let forest = params.fit(&x, &rows, &y, None, 1)?;
    let seconds = seconds_on_cpu() - started;
    println!("enerinfer: {seconds:.2} s, {} leaves", forest.stats().leaves);
    let forest = params.fit(&x, &rows[..TRAIN], &y[..TRAIN], None, 1)?;
    println!("  held-out MAPE {:.3} %", mape(&predict(&forest, &x, &rows[TRAIN..])?));

    let peer = RandomForestRegressorParameters::default()
        .with_n_trees(200)
        .with_max_depth(20)
        .with_m(9)
        .with_min_samples_leaf(1)
        .with_min_samples_split(2);
    let all = DenseMatrix::from_2d_vec(&dense)?;
    let started = seconds_on_cpu();
    RandomForestRegressor::fit(&all, &y, peer.clone())?;
    println!("smartcore: {:.2} s", seconds_on_cpu() - started);
    let train = DenseMatrix::from_2d_vec(&dense[..TRAIN].to_vec())?;
    let fitted = RandomForestRegressor::fit(&train, &y[..TRAIN].to_vec(), peer)?;
    let test = DenseMatrix::from_2d_vec(&dense[TRAIN..].to_vec())?;
    println!("  held-out MAPE {:.3} %", mape(&fitted.predict(&test)?));
    Ok(())
}
