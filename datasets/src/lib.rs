//! What is measured, and on what: LLM shapes, the survey of real LLMs, the sampler of synthetic
//! shapes, platforms, and the measurement table.

mod choice;
mod platform;
pub mod sampler;
mod shape;
mod sheet;
pub mod survey;
mod table;
mod table_csv;
mod table_error;

pub use choice::{ChoiceModel, ChoicePoint, ChoiceTable};
pub use platform::{OperatingPoint, Platform};
pub use shape::{Gemv, GemvOp, LlmShape, ShapeError, ShapeSpec, WeightFormat};
pub use table::{MeasurementTable, Model, Row, Source, Workload};
pub use table_error::{TableError, Warning};
