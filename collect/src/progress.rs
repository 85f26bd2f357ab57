//! What a collection is going to cost, before and while it runs.

use std::time::Duration;

use crate::plan::{Cell, Plan};

/// Decode bandwidth that is assumed before anything was measured, bytes/s: that of a slow board.
const ASSUMED_BYTES_PER_S: f64 = 5e9;
/// Rate at which models are written and loaded, bytes/s.
const ASSUMED_LOAD_BYTES_PER_S: f64 = 5e8;
/// Prompt tokens are batched: each costs this share of a generated one.
const PREFILL_SHARE: f64 = 0.2;

/// Cost of a whole plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Runs.
    pub runs: usize,
    /// Time.
    pub time: Duration,
    /// Largest model file, bytes: the disk that is needed at once for synthetic models.
    pub largest_file_bytes: u64,
}

/// Estimate before anything is measured: speed is guessed from the bytes that a token reads.
pub fn estimate(plan: &Plan, repetitions: u32, settle: Duration) -> Estimate {
    let runs = plan.cells() * repetitions as usize;
    let mut seconds = 0.0;
    for model in 0..plan.models.len() {
        seconds += load_s(plan, model) * f64::from(repetitions);
        for setting in 0..plan.settings.len() {
            let run = run_s(plan, Cell { model, setting }) + settle.as_secs_f64();
            seconds += run * f64::from(repetitions);
        }
    }
    let largest = plan.models.iter().map(|m| m.file_bytes).max();
    Estimate {
        runs,
        time: Duration::from_secs_f64(seconds),
        largest_file_bytes: largest.unwrap_or(0),
    }
}

fn load_s(plan: &Plan, model: usize) -> f64 {
    let candidate = &plan.models[model];
    let times = if candidate.is_synthetic() { 2.0 } else { 1.0 };
    times * candidate.file_bytes as f64 / ASSUMED_LOAD_BYTES_PER_S
}

/// Guess for one run: only ratios between runs matter once some have been measured.
fn run_s(plan: &Plan, cell: Cell) -> f64 {
    let r = &plan.request;
    let tokens = f64::from(r.generate_tokens + r.warm_up_tokens)
        + PREFILL_SHARE * f64::from(r.prompt_tokens);
    plan.models[cell.model].read_bytes_per_token() as f64 / ASSUMED_BYTES_PER_S * tokens
}

/// Guess of a run and its share of a load.
pub(crate) fn guess_s(plan: &Plan, cell: Cell) -> f64 {
    run_s(plan, cell) + load_s(plan, cell.model) / plan.settings.len() as f64
}

/// Time left, learnt from what the runs so far took compared with the guesses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    guessed_s: f64,
    taken_s: f64,
}

impl Pace {
    pub(crate) fn add(&mut self, guessed_s: f64, taken_s: f64) {
        self.guessed_s += guessed_s;
        self.taken_s += taken_s;
    }

    pub(crate) fn left(&self, guessed_s: f64) -> Duration {
        let ratio = if self.guessed_s > 0.0 { self.taken_s / self.guessed_s } else { 1.0 };
        Duration::try_from_secs_f64(ratio * guessed_s).unwrap_or(Duration::MAX)
    }
}
