//! Shapes of real models, read from GGUF files and Hugging Face `config.json`.
//!
//! ```no_run
//! use std::path::Path;
//! use enerinfer_datasets::{describe, read_shape};
//!
//! let read = read_shape(Path::new("Qwen3-4B-Q4_0.gguf"))?;
//! print!("{}", describe(&read));
//! let shape = read.shape?;
//! assert_eq!(shape.dims().head_dim, 128);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod describe;
mod error;
mod family;
mod fields;
mod gguf;
mod gguf_shape;
mod hf_config;

use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::Path;

pub use describe::describe;
pub use error::{NoShape, ShapeFault, ShapeFileError};
pub use fields::{LatentAttention, MoeFields, PerLayer, ShapeFields};

use crate::ggml::MAGIC;
use crate::{LlmShape, WeightFormat};

/// Largest `config.json` that is read, in bytes; real ones have a few thousand.
const MAX_CONFIG: u64 = 16 << 20;

/// What a model file says of its model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadShape {
    /// Name that the file states, else that of the file or its folder.
    pub name: String,
    /// Architecture (GGUF) or model type (Hugging Face).
    pub architecture: Option<String>,
    /// What is stated, with `None` for what is not.
    pub fields: ShapeFields,
    /// The uniform shape that predictors take, or why there is none.
    ///
    /// Sizes that differ between layers become their mean, key/value heads the divisor of the heads
    /// nearest to it; total parameters stay those of the model, layer by layer.
    pub shape: Result<LlmShape, NoShape>,
    /// Weights of all tensors if the file holds the whole model, else by formula.
    pub total_params: Option<u64>,
    /// Total less the routed experts that a token does not use.
    pub active_params: Option<u64>,
    /// How the weights are stored, as far as it is known.
    pub weight_format: Option<WeightFormat>,
    /// What was assumed, simplified or found odd.
    pub notes: Vec<String>,
}

/// What the reader of one format hands on.
struct Reading {
    name: Option<String>,
    architecture: Option<String>,
    fields: ShapeFields,
    weight_format: Option<WeightFormat>,
    stored_params: Option<u64>,
    unsupported: Option<String>,
    notes: Vec<String>,
}

/// Reads the shape of a model from a GGUF file (version 2 or 3), a `config.json`, or a folder that
/// holds one.
///
/// Files are not trusted: memory is bounded whatever they say, and nothing but metadata is read. A
/// size that the file does not state is not guessed; [`ReadShape::shape`] then names it.
///
/// # Errors
/// The first fault, with the key it lies in: a file that cannot be read, is of no known format, is
/// cut, has values of wrong types, or whose sizes no decoder-only transformer has.
pub fn read_shape(path: &Path) -> Result<ReadShape, ShapeFileError> {
    let path = if path.is_dir() { path.join("config.json") } else { path.to_owned() };
    read(&path).map_err(|fault| ShapeFileError::new(&path, fault))
}

fn read(path: &Path) -> Result<ReadShape, ShapeFault> {
    let mut file = File::open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ShapeFault::Format("is not a regular file".to_owned()));
    }
    let mut head = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut head)?;
    file.rewind()?;
    let reading = if head == MAGIC {
        gguf_shape::reading(&gguf::read(file, metadata.len())?)?
    } else {
        if metadata.len() > MAX_CONFIG {
            return Err(ShapeFault::Format(format!(
                "is neither GGUF nor a config.json (larger than {MAX_CONFIG} bytes)"
            )));
        }
        let mut bytes = Vec::new();
        file.take(MAX_CONFIG).read_to_end(&mut bytes)?;
        hf_config::reading(&bytes)?
    };
    reading.resolve(path)
}

impl Reading {
    fn resolve(self, path: &Path) -> Result<ReadShape, ShapeFault> {
        let Reading { mut fields, mut notes, stored_params, .. } = self;
        let completed = fields.complete(&mut notes);
        let (shape, by_formula) = match self.unsupported {
            // Neither the conventions nor the formula describe such layers.
            Some(reason) => (Err(NoShape::Unsupported(reason)), None),
            None => {
                completed?;
                (fields.to_shape(stored_params, &mut notes)?, fields.params())
            }
        };
        let total_params = stored_params.or(by_formula.map(|p| p.total));
        let idle = by_formula.map_or(0, |p| p.idle);
        Ok(ReadShape {
            name: self.name.unwrap_or_else(|| name_by_path(path)),
            architecture: self.architecture,
            fields,
            shape,
            total_params,
            active_params: total_params.map(|total| total.saturating_sub(idle)),
            weight_format: self.weight_format,
            notes,
        })
    }
}

/// Name of the file, or of the folder of a `config.json`.
fn name_by_path(path: &Path) -> String {
    let named = match path.file_name() {
        Some(file) if file == "config.json" => path.parent().map(Path::to_owned),
        _ => Some(path.with_extension("")),
    };
    named
        .as_deref()
        .and_then(Path::file_name)
        .map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}
