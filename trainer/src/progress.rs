//! Progress of long work: a bar on a terminal, plain lines elsewhere, always on stderr.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Shortest time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// How progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A bar if stderr is a terminal, lines otherwise.
    Auto,
    /// Nothing.
    Quiet,
}

/// Sink for progress of a whole run.
pub struct Progress {
    kind: Kind,
}

enum Kind {
    Bar,
    Lines,
    Quiet,
}

impl Progress {
    /// Chooses bar, lines or nothing.
    pub fn new(mode: Mode) -> Self {
        let kind = match mode {
            Mode::Quiet => Kind::Quiet,
            Mode::Auto if std::io::stderr().is_terminal() => Kind::Bar,
            Mode::Auto => Kind::Lines,
        };
        Progress { kind }
    }

    /// A line about a finished or starting step.
    pub fn note(&self, text: &str) {
        if !matches!(self.kind, Kind::Quiet) {
            eprintln!("{text}");
        }
    }

    /// Starts a step of `total` units.
    pub fn step(&self, name: &str, total: usize) -> Step {
        let show = match self.kind {
            Kind::Quiet => Show::Nothing,
            Kind::Bar => {
                let bar =
                    ProgressBar::with_draw_target(Some(total as u64), ProgressDrawTarget::stderr());
                // The template is a literal, checked by a test; the default style is the fallback.
                if let Ok(style) = ProgressStyle::with_template(BAR_TEMPLATE) {
                    bar.set_style(style);
                }
                bar.set_message(name.to_owned());
                Show::Bar(bar)
            }
            Kind::Lines => {
                eprintln!("{name}: {total} to do");
                let now = Instant::now();
                Show::Lines { name: name.to_owned(), started: now, last: Mutex::new(now) }
            }
        };
        Step { show, total }
    }
}

const BAR_TEMPLATE: &str = "{msg:48} [{bar:20}] {pos}/{len}  {elapsed} elapsed, {eta} left";

/// A running step.
pub struct Step {
    show: Show,
    total: usize,
}

enum Show {
    Bar(ProgressBar),
    Lines { name: String, started: Instant, last: Mutex<Instant> },
    Nothing,
}

impl Step {
    /// Says how much is done. May be called from any thread.
    pub fn set(&self, done: usize) {
        match &self.show {
            Show::Bar(bar) => bar.set_position(done as u64),
            Show::Lines { name, started, last } => {
                // A poisoned lock only means that another thread panicked while printing.
                let mut last = last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if last.elapsed() >= LINE_EVERY && done > 0 {
                    *last = Instant::now();
                    let left = started
                        .elapsed()
                        .mul_f64(self.total.saturating_sub(done) as f64 / done as f64);
                    eprintln!("{name}: {done}/{}, about {} s left", self.total, left.as_secs());
                }
            }
            Show::Nothing => {}
        }
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        match &self.show {
            Show::Bar(bar) => bar.finish(),
            Show::Lines { name, started, .. } => {
                eprintln!("{name}: done in {:.1} s", started.elapsed().as_secs_f64());
            }
            Show::Nothing => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_template_is_valid() {
        ProgressStyle::with_template(BAR_TEMPLATE).unwrap();
    }
}
