//! Nelder–Mead from seeded starts.

use std::collections::BTreeMap;

use argmin::core::{CostFunction, Error, Executor};
use argmin::solver::neldermead::NelderMead;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::objective::Objective;

/// Random starts beside the middle of the bounds.
const STARTS: u64 = 12;
/// Starts that are refined.
const REFINED: usize = 3;
/// Side of a fresh simplex, as a fraction of the (logarithmic) range of a parameter.
const SIDE: f64 = 0.12;
/// Fresh simplices at the best point found; one alone collapses in many dimensions.
const MAX_TURNS: usize = 40;
/// Most parameters that are searched together.
const MAX_BLOCK: usize = 20;

/// The best of several starts that do not depend on the platform file's values.
pub(super) fn from_cold(objective: &Objective) -> Vec<f64> {
    let dimensions = objective.bounds().len();
    let blocks = blocks(objective);
    let mut rough: Vec<(f64, Vec<f64>)> = (0..=STARTS)
        .map(|seed| {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut start: Vec<f64> = (0..dimensions)
                .map(|_| if seed == 0 { 0.5 } else { rng.random_range(0.1..0.9) })
                .collect();
            // Tables rise with the clock.
            for block in blocks.iter().filter(|block| objective.is_table(block)) {
                for (level, index) in block.iter().enumerate() {
                    start[*index] = (level + 1) as f64 / (block.len() + 1) as f64;
                }
            }
            let found = blocks.iter().fold(start, |at, block| simplex(objective, at, block, 0));
            (objective.cost(&found), found)
        })
        .collect();
    rough.sort_by(|a, b| a.0.total_cmp(&b.0));
    rough
        .into_iter()
        .take(REFINED)
        .map(|(_, start)| descend(objective, start))
        .min_by(|a, b| objective.cost(a).total_cmp(&objective.cost(b)))
        .unwrap_or_else(|| vec![0.5; dimensions])
}

/// Descends from `start`, with fresh simplices until they no longer help.
pub(super) fn descend(objective: &Objective, start: Vec<f64>) -> Vec<f64> {
    let blocks = blocks(objective);
    let mut best = start;
    let mut stalled = 0;
    for turn in 0..MAX_TURNS {
        let before = objective.cost(&best);
        for block in &blocks {
            best = simplex(objective, best, block, turn);
        }
        stalled = if objective.cost(&best) < before * (1.0 - 1e-4) { 0 } else { stalled + 1 };
        if stalled == 3 {
            break;
        }
    }
    best
}

/// Parameters that are searched together. A simplex of many dimensions creeps, so the tables of
/// levels then take turns with each other and the other parameters before all are turned at once.
fn blocks(objective: &Objective) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..objective.bounds().len()).collect();
    if all.len() <= MAX_BLOCK {
        return vec![all];
    }
    let mut blocks: BTreeMap<Option<&str>, Vec<usize>> = BTreeMap::new();
    for (index, bound) in objective.bounds().iter().enumerate() {
        blocks.entry(bound.knob.table()).or_default().push(index);
    }
    blocks.into_values().chain(std::iter::once(all)).collect()
}

/// One Nelder–Mead run over the parameters of a block, never worse than its start.
fn simplex(objective: &Objective, start: Vec<f64>, block: &[usize], turn: usize) -> Vec<f64> {
    // The side flips and shrinks from turn to turn, so that each simplex is a new one.
    let side = SIDE * if turn.is_multiple_of(2) { 1.0 } else { -1.0 } / (1.0 + (turn / 2) as f64);
    let origin: Vec<f64> = block.iter().map(|i| start[*i]).collect();
    let vertices = std::iter::once(origin.clone())
        .chain((0..block.len()).map(|axis| {
            let mut vertex = origin.clone();
            // Into the bounds: beyond them the cost says little about the parameter.
            vertex[axis] += if (0.0..=1.0).contains(&(vertex[axis] + side)) { side } else { -side };
            vertex
        }))
        .collect();
    let problem = Block { objective, base: start, block };
    let iterations = 200 * block.len() as u64;
    let run = NelderMead::new(vertices).with_sd_tolerance(1e-9).and_then(|solver| {
        Executor::new(&problem, solver).configure(|state| state.max_iters(iterations)).run()
    });
    // The cost function is total, so only a bug of ours could fail the run; the start is then
    // as good as anything.
    let found = run.ok().and_then(|mut result| result.state.take_best_param());
    match found {
        Some(found) if problem.value(&found) < problem.value(&origin) => problem.position(&found),
        _ => problem.base,
    }
}

/// The cost as a function of the parameters of a block.
struct Block<'a> {
    objective: &'a Objective,
    base: Vec<f64>,
    block: &'a [usize],
}

impl Block<'_> {
    fn position(&self, part: &[f64]) -> Vec<f64> {
        let mut position = self.base.clone();
        for (index, value) in self.block.iter().zip(part) {
            position[*index] = *value;
        }
        position
    }

    fn value(&self, part: &[f64]) -> f64 {
        self.objective.cost(&self.position(part))
    }
}

impl CostFunction for &Block<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, part: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.value(part))
    }
}
