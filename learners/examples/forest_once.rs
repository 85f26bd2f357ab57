//! One forest of one engine on the benches' table, for `benches/peers.py`:
//! `forest_once enerinfer|smartcore|biosphere [SHAPES [TREES]]`.
//!
//! Prints CPU time of the fit to all rows (mean of five, one thread), peak memory of the process
//! after it, and the MAPE on the last fifth of the shapes of a fit to the others.

use enerinfer_learners::{CodedMatrix, ForestParams, predict};
use linfa::ParamGuard;
use ndarray::{Array1, Array2};
use smartcore::ensemble::random_forest_regressor::{
    RandomForestRegressor, RandomForestRegressorParameters,
};
use smartcore::linalg::basic::matrix::DenseMatrix;

#[path = "../benches/process/mod.rs"]
mod process;
#[path = "../benches/table/mod.rs"]
mod table;

/// Fits that are timed together, since time is known in steps of 10 ms.
const FITS: u32 = 5;

/// Fits to rows `..train` and predicts the rows behind them.
type Engine = Box<dyn Fn(usize) -> Vec<f64>>;

fn engine(name: &str, shapes: usize, trees: usize) -> Result<(Engine, Vec<f64>), String> {
    let (features, columns, y) = table::table(shapes, 1);
    let n = y.len();
    let truth = y.clone();
    let dense: Vec<Vec<f64>> =
        (0..n).map(|r| columns.iter().map(|c| f64::from(c[r])).collect()).collect();
    let engine: Engine = match name {
        "enerinfer" => {
            let x = CodedMatrix::new(features, columns).map_err(|e| e.to_string())?;
            let rows: Vec<u32> = (0..n as u32).collect();
            let params = ForestParams::new().n_trees(trees as u32).check();
            let params = params.map_err(|e| e.to_string())?;
            Box::new(move |train| {
                let forest = params.fit(&x, &rows[..train], &y[..train], None, 1);
                let forest = forest.expect("the table is well-formed");
                predict(&forest, &x, &rows[train..]).expect("it has the forest's columns")
            })
        }
        "smartcore" => {
            let params = RandomForestRegressorParameters::default()
                .with_n_trees(trees)
                .with_max_depth(20)
                .with_m(features.len())
                .with_min_samples_leaf(1)
                .with_min_samples_split(2);
            Box::new(move |train| {
                let matrix = |rows: &[Vec<f64>]| DenseMatrix::from_2d_vec(&rows.to_vec());
                let x = matrix(&dense[..train]).expect("the table is well-formed");
                let y = y[..train].to_vec();
                let forest = RandomForestRegressor::fit(&x, &y, params.clone());
                if train == dense.len() {
                    return Vec::new();
                }
                let test = matrix(&dense[train..]).expect("the table is well-formed");
                forest.and_then(|f| f.predict(&test)).expect("the table is well-formed")
            })
        }
        "biosphere" => {
            let params = biosphere::RandomForestParameters::default()
                .with_n_estimators(trees)
                .with_max_depth(Some(20))
                .with_max_features(biosphere::MaxFeatures::None);
            let x = Array2::from_shape_fn((n, features.len()), |(r, f)| dense[r][f]);
            let y = Array1::from(y);
            Box::new(move |train| {
                let mut forest = biosphere::RandomForest::new(params.clone());
                let (fit, test) = x.view().split_at(ndarray::Axis(0), train);
                forest.fit(&fit, &y.slice(ndarray::s![..train]));
                forest.predict(&test).to_vec()
            })
        }
        _ => return Err(format!("unknown engine {name:?}: enerinfer, smartcore or biosphere")),
    };
    Ok((engine, truth))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let name = args.next().unwrap_or_else(|| "enerinfer".to_owned());
    let shapes: usize = args.next().map_or(Ok(300), |a| a.parse())?;
    let trees: usize = args.next().map_or(Ok(200), |a| a.parse())?;
    // This thread is the pool.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let (engine, y) = engine(&name, shapes, trees)?;
    let started = process::cpu_seconds()?;
    for _ in 0..FITS {
        engine(y.len());
    }
    let seconds = (process::cpu_seconds()? - started) / f64::from(FITS);
    let peak = process::peak_mb()?;
    let train = y.len() / table::POINTS * 4 / 5 * table::POINTS;
    let predicted = engine(train);
    let errors = predicted.iter().zip(&y[train..]).map(|(p, y)| (p / y - 1.0).abs());
    let mape = 100.0 * errors.sum::<f64>() / predicted.len() as f64;
    println!("{seconds:.3} {peak:.0} {mape:.3}");
    Ok(())
}
