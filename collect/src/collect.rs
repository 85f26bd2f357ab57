//! The collection itself.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use enerinfer_linux::files::{self, Files};

use crate::clocks::Clocks;
use crate::engine::{Engine, EngineError, EngineRun, Request};
use crate::error::CollectError;
use crate::journal::{Entry, Journal, Run, RunId};
use crate::models::Lease;
use crate::plan::{Cell, Plan};
use crate::progress::{Pace, guess_s};
use crate::results::{Repetitions, Results};
use crate::rules::{Circumstances, Rules};
use crate::watch::{Sampled, Watch};

/// How to collect.
pub struct Options {
    /// How often each cell is run.
    pub repetitions: Repetitions,
    /// Which runs are discarded.
    pub rules: Rules,
    /// No run begins later than this after the start.
    pub time_budget: Option<Duration>,
    /// Folder of synthetic models.
    pub folder: PathBuf,
    /// Set from outside to end after the present run.
    pub stop: Arc<AtomicBool>,
}

/// What happens, for whoever shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Step<'a> {
    /// Runs so far, of this and earlier sittings.
    pub done: usize,
    /// Runs that will be needed at least.
    pub total: usize,
    /// Time left.
    pub left: Duration,
    /// The run that has ended.
    pub id: &'a RunId,
    /// Its result in a few words.
    pub result: String,
}

/// Where the time of a sitting went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// The whole.
    pub total: Duration,
    /// Inside the engine: loading, running, unloading.
    pub engine: Duration,
    /// Writing and removing synthetic models.
    pub synthesis: Duration,
    /// Setting clocks and letting them settle.
    pub clocks: Duration,
}

impl Times {
    /// What is none of the engine's, the models' and the clocks' own time, % of the engine's.
    pub fn overhead_percent(&self) -> f64 {
        let rest = self.total.saturating_sub(self.engine + self.synthesis + self.clocks);
        100.0 * rest.as_secs_f64() / self.engine.as_secs_f64()
    }
}

/// What a sitting came to.
#[derive(Debug)]
pub struct Outcome {
    /// Everything known so far.
    pub results: Results,
    /// Whether nothing is left to do.
    pub complete: bool,
    /// Times of this sitting.
    pub times: Times,
}

/// One sitting.
pub struct Collection<'a> {
    /// What.
    pub plan: &'a Plan,
    /// By which engine.
    pub engine: &'a mut dyn Engine,
    /// Clocks to set.
    pub clocks: &'a mut Clocks,
    /// Sensors beside it.
    pub watch: &'a Watch,
    /// Nodes that are read, e.g. of the load average.
    pub files: &'a dyn Files,
    /// How.
    pub options: &'a Options,
}

