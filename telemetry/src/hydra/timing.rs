//! The INFO table as the fusion needs it. Its rows are read a second time when they are written: what
//! is held of each is its three times.

use std::fs::File;
use std::path::Path;

use crate::Error;
use crate::info::refuse_doubled;
use crate::text::{float, python_float};

/// Times of an INFO table, and how its columns are written again.
pub(super) struct Timing {
    pub(super) header: Vec<String>,
    kinds: Vec<Kind>,
    /// Start, end of prefill and end of each row, ns.
    pub(super) bounds: Vec<[i64; 3]>,
}

/// How pandas reads a column of the INFO table and writes it again.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Int,
    Float,
    Text,
}

impl Kind {
    /// The kind of a column of this kind with one more cell.
    fn with(self, cell: &str) -> Kind {
        let cell = cell.trim();
        if self == Kind::Text || cell.parse::<i64>().is_ok() {
            return self;
        }
        if is_missing(cell) || pandas_float(cell).is_some() { Kind::Float } else { Kind::Text }
    }
}

/// Whether pandas takes a cell for an empty one.
fn is_missing(cell: &str) -> bool {
    const MISSING: [&str; 19] = [
        "", "nan", "NaN", "-nan", "-NaN", "None", "null", "NULL", "NA", "N/A", "n/a", "<NA>",
        "#NA", "#N/A", "#N/A N/A", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
    ];
    MISSING.contains(&cell)
}

/// A number as pandas reads it: infinities too.
fn pandas_float(cell: &str) -> Option<f64> {
    float(cell.as_bytes()).or_else(|| cell.parse().ok().filter(|v: &f64| v.is_infinite()))
}

/// Rows of an INFO table from the first on.
pub(super) type Rows = csv::StringRecordsIntoIter<File>;

/// Opens the rows of a table.
pub(super) fn rows(path: &Path) -> Result<(csv::StringRecord, Rows), Error> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let mut reader = csv::Reader::from_reader(file);
    let header = reader.headers().map_err(bad_csv)?.clone();
    refuse_doubled(1, header.iter())?;
    Ok((header, reader.into_records()))
}

/// The next row; the table is expected to have one.
pub(super) fn next_row(rows: &mut Rows) -> Result<csv::StringRecord, Error> {
    rows.next()
        .ok_or_else(|| Error::invalid("the INFO table has changed while it was read"))?
        .map_err(bad_csv)
}

fn bad_csv(e: csv::Error) -> Error {
    Error::invalid(e.to_string())
}

impl Timing {
    pub(super) fn read(path: &Path) -> Result<Self, Error> {
        let (header, rows) = rows(path)?;
        let column = |name: &str| {
            header.iter().position(|h| h == name).ok_or_else(|| {
                let there: Vec<&str> = header.iter().collect();
                Error::invalid(format!(
                    "column `{name}` is missing; there are {}",
                    there.join(", ")
                ))
            })
        };
        let (start, end) = (column("start_time")?, column("end_time")?);
        let (tokenization, prefill) = (column("tokenization_time")?, column("prefill_time")?);
        let mut kinds = vec![Kind::Int; header.len()];
        let mut bounds = Vec::new();
        for (i, row) in rows.enumerate() {
            let row = row.map_err(bad_csv)?;
            let bad = |c: usize| {
                Error::invalid(format!(
                    "INFO row {}, column {}: `{}` is not a number of the expected kind",
                    i + 1,
                    &header[c],
                    &row[c]
                ))
            };
            let ns = |c: usize| row[c].parse::<i64>().map_err(|_| bad(c));
            let seconds = |c: usize| float(row[c].trim().as_bytes()).ok_or_else(|| bad(c));
            let (s, e) = (ns(start)?, ns(end)?);
            // Sum first, then scale, then cut: the original's order of operations.
            let p = s.saturating_add(((seconds(tokenization)? + seconds(prefill)?) * 1e9) as i64);
            bounds.push([s, p, e]);
            kinds.iter_mut().zip(&row).for_each(|(kind, cell)| *kind = kind.with(cell));
        }
        Ok(Timing { header: header.iter().map(str::to_owned).collect(), kinds, bounds })
    }

    /// Writes a row's own cells as pandas does.
    pub(super) fn write_cells(&self, row: &csv::StringRecord, out: &mut Vec<u8>) {
        for (c, (cell, kind)) in row.iter().zip(&self.kinds).enumerate() {
            if c > 0 {
                out.push(b',');
            }
            match kind {
                Kind::Float => python_float(pandas_float(cell.trim()).unwrap_or(f64::NAN), out),
                Kind::Text if is_missing(cell) => {}
                Kind::Text | Kind::Int => out.extend_from_slice(cell.as_bytes()),
            }
        }
    }
}
