//! Collection of measurements on a real device: an engine at every operating point.
//!
//! A [`Plan`] is models × operating points in a seeded order. A [`Collection`] runs it through an
//! [`Engine`], sets clocks, watches power and temperature, discards disturbed runs, and writes
//! every run to a [`Journal`] before the next begins, so that it can be killed at any time and
//! goes on where it was. [`measurement_table`] makes the table that `train` reads.

#[cfg(feature = "engine-candle")]
mod candle;
mod clocks;
mod collect;
mod command_engine;
mod confidence;
mod cpu_time;
mod engine;
mod error;
pub mod journal;
#[cfg(feature = "engine-llama-cpp")]
mod llama_cpp;
mod models;
mod pattern;
mod plan;
pub mod power;
mod progress;
mod results;
mod rules;
#[cfg(any(test, feature = "engine-llama-cpp", feature = "engine-candle"))]
mod session;
mod setting;
mod tables;
mod timing;
mod unix_time;
mod watch;

#[cfg(feature = "engine-candle")]
pub use candle::Candle;
pub use clocks::Clocks;
pub use collect::{Collection, Options, Outcome, Step, Times};
pub use command_engine::{CommandEngine, TemplateError};
pub use engine::{Engine, EngineError, EngineRun, Request, Span};
pub use error::CollectError;
pub use journal::Journal;
#[cfg(feature = "engine-llama-cpp")]
pub use llama_cpp::LlamaCpp;
pub use models::{Candidate, Lease, LeftOut, in_folder};
pub use pattern::{GROUPS, OutputForm, PatternError};
pub use plan::{Cell, Plan};
pub use progress::{Estimate, estimate};
pub use results::{CellResults, Repetitions, Results};
pub use rules::{Circumstances, Discard, Rules};
pub use setting::{Setting, of_clocks, of_threads};
pub use tables::{PowerOf, TableLabels, formats, measurement_table, spread_csv};
pub use timing::{Counters, StageTiming};
pub use watch::{Sampled, Sensors, Watch};
