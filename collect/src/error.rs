//! The error type of this crate.

use std::path::PathBuf;

/// Why a collection ended or could not begin.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectError {
    /// A clock, sensor or node.
    #[error(transparent)]
    Linux(#[from] enerinfer_linux::Error),
    /// A clock is not what was asked for.
    #[error(
        "the {what} clock was set to {wanted_khz} kHz and reads {got_khz} kHz: another program or \
         the firmware sets it too; stop that, or leave this level out"
    )]
    ReadBack {
        /// Domain.
        what: &'static str,
        /// Requested, kHz.
        wanted_khz: u32,
        /// In effect, kHz.
        got_khz: u32,
    },
    /// The journal cannot be read or written.
    #[error("{}: {source}", path.display())]
    JournalIo {
        /// The journal.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The journal is damaged, or of something else.
    #[error("{}: line {line}: {message}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong and what to do.
        message: String,
    },
    /// A model cannot be written.
    #[error(transparent)]
    Synthesize(#[from] enerinfer_datasets::synthesize::SynthesizeError),
    /// The engine itself is not there.
    #[error(transparent)]
    Engine(#[from] crate::engine::EngineError),
    /// The results make no table.
    #[error("the results make no table: {0}")]
    Table(#[from] enerinfer_datasets::TableError),
}
