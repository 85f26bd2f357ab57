//! What is measured, and on what: LLM shapes, the survey of real LLMs, the sampler of synthetic
//! shapes, readers and writers of model files, platforms, and the measurement table.
//!
//! ```
//! use enerinfer_datasets::{MeasurementTable, WeightFormat, sampler, survey};
//!
//! let qwen = survey::find("qwen2-1.5b").ok_or("not in the survey")?;
//! let bytes = qwen.shape.read_bytes_per_token(WeightFormat::Q4_0);
//! assert_eq!(bytes / 1_000_000, 868);
//!
//! let models = sampler::sample(300, 1)?;
//! assert_eq!(models[0].name, "synthetic-0001");
//!
//! // A bad table gives one error that names the place and says what to do.
//! let csv = "model,layers\ntoy,12\n";
//! let error = MeasurementTable::read_from(csv.as_bytes(), "toy.csv", "orin").unwrap_err();
//! assert!(error.to_string().starts_with("toy.csv: row 1: the header lacks columns hidden, heads"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod choice;
mod ggml;
pub mod independent;
pub mod mixture_sampler;
mod model_list;
mod platform;
pub mod sampler;
mod shape;
mod shape_file;
mod sheet;
pub mod size_sampler;
pub mod survey;
pub mod synthesize;
mod table;
mod table_error;
mod table_read;
mod table_rules;
mod table_write;
mod temperature_trace;

pub use choice::{ChoiceModel, ChoicePoint, ChoiceTable};
pub use model_list::read_models;
pub use platform::{OperatingPoint, Platform};
pub use shape::{Gemv, GemvOp, LlmShape, ShapeError, ShapeSpec, WeightFormat};
pub use shape_file::{
    LatentAttention, MoeFields, NoShape, PerLayer, ReadShape, ShapeFault, ShapeFields,
    ShapeFileError, describe, read_shape,
};
pub use table::{MeasurementTable, Model, Row, Source, Workload};
pub use table_error::{TableError, Warning};
pub use table_rules::PLAUSIBLE;
pub use temperature_trace::{TemperatureTrace, TraceSecond};
