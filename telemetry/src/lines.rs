//! Lines of a log, one at a time, in a reused buffer.

use std::io::{BufRead, Read as _};
use std::path::Path;

use crate::Error;

/// Longest line that is read; a log line has under 2 kB.
const MAX_LINE: u64 = 1 << 20;

/// A reader of lines with their numbers. A byte-order mark, `\n` and `\r\n` are taken off.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Lines { input, buffer: Vec::new(), number: 0 }
    }

    /// Number of the last line read.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line; `false` at the end. An overlong line comes cut.
    pub(crate) fn advance(&mut self) -> Result<bool, Error> {
        self.buffer.clear();
        let fail = |e| Error::io(Path::new("input"), e);
        self.input.by_ref().take(MAX_LINE).read_until(b'\n', &mut self.buffer).map_err(fail)?;
        if self.buffer.is_empty() {
            return Ok(false);
        }
        if self.buffer.last() != Some(&b'\n') && self.buffer.len() as u64 == MAX_LINE {
            self.skip_rest().map_err(fail)?;
        }
        if self.number == 0 && self.buffer.starts_with(b"\xEF\xBB\xBF") {
            self.buffer.drain(..3);
        }
        self.number += 1;
        Ok(true)
    }

    fn skip_rest(&mut self) -> std::io::Result<()> {
        loop {
            let chunk = self.input.fill_buf()?;
            if chunk.is_empty() {
                return Ok(());
            }
            let (used, done) = match memchr::memchr(b'\n', chunk) {
                Some(i) => (i + 1, true),
                None => (chunk.len(), false),
            };
            self.input.consume(used);
            if done {
                return Ok(());
            }
        }
    }

    /// The last line without its end.
    pub(crate) fn line(&self) -> &[u8] {
        Self::trim_end(&self.buffer)
    }

    /// `line` without its end.
    pub(crate) fn trim_end(line: &[u8]) -> &[u8] {
        let s = line.strip_suffix(b"\n").unwrap_or(line);
        s.strip_suffix(b"\r").unwrap_or(s)
    }

    /// Lends the buffer out, so that a reader may change itself while it looks at the line.
    pub(crate) fn take_buffer(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.buffer)
    }

    /// Takes the buffer back, for reuse.
    pub(crate) fn return_buffer(&mut self, buffer: Vec<u8>) {
        self.buffer = buffer;
    }
}
