//! What `--one-at-a-time` has done in a folder, so that a repeated command goes on from there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use enerinfer_artifacts::write_atomic;

use crate::failure::Failure;

/// Lines `begun FILE` and `done FILE` beside the manifest, on disk before what they say matters.
pub(super) struct Walk {
    path: PathBuf,
    lines: BTreeSet<String>,
}

impl Walk {
    /// Name of the list in the folder of the models.
    const FILE: &str = "one-at-a-time.txt";

    /// The list of a folder whose manifest is new: of files that an earlier one listed.
    pub(super) fn forget(folder: &Path) -> Result<(), Failure> {
        let path = folder.join(Self::FILE);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(failed(&path, &e)),
            _ => Ok(()),
        }
    }

    pub(super) fn read(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(Self::FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(e) => return Err(failed(&path, &e)),
        };
        Ok(Walk { path, lines: text.lines().map(str::to_owned).collect() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this walk writes the file; another is its owner's, and stays.
    pub(super) fn has_begun(&self, file: &str) -> bool {
        self.lines.contains(&format!("begun {file}"))
    }

    pub(super) fn begin(&mut self, file: &str) -> Result<(), Failure> {
        self.add(format!("begun {file}"))
    }

    /// Whether the command has succeeded on the file.
    pub(super) fn is_done(&self, file: &str) -> bool {
        self.lines.contains(&format!("done {file}"))
    }

    pub(super) fn finish(&mut self, file: &str) -> Result<(), Failure> {
        self.add(format!("done {file}"))
    }

    fn add(&mut self, line: String) -> Result<(), Failure> {
        self.lines.insert(line);
        let text: String = self.lines.iter().map(|l| format!("{l}\n")).collect();
        Ok(write_atomic(&self.path, text.as_bytes())?)
    }
}

fn failed(path: &Path, e: &std::io::Error) -> Failure {
    Failure::Failed(format!("{}: {e}", path.display()))
}
