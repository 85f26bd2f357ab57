//! What runs a model and times its stages.

use std::path::Path;
use std::time::Duration;

use crate::timing::StageTiming;

/// What one run shall do.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Request {
    /// Threads of the engine.
    pub threads: u32,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens to decode one by one, timed.
    pub generate_tokens: u32,
    /// Tokens to decode before that, untimed: caches fill and clocks rise.
    pub warm_up_tokens: u32,
    /// Longest time that a run may take.
    pub timeout: Duration,
}

/// The decode phase on the wall clock and on the CPU.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Span {
    /// Begin, seconds since 1970 (UTC).
    pub begin_unix_s: f64,
    /// Duration, s.
    pub wall_s: f64,
    /// CPU time of all threads, s.
    pub cpu_s: f64,
}

/// What one run gave.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct EngineRun {
    /// Times of the stages.
    pub timing: StageTiming,
    /// Time to load the model, where this run did so and the engine tells, s.
    pub load_s: Option<f64>,
    /// The decode phase; of an engine that is a process of its own, the whole process.
    pub span: Span,
}

/// Runs models. The model of the last run may stay loaded: runs of one model come in sequence.
pub trait Engine {
    /// Name for the measurement table, e.g. `llama.cpp`.
    fn name(&self) -> &str;

    /// Everything of the engine that results depend on: a journal belongs to it.
    fn identity(&self) -> String {
        self.name().to_owned()
    }

    /// Whether [`EngineRun::span`] covers the decode phase alone, so that its CPU time tells
    /// whether decoding was disturbed.
    fn spans_decode_only(&self) -> bool;

    /// Runs a model once.
    ///
    /// # Errors
    /// If the engine cannot load or run it, takes too long, or does not say how fast it was.
    fn run(&mut self, model: &Path, request: &Request) -> Result<EngineRun, EngineError>;

    /// Lets go of the loaded model, whose file is about to be removed.
    fn unload(&mut self) {}
}

/// Why a run gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The engine could not be started at all.
    #[error("cannot start `{program}`: {reason}; install it, or correct --engine-command")]
    Start {
        /// Program.
        program: String,
        /// The system's reason.
        reason: String,
    },
    /// The engine has another number of threads, which stays as it is until the process ends.
    #[error(
        "the engine has {} threads in this process, not {wanted}: it takes their number from the \
         environment once; set RAYON_NUM_THREADS={wanted}, leave CANDLE_NUM_THREADS alone, and \
         collect one number of threads at a time",
        has.map_or_else(|| "differing numbers of".to_owned(), |n| n.to_string())
    )]
    Threads {
        /// Requested.
        wanted: u32,
        /// Present; `None` if parts of the engine differ.
        has: Option<u32>,
    },
    /// The engine ended with a failure.
    #[error("the engine failed ({status}); its last lines: {last_lines}")]
    Failed {
        /// Exit status, or the engine's own error.
        status: String,
        /// End of its error output.
        last_lines: String,
    },
    /// It took longer than allowed and was ended.
    #[error(
        "the engine was ended after {seconds} s without a result; raise --timeout if it needs more"
    )]
    Timeout {
        /// The limit.
        seconds: u64,
    },
    /// It ended well and said nothing that the pattern finds.
    #[error("no speed found in the engine's output ({reason}); it ends: {last_lines}")]
    Output {
        /// What is missing.
        reason: String,
        /// End of its output.
        last_lines: String,
    },
    /// It said something that cannot be.
    #[error("{what} of {value} cannot be")]
    Implausible {
        /// Quantity.
        what: &'static str,
        /// Its value.
        value: String,
    },
}
