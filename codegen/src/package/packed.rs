//! How large a generated crate is as registries count it: compressed.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::destination::files_below;
use crate::CodegenError;

/// What crates.io accepts, in bytes (10 MiB).
const LIMIT: u64 = 10 << 20;
/// From where on a warning is due, in bytes: compression differs from version to version.
const NEAR_LIMIT: u64 = 9 << 20;

/// Counts what is written.
struct Count(u64);

impl Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A warning if a generated crate is too large to be published, or nearly.
///
/// # Errors
/// [`CodegenError::Io`] if the crate cannot be read.
pub fn size_warning(folder: &Path) -> Result<Option<String>, CodegenError> {
    let files = files_below(folder)?;
    let mut plain = 0;
    for path in &files {
        plain += path.symlink_metadata().map_err(CodegenError::io(path))?.len();
    }
    if plain < NEAR_LIMIT {
        return Ok(None);
    }
    let mut packed = GzEncoder::new(Count(0), Compression::default());
    for path in &files {
        let mut file = File::open(path).map_err(CodegenError::io(path))?;
        io::copy(&mut file, &mut packed).map_err(CodegenError::io(path))?;
    }
    let Count(bytes) = packed.finish().map_err(CodegenError::io(folder))?;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    Ok((bytes >= NEAR_LIMIT).then(|| {
        format!(
            "about {:.1} MiB compressed; registries such as crates.io refuse more than {:.0} \
             MiB. Use it by path or from git, or prune with a flash budget",
            mib(bytes),
            mib(LIMIT)
        )
    }))
}
