//! Large files: checked against the free space first, complete or not there at all.

use std::fs::File;
use std::io;
use std::path::Path;

use enerinfer_artifacts::{Error, write_atomic_with};

use super::SynthesizeError;

/// Writes a file of known length under a temporary name, flushes it, and renames it.
pub(super) fn write_large(
    path: &Path,
    bytes: u64,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), SynthesizeError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let available = fs4::available_space(folder).map_err(|e| Error::io(folder, e))?;
    require_space(path, bytes, available)?;
    Ok(write_atomic_with(path, |file| fill(file).map_err(|e| Error::io(path, e)))?)
}

fn require_space(path: &Path, needed: u64, available: u64) -> Result<(), SynthesizeError> {
    if needed > available {
        return Err(SynthesizeError::NoSpace { path: path.to_owned(), needed, available });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_disk_that_is_too_small_is_refused_with_both_figures() {
        let path = Path::new("models/a.gguf");
        assert!(require_space(path, 10, 10).is_ok());
        let message = require_space(path, 11, 10).unwrap_err().to_string();
        assert!(message.contains("needs 11 bytes, 10 are free"), "{message}");
    }

    #[test]
    fn a_failed_write_leaves_the_folder_as_it_was() -> io::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("model.gguf");
        let result = write_large(&path, 3, |file| {
            file.write_all(b"abc")?;
            Err(io::Error::other("pulled out"))
        });
        assert!(matches!(result, Err(SynthesizeError::Write(_))));
        assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
        assert!(write_large(&folder.path().join("none/model.gguf"), 3, |_| Ok(())).is_err());
        Ok(())
    }
}
