//! Where generated files go: memory or a folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use enerinfer_artifacts::resolve;
use tempfile::TempDir;

use super::destination::{check_destination, normal};
use crate::CodegenError;

/// File that marks a folder as a generated crate.
pub const MANIFEST: &str = "MANIFEST.json";

/// Writes the content of one file.
pub(crate) type Body<'a> = dyn FnMut(&mut dyn Write) -> io::Result<()> + 'a;

/// Receives files one after the other and keeps their digests.
pub(crate) trait Sink {
    /// Creates the file `path` (relative, with `/`) and has `body` write it.
    fn file(&mut self, path: &str, body: &mut Body<'_>) -> Result<(), CodegenError>;

    /// BLAKE3, in hex, of every file so far.
    fn digests(&self) -> &BTreeMap<String, String>;

    /// A file with known content.
    fn text(&mut self, path: &str, text: &str) -> Result<(), CodegenError> {
        self.file(path, &mut |out| out.write_all(text.as_bytes()))
    }
}

/// Hashes what passes through.
struct Hashing<W> {
    inner: W,
    hasher: blake3::Hasher,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.hasher.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Hashing<W> {
    fn new(inner: W) -> Self {
        Hashing { inner, hasher: blake3::Hasher::new() }
    }

    fn digest(&self) -> String {
        self.hasher.finalize().to_hex().to_string()
    }
}

/// Keeps files in memory.
#[derive(Default)]
pub(crate) struct Memory {
    files: BTreeMap<String, Vec<u8>>,
    digests: BTreeMap<String, String>,
}

impl Memory {
    pub(crate) fn into_files(self) -> BTreeMap<String, Vec<u8>> {
        self.files
    }
}

impl Sink for Memory {
    fn file(&mut self, path: &str, body: &mut Body<'_>) -> Result<(), CodegenError> {
        let mut out = Hashing::new(Vec::new());
        body(&mut out).map_err(CodegenError::io(Path::new(path)))?;
        self.digests.insert(path.to_owned(), out.digest());
        self.files.insert(path.to_owned(), out.inner);
        Ok(())
    }

    fn digests(&self) -> &BTreeMap<String, String> {
        &self.digests
    }
}

/// Writes files to a temporary folder that takes the target's place at the end.
pub(crate) struct Folder {
    /// Resolved: the working folder may lie in the one that steps aside, and relative paths would
    /// then lead elsewhere.
    target: PathBuf,
    temporary: TempDir,
    digests: BTreeMap<String, String>,
}

impl Folder {
    /// Prepares to write `target`, after [`check_destination`].
    pub(crate) fn beside(target: &Path) -> Result<Self, CodegenError> {
        check_destination(target)?;
        let target = resolve(&normal(target)?)?;
        let parent = target.parent().unwrap_or(&target);
        fs::create_dir_all(parent).map_err(CodegenError::io(parent))?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".enerinfer-runtime-");
        // The crate is an ordinary folder; tempfile's default is private to the user.
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            builder.permissions(fs::Permissions::from_mode(0o755));
        }
        let temporary = builder.tempdir_in(parent).map_err(CodegenError::io(parent))?;
        Ok(Folder { target, temporary, digests: BTreeMap::new() })
    }

    /// Puts the folder in its place.
    pub(crate) fn finish(self) -> Result<(), CodegenError> {
        // Much time may have passed since the first check.
        check_destination(&self.target)?;
        let Folder { target, temporary, .. } = self;
        let error = |reason| CodegenError::Io { path: target.clone(), reason };
        // A rename cannot replace a folder with content, so the old one steps aside first, into
        // a temporary folder that removes it.
        let aside = tempfile::Builder::new()
            .prefix(".enerinfer-runtime-old-")
            .tempdir_in(target.parent().unwrap_or(&target))
            .map_err(error)?;
        let old = aside.path().join("old");
        let had_old = target.symlink_metadata().is_ok();
        if had_old {
            fs::rename(&target, &old).map_err(error)?;
        }
        let path = temporary.keep();
        if let Err(source) = fs::rename(&path, &target) {
            if had_old {
                fs::rename(&old, &target).map_err(error)?;
            }
            fs::remove_dir_all(&path).map_err(error)?;
            return Err(error(source));
        }
        aside.close().map_err(error)
    }
}

impl Sink for Folder {
    fn file(&mut self, path: &str, body: &mut Body<'_>) -> Result<(), CodegenError> {
        let full = self.temporary.path().join(path);
        if let Some(parent) = full.parent() {
            fs::create_dir_all(parent).map_err(CodegenError::io(parent))?;
        }
        let file = fs::File::create(&full).map_err(CodegenError::io(&full))?;
        let mut out = Hashing::new(BufWriter::new(file));
        body(&mut out).map_err(CodegenError::io(&full))?;
        self.digests.insert(path.to_owned(), out.digest());
        let file = out
            .inner
            .into_inner()
            .map_err(|e| CodegenError::Io { path: full.clone(), reason: e.into_error() })?;
        file.sync_all().map_err(CodegenError::io(&full))
    }

    fn digests(&self) -> &BTreeMap<String, String> {
        &self.digests
    }
}
