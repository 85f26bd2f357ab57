//! `Sheet`: a CSV file as named text cells with their positions, before any meaning is given.

use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use enerinfer_artifacts::is_printable;

use crate::table_error::{TableError, Warning, shown};

/// Largest file that is read: some 400,000 rows, far above any real measurement campaign.
pub(crate) const MAX_TABLE_BYTES: u64 = 64 << 20;

/// A parsed CSV file: known columns are found by name in any order, the others are listed.
pub(crate) struct Sheet {
    /// For each known column of the caller, its position in the file.
    positions: Vec<(&'static str, Option<usize>)>,
    /// Columns of the file that the caller does not know.
    unknown: Vec<String>,
    records: Vec<(u64, csv::StringRecord)>,
}

/// One data row of a sheet.
#[derive(Clone, Copy)]
pub(crate) struct SheetRow<'a> {
    sheet: &'a Sheet,
    /// Line of the file, the header being line 1.
    pub(crate) line: u64,
    record: &'a csv::StringRecord,
}

/// Opens a file for reading, naming it in the error.
pub(crate) fn open(path: &Path) -> Result<std::fs::File, TableError> {
    std::fs::File::open(path).map_err(|e| {
        TableError::new(format!("cannot be opened: {e}")).in_file(&path.display().to_string())
    })
}

/// Reads the whole text of a table: UTF-8, with or without a byte-order mark, bounded in size.
pub(crate) fn read_text(reader: impl Read) -> Result<String, TableError> {
    let mut bytes = Vec::new();
    reader
        .take(MAX_TABLE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| TableError::new(format!("cannot be read: {e}")))?;
    if bytes.len() as u64 > MAX_TABLE_BYTES {
        return Err(TableError::new(format!(
            "the file is larger than {} MiB; split it by platform or drop repeated samples",
            MAX_TABLE_BYTES >> 20
        )));
    }
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(TableError::new("the file is UTF-16; save it as UTF-8"));
    }
    let mut text = String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count() as u64;
        TableError::new("not valid UTF-8; save the file as a UTF-8 CSV").at_line(line)
    })?;
    if text.starts_with('\u{FEFF}') {
        text.drain(..'\u{FEFF}'.len_utf8());
    }
    Ok(text)
}

/// The cells of the header line, trimmed.
pub(crate) fn header(text: &str) -> Result<Vec<String>, TableError> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let cells = reader.headers().map_err(|e| TableError::new(e.to_string()))?;
    if cells.iter().all(|c| c.trim().is_empty()) {
        return Err(TableError::new("the file is empty; the first line must name the columns"));
    }
    Ok(cells.iter().map(|c| c.trim().to_owned()).collect())
}

impl Sheet {
    /// Parses `text`, whose header must name every column of `required`.
    ///
    /// # Errors
    /// An empty file, a missing or doubled column, a row of another length, or no rows.
    pub(crate) fn parse(
        text: &str,
        required: &[&'static str],
        optional: &[&'static str],
    ) -> Result<Self, TableError> {
        let header = header(text)?;
        let mut positions = Vec::new();
        for &name in required.iter().chain(optional) {
            let mut places = header.iter().enumerate().filter(|(_, c)| *c == name);
            let first = places.next().map(|(i, _)| i);
            if let Some((second, _)) = places.next() {
                return Err(TableError::new(format!(
                    "the header names column {name} twice (columns {} and {}); remove one",
                    first.unwrap_or(0) + 1,
                    second + 1
                ))
                .at_line(1));
            }
            positions.push((name, first));
        }
        let unknown: Vec<String> = header
            .iter()
            .filter(|c| !positions.iter().any(|(name, _)| name == c))
            .map(|c| if c.is_empty() { "(no name)".to_owned() } else { shown(c) })
            .collect();
        let missing: Vec<&'static str> =
            positions[..required.len()].iter().filter(|p| p.1.is_none()).map(|p| p.0).collect();
        if !missing.is_empty() {
            return Err(missing_columns(&header, &missing, &unknown));
        }
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(text.as_bytes());
        let mut records = Vec::new();
        let mut lines = LineCounter { text: text.as_bytes(), at: 0, line: 1 };
        for record in reader.records() {
            let record = record.map_err(|e| TableError::new(e.to_string()))?;
            let line = lines.line_of(record.position().map_or(0, csv::Position::byte));
            if record.len() != header.len() {
                return Err(TableError::new(format!(
                    "has {} cells but the header has {}; write decimals with a point, quote cells \
                     that contain commas, and close every quote",
                    record.len(),
                    header.len()
                ))
                .at_line(line));
            }
            if record.iter().eq(&header) {
                return Err(TableError::new(
                    "repeats the header, as when files are joined; remove this line",
                )
                .at_line(line));
            }
            records.push((line, record));
        }
        if records.is_empty() {
            return Err(TableError::new("has a header but no rows; add measurements"));
        }
        Ok(Sheet { positions, unknown, records })
    }

    /// The warning about columns that are left out, if there are any.
    pub(crate) fn unknown_columns(&self) -> Option<Warning> {
        let names = self.unknown.join(", ");
        (!names.is_empty()).then(|| Warning(format!("columns left out, not known: {names}")))
    }

    /// Data rows in file order.
    pub(crate) fn rows(&self) -> impl Iterator<Item = SheetRow<'_>> {
        self.records.iter().map(|(line, record)| SheetRow { sheet: self, line: *line, record })
    }
}

/// Counts lines up to a record. The reader's own count is that of the blank lines that it skips
/// before the record.
struct LineCounter<'a> {
    text: &'a [u8],
    at: usize,
    line: u64,
}

