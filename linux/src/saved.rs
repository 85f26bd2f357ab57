//! Values as they were found, to be given back.

use std::path::PathBuf;

use crate::Error;
use crate::files::{self, Files};
use crate::frequency::Bounds;

/// One value, or a pair whose order of writing matters.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Value { path: PathBuf, text: String },
    Bounds { bounds: Bounds, min: u64, max: u64 },
}

/// Values in the order in which they are given back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    entries: Vec<Entry>,
}

impl Saved {
    /// Remembers what a node holds now.
    pub fn remember(&mut self, files: &dyn Files, path: PathBuf) -> Result<(), Error> {
        let text = files::read(files, &path)?;
        self.entries.push(Entry::Value { path, text });
        Ok(())
    }

    /// Remembers what a pair of bounds holds now.
    pub fn remember_bounds(&mut self, files: &dyn Files, bounds: Bounds) -> Result<(), Error> {
        let (min, max) = bounds.get(files)?;
        self.entries.push(Entry::Bounds { bounds, min, max });
        Ok(())
    }

    /// Adds what another domain remembered.
    pub fn extend(&mut self, other: &Saved) {
        self.entries.extend_from_slice(&other.entries);
    }

    /// Whether there is nothing to give back.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Gives everything back. A failure does not keep the rest from being given back.
    pub fn restore(&self, files: &dyn Files) -> Result<(), Error> {
        let mut failures = Vec::new();
        for entry in &self.entries {
            let result = match entry {
                Entry::Value { path, text } => files::write(files, path, text),
                Entry::Bounds { bounds, min, max } => bounds.set(files, *min, *max),
            };
            failures.extend(result.err());
        }
        let failed = failures.len();
        match failures.into_iter().next() {
            None => Ok(()),
            Some(first) => Err(Error::Restore { failed, first: Box::new(first) }),
        }
    }

    /// One line per entry, fields separated by tabs.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for entry in &self.entries {
            let line = match entry {
                Entry::Value { path, text } => format!("value\t{}\t{text}\n", path.display()),
                Entry::Bounds { bounds, min, max } => format!(
                    "bounds\t{}\t{}\t{min}\t{max}\n",
                    bounds.min.display(),
                    bounds.max.display()
                ),
            };
            out.push_str(&line);
        }
        out
    }

    /// Reads [`Saved::to_text`]; the error is the line (from 1) that is not understood.
    pub fn from_text(text: &str) -> Result<Self, usize> {
        let mut entries = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let fields: Vec<&str> = line.split('\t').collect();
            let entry = match fields.as_slice() {
                ["value", path, text] => {
                    Some(Entry::Value { path: path.into(), text: (*text).to_owned() })
                }
                ["bounds", min_path, max_path, min, max] => match (min.parse(), max.parse()) {
                    (Ok(min), Ok(max)) => Some(Entry::Bounds {
                        bounds: Bounds { min: min_path.into(), max: max_path.into() },
                        min,
                        max,
                    }),
                    _ => None,
                },
                _ => None,
            };
            entries.push(entry.ok_or(i + 1)?);
        }
        Ok(Saved { entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_and_damage_is_located() {
        let saved = Saved {
            entries: vec![
                Entry::Value { path: "/sys/a/governor".into(), text: "rknpu_ondemand".into() },
                Entry::Bounds {
                    bounds: Bounds { min: "/sys/a/min_freq".into(), max: "/sys/a/max_freq".into() },
                    min: 1,
                    max: 2,
                },
            ],
        };
        assert_eq!(Saved::from_text(&saved.to_text()), Ok(saved.clone()));
        assert_eq!(Saved::from_text("value\t/a\tb\nbounds\t/a\t/b\tx\t1\n"), Err(2));
        assert_eq!(Saved::from_text("\n"), Err(1));
    }
}
