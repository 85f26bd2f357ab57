//! The measurement table in memory: one row per model and operating point.

use enerinfer_artifacts::OperatingPoint;

use crate::{LlmShape, Platform};

/// A model of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Name, unique in the table.
    pub name: String,
    /// Structure.
    pub shape: LlmShape,
}

/// One measurement: a model at an operating point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Index into [`MeasurementTable::models`].
    pub model: u32,
    /// Operating point.
    pub point: OperatingPoint,
    /// Decode throughput, tokens/s; positive and finite.
    pub throughput_tok_per_s: f64,
    /// Accelerator + memory power, W.
    pub power_w: Option<f64>,
    /// Accelerator power, W.
    pub accel_power_w: Option<f64>,
    /// Samples behind the values.
    pub samples: u32,
}

/// Where the values of a table come from; a report never mixes them unlabelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `measured:<how>`.
    Measured(String),
    /// `simulated:<device>`.
    Simulated(String),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Measured(how) => write!(f, "measured:{how}"),
            Source::Simulated(device) => write!(f, "simulated:{device}"),
        }
    }
}

/// Measurements of one platform: every row belongs to it, models are distinct, and no
/// `(model, point)` stands twice. Rows are sorted by model, then operating point.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasurementTable {
    /// What was measured on.
    pub platform: Platform,
    /// Source of all rows.
    pub source: Source,
    /// Models in the order of first appearance.
    pub models: Vec<Model>,
    /// Rows.
    pub rows: Vec<Row>,
}
