//! Forest compiler: a bundle of trained predictors becomes the Rust crate `enerinfer-runtime`.
//!
//! ```text
//! Bundle ──passes──► IntPredictor ──emit──► src/model/*.rs ──package──► a crate of its own
//! ```
//!
//! [`lower`] runs the [`passes`], [`generate`] and [`generate_to`] the whole way. What the
//! generated code computes is defined by the interpreter of
//! [`enerinfer_artifacts::IntPredictor`]; generated code repeats it bit for bit.

mod comparisons;
mod emit;
mod error;
pub mod import;
mod lower;
mod options;
mod package;
pub mod passes;

pub use comparisons::Comparisons;
pub use error::CodegenError;
pub use lower::{Lowered, PassEffect, Pruning, lower};
pub use options::{DEFAULT_MAX_NODES, Optimise, Options};
pub use package::{
    CapiName, GeneratedCrate, MANIFEST, PredictorSize, check_destination, generate,
    generate_capi_to, generate_to, size_warning, sizes,
};
pub use passes::estimate_size::{estimate_bytes, estimate_bytes_of};
