//! The little that is needed of a file system.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::Error;

/// Most bytes that are read of a node.
const MAX_LEN: u64 = 64 * 1024;

/// Access to nodes. Paths are absolute, as on a running system.
pub trait Files: Send + Sync {
    /// The whole content.
    fn read(&self, path: &Path) -> io::Result<String>;

    /// Replaces the content of an existing node.
    fn write(&self, path: &Path, text: &str) -> io::Result<()>;

    /// Entries of a folder, sorted.
    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>>;
}

/// Reads a node without surrounding white space.
pub fn read(files: &dyn Files, path: &Path) -> Result<String, Error> {
    let text = files.read(path).map_err(|e| Error::io(path, "read", e))?;
    Ok(text.trim().to_owned())
}

/// Reads a whole number.
pub fn read_u64(files: &dyn Files, path: &Path) -> Result<u64, Error> {
    let text = read(files, path)?;
    text.parse().map_err(|_| Error::Content {
        path: path.to_owned(),
        found: text,
        expected: "a whole number",
    })
}

/// Writes a node.
pub fn write(files: &dyn Files, path: &Path, text: &str) -> Result<(), Error> {
    files.write(path, text).map_err(|e| Error::io(path, format!("write {text}"), e))
}

/// Whether a node can be read now.
pub fn is_there(files: &dyn Files, path: &Path) -> bool {
    files.read(path).is_ok()
}

/// The system's files, below a root other than `/` for tests and containers.
#[derive(Clone, Debug)]
pub struct System {
    root: PathBuf,
}

impl System {
    /// Files below `root`.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        System { root: root.into() }
    }

    fn real(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }
}

impl Files for System {
    fn read(&self, path: &Path) -> io::Result<String> {
        let mut text = Vec::new();
        File::open(self.real(path))?.take(MAX_LEN).read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        // Never creates: a knob that is not there is an error. sysfs ignores truncation.
        let mut file = OpenOptions::new().write(true).truncate(true).open(self.real(path))?;
        // One write: sysfs takes each as a value of its own.
        file.write_all(text.as_bytes())
    }

    fn list(&self, dir: &Path) -> io::Result<Vec<PathBuf>> {
        let mut entries = Vec::new();
        for entry in std::fs::read_dir(self.real(dir))? {
            entries.push(dir.join(entry?.file_name()));
        }
        entries.sort();
        Ok(entries)
    }
}
