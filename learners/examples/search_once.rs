//! One search of random forests on the benches' table, for `benches/peers.py`:
//! `search_once [SHAPES [TRIALS [THREADS]]]`; 240 shapes are the 10,800 training rows of the
//! product. Prints CPU time, wall time and peak memory.

use std::time::Instant;

use enerinfer_hyperparam::GroupedKFold;
use enerinfer_learners::{
    CodedMatrix, NoStore, RandomForestLearner, Task, relative_weights, search,
};

#[path = "../benches/process/mod.rs"]
mod process;
#[path = "../benches/table/mod.rs"]
mod table;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let shapes: usize = args.next().map_or(Ok(240), |a| a.parse())?;
    let trials: usize = args.next().map_or(Ok(1000), |a| a.parse())?;
    let threads: usize = args.next().map_or(Ok(2), |a| a.parse())?;
    rayon::ThreadPoolBuilder::new().num_threads(threads).build_global()?;
    let (features, columns, y) = table::table(shapes, 1);
    let learner = RandomForestLearner { features: features.len() as u32 };
    let x = CodedMatrix::new(features, columns)?;
    let rows: Vec<u32> = (0..y.len() as u32).collect();
    let group_of_row: Vec<u32> = rows.iter().map(|r| r / table::POINTS as u32).collect();
    let w = relative_weights(&y);
    let task =
        Task { x: &x, rows: &rows, y: &y, w: Some(&w), group_of_row: &group_of_row, seed: 1 };
    let folds = GroupedKFold::new(shapes, 5, 2)?;
    let (cpu, wall) = (process::cpu_seconds()?, Instant::now());
    let found = search(&learner, task, &folds, trials, 3, &NoStore, &|_, _| {})?;
    let (cpu, wall) = (process::cpu_seconds()? - cpu, wall.elapsed().as_secs_f64());
    let best = found.best().and_then(|trial| found.trials[trial].mean());
    let best = best.ok_or("every trial diverged")?;
    println!("{cpu:.1} {wall:.1} {:.0} {best:.3}", process::peak_mb()?);
    Ok(())
}
