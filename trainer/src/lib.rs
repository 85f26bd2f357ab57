//! The training pipeline behind the `train` command: measurements to predictors, device crate
//! and report.
//!
//! [`job`] is the whole job, [`choose`] and [`evaluate_all`] the verbs beside it; [`pipeline`] is the part without
//! files: a measurement table in, a bundle and its evaluation record out.

mod budget;
pub mod choose;
pub mod cli;
mod compare;
mod device;
mod error;
mod evaluate;
pub mod evaluate_all;
pub mod job;
mod journal;
pub mod pipeline;
mod predicted;
pub mod progress;
mod prune;
mod samples;
mod search;
mod seeds;
mod select;
mod size_front;
mod split;
pub mod thermal;
pub mod thermal_file;

pub use error::TrainError;
pub use journal::{Journal, JournalError};
pub use samples::FeatureSet;
pub use search::Family;
pub use seeds::Seeds;
