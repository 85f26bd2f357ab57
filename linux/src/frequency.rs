//! Frequencies in nodes: units, tables, and pairs of minimum and maximum.

use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::{self, Files};

/// Unit of a node's frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// devfreq and clocks in debugfs.
    Hz,
    /// cpufreq.
    Khz,
}

impl Unit {
    /// A node's number in kHz, rounded to the nearest.
    pub fn to_khz(self, value: u64) -> u32 {
        let khz = match self {
            Unit::Hz => value.saturating_add(500) / 1_000,
            Unit::Khz => value,
        };
        u32::try_from(khz).unwrap_or(u32::MAX)
    }

    /// kHz as a node's number.
    pub fn of_khz(self, khz: u32) -> u64 {
        match self {
            Unit::Hz => u64::from(khz) * 1_000,
            Unit::Khz => u64::from(khz),
        }
    }
}

/// Reads a frequency in kHz.
pub fn read_khz(files: &dyn Files, path: &Path, unit: Unit) -> Result<u32, Error> {
    Ok(unit.to_khz(files::read_u64(files, path)?))
}

/// Writes a frequency.
pub fn write_khz(files: &dyn Files, path: &Path, unit: Unit, khz: u32) -> Result<(), Error> {
    files::write(files, path, &unit.of_khz(khz).to_string())
}

/// Reads a table of frequencies in kHz, ascending and without repetition.
pub fn read_table(files: &dyn Files, path: &Path, unit: Unit) -> Result<Vec<u32>, Error> {
    let text = files::read(files, path)?;
    let mut table = Vec::new();
    for word in text.split_whitespace() {
        let value: u64 = word.parse().map_err(|_| Error::Content {
            path: path.to_owned(),
            found: word.to_owned(),
            expected: "frequencies separated by spaces",
        })?;
        table.push(unit.to_khz(value));
    }
    table.sort_unstable();
    table.dedup();
    if table.is_empty() {
        return Err(Error::Content {
            path: path.to_owned(),
            found: text,
            expected: "at least one frequency; did the driver fail to start?",
        });
    }
    Ok(table)
}

/// The two nodes that bound a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Node of the minimum.
    pub min: PathBuf,
    /// Node of the maximum.
    pub max: PathBuf,
}

impl Bounds {
    /// Sets both, in the order in which the minimum never exceeds the maximum: kernels refuse
    /// anything else. Values are in the nodes' own unit.
    pub fn set(&self, files: &dyn Files, min: u64, max: u64) -> Result<(), Error> {
        let raise_first = min > files::read_u64(files, &self.max)?;
        let order = [(&self.min, min), (&self.max, max)];
        let order = if raise_first { [order[1], order[0]] } else { order };
        for (path, value) in order {
            files::write(files, path, &value.to_string())?;
        }
        Ok(())
    }

    /// Present minimum and maximum, in the nodes' own unit.
    pub fn get(&self, files: &dyn Files) -> Result<(u64, u64), Error> {
        Ok((files::read_u64(files, &self.min)?, files::read_u64(files, &self.max)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_round_trip() {
        assert_eq!(Unit::Hz.to_khz(1_300_500_000), 1_300_500);
        assert_eq!(Unit::Hz.of_khz(u32::MAX), 4_294_967_295_000);
        assert_eq!(Unit::Hz.to_khz(u64::MAX), u32::MAX);
        assert_eq!(Unit::Khz.to_khz(Unit::Khz.of_khz(1_416_000)), 1_416_000);
    }
}
