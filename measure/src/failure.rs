//! What ends a command, and its exit code.

use std::fmt;
use std::process::ExitCode;

/// Why a command ended.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Could not be done (I/O), or a check did not pass: exit code 1.
    Failed(String),
    /// Usage or input: exit code 2.
    Input(String),
}

impl Failure {
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Failure::Input(message.into())
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Failed(_) => ExitCode::from(1),
            Failure::Input(_) => ExitCode::from(2),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Failed(m) | Failure::Input(m)) = self;
        f.write_str(m)
    }
}

impl From<enerinfer_telemetry::Error> for Failure {
    fn from(e: enerinfer_telemetry::Error) -> Self {
        match e {
            enerinfer_telemetry::Error::Io { .. } => Failure::Failed(e.to_string()),
            other => Failure::Input(other.to_string()),
        }
    }
}

impl From<enerinfer_artifacts::Error> for Failure {
    fn from(e: enerinfer_artifacts::Error) -> Self {
        enerinfer_telemetry::Error::from(e).into()
    }
}
