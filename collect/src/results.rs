//! What is known of each cell so far.

use crate::confidence::relative_ci_percent;
use crate::journal::{Entry, Run, RunId};
use crate::plan::{Cell, Plan};

/// When a cell has enough runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetitions {
    /// Fewest runs that count.
    pub least: u32,
    /// Most runs that count.
    pub most: u32,
    /// Between the two, runs are added until the 95 % confidence interval of the mean throughput
    /// is at most this half-width, %.
    pub ci_percent: f64,
}

/// Runs of a cell that failed, or took the process with them, before it is given up.
const MAX_FAILURES: u32 = 2;

/// Runs of one cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CellResults {
    /// Runs that count.
    pub kept: Vec<Run>,
    /// Runs that were discarded.
    pub discarded: u32,
    /// Runs that failed, or began and never ended.
    pub failures: u32,
    /// Reason of the last failure.
    pub last_error: Option<String>,
    /// Rounds in which it was tried.
    pub rounds: u32,
}

impl CellResults {
    /// Throughputs of the runs that count, tokens/s.
    pub fn throughputs(&self) -> Vec<f64> {
        self.kept.iter().map(|r| r.engine.timing.decode_tok_per_s).collect()
    }

    /// Whether it is hopeless.
    pub fn given_up(&self) -> bool {
        self.failures >= MAX_FAILURES
    }

    /// Whether no more runs are wanted.
    pub fn done(&self, wanted: Repetitions) -> bool {
        let n = self.kept.len() as u32;
        self.given_up()
            || n >= wanted.most
            || (n >= wanted.least
                && relative_ci_percent(&self.throughputs()).is_some_and(|ci| ci <= wanted.ci_percent))
            // Half of all runs discarded: this machine is not quiet enough.
            || self.rounds >= wanted.most.saturating_mul(2)
    }

    /// Runs still wanted at least.
    pub(crate) fn missing(&self, wanted: Repetitions) -> u32 {
        if self.done(wanted) {
            0
        } else {
            wanted.least.saturating_sub(self.kept.len() as u32).max(1)
        }
    }
}

/// Results of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// One entry per cell, see [`Plan::index`].
    pub cells: Vec<CellResults>,
}

impl Results {
    /// Results of a journal's entries; those of no cell of the plan are left out.
    pub fn of(plan: &Plan, entries: &[Entry]) -> Self {
        let mut results = Results { cells: vec![CellResults::default(); plan.cells()] };
        for entry in entries {
            results.add(plan, entry);
        }
        results
    }

    /// Adds what the journal has just been told.
    pub fn add(&mut self, plan: &Plan, entry: &Entry) {
        let id = match entry {
            Entry::Begin(id) | Entry::Failed { id, .. } => id,
            Entry::Run(run) => &run.id,
            Entry::Plan { .. } => return,
        };
        let Some(cell) = find(plan, id) else { return };
        let of = &mut self.cells[plan.index(cell)];
        match entry {
            // Taken for a crash until its end is told.
            Entry::Begin(id) => {
                of.rounds = of.rounds.max(id.round + 1);
                of.failures += 1;
                of.last_error = Some("the process ended during the run".to_owned());
            }
            Entry::Failed { error, .. } => of.last_error = Some(error.clone()),
            Entry::Run(run) => {
                of.failures = of.failures.saturating_sub(1);
                of.last_error = None;
                match run.discarded {
                    None => of.kept.push((**run).clone()),
                    Some(_) => of.discarded += 1,
                }
            }
            Entry::Plan { .. } => {}
        }
    }

    /// Whether a cell of the model has been given up.
    pub fn model_given_up(&self, plan: &Plan, model: usize) -> Option<&CellResults> {
        let at = model * plan.settings.len();
        self.cells[at..at + plan.settings.len()].iter().find(|c| c.given_up())
    }
}

fn find(plan: &Plan, id: &RunId) -> Option<Cell> {
    let model = plan
        .models
        .iter()
        .position(|m| m.model.name == id.model && m.format.name() == id.format)?;
    let setting = plan.settings.iter().position(|s| *s == id.setting)?;
    Some(Cell { model, setting })
}
