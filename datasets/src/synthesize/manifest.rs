//! The list of files of one synthesis, with the shape of each.

use std::path::Path;

use enerinfer_artifacts::write_atomic;

use crate::sheet::{self, Sheet};
use crate::table_error::TableError;
use crate::table_read::{rule_broken, spec};
use crate::table_write::{COLUMNS, MODEL_COLUMNS, model_cells, push_record};
use crate::{LlmShape, Model, WeightFormat};

/// Columns beside those of a model in a measurement table.
const OWN_COLUMNS: [&str; 4] = ["format", "file", "bytes", "seed"];

/// Files of untrained models in one folder: what a collection walks through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Seed of shapes and weights.
    pub seed: u64,
    /// The files, in the order in which they are written.
    pub entries: Vec<ManifestEntry>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    /// What it holds.
    pub model: Model,
    /// Format of its weights.
    pub format: WeightFormat,
    /// Name in the folder: a GGUF file, or a folder in the layout of Hugging Face.
    pub file: String,
    /// Length of the GGUF file, or of the `model.safetensors` in the folder.
    pub bytes: u64,
}

impl Manifest {
    /// Name of the manifest in its folder.
    pub const FILE: &str = "models.csv";

    /// Bytes of all files.
    pub fn total_bytes(&self) -> u64 {
        self.entries.iter().map(|e| e.bytes).sum()
    }

    /// The manifest as CSV: the model columns of a measurement table, then `format`, `file`,
    /// `bytes` and `seed`.
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        let header = COLUMNS[..MODEL_COLUMNS].iter().chain(&OWN_COLUMNS);
        push_record(&mut text, header.map(|c| (*c).to_owned()));
        for entry in &self.entries {
            let own = [
                entry.format.to_string(),
                entry.file.clone(),
                entry.bytes.to_string(),
                self.seed.to_string(),
            ];
            push_record(&mut text, model_cells(&entry.model).into_iter().chain(own));
        }
        text
    }

    /// Writes the manifest into its folder, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), enerinfer_artifacts::Error> {
        write_atomic(&folder.join(Self::FILE), self.to_csv().as_bytes())
    }

    /// Reads the manifest of a folder.
    ///
    /// # Errors
    /// The first fault, with row, column and value: an impossible shape, an unknown format, two
    /// seeds, or a file outside the folder.
    pub fn read(folder: &Path) -> Result<Self, TableError> {
        let path = folder.join(Self::FILE);
        sheet::read_text(sheet::open(&path)?)
            .and_then(|text| Self::parse(&text))
            .map_err(|e| e.in_file(&path.display().to_string()))
    }

    fn parse(text: &str) -> Result<Self, TableError> {
        let columns = [&COLUMNS[..MODEL_COLUMNS], &OWN_COLUMNS].concat();
        let sheet = Sheet::parse(text, &columns, &[])?;
        let mut seed = None;
        let mut entries = Vec::new();
        for row in sheet.rows() {
            let shape = LlmShape::new(spec(&row)?).map_err(|e| rule_broken(&row, e))?;
            let format = row.text("format")?;
            let file = row.text("file")?;
            if file.contains(['/', '\\']) || file.starts_with('.') {
                return Err(row.error("file", file, "must be a name in the manifest's folder"));
            }
            let of_row: u64 = row.whole("seed")?;
            if *seed.get_or_insert(of_row) != of_row {
                return Err(row.error("seed", row.text("seed")?, "all rows have one seed"));
            }
            entries.push(ManifestEntry {
                model: Model { name: row.text("model")?.to_owned(), shape },
                format: WeightFormat::parse(format)
                    .ok_or_else(|| row.error("format", format, "unknown weight format"))?,
                file: file.to_owned(),
                bytes: row.whole("bytes")?,
            });
        }
        Ok(Manifest { seed: seed.unwrap_or_default(), entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler;

    fn manifest() -> Manifest {
        let Ok(models) = sampler::sample(3, 5) else { panic!("three shapes") };
        let entries = models.into_iter().map(|model| ManifestEntry {
            file: format!("{}-q4_0.gguf", model.name),
            model,
            format: WeightFormat::Q4_0,
            bytes: 7,
        });
        Manifest { seed: 5, entries: entries.collect() }
    }

    #[test]
    fn what_is_written_is_read() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        manifest().write(folder.path())?;
        assert_eq!(Manifest::read(folder.path())?, manifest());
        assert_eq!(manifest().total_bytes(), 21);
        Ok(())
    }

    #[test]
    fn faults_are_named_by_row_and_column() {
        let good = manifest().to_csv();
        for (from, to, says) in [
            (
                "synthetic-0002-q4_0.gguf",
                "../other.gguf",
                "must be a name in the manifest's folder",
            ),
            ("synthetic-0002-q4_0.gguf", ".hidden", "must be a name in the manifest's folder"),
            ("q4_0,synthetic-0002", "q9,synthetic-0002", "unknown weight format"),
            ("0002-q4_0.gguf,7,5", "0002-q4_0.gguf,7,6", "all rows have one seed"),
            ("0002-q4_0.gguf,7,5", "0002-q4_0.gguf,-7,5", "bytes"),
        ] {
            let bad = good.replace(from, to);
            assert_ne!(bad, good);
            let message = Manifest::parse(&bad).unwrap_err().to_string();
            assert!(message.contains("row 3") && message.contains(says), "{message}");
        }
    }
}
