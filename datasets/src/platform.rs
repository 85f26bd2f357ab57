//! `Platform`: clock tables, engine and one weight format.

use enerinfer_artifacts::ClockTables;
pub use enerinfer_artifacts::OperatingPoint;

use crate::WeightFormat;

/// What predictors are trained for: a device with its clocks, an engine and one weight format
/// (EnerInfer §4.6: formats do not scale throughput linearly, so each has its own predictors).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Name, e.g. `orin`.
    pub name: String,
    /// What the device is, for people.
    pub description: String,
    /// Inference engine.
    pub engine: String,
    /// Weight format.
    pub format: WeightFormat,
    /// What the power columns mean, e.g. `accel+mem`; different domains are never compared.
    pub power_domain: String,
    /// Clock tables.
    pub clocks: ClockTables,
}
