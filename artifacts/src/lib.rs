//! Schema of the EnerInfer toolchain: what stages exchange, and nothing that computes it.
//!
//! - [`Feature`], [`ShapeDims`]: inputs of predictors, all whole numbers;
//! - [`ClockTables`], [`OperatingPoint`]: the operating points of a platform;
//! - [`Forest`]: the IR between learners, compiler passes, interpreter and emitter;
//! - [`Predictor`], [`IntPredictor`]: a forest with its meaning; the latter *defines* what the
//!   device computes;
//! - [`Bundle`]: the artifact file; [`record`]: the evaluation record behind every report;
//!   [`compiled_code`]: what the predictors cost once compiled;
//!   [`exhibit`]: the papers' figures and tables for our devices;
//! - [`resolve`], [`write_atomic`], [`console`]: how every program gives what it has made.

mod bundle;
pub mod compiled_code;
pub mod console;
mod error;
pub mod exhibit;
mod feature;
mod forest;
mod int_thermal;
mod point;
mod predictor;
mod printable;
pub mod record;
mod resolve;
mod write;

pub use bundle::{
    Accuracy, Bundle, FORMAT_VERSION, MAX_PAYLOAD, PlatformId, Provenance, ThermalModel,
};
pub use error::Error;
pub use feature::{Feature, ShapeDims};
pub use forest::{Forest, ForestStats, MAX_NODES, MAX_TREES, Node};
pub use int_thermal::{IntThermalModel, THERMAL_WINDOW};
pub use point::{ClockTables, MAX_LEVELS, MAX_POINTS, OperatingPoint};
pub use predictor::{
    Domain, IntPredictor, Normaliser, Predictor, SCALE_ONE, Target, inputs, throughput_utok_per_s,
};
pub use printable::is_printable;
pub use resolve::resolve;
pub use write::{write_atomic, write_atomic_with};

/// BLAKE3 of `bytes` in hex: the digest used for inputs and outputs throughout.
pub fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
