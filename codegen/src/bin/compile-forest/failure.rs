//! Why the command ends early, and with which exit code.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

use enerinfer_codegen::CodegenError;

/// A message for the user.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The command line or a file it names is at fault.
    Input(String),
    /// The system did not do what was asked.
    Failed(String),
}

impl Failure {
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Failed(_) => 1,
            Failure::Input(_) => 2,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Input(text) | Failure::Failed(text) => f.write_str(text),
        }
    }
}

impl From<CodegenError> for Failure {
    fn from(e: CodegenError) -> Self {
        let text = with_causes(&e);
        match e {
            CodegenError::Io { .. } => Failure::Failed(text),
            _ => Failure::Input(text),
        }
    }
}

impl From<enerinfer_artifacts::Error> for Failure {
    fn from(e: enerinfer_artifacts::Error) -> Self {
        Failure::Failed(e.to_string())
    }
}

/// An error and its causes. Some errors name their cause themselves; it is not repeated.
pub(crate) fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !text.ends_with(&message) {
            text = format!("{text}: {message}");
        }
        next = cause.source();
    }
    text
}
