//! What the user sees of a collection: cost, progress, summary; always on stderr.

use crate::output::say;
use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use enerinfer_collect::{Estimate, Outcome, Plan, Step};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shortest time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);
const BAR_TEMPLATE: &str = "[{bar:24}] {pos}/{len}  {msg}";

/// Progress: a bar on a terminal, lines elsewhere.
pub(super) struct Show {
    bar: Option<ProgressBar>,
    quiet: bool,
    last_line: Option<Instant>,
}

impl Show {
    pub(super) fn new(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            // The template is a literal, checked by a test; the default style is the fallback.
            if let Ok(style) = ProgressStyle::with_template(BAR_TEMPLATE) {
                bar.set_style(style);
            }
            bar
        });
        Show { bar, quiet, last_line: None }
    }

    pub(super) fn step(&mut self, step: &Step<'_>) {
        if self.quiet {
            return;
        }
        let left = clock(step.left);
        let what = format!("{} {}: {}", step.id.model, step.id.setting, step.result);
        match &self.bar {
            Some(bar) => {
                bar.set_length(step.total as u64);
                bar.set_position(step.done as u64);
                bar.set_message(format!("{left} left  {what}"));
            }
            None if self.last_line.is_none_or(|at| at.elapsed() >= LINE_EVERY) => {
                self.last_line = Some(Instant::now());
                say!("{}/{} runs, about {left} left; {what}", step.done, step.total);
            }
            None => {}
        }
    }
}

impl Drop for Show {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// The cost of a plan in a line.
pub(super) fn cost(plan: &Plan, cost: &Estimate) -> String {
    format!(
        "{} models × {} operating points, {} runs at least: about {} (a guess until the first \
         runs are over), up to {} MB of disk for a model at a time",
        plan.models.len(),
        plan.settings.len(),
        cost.runs,
        clock(cost.time),
        cost.largest_file_bytes / 1_000_000
    )
}

/// What a sitting came to.
pub(super) fn summary(plan: &Plan, outcome: &Outcome, models_written: usize) -> String {
    let cells = &outcome.results.cells;
    let (kept, discarded): (usize, u32) =
        (cells.iter().map(|c| c.kept.len()).sum(), cells.iter().map(|c| c.discarded).sum());
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "{} of {} models measured, {kept} runs count, {discarded} discarded",
        models_written,
        plan.models.len()
    );
    for model in 0..plan.models.len() {
        if let Some(cell) = outcome.results.model_given_up(plan, model) {
            let reason = cell.last_error.as_deref().unwrap_or("failed");
            let _ = writeln!(out, "{}: given up: {reason}", plan.models[model].model.name);
        }
    }
    let t = outcome.times;
    if t.engine > Duration::ZERO {
        let _ = writeln!(
            out,
            "this sitting: {:.1} s, of which engine {:.1} s, writing models {:.1} s, clocks \
             {:.1} s; the rest is {:.2} % of the engine's time",
            t.total.as_secs_f64(),
            t.engine.as_secs_f64(),
            t.synthesis.as_secs_f64(),
            t.clocks.as_secs_f64(),
            t.overhead_percent()
        );
    }
    if !outcome.complete {
        out.push_str("not complete: the same command goes on\n");
    }
    out
}

/// `1 h 05 min`, `3 min 20 s`, `12 s`.
fn clock(time: Duration) -> String {
    match time.as_secs() {
        s if s >= 3600 => format!("{} h {:02} min", s / 3600, s % 3600 / 60),
        s if s >= 60 => format!("{} min {:02} s", s / 60, s % 60),
        s => format!("{s} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_template_is_valid() {
        assert!(ProgressStyle::with_template(BAR_TEMPLATE).is_ok());
    }

    #[test]
    fn times_are_readable() {
        let of = |s| clock(Duration::from_secs(s));
        assert_eq!([of(12), of(200), of(3900)], ["12 s", "3 min 20 s", "1 h 05 min"]);
    }
}
