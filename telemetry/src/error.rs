//! The error type of this crate.

use std::path::{Path, PathBuf};

/// What went wrong with a whole input. Single lines that cannot be used are counted in a
/// [`Tally`](crate::Tally) instead.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input breaks a rule; the message says which, where, and what to do.
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
    pub fn invalid(message: impl Into<String>) -> Self {
        Error::Invalid(message.into())
    }

    /// An [`Error::Io`].
    pub fn io(path: &Path, source: std::io::Error) -> Self {
        Error::Io { path: path.to_owned(), source }
    }

    /// The same error with the file named in front.
    pub fn in_file(self, path: &Path) -> Self {
        match self {
            Error::Invalid(m) => Error::Invalid(format!("{}: {m}", path.display())),
            io => io,
        }
    }
}

impl From<enerinfer_artifacts::Error> for Error {
    fn from(e: enerinfer_artifacts::Error) -> Self {
        match e {
            enerinfer_artifacts::Error::Io { path, reason } => Error::Io { path, source: reason },
            other => Error::Invalid(other.to_string()),
        }
    }
}
