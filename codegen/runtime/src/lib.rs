//! Device side of EnerInfer: predicts, for a language model's shape, the decode throughput and
//! power of every operating point, and picks the most energy-efficient one for a wanted speed.
//!
//! `no_std`, no dependency, no allocation, no floating point, no panic, no `unsafe`.
//!
//! - [`Shape`] describes the language model; [`Predictor::tables`] turns it into [`Tables`];
//! - [`Front`] keeps the operating points worth choosing and chooses one;
//! - [`model`] holds what was trained: clock tables, digests, the compiled forests.
#![no_std]
#![forbid(unsafe_code)]

pub mod coverage;
pub mod front;
pub mod grid;
/// What was trained: generated files.
pub mod model;
pub mod predictor;
pub mod rank;
pub mod shape;
pub mod tables;
pub mod units;

pub use coverage::{Coverage, Feature};
pub use front::{Front, FrontEntry};
pub use predictor::{Prediction, Predictor};
pub use shape::Shape;
pub use tables::Tables;
pub use units::{MicroTokPerS, MicroWatt};
