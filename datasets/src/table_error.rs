//! `TableError`: the one error of a table, with the place of the fault.

use std::fmt;

use enerinfer_artifacts::is_printable;

/// Why a table was refused: file, line, column and value at fault, and what to do.
///
/// A table is refused as a whole, for the first fault found.
#[derive(Debug)]
pub struct TableError {
    file: Option<String>,
    line: Option<u64>,
    column: Option<&'static str>,
    value: Option<String>,
    message: String,
}

/// Longest part of a value or name that a message repeats.
const SHOWN_CHARS: usize = 60;

/// `text` for a message: what is not printable escaped, cut to a readable length.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == SHOWN_CHARS {
            out.push('…');
            break;
        }
        if !is_printable(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

impl TableError {
    /// A fault of the whole table.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        TableError { file: None, line: None, column: None, value: None, message: message.into() }
    }

    pub(crate) fn in_file(mut self, file: &str) -> Self {
        self.file.get_or_insert_with(|| file.to_owned());
        self
    }

    pub(crate) fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    pub(crate) fn in_column(mut self, column: &'static str, value: &str) -> Self {
        self.column = Some(column);
        self.value = Some(value.to_owned());
        self
    }

    /// Line of the file (the header is line 1), if the fault has one.
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// Column at fault, if there is one.
    pub fn column(&self) -> Option<&str> {
        self.column
    }

    /// Value at fault, if there is one.
    pub fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        if let Some(line) = self.line {
            write!(f, "row {line}: ")?;
        }
        if let Some(column) = self.column {
            write!(f, "column {column}: ")?;
        }
        if let Some(value) = &self.value {
            write!(f, "value '{}': ", shown(value))?;
        }
        f.write_str(&self.message)
    }
}

/// The message is whole: what the system said is part of it, and no `source()` repeats it.
impl std::error::Error for TableError {}

/// Something a reader should know about a table that was accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning(pub(crate) String);

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
