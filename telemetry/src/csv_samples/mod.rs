//! Sampled telemetry in CSV: nvidia-smi, INA3221/hwmon loggers, energy counters, and any other
//! table with a time column and a column map.

mod columns;
mod counter;
mod reader;

pub use columns::{ColumnMap, Mapping};
pub(crate) use columns::{Recognised, recognise_column};
pub use counter::EnergyCounter;
pub use reader::{CsvOptions, CsvSamples};
pub(crate) use reader::{GATED_CLOCK, IMPOSSIBLE, number};
