//! The error type of this crate.

use std::path::{Path, PathBuf};

/// Why a bundle could not be compiled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CodegenError {
    /// The bundle breaks a rule of its schema.
    #[error(transparent)]
    Artifact(#[from] enerinfer_artifacts::Error),
    /// The forests are larger than the compiler was told to accept.
    #[error(
        "the forests have {nodes} nodes, about {source_mib} MiB of source and {flash_kib} KiB of \
         flash; at most {max_nodes} nodes are accepted. Train with fewer or shallower trees, set \
         a flash budget so that trees are pruned, or raise the limit"
    )]
    TooLarge {
        /// Nodes of all predictors after the passes.
        nodes: u64,
        /// Estimated source in MiB.
        source_mib: u64,
        /// Estimated flash in KiB.
        flash_kib: u64,
        /// The accepted number of nodes.
        max_nodes: u64,
    },
    /// A predictor cannot be expressed in the device's integers.
    #[error("predictor `{target}`: {reason}")]
    Unrepresentable {
        /// Name of the target.
        target: &'static str,
        /// What does not fit, and what to do.
        reason: String,
    },
    /// The predictors do not fit the flash budget, however much is pruned.
    #[error(
        "a flash budget of {budget} bytes cannot be met: without any tree the predictors are \
         estimated to take {smallest} bytes"
    )]
    FlashBudget {
        /// Bytes of predictors that are pruned to constants.
        smallest: u64,
        /// The budget in bytes.
        budget: u64,
    },
    /// The output folder, or one above it, is not a folder.
    #[error(
        "{}: is {what}, where a folder would be written; choose another folder or remove it",
        path.display()
    )]
    NotAFolder {
        /// What is in the way.
        path: PathBuf,
        /// What it is, with article.
        what: &'static str,
    },
    /// The output folder holds something that the compiler did not write.
    #[error(
        "{}: {reason}; a crate is written only to a new or empty folder, or over a generated \
         crate without changes: choose another folder, or move this away",
        path.display()
    )]
    NotOurs {
        /// The folder, or the file in it that would be lost.
        path: PathBuf,
        /// Why it is taken for somebody else's.
        reason: String,
    },
    /// A name cannot be part of C's names.
    #[error(
        "`{}` cannot be part of C's names: use 1 to {max_len} of a to z, 0 to 9 and _",
        name.escape_debug()
    )]
    CapiName {
        /// The name.
        name: String,
        /// Most characters.
        max_len: usize,
    },
    /// A file could not be read or written.
    #[error("{}: {reason}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's reason; part of the message, hence no `source()`, which would repeat it.
        reason: std::io::Error,
    },
}

impl CodegenError {
    /// An [`CodegenError::Io`] at `path`, for `map_err`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        move |reason| CodegenError::Io { path: path.to_owned(), reason }
    }
}
