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
    #[error("{}: {reason}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason; part of the message, hence no `source()`, which would repeat it.
        reason: std::io::Error,
    },
}

impl Error {
    /// An [`Error::Invalid`].
    pub fn invalid(message: String) -> Self {
        Error::Invalid(message)
    }

    /// An [`Error::Io`].
    pub fn io(path: &Path, reason: std::io::Error) -> Self {
        Error::Io { path: path.to_owned(), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs print the whole chain of causes, others the error alone: both must show the
    /// system's reason once.
    #[test]
    fn a_reason_is_told_once() {
        let error = Error::io(Path::new("a.csv"), std::io::Error::other("no such file"));
        let mut chain = vec![error.to_string()];
        let mut cause = std::error::Error::source(&error);
        while let Some(c) = cause {
            chain.push(c.to_string());
            cause = c.source();
        }
        assert_eq!(chain.join(": "), "a.csv: no such file");
    }
}
