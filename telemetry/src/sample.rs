//! Samples: what every telemetry reader yields, one row at a time.

use crate::{Error, Stamp, Tally};

/// What a channel measures; the unit follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Quantity {
    /// Power, mW.
    Power,
    /// Utilisation, %.
    Load,
    /// Clock, MHz.
    Clock,
    /// Temperature, °C.
    Temperature,
    /// Memory, MB.
    Memory,
    /// Cumulative energy, J.
    Energy,
    /// A plain number.
    Other,
}

impl Quantity {
    /// Unit as text.
    pub fn unit(self) -> &'static str {
        match self {
            Quantity::Power => "mW",
            Quantity::Load => "%",
            Quantity::Clock => "MHz",
            Quantity::Temperature => "°C",
            Quantity::Memory => "MB",
            Quantity::Energy => "J",
            Quantity::Other => "1",
        }
    }

    /// Whether a device can have the value: below 10 kW, 250 °C and 20 GHz, loads below ten times
    /// full. What lies beyond is a fault of the log (another unit, glued digits, a wrapped counter).
    pub fn is_possible(self, value: f64) -> bool {
        match self {
            Quantity::Power => value.abs() <= 1e7,
            Quantity::Load => (0.0..=1000.0).contains(&value),
            Quantity::Clock => (0.0..=2e4).contains(&value),
            Quantity::Temperature => (-100.0..=250.0).contains(&value),
            Quantity::Memory | Quantity::Energy | Quantity::Other => value.is_finite(),
        }
    }
}

/// A named series of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Column name; ends with the unit (`gpu_mhz`, `vdd_in_mw`, `temp_cpu_c`).
    pub name: String,
    /// What it measures.
    pub quantity: Quantity,
}

/// One sample. The buffer is reused from line to line.
#[derive(Clone, Debug)]
pub struct Row {
    /// Time as printed.
    pub stamp: Stamp,
    /// Line of the input, from 1.
    pub line: u64,
    /// One value per channel known so far; NaN where the line has none. Never infinite.
    pub values: Vec<f64>,
}

impl Default for Row {
    fn default() -> Self {
        Row { stamp: Stamp::Absent, line: 0, values: Vec::new() }
    }
}

impl Row {
    /// Value of a channel, if the line had one.
    pub fn get(&self, channel: usize) -> Option<f64> {
        self.values.get(channel).copied().filter(|v| !v.is_nan())
    }
}

/// A streaming reader of samples. Memory does not grow with the input.
pub trait SampleReader {
    /// Channels seen so far; later lines may append, never reorder.
    fn channels(&self) -> &[Channel];
    /// Reads the next usable line into `row`; `false` at the end.
    ///
    /// # Errors
    /// Only for what makes the whole input unusable; a bad line is counted in the tally.
    fn read(&mut self, row: &mut Row) -> Result<bool, Error>;
    /// Counts so far.
    fn tally(&self) -> &Tally;
}

/// Index of a channel by name.
pub fn channel(channels: &[Channel], name: &str) -> Option<usize> {
    channels.iter().position(|c| c.name == name)
}