impl Collection<'_> {
    /// Goes on from what the journal holds until everything is measured, the budget is spent, or
    /// it is told to stop. Clocks have been given back when it returns.
    ///
    /// # Errors
    /// A journal that cannot be written, clocks that cannot be set, an engine that cannot be
    /// started at all. Runs that fail are entries of the journal instead.
    pub fn run(
        &mut self,
        journal: &mut Journal,
        entries: &[Entry],
        progress: &mut dyn FnMut(&Step<'_>),
    ) -> Result<Outcome, CollectError> {
        let started = Instant::now();
        let mut results = Results::of(self.plan, entries);
        let mut times = Times::default();
        let sitting = self.sitting(journal, &mut results, &mut times, started, progress);
        self.engine.unload();
        let restored = self.clocks.restore();
        let complete = sitting?;
        restored?;
        times.total = started.elapsed();
        Ok(Outcome { results, complete, times })
    }

    fn sitting(
        &mut self,
        journal: &mut Journal,
        results: &mut Results,
        times: &mut Times,
        started: Instant,
        progress: &mut dyn FnMut(&Step<'_>),
    ) -> Result<bool, CollectError> {
        let plan = self.plan;
        let wanted = self.options.repetitions;
        let mut pace = Pace::default();
        let mut lease: Option<(usize, Lease)> = None;
        for round in 0..wanted.most.saturating_mul(2) {
            for cell in plan.order(round) {
                let of = &results.cells[plan.index(cell)];
                if of.rounds > round
                    || of.done(wanted)
                    || results.model_given_up(plan, cell.model).is_some()
                {
                    continue;
                }
                if self.options.stop.load(Ordering::Relaxed)
                    || self.options.time_budget.is_some_and(|b| started.elapsed() >= b)
                {
                    return Ok(false);
                }
                let begun = Instant::now();
                if lease.as_ref().is_none_or(|(model, _)| *model != cell.model) {
                    // The engine lets go of a file before it is removed, and the old file is
                    // removed before the new one needs its space.
                    let unloading = Instant::now();
                    self.engine.unload();
                    times.engine += unloading.elapsed();
                    let writing = Instant::now();
                    drop(lease.take());
                    let leased = plan.models[cell.model].lease(&self.options.folder)?;
                    times.synthesis += writing.elapsed();
                    lease = Some((cell.model, leased));
                }
                let Some((_, file)) = &lease else { continue };
                let entry = self.one(cell, round, file, journal, results, times)?;
                pace.add(guess_s(plan, cell), begun.elapsed().as_secs_f64());
                self.show(&entry, results, &pace, progress);
            }
        }
        Ok(true)
    }

    /// One run, journalled before and after.
    fn one(
        &mut self,
        cell: Cell,
        round: u32,
        file: &Lease,
        journal: &mut Journal,
        results: &mut Results,
        times: &mut Times,
    ) -> Result<Entry, CollectError> {
        let plan = self.plan;
        let setting = plan.settings[cell.setting];
        let candidate = &plan.models[cell.model];
        let id = RunId {
            model: candidate.model.name.clone(),
            format: candidate.format.name().to_owned(),
            setting,
            round,
        };
        let setting_clocks = Instant::now();
        self.clocks.set(&setting)?;
        times.clocks += setting_clocks.elapsed();
        let begin = Entry::Begin(id.clone());
        journal.append(&begin)?;
        results.add(plan, &begin);

        let load = load_average(self.files);
        let request = Request { threads: setting.threads, ..plan.request.clone() };
        let watching = self.watch.start();
        let calling = Instant::now();
        let ran = self.engine.run(file.path(), &request);
        let call = calling.elapsed();
        times.engine += call;
        let sampled = match (watching, &ran) {
            (Some(w), Ok(EngineRun { span, .. })) => {
                w.stop(span.begin_unix_s, span.begin_unix_s + span.wall_s)
            }
            (Some(w), Err(_)) => w.stop(0.0, 0.0),
            (None, _) => Sampled::default(),
        };
        let entry = match ran {
            Ok(engine) => {
                let circumstances = Circumstances {
                    span: self.engine.spans_decode_only().then_some(engine.span),
                    threads: setting.threads,
                    load,
                    max_temp_c: sampled.max_temp_c,
                    deviation: self.clocks.deviation(&setting)?,
                };
                let discarded = self.options.rules.judge(&circumstances);
                let call_s = call.as_secs_f64();
                Entry::Run(Box::new(Run { id, engine, call_s, load, sampled, discarded }))
            }
            // The same will happen to every model.
            Err(e @ (EngineError::Start { .. } | EngineError::Threads { .. })) => {
                return Err(e.into());
            }
            Err(e) => Entry::Failed { id, error: e.to_string() },
        };
        journal.append(&entry)?;
        results.add(plan, &entry);
        Ok(entry)
    }

    fn show(
        &self,
        entry: &Entry,
        results: &Results,
        pace: &Pace,
        progress: &mut dyn FnMut(&Step<'_>),
    ) {
        let (id, result) = match entry {
            Entry::Run(run) => {
                let speed = run.engine.timing.decode_tok_per_s;
                let text = match &run.discarded {
                    None => format!("{speed:.2} tokens/s"),
                    Some(why) => format!("discarded: {why:?}"),
                };
                (&run.id, text)
            }
            Entry::Failed { id, error } => (id, format!("failed: {error}")),
            Entry::Begin(_) | Entry::Plan { .. } => return,
        };
        let plan = self.plan;
        let (mut done, mut missing, mut guessed) = (0, 0, 0.0);
        for model in 0..plan.models.len() {
            if results.model_given_up(plan, model).is_some() {
                continue;
            }
            for setting in 0..plan.settings.len() {
                let cell = Cell { model, setting };
                let of = &results.cells[plan.index(cell)];
                let more = of.missing(self.options.repetitions);
                done += of.kept.len();
                missing += more as usize;
                guessed += f64::from(more) * guess_s(plan, cell);
            }
        }
        progress(&Step { done, total: done + missing, left: pace.left(guessed), id, result });
    }
}

/// Load average of the last minute.
fn load_average(files: &dyn Files) -> Option<f64> {
    let text = files::read(files, std::path::Path::new("/proc/loadavg")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}
