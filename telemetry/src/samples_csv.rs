//! Samples of any log as CSV.

use std::io::{BufWriter, Write};
use std::path::Path;

use crate::text::python_float;
use crate::{Channel, Clock, Error, Row, SampleReader, Stamp};

/// Writes every sample: `line,time_utc_ns,time_printed_ns`, then one column per channel. Without a
/// clock (a zone) civil stamps have no UTC. Absent values are empty cells.
///
/// # Errors
/// Reading or writing fails.
pub fn write(
    out: impl Write,
    channels: &[Channel],
    log: &mut dyn SampleReader,
    mut clock: Option<&mut Clock>,
) -> Result<(), Error> {
    let fail = |e| Error::io(Path::new("output"), e);
    let mut out = BufWriter::with_capacity(1 << 16, out);
    let mut line = Vec::new();
    line.extend_from_slice(b"line,time_utc_ns,time_printed_ns");
    for c in channels {
        line.push(b',');
        line.extend_from_slice(c.name.as_bytes());
    }
    line.push(b'\n');
    out.write_all(&line).map_err(fail)?;
    let mut row = Row::default();
    while log.read(&mut row)? {
        line.clear();
        let utc = match (&mut clock, row.stamp) {
            (Some(c), stamp) => c.resolve(stamp),
            (None, Stamp::Utc(ns)) => Some(ns),
            (None, _) => None,
        };
        let number = |v: Option<i64>| v.map_or(String::new(), |v| v.to_string());
        line.extend_from_slice(
            format!("{},{},{}", row.line, number(utc), number(row.stamp.printed_ns())).as_bytes(),
        );
        for c in 0..channels.len() {
            line.push(b',');
            if let Some(v) = row.get(c) {
                python_float(v, &mut line);
            }
        }
        line.push(b'\n');
        out.write_all(&line).map_err(fail)?;
    }
    out.flush().map_err(fail)
}

/// [`write()`] to a file, which appears when it is complete.
///
/// # Errors
/// Reading or writing fails.
pub fn to_file(
    path: &Path,
    channels: &[Channel],
    log: &mut dyn SampleReader,
    clock: Option<&mut Clock>,
) -> Result<(), Error> {
    enerinfer_artifacts::write_atomic_with(path, |file| write(file, channels, log, clock))
}
