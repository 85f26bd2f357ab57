//! Why a model was not written.

use std::path::PathBuf;

/// Why a model was not written, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SynthesizeError {
    /// No engine would load it.
    #[error("{model}: {reason}")]
    Unsupported {
        /// Name of the model.
        model: String,
        /// The limit that it exceeds, and the value.
        reason: String,
    },
    /// The disk is too small.
    #[error(
        "{}: needs {needed} bytes, {available} are free; remove models that are measured, or choose \
         another folder",
        path.display()
    )]
    NoSpace {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        needed: u64,
        /// Free bytes.
        available: u64,
    },
    /// A file could not be written.
    #[error(transparent)]
    Write(#[from] enerinfer_artifacts::Error),
}
