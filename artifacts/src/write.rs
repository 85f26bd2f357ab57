//! Writing files so that a reader never sees half of one.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::Error;

/// Writes `bytes` to a temporary file beside `path`, flushes it to disk, and renames it over
/// `path`. On failure `path` is as it was.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_atomic_with(path, |file| file.write_all(bytes).map_err(|e| Error::io(path, e)))
}

/// The file that an output is to be renamed over: where a link leads. A rename would replace a
/// device, pipe or socket by an ordinary file, for every program of the machine.
///
/// # Errors
/// If there is something that is neither a file nor a folder (which the rename refuses).
fn rename_target(path: &Path) -> io::Result<PathBuf> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_file() => std::fs::canonicalize(path),
        Ok(found) if !found.is_dir() => Err(io::Error::other(
            "is no ordinary file, and an output would replace it; name a file",
        )),
        _ => Ok(path.to_owned()),
    }
}

/// [`write_atomic`] for content that is too large to be held in memory: `fill` writes it to the
/// temporary file. Gives what `fill` gives.
pub fn write_atomic_with<T, E: From<Error>>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> Result<T, E>,
) -> Result<T, E> {
    let target = rename_target(path).map_err(|e| Error::io(path, e))?;
    let folder = match target.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    // Outputs are ordinary files; tempfile's default is private to the user.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(std::fs::Permissions::from_mode(0o644));
    }
    let mut file = builder.tempfile_in(folder).map_err(|e| Error::io(path, e))?;
    let filled = fill(file.as_file_mut())?;
    file.as_file().sync_all().map_err(|e| Error::io(path, e))?;
    file.persist(&target).map_err(|e| Error::io(path, e.error))?;
    Ok(filled)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed_and_what_is_no_file_stays() -> io::Result<()> {
        let dir = tempfile::tempdir()?;
        let (file, link) = (dir.path().join("file"), dir.path().join("link"));
        std::fs::write(&file, "old")?;
        std::os::unix::fs::symlink(&file, &link)?;
        assert!(write_atomic(&link, b"new").is_ok());
        assert_eq!(std::fs::read(&file)?, b"new");
        assert!(link.is_symlink());

        let socket = dir.path().join("socket");
        let _bound = std::os::unix::net::UnixListener::bind(&socket)?;
        let error = write_atomic(&socket, b"new").err().map(|e| e.to_string()).unwrap_or_default();
        assert!(error.contains("socket") && error.contains("no ordinary file"), "{error}");
        assert!(!std::fs::metadata(&socket)?.is_file());
        Ok(())
    }
}
