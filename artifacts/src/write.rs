//! Writing files so that a reader never sees half of one.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use crate::Error;

/// Writes `bytes` to a temporary file beside `path`, flushes it to disk, and renames it over
/// `path`. On failure `path` is as it was.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_atomic_with(path, |file| file.write_all(bytes))
}

/// [`write_atomic`] for content that is too large to be held in memory: `fill` writes it to the
/// temporary file.
pub fn write_atomic_with(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), Error> {
    let folder = match path.parent() {
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
    fill(file.as_file_mut()).map_err(|e| Error::io(path, e))?;
    file.as_file().sync_all().map_err(|e| Error::io(path, e))?;
    file.persist(path).map_err(|e| Error::io(path, e.error))?;
    Ok(())
}
