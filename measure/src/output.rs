//! Tables go to a file or to stdout, everything else to stderr.

use std::fmt;
use std::io::Write as _;
use std::path::Path;

use enerinfer_artifacts::{console, write_atomic};
use enerinfer_telemetry::Tally;

use crate::failure::Failure;

/// Writes to stderr. Where nobody listens any more there is nobody to tell, and the work goes on.
pub(crate) fn stderr(text: fmt::Arguments<'_>) {
    let _ = std::io::stderr().write_fmt(text);
}

/// A line on stderr.
macro_rules! say {
    ($($text:tt)*) => {
        $crate::output::stderr(format_args!("{}\n", format_args!($($text)*)))
    };
}
pub(crate) use say;

/// Writes a table to `out`, or to stdout.
pub(crate) fn table(out: Option<&Path>, bytes: &[u8]) -> Result<(), Failure> {
    match out {
        Some(path) => {
            write_atomic(path, bytes)?;
            say!("wrote {}", path.display());
            Ok(())
        }
        None => stdout(bytes),
    }
}

/// Writes to stdout; a reader that has closed it ends the command without noise.
pub(crate) fn stdout(bytes: &[u8]) -> Result<(), Failure> {
    Ok(console::delivered(std::io::stdout().write_all(bytes))?)
}

/// Creates a folder for outputs.
pub(crate) fn folder(path: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(path).map_err(|e| Failure::Failed(format!("{}: {e}", path.display())))
}

/// Says what became of the lines of a file; as JSON too if asked for.
pub(crate) fn tally(path: &Path, tally: &Tally, report: Option<&Path>) -> Result<(), Failure> {
    stderr(format_args!("{}: {tally}", path.display()));
    if let Some(report) = report {
        let mut json = serde_json::to_vec_pretty(tally)
            .map_err(|e| Failure::Failed(format!("cannot encode the report: {e}")))?;
        json.push(b'\n');
        write_atomic(report, &json)?;
    }
    Ok(())
}