impl LineCounter<'_> {
    /// The line of the first byte from `byte` on that is no line end. Bytes must not decrease.
    fn line_of(&mut self, byte: u64) -> u64 {
        let byte = usize::try_from(byte).unwrap_or(usize::MAX);
        while let Some(b) = self.text.get(self.at)
            && (self.at < byte || matches!(b, b'\n' | b'\r'))
        {
            let ends_line =
                *b == b'\n' || (*b == b'\r' && self.text.get(self.at + 1) != Some(&b'\n'));
            self.line += u64::from(ends_line);
            self.at += 1;
        }
        self.line
    }
}

/// The error for a header that lacks columns, with the likely reason.
fn missing_columns(header: &[String], missing: &[&str], unknown: &[String]) -> TableError {
    let mut message = format!(
        "the header lacks column{} {}",
        if missing.len() == 1 { "" } else { "s" },
        missing.join(", ")
    );
    let separator = [(';', "semicolons"), ('\t', "tabs"), ('|', "bars")]
        .into_iter()
        .find(|(c, _)| header.len() == 1 && header[0].contains(*c));
    if let Some((_, name)) = separator {
        message.push_str(&format!("; cells seem to be separated by {name}, use commas"));
    } else if !unknown.is_empty() {
        message.push_str(&format!(
            "; add or rename (columns in the file that are not known: {})",
            unknown.join(", ")
        ));
    } else {
        message.push_str("; add it to every row");
    }
    TableError::new(message).at_line(1)
}

impl<'a> SheetRow<'a> {
    /// An error at a cell of this row.
    pub(crate) fn error(
        &self,
        column: &'static str,
        value: &str,
        message: impl Into<String>,
    ) -> TableError {
        TableError::new(message).at_line(self.line).in_column(column, value)
    }

    /// The cell of a column; empty cells and absent columns are `None`.
    pub(crate) fn optional(&self, column: &'static str) -> Option<&'a str> {
        let place = self.sheet.positions.iter().find(|(name, _)| *name == column)?.1?;
        self.record.get(place).filter(|cell| !cell.is_empty())
    }

    /// The cell of a column that must not be empty.
    pub(crate) fn text(&self, column: &'static str) -> Result<&'a str, TableError> {
        let cell = self
            .optional(column)
            .ok_or_else(|| self.error(column, "", "must not be empty; fill in the cell"))?;
        if !cell.chars().all(is_printable) {
            return Err(self.error(
                column,
                cell,
                "must not contain control characters, line ends, or marks that hide or reorder \
                 text; type the cell anew",
            ));
        }
        Ok(cell)
    }

    /// A whole number.
    pub(crate) fn whole<T: FromStr>(&self, column: &'static str) -> Result<T, TableError> {
        parse_whole(self, column, self.text(column)?)
    }

    /// A whole number or nothing.
    pub(crate) fn optional_whole<T: FromStr>(
        &self,
        column: &'static str,
    ) -> Result<Option<T>, TableError> {
        self.optional(column).map(|cell| parse_whole(self, column, cell)).transpose()
    }

    /// A finite number.
    pub(crate) fn number(&self, column: &'static str) -> Result<f64, TableError> {
        parse_number(self, column, self.text(column)?)
    }

    /// A finite number or nothing.
    pub(crate) fn optional_number(&self, column: &'static str) -> Result<Option<f64>, TableError> {
        self.optional(column).map(|cell| parse_number(self, column, cell)).transpose()
    }
}

fn parse_whole<T: FromStr>(
    row: &SheetRow<'_>,
    column: &'static str,
    cell: &str,
) -> Result<T, TableError> {
    cell.parse().map_err(|_| {
        let hint = if cell.bytes().all(|b| b.is_ascii_digit()) {
            "is too large for this column"
        } else {
            "must be a whole number, in digits only and not negative"
        };
        row.error(column, cell, hint)
    })
}

fn parse_number(row: &SheetRow<'_>, column: &'static str, cell: &str) -> Result<f64, TableError> {
    let value: f64 = cell.parse().map_err(|_| {
        let hint = if cell.contains(',') {
            "must be a number; write decimals with a point and no thousands separator"
        } else {
            "must be a number without a unit, e.g. 12.5"
        };
        row.error(column, cell, hint)
    })?;
    if !value.is_finite() {
        return Err(row.error(
            column,
            cell,
            "must be a finite number; a failed measurement cannot stand in the table, repeat it \
             or remove the model",
        ));
    }
    Ok(value)
}
