//! Clocks of Jetson's boot and power management processor, through debugfs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use enerinfer_runtime::hal::FrequencyActuator;
use enerinfer_runtime::votes::snap_down;

use crate::Error;
use crate::files::{self, Files};
use crate::frequency::{Unit, read_khz, read_table, write_khz};
use crate::saved::Saved;

/// Memory (EMC) clock of Jetsons since Xavier.
pub const EMC: &str = "/sys/kernel/debug/bpmp/debug/clk/emc";
/// Frequencies that the EMC can be locked to, in kHz, where the firmware tells.
pub const EMC_RATES: &str = "/sys/kernel/debug/bpmp/debug/emc/possible_rates";

/// A clock that is locked to a rate.
pub struct BpmpClock {
    files: Arc<dyn Files>,
    dir: PathBuf,
    available: Option<Vec<u32>>,
    lowest_khz: u32,
    highest_khz: u32,
    saved: Saved,
    touched: bool,
}

impl fmt::Display for BpmpClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (locked rate)", self.dir.display())
    }
}

impl fmt::Debug for BpmpClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BpmpClock").field("dir", &self.dir).finish()
    }
}

impl BpmpClock {
    /// Opens a clock; nothing is written. `rates` may be missing.
    pub fn open(files: Arc<dyn Files>, dir: &Path, rates: &Path) -> Result<Self, Error> {
        let limit = |name: &str| read_khz(&*files, &dir.join(name), Unit::Hz);
        let (lowest_khz, highest_khz) = (limit("min_rate")?, limit("max_rate")?);
        let lock = dir.join("mrq_rate_locked");
        let mut saved = Saved::default();
        // A lock that was there held the rate: the rate comes back before anything else.
        if files::read(&*files, &lock)? != "0" {
            saved.remember(&*files, dir.join("rate"))?;
        }
        saved.remember(&*files, lock)?;
        let available = read_table(&*files, rates, Unit::Khz).ok();
        let dir = dir.to_owned();
        Ok(BpmpClock { files, dir, available, lowest_khz, highest_khz, saved, touched: false })
    }

    /// Frequencies that the clock can be locked to, if known.
    pub fn available_khz(&self) -> Option<&[u32]> {
        self.available.as_deref()
    }

    /// Highest rate that the firmware states; a power mode may cap it lower, which shows only in
    /// what is achieved.
    pub fn highest_khz(&self) -> u32 {
        self.highest_khz
    }

    /// What is given back.
    pub fn saved(&self) -> &Saved {
        &self.saved
    }

    fn set(&mut self, khz: u32) -> Result<(), Error> {
        files::write(&*self.files, &self.dir.join("mrq_rate_locked"), "1")?;
        write_khz(&*self.files, &self.dir.join("rate"), Unit::Hz, khz)
    }
}

impl FrequencyActuator for BpmpClock {
    type Error = Error;

    fn request_khz(&mut self, khz: u32) -> Result<u32, Error> {
        self.touched = true;
        let khz = khz.clamp(self.lowest_khz.min(self.highest_khz), self.highest_khz);
        let target = self.available.as_deref().and_then(|t| snap_down(t, khz)).unwrap_or(khz);
        match self.set(target).and_then(|()| self.current_khz()) {
            Ok(khz) => Ok(khz),
            Err(error) => {
                let _ = self.restore();
                Err(error)
            }
        }
    }

    fn current_khz(&mut self) -> Result<u32, Error> {
        read_khz(&*self.files, &self.dir.join("rate"), Unit::Hz)
    }

    fn restore(&mut self) -> Result<(), Error> {
        if self.touched {
            self.saved.restore(&*self.files)?;
            self.touched = false;
        }
        Ok(())
    }
}
