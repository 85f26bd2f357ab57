//! Running the `train` binary.

use std::path::Path;
use std::process::{Command, Output};

/// What a run printed and how it ended.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `train` in a folder.
pub(crate) fn train(folder: &Path, args: &[&str]) -> Run {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_train"))
        .args(args)
        .current_dir(folder)
        .output()
        .expect("the binary was built by cargo");
    Run {
        code: status.code().expect("not ended by a signal"),
        stdout: String::from_utf8(stdout).expect("UTF-8"),
        stderr: String::from_utf8(stderr).expect("UTF-8"),
    }
}
