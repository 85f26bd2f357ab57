//! Why a model file gives no shape.

use std::path::{Path, PathBuf};

use crate::ShapeError;

/// Why a model file was refused: the file, the key at fault where there is one, and what to do.
#[derive(Debug, thiserror::Error)]
#[error("{}: {fault}", file.display())]
pub struct ShapeFileError {
    file: PathBuf,
    #[source]
    fault: ShapeFault,
}

impl ShapeFileError {
    pub(super) fn new(file: &Path, fault: ShapeFault) -> Self {
        ShapeFileError { file: file.to_owned(), fault }
    }

    /// What is wrong.
    pub fn fault(&self) -> &ShapeFault {
        &self.fault
    }

    /// The metadata key, tensor or field at fault, where there is one.
    pub fn key(&self) -> Option<&str> {
        match &self.fault {
            ShapeFault::Cut { key, .. }
            | ShapeFault::Type { key, .. }
            | ShapeFault::Value { key, .. } => Some(key),
            ShapeFault::Shape(error) => Some(error.field),
            ShapeFault::Io(_) | ShapeFault::Format(_) => None,
        }
    }
}

/// What is wrong with a model file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeFault {
    /// The system could not read it.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
    /// It is of no format that is read here.
    #[error("{0}")]
    Format(String),
    /// It ends early, or states a length beyond its end.
    #[error(
        "{key}: needs {needed} bytes at offset {offset}, where the file has {left}; \
         it is cut or damaged: fetch it again"
    )]
    Cut {
        /// Metadata key or tensor being read.
        key: String,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Bytes that the file promises there, at the least.
        needed: u64,
        /// Bytes that are left.
        left: u64,
    },
    /// A value is of the wrong type.
    #[error("{key}: must be {expected}, found {found}")]
    Type {
        /// Key at fault.
        key: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A value is outside what any model can have.
    #[error("{key}: {message}")]
    Value {
        /// Key at fault.
        key: String,
        /// The rule and the value.
        message: String,
    },
    /// The values do not make a decoder-only transformer.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

impl ShapeFault {
    pub(super) fn value(key: impl Into<String>, message: impl Into<String>) -> Self {
        ShapeFault::Value { key: key.into(), message: message.into() }
    }
}

/// Why a file that was read well has no [`LlmShape`](crate::LlmShape).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoShape {
    /// It does not state all that a shape needs, and nothing is guessed.
    #[error("the file does not state {}, and it is not guessed", .0.join(", "))]
    Incomplete(Vec<&'static str>),
    /// The model is not what the predictors describe.
    #[error("{0}: not a decoder-only transformer with attention and FFN in every layer")]
    Unsupported(String),
}
