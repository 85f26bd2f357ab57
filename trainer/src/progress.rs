//! Progress of long work: a bar on a terminal, plain lines elsewhere, always on stderr.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use enerinfer_artifacts::console::say;
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
            say(format_args!("{text}"));
        }
    }

    /// Starts a step.
    pub fn step(&self, name: &str) -> Step {
        let show = match self.kind {
            Kind::Quiet => Show::Nothing,
            Kind::Bar => {
                let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
                // The template is a literal, checked by a test; the default style is the fallback.
                if let Ok(style) = ProgressStyle::with_template(BAR_TEMPLATE) {
                    bar.set_style(style);
                }
                bar.set_message(name.to_owned());
                Show::Bar(bar)
            }
            Kind::Lines => {
                say(format_args!("{name}"));
                let now = Instant::now();
                Show::Lines { name: name.to_owned(), started: now, last: Mutex::new(now) }
            }
        };
        Step { show }
    }
}

const BAR_TEMPLATE: &str = "{msg:48} [{bar:20}] {percent:>3} %  {elapsed} elapsed, {eta} left";

/// A running step.
pub struct Step {
    show: Show,
}

enum Show {
    Bar(ProgressBar),
    Lines { name: String, started: Instant, last: Mutex<Instant> },
    Nothing,
}

impl Step {
    /// Says how much of how much work is done, in any unit that takes about the same time
    /// throughout. May be called from any thread.
    pub fn set(&self, done: usize, total: usize) {
        match &self.show {
            Show::Bar(bar) => {
                bar.set_length(total as u64);
                bar.set_position(done as u64);
            }
            Show::Lines { name, started, last } => {
                // A poisoned lock only means that another thread panicked while printing.
                let mut last = last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                if last.elapsed() >= LINE_EVERY && done > 0 {
                    *last = Instant::now();
                    say(format_args!("{name}: {}", state(done, total, started.elapsed())));
                }
            }
            Show::Nothing => {}
        }
    }
}

/// What is done and how long the rest takes at the same pace; `done` is not 0.
fn state(done: usize, total: usize, elapsed: Duration) -> String {
    let left = elapsed.mul_f64(total.saturating_sub(done) as f64 / done as f64);
    format!("{} %, about {} s left", 100 * done / total.max(done), left.as_secs())
}

impl Drop for Step {
    fn drop(&mut self) {
        match &self.show {
            Show::Bar(bar) => bar.finish(),
            Show::Lines { name, started, .. } => {
                say(format_args!("{name}: done in {:.1} s", started.elapsed().as_secs_f64()));
            }
            Show::Nothing => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_takes_half_the_time_of_the_rest() {
        let second = Duration::from_secs(1);
        assert_eq!(state(1, 3, 10 * second), "33 %, about 20 s left");
        assert_eq!(state(3, 3, 10 * second), "100 %, about 0 s left");
    }

    #[test]
    fn bar_template_is_valid() {
        ProgressStyle::with_template(BAR_TEMPLATE).unwrap();
    }
}
