//! The error type of this crate.

use std::path::{Path, PathBuf};

/// What went wrong with an artifact.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The content breaks a rule of the schema.
    #[error("{0}")]
    Invalid(String),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
}

impl Error {
    /// An [`Error::Invalid`].
    pub fn invalid(message: String) -> Self {
        Error::Invalid(message)
    }

    /// An [`Error::Io`].
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        Error::Io { path: path.to_owned(), source }
    }
}
