//! The models of a collection: files that are there, or shapes that are written when needed.

use std::path::{Path, PathBuf};

use enerinfer_datasets::synthesize::{GgufModel, GgufOptions, SynthesizeError};
use enerinfer_datasets::{LlmShape, Model, WeightFormat, read_shape};

/// Where a model's file comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Origin {
    File(PathBuf),
    Synthetic(GgufOptions),
}

/// A model that can be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Name and shape, for the table.
    pub model: Model,
    /// Weight format.
    pub format: WeightFormat,
    /// Length of the file, bytes.
    pub file_bytes: u64,
    origin: Origin,
}

/// A file that is left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The file.
    pub path: PathBuf,
    /// Reason.
    pub reason: String,
}

/// A model's file for as long as it is needed; a written one is then removed.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    temporary: bool,
}

impl Candidate {
    /// A shape to be written in `format` when its turn comes.
    ///
    /// # Errors
    /// If no engine would load it.
    pub fn synthetic(
        model: Model,
        format: WeightFormat,
        options: GgufOptions,
    ) -> Result<Self, SynthesizeError> {
        let file_bytes = GgufModel::new(&model, format, options)?.file_bytes();
        Ok(Candidate { model, format, file_bytes, origin: Origin::Synthetic(options) })
    }

    /// Bytes that a token reads: what a run costs.
    pub fn read_bytes_per_token(&self) -> u64 {
        self.model.shape.read_bytes_per_token(self.format)
    }

    /// Its file; a synthetic one is written into `folder`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn lease(&self, folder: &Path) -> Result<Lease, SynthesizeError> {
        match &self.origin {
            Origin::File(path) => Ok(Lease { path: path.clone(), temporary: false }),
            Origin::Synthetic(options) => {
                let path =
                    folder.join(format!("enerinfer-{}-{}.gguf", std::process::id(), self.format));
                GgufModel::new(&self.model, self.format, *options)?.write(&path)?;
                Ok(Lease { path, temporary: true })
            }
        }
    }

    /// Whether its file is written for each turn.
    pub fn is_synthetic(&self) -> bool {
        matches!(self.origin, Origin::Synthetic(_))
    }
}

impl Lease {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.temporary {
            // A file that stays costs disk and nothing else; the next one has the same name.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The GGUF files of a folder, by name, and those that cannot be measured. Names are those of the
/// files: several formats of a model state the same name.
///
/// # Errors
/// If the folder cannot be listed.
pub fn in_folder(folder: &Path) -> std::io::Result<(Vec<Candidate>, Vec<LeftOut>)> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gguf")) {
            paths.push(path);
        }
    }
    paths.sort();
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    for path in paths {
        match of_file(&path) {
            Ok(candidate) => found.push(candidate),
            Err(reason) => left_out.push(LeftOut { path, reason }),
        }
    }
    Ok((found, left_out))
}

fn of_file(path: &Path) -> Result<Candidate, String> {
    let read = read_shape(path).map_err(|e| e.to_string())?;
    let shape: LlmShape = read.shape.map_err(|e| e.to_string())?;
    let format = read.weight_format.ok_or("its weight format is none that predictors know")?;
    let file_bytes = path.metadata().map_err(|e| e.to_string())?.len();
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let model = Model { name, shape };
    Ok(Candidate { model, format, file_bytes, origin: Origin::File(path.to_owned()) })
}
