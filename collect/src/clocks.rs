//! Clocks of a collection: set, read back, given back.

use std::thread;
use std::time::Duration;

use enerinfer_linux::domain::Domain;
use enerinfer_linux::files::Files;
use enerinfer_linux::journal::Journal;
use enerinfer_linux::saved::Saved;
use enerinfer_runtime::hal::FrequencyActuator as _;

use crate::error::CollectError;
use crate::setting::Setting;

/// How far a clock that was read back may be from what was asked for: boards round.
const TOLERANCE: f64 = 0.01;

/// The clock domains that are set, and how long they take to settle.
#[derive(Debug, Default)]
pub struct Clocks {
    accel: Option<Domain>,
    mem: Option<Domain>,
    settle: Duration,
    now: Option<(u32, u32)>,
    /// What a killed collection leaves behind, for the next one to give back.
    journal: Option<Journal>,
}

impl Clocks {
    /// Clocks that nobody sets.
    pub fn left_alone() -> Self {
        Clocks::default()
    }

    /// Domains to set. What they are now is written to `journal` before anything is changed, and
    /// given back in the end, or by the next collection if this one is killed.
    ///
    /// # Errors
    /// If the journal cannot be written, or what it holds cannot be given back.
    pub fn new(
        accel: Option<Domain>,
        mem: Option<Domain>,
        settle: Duration,
        journal: Journal,
        files: &dyn Files,
    ) -> Result<Self, CollectError> {
        journal.recover(files)?;
        let mut saved = Saved::default();
        for domain in accel.iter().chain(&mem) {
            saved.extend(&domain.saved());
        }
        journal.write(&saved)?;
        Ok(Clocks { accel, mem, settle, now: None, journal: Some(journal) })
    }

    /// Whether any clock is set.
    pub fn controlled(&self) -> bool {
        self.accel.is_some() || self.mem.is_some()
    }

    /// Sets both clocks, lets them settle if they changed, and reads them back.
    ///
    /// # Errors
    /// If a clock cannot be set, or is not what was asked for.
    pub fn set(&mut self, setting: &Setting) -> Result<(), CollectError> {
        let wanted = (setting.accel_khz, setting.mem_khz);
        if !self.controlled() || self.now == Some(wanted) {
            return Ok(());
        }
        // Whatever happens now, the clocks are no longer known.
        self.now = None;
        for (domain, khz) in [(&mut self.accel, wanted.0), (&mut self.mem, wanted.1)] {
            if let Some(domain) = domain {
                domain.request_khz(khz)?;
            }
        }
        thread::sleep(self.settle);
        if let Some((what, wanted_khz, got_khz)) = self.deviation(setting)? {
            return Err(CollectError::ReadBack { what, wanted_khz, got_khz });
        }
        self.now = Some(wanted);
        Ok(())
    }

    /// The first clock that is not what the setting asks for: after a run, it was throttled.
    ///
    /// # Errors
    /// If a clock cannot be read.
    pub fn deviation(
        &mut self,
        setting: &Setting,
    ) -> Result<Option<(&'static str, u32, u32)>, CollectError> {
        let domains = [
            ("accelerator", &mut self.accel, setting.accel_khz),
            ("memory", &mut self.mem, setting.mem_khz),
        ];
        for (what, domain, wanted) in domains {
            if let Some(domain) = domain {
                let got = domain.current_khz()?;
                if (f64::from(got) - f64::from(wanted)).abs() > TOLERANCE * f64::from(wanted) {
                    return Ok(Some((what, wanted, got)));
                }
            }
        }
        Ok(None)
    }

    /// Gives both clocks back.
    ///
    /// # Errors
    /// If one cannot be; the journal then stays for another attempt.
    pub fn restore(&mut self) -> Result<(), CollectError> {
        self.now = None;
        let mut first = Ok(());
        for domain in self.accel.iter_mut().chain(&mut self.mem) {
            first = first.and(domain.restore());
        }
        first?;
        if let Some(journal) = self.journal.take() {
            journal.clear()?;
        }
        Ok(())
    }
}

impl Drop for Clocks {
    fn drop(&mut self) {
        // On the way out of an error: the journal is there for what this cannot do.
        let _ = self.restore();
    }
}
