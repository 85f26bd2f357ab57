//! Counts of accepted, repaired and refused lines, by reason.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// Refused lines that are named one by one; further ones are only counted.
pub const MAX_NAMED: usize = 100;
const EXCERPT_BYTES: usize = 80;

/// A line (or record) that was not used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedLine {
    /// Line number in the file, from 1.
    pub line: u64,
    /// Why.
    pub reason: String,
    /// Its first 80 bytes.
    pub excerpt: String,
}

/// What became of every line of an input.
///
/// A line is *accepted*, *repaired* (accepted, but something in it was dropped or corrected; each
/// reason is counted once per occurrence), or *refused*.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Lines used, repaired ones included.
    pub accepted: u64,
    /// Lines used after a repair.
    pub repaired: u64,
    /// Lines not used.
    pub refused: u64,
    /// Occurrences per kind of repair or remark.
    pub repairs: BTreeMap<String, u64>,
    /// Refused lines per reason.
    pub refusals: BTreeMap<String, u64>,
    /// The first [`MAX_NAMED`] refused lines.
    pub refused_lines: Vec<RefusedLine>,
    /// Remarks on the input as a whole.
    pub warnings: Vec<String>,
}

impl Tally {
    /// Counts an accepted line with the repairs made to it.
    pub fn accept(&mut self, repairs: &[&'static str]) {
        self.accepted += 1;
        if !repairs.is_empty() {
            self.repaired += 1;
            for &r in repairs {
                self.note(r);
            }
        }
    }

    /// Counts one occurrence of a repair or remark.
    pub fn note(&mut self, what: &str) {
        // The key is only allocated when it is new.
        match self.repairs.get_mut(what) {
            Some(n) => *n += 1,
            None => {
                self.repairs.insert(what.to_owned(), 1);
            }
        }
    }

    /// Counts and names a refused line.
    pub fn refuse(&mut self, line: u64, reason: &str, text: &[u8]) {
        self.refused += 1;
        match self.refusals.get_mut(reason) {
            Some(n) => *n += 1,
            None => {
                self.refusals.insert(reason.to_owned(), 1);
            }
        }
        if self.refused_lines.len() < MAX_NAMED {
            let text = &text[..text.len().min(EXCERPT_BYTES)];
            self.refused_lines.push(RefusedLine {
                line,
                reason: reason.to_owned(),
                excerpt: String::from_utf8_lossy(text).trim_end().to_owned(),
            });
        }
    }

    /// Adds a remark on the input as a whole, once.
    pub fn warn(&mut self, message: impl Into<String>) {
        let message = message.into();
        if !self.warnings.contains(&message) {
            self.warnings.push(message);
        }
    }

    /// Lines seen.
    pub fn lines(&self) -> u64 {
        self.accepted + self.refused
    }

    /// Adds another tally; its refused lines are named while there is room.
    pub fn merge(&mut self, other: &Tally) {
        self.accepted += other.accepted;
        self.repaired += other.repaired;
        self.refused += other.refused;
        for (k, n) in &other.repairs {
            *self.repairs.entry(k.clone()).or_default() += n;
        }
        for (k, n) in &other.refusals {
            *self.refusals.entry(k.clone()).or_default() += n;
        }
        let room = MAX_NAMED.saturating_sub(self.refused_lines.len());
        self.refused_lines.extend(other.refused_lines.iter().take(room).cloned());
        for w in &other.warnings {
            self.warn(w.clone());
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} lines: {} accepted ({} repaired), {} refused",
            self.lines(),
            self.accepted,
            self.repaired,
            self.refused
        )?;
        for (k, n) in &self.repairs {
            writeln!(f, "  repaired  {n:>8}  {k}")?;
        }
        for (k, n) in &self.refusals {
            writeln!(f, "  refused   {n:>8}  {k}")?;
        }
        for r in &self.refused_lines {
            writeln!(f, "  line {}: {}: {:?}", r.line, r.reason, r.excerpt)?;
        }
        if self.refused > self.refused_lines.len() as u64 {
            writeln!(f, "  … and {} more", self.refused - self.refused_lines.len() as u64)?;
        }
        for w in &self.warnings {
            writeln!(f, "  warning: {w}")?;
        }
        Ok(())
    }
}
