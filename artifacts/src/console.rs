//! The standard streams of the programs: an answer on stdout is an output like any other, so that
//! what cannot be delivered is a failure; messages on stderr go to whoever listens.

use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;

use crate::Error;

/// Writes all of `text` to stdout.
///
/// # Errors
/// As [`delivered`].
pub fn print(text: &str) -> Result<(), Error> {
    delivered(io::stdout().write_all(text.as_bytes()))
}

/// Ends what was `written` to stdout: nothing stays in a buffer, where it would be lost
/// without a word. A reader that has read enough (`… | head`) is no failure.
///
/// # Errors
/// What was written did not arrive, e.g. on a full disk.
pub fn delivered(written: io::Result<()>) -> Result<(), Error> {
    match written.and_then(|()| io::stdout().flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(Error::io(Path::new("stdout"), e)),
        _ => Ok(()),
    }
}

/// A line on stderr. Where nobody listens any more there is nobody to tell, and the work goes on.
pub fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}
