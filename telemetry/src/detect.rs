//! Opening a log whatever its format.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use crate::csv_samples::{CsvOptions, CsvSamples};
use crate::json_samples::JsonSamples;
use crate::tegrastats::{Tegrastats, looks_like_tegrastats};
use crate::{Error, SampleReader};

/// Formats of sampled telemetry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// tegrastats, with or without a logger's stamp in front.
    Tegrastats,
    /// A table with a header.
    Csv,
    /// One JSON document.
    Json,
}

const BUFFER: usize = 1 << 16;

impl LogFormat {
    /// Recognises a format by the start of the file.
    pub fn detect(start: &[u8]) -> Self {
        let text = start.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(start);
        // A log may begin with a torn line or a message.
        if text.split(|&b| b == b'\n').take(20).any(looks_like_tegrastats) {
            return LogFormat::Tegrastats;
        }
        match text.trim_ascii_start().first() {
            Some(b'{' | b'[') => LogFormat::Json,
            _ => LogFormat::Csv,
        }
    }
}

/// Opens a log for reading; the format is recognised unless given.
///
/// # Errors
/// The file cannot be read, or its header is not understood.
pub fn open_log(
    path: &Path,
    format: Option<LogFormat>,
    csv: &CsvOptions,
) -> Result<Box<dyn SampleReader>, Error> {
    let file = File::open(path).map_err(|e| Error::io(path, e))?;
    let mut input = BufReader::with_capacity(BUFFER, file);
    let start = input.fill_buf().map_err(|e| Error::io(path, e))?;
    let reader: Box<dyn SampleReader> = match format.unwrap_or_else(|| LogFormat::detect(start)) {
        LogFormat::Tegrastats => Box::new(Tegrastats::new(input)),
        LogFormat::Csv => Box::new(CsvSamples::new(input, csv).map_err(|e| e.in_file(path))?),
        LogFormat::Json => {
            let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
            Box::new(JsonSamples::new(&bytes).map_err(|e| e.in_file(path))?)
        }
    };
    Ok(reader)
}
