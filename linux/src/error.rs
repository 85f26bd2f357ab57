//! The error type of this crate.

use std::io;
use std::path::{Path, PathBuf};

use enerinfer_runtime::hal::{self, ErrorKind};

/// What went wrong with a node.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A node could not be read, written or listed.
    #[error("{}: cannot {action}: {reason}{}", path.display(), advice(reason))]
    Io {
        /// The node.
        path: PathBuf,
        /// `read`, `write 1000000000`, …
        action: String,
        /// The system's reason. Said above, so no `source` that reporters would say again.
        reason: io::Error,
    },
    /// A node holds something else than expected.
    #[error("{}: found {found:?}, expected {expected}", path.display())]
    Content {
        /// The node.
        path: PathBuf,
        /// What it holds.
        found: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// A device has no knob for its clock.
    #[error(
        "{}: no way to set the clock: neither the governor `userspace` nor min_freq and max_freq \
         are there. Is the driver loaded, and does the kernel build offer them?", path.display()
    )]
    NoKnob {
        /// The device.
        path: PathBuf,
    },
    /// Something that must exist on the device was not found.
    #[error("no {what} found; looked for {looked_for}")]
    NotFound {
        /// What is missing.
        what: &'static str,
        /// Where it might have been.
        looked_for: String,
    },
    /// Several values could not be restored; this is the first.
    #[error("{failed} values could not be given back; the first: {first}")]
    Restore {
        /// How many.
        failed: usize,
        /// The first failure.
        first: Box<Error>,
    },
    /// A file of ours is damaged.
    #[error("{}: line {line}: {message}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

fn advice(reason: &io::Error) -> &'static str {
    match reason.kind() {
        io::ErrorKind::PermissionDenied => "; run as root or let a udev rule grant access",
        _ => "",
    }
}

impl Error {
    pub(crate) fn io(path: &Path, action: impl Into<String>, reason: io::Error) -> Self {
        Error::Io { path: path.to_owned(), action: action.into(), reason }
    }
}

impl hal::Error for Error {
    fn kind(&self) -> ErrorKind {
        match self {
            Error::Io { reason, .. } => match reason.raw_os_error() {
                Some(libc::EACCES | libc::EPERM | libc::EROFS) => ErrorKind::PermissionDenied,
                Some(libc::EBUSY) => ErrorKind::Busy,
                Some(libc::EINVAL | libc::ERANGE) => ErrorKind::InvalidValue,
                Some(libc::EAGAIN | libc::ENOENT | libc::ENODEV | libc::ENXIO) => {
                    ErrorKind::Unavailable
                }
                _ => ErrorKind::Other,
            },
            Error::NotFound { .. } | Error::NoKnob { .. } => ErrorKind::Unavailable,
            Error::Restore { first, .. } => first.kind(),
            Error::Content { .. } | Error::Journal { .. } => ErrorKind::Other,
        }
    }
}
