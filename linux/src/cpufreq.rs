//! CPU clusters (cpufreq policies), for engines that run on the CPU.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use enerinfer_runtime::hal::FrequencyActuator;
use enerinfer_runtime::votes::snap_down;

use crate::Error;
use crate::files::Files;
use crate::frequency::{Bounds, Unit, read_khz, read_table};
use crate::saved::Saved;

/// Folder of all policies.
pub const POLICIES: &str = "/sys/devices/system/cpu/cpufreq";

/// One policy: the CPUs that share a clock. Every policy has a table and bounds of its own.
pub struct CpuPolicy {
    files: Arc<dyn Files>,
    dir: PathBuf,
    available: Option<Vec<u32>>,
    lowest_khz: u32,
    highest_khz: u32,
    saved: Saved,
    touched: bool,
}

impl fmt::Display for CpuPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (minimum = maximum)", self.dir.display())
    }
}

impl fmt::Debug for CpuPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CpuPolicy").field("dir", &self.dir).finish()
    }
}

impl CpuPolicy {
    /// Opens a policy; nothing is written. Where the driver has no table (`intel_pstate`), any
    /// frequency between the hardware's bounds can be requested.
    pub fn open(files: Arc<dyn Files>, dir: &Path) -> Result<Self, Error> {
        let mut saved = Saved::default();
        saved.remember_bounds(&*files, bounds(dir))?;
        let table = dir.join("scaling_available_frequencies");
        let available = read_table(&*files, &table, Unit::Khz).ok();
        let limit = |name: &str| read_khz(&*files, &dir.join(name), Unit::Khz);
        let (scaling_min, scaling_max) = bounds(dir).get(&*files)?;
        let or = |value: u64| Unit::Khz.to_khz(value);
        let lowest_khz = limit("cpuinfo_min_freq").unwrap_or(or(scaling_min));
        let highest_khz = limit("cpuinfo_max_freq").unwrap_or(or(scaling_max));
        let dir = dir.to_owned();
        Ok(CpuPolicy { files, dir, available, lowest_khz, highest_khz, saved, touched: false })
    }

    /// Frequencies of the policy's table, kHz, ascending.
    pub fn available_khz(&self) -> Option<&[u32]> {
        self.available.as_deref()
    }

    /// Highest frequency of the hardware.
    pub fn highest_khz(&self) -> u32 {
        self.highest_khz
    }

    /// What is given back.
    pub fn saved(&self) -> &Saved {
        &self.saved
    }
}

fn bounds(dir: &Path) -> Bounds {
    Bounds { min: dir.join("scaling_min_freq"), max: dir.join("scaling_max_freq") }
}

impl FrequencyActuator for CpuPolicy {
    type Error = Error;

    fn request_khz(&mut self, khz: u32) -> Result<u32, Error> {
        self.touched = true;
        let khz = khz.clamp(self.lowest_khz.min(self.highest_khz), self.highest_khz);
        let target = self.available.as_deref().and_then(|t| snap_down(t, khz)).unwrap_or(khz);
        let value = Unit::Khz.of_khz(target);
        let set = bounds(&self.dir).set(&*self.files, value, value);
        match set.and_then(|()| self.current_khz()) {
            Ok(khz) => Ok(khz),
            Err(error) => {
                let _ = self.restore();
                Err(error)
            }
        }
    }

    /// The frequency in effect; the maximum where the driver does not tell.
    fn current_khz(&mut self) -> Result<u32, Error> {
        let current = self.dir.join("scaling_cur_freq");
        read_khz(&*self.files, &current, Unit::Khz)
            .or_else(|_| read_khz(&*self.files, &bounds(&self.dir).max, Unit::Khz))
    }

    fn restore(&mut self) -> Result<(), Error> {
        if self.touched {
            self.saved.restore(&*self.files)?;
            self.touched = false;
        }
        Ok(())
    }
}
