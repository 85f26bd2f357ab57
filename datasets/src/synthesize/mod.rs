//! Untrained models of any shape, as files that inference engines load.
//!
//! Decode speed and power depend on a model's sizes, not on what its weights have learned
//! (EnerInfer §4.2), so a shape can be measured without a trained model of it. Weights are one
//! seeded pattern of small values, repeated: files are written at disk speed from a buffer of
//! 1 MiB, and the same arguments give the same bytes.
//!
//! - [`GgufModel`]: one GGUF file, for llama.cpp and what is built on it;
//! - [`gguf_files`]: many of them, one at a time, so that each can be measured and removed before
//!   the next is written;
//! - [`HuggingFaceModel`]: `config.json` and `model.safetensors`, for other engines;
//! - [`Manifest`]: which file is which shape.
//!
//! ```no_run
//! use std::path::Path;
//! use enerinfer_datasets::{WeightFormat, sampler, synthesize};
//!
//! let models = sampler::sample(300, 1)?;
//! let options = synthesize::GgufOptions::default();
//! for file in synthesize::gguf_files(&models, WeightFormat::Q4_0, options, Path::new("models")) {
//!     let file = file?;
//!     // … measure it …
//!     std::fs::remove_file(&file.path)?;
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod gguf_write;
mod hf_write;
mod manifest;
mod mix;
mod output;
mod pattern;
mod tensors;

use std::path::{Path, PathBuf};

pub use error::SynthesizeError;
pub use gguf_write::{GgufModel, GgufOptions, Vocabulary};
pub use hf_write::HuggingFaceModel;
pub use manifest::{Manifest, ManifestEntry};

use crate::{Model, WeightFormat};

/// A file that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Name of the model.
    pub model: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
}

/// Writes one GGUF file into `folder` for each step of the iterator, and nothing before it.
///
/// Names are those of [`GgufModel::file_name`].
/// After an error the next step goes on with the next model.
pub fn gguf_files<'a>(
    models: impl IntoIterator<Item = &'a Model>,
    format: WeightFormat,
    options: GgufOptions,
    folder: &Path,
) -> impl Iterator<Item = Result<Written, SynthesizeError>> {
    models.into_iter().map(move |model| {
        let gguf = GgufModel::new(model, format, options)?;
        let path = folder.join(gguf.file_name());
        gguf.write(&path)?;
        Ok(Written { model: model.name.clone(), path, bytes: gguf.file_bytes() })
    })
}

/// A model's name as part of a file's name.
fn file_stem(name: &str) -> String {
    name.chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' })
        .collect()
}
