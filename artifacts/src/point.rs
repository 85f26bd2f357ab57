//! Operating points: pairs of an accelerator and a memory clock.

use serde::{Deserialize, Serialize};

use crate::Error;

/// Largest number of clock levels of one domain; keeps point indices in a byte.
pub const MAX_LEVELS: usize = 64;
/// Largest number of operating points of a platform.
pub const MAX_POINTS: usize = 1024;

/// An operating point `u = (i_acc, i_mem)`; level 0 is the lowest clock (algorithms: notation).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperatingPoint {
    /// Level of the memory clock.
    pub mem: u8,
    /// Level of the accelerator clock.
    pub accel: u8,
}

/// Clock tables of a platform, each ascending, in kHz.
///
/// Points are numbered memory-major: `index = mem · accel_levels + accel`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockTables {
    /// Accelerator clocks in kHz, lowest first.
    pub accel_khz: Vec<u32>,
    /// Memory clocks in kHz, lowest first.
    pub mem_khz: Vec<u32>,
}

impl ClockTables {
    /// Checks that both tables are non-empty, strictly ascending and not larger than the caps.
    pub fn validate(&self) -> Result<(), Error> {
        for (name, table) in [("accelerator", &self.accel_khz), ("memory", &self.mem_khz)] {
            if table.is_empty() || table.len() > MAX_LEVELS {
                return Err(Error::invalid(format!(
                    "{name} clock table has {} levels; 1 to {MAX_LEVELS} are possible",
                    table.len()
                )));
            }
            if table[0] == 0 || table.windows(2).any(|w| w[0] >= w[1]) {
                return Err(Error::invalid(format!(
                    "{name} clocks must be positive and strictly ascending, got {table:?} kHz"
                )));
            }
        }
        if self.len() > MAX_POINTS {
            return Err(Error::invalid(format!(
                "{} operating points; at most {MAX_POINTS} are possible",
                self.len()
            )));
        }
        Ok(())
    }

    /// Number of operating points.
    pub fn len(&self) -> usize {
        self.accel_khz.len() * self.mem_khz.len()
    }

    /// Whether there is no operating point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Index of a point, memory-major. The point must be inside the tables.
    pub fn index(&self, point: OperatingPoint) -> usize {
        usize::from(point.mem) * self.accel_khz.len() + usize::from(point.accel)
    }

    /// Point of an index below [`ClockTables::len`].
    pub fn point(&self, index: usize) -> OperatingPoint {
        let levels = self.accel_khz.len();
        // Levels are capped at MAX_LEVELS, so both fit a byte.
        OperatingPoint { mem: (index / levels) as u8, accel: (index % levels) as u8 }
    }

    /// All points in index order.
    pub fn points(&self) -> impl Iterator<Item = OperatingPoint> + '_ {
        (0..self.len()).map(|i| self.point(i))
    }

    /// `(accel_khz, mem_khz)` of a point.
    pub fn clocks_khz(&self, point: OperatingPoint) -> (u32, u32) {
        (self.accel_khz[usize::from(point.accel)], self.mem_khz[usize::from(point.mem)])
    }

    /// The point of the given clocks, if both are levels of the tables.
    pub fn find(&self, accel_khz: u32, mem_khz: u32) -> Option<OperatingPoint> {
        let accel = self.accel_khz.binary_search(&accel_khz).ok()?;
        let mem = self.mem_khz.binary_search(&mem_khz).ok()?;
        Some(OperatingPoint { mem: mem as u8, accel: accel as u8 })
    }

    /// The point with both clocks at their highest: the default governor's choice under load.
    pub fn highest(&self) -> OperatingPoint {
        self.point(self.len() - 1)
    }
}
