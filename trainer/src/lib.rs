//! The training pipeline behind the `train` command: measurements to predictors, device crate
//! and report.
//!
//! [`job`] is the whole job, [`choose`] the verb beside it; [`pipeline`] is the part without
//! files: a measurement table in, a bundle and its evaluation record out.

pub mod choose;
pub mod cli;
mod error;
mod evaluate;
mod family;
pub mod job;
pub mod pipeline;
mod predicted;
pub mod progress;
mod samples;
mod search;
mod seeds;

pub use error::TrainError;
pub use seeds::Seeds;
