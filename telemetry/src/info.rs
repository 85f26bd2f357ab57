//! Per-prompt timing records: Hydra's INFO files of both backends.

use std::collections::BTreeMap;
use std::path::Path;

use crate::Error;

/// A CSV table as text, column order kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextTable {
    /// Column names.
    pub header: Vec<String>,
    /// Cells by row, as many as columns.
    pub rows: Vec<Vec<String>>,
}

/// Refuses a header, which is row `row` of its file, in which a name stands twice: either column
/// could be meant. Columns without a name are nobody's.
pub(crate) fn refuse_doubled<'a>(
    row: u64,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), Error> {
    let mut seen = BTreeMap::new();
    for (second, name) in (1..).zip(names).filter(|(_, name)| !name.is_empty()) {
        if let Some(first) = seen.insert(name, second) {
            return Err(Error::invalid(format!(
                "row {row}: the header names column `{name}` twice (columns {first} and {second}); \
                 remove one or rename it"
            )));
        }
    }
    Ok(())
}

impl TextTable {
    /// Reads a comma-separated table with a header.
    ///
    /// # Errors
    /// A row of another length, or two columns of one name.
    pub fn read(input: impl std::io::Read) -> Result<Self, Error> {
        let mut reader = csv::Reader::from_reader(input);
        let fail = |e: csv::Error| Error::invalid(e.to_string());
        let header = reader.headers().map_err(fail)?;
        refuse_doubled(1, header.iter())?;
        let header = header.iter().map(str::to_owned).collect();
        let rows = reader
            .records()
            .map(|r| r.map(|r| r.iter().map(str::to_owned).collect()).map_err(fail))
            .collect::<Result<_, _>>()?;
        Ok(TextTable { header, rows })
    }

    /// Reads a file.
    ///
    /// # Errors
    /// As [`TextTable::read`]; a file that cannot be read.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
        Self::read(file).map_err(|e| e.in_file(path))
    }

    /// Index of a column.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.header.iter().position(|h| h == name)
    }

    /// Index of a column that must be there.
    pub fn require(&self, name: &str) -> Result<usize, Error> {
        self.column(name).ok_or_else(|| {
            Error::invalid(format!(
                "column `{name}` is missing; there are {}",
                self.header.join(", ")
            ))
        })
    }

    /// A cell as a number; `None` if it is empty or text.
    pub fn number(&self, row: usize, column: usize) -> Option<f64> {
        crate::text::float(self.rows[row][column].trim().as_bytes())
    }
}
