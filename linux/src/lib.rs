//! EnerInfer on Linux: clock domains, temperatures and the daemon around the controllers of
//! `enerinfer-runtime`.
//!
//! - [`files`] is the little that is needed of a file system, so that tests can inject faults;
//! - [`devfreq`], [`bpmp`], [`cpufreq`] and [`uncontrolled`] are clock domains,
//!   [`zones`] and [`sensor`] temperatures;
//! - [`discover`] finds them, [`doctor`] says what will not work as expected;
//! - [`saved`] and [`journal`] bring clocks back, also after the process was killed;
//! - [`events`], [`tables`] and [`session`] make up the daemon `enerinferd`.

pub mod bpmp;
pub mod change_log;
pub mod clock;
pub mod cpufreq;
pub mod devfreq;
pub mod discover;
pub mod doctor;
pub mod domain;
mod error;
pub mod events;
pub mod files;
pub mod frequency;
pub mod journal;
pub mod saved;
pub mod sensor;
pub mod session;
pub mod tables;
pub mod uncontrolled;
pub mod zones;

pub use error::Error;
