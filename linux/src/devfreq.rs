//! devfreq devices: NPUs, GPUs, memory controllers.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use enerinfer_runtime::hal::FrequencyActuator;
use enerinfer_runtime::votes::{Votes, Window, snap_down};

use crate::Error;
use crate::files::{self, Files};
use crate::frequency::{Bounds, Unit, read_khz, read_table, write_khz};
use crate::saved::Saved;

/// Governor under which `userspace/set_freq` sets the clock.
const USERSPACE: &str = "userspace";

/// How the clock is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knob {
    /// Governor `userspace` and its `set_freq`.
    SetFreq,
    /// Minimum and maximum at the same frequency, under whatever governor.
    Clamp,
    /// The minimum alone: a vote, above which the governor may go (EnerInfer §5).
    Minimum,
}

/// What is asked of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Exactly the frequency.
    Exactly,
    /// At least the frequency; other voters and the governor may ask for more.
    AtLeast,
}

/// A devfreq device.
pub struct Devfreq {
    files: Arc<dyn Files>,
    dir: PathBuf,
    knob: Knob,
    available: Option<Vec<u32>>,
    lowest_khz: u32,
    highest_khz: u32,
    /// What others asked for before us.
    found: Window,
    saved: Saved,
    /// The device may differ from what was saved.
    touched: bool,
}

impl fmt::Display for Devfreq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.knob {
            Knob::SetFreq => "governor userspace",
            Knob::Clamp => "minimum = maximum",
            Knob::Minimum => "vote for a minimum",
        };
        write!(f, "{} ({how})", self.dir.display())
    }
}

impl fmt::Debug for Devfreq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Devfreq").field("dir", &self.dir).field("knob", &self.knob).finish()
    }
}

impl Devfreq {
    /// Opens a device; nothing is written. `table_required`: whether a device without
    /// `available_frequencies` is refused.
    ///
    /// The governor `userspace` is used where the device lists it, else minimum and maximum are
    /// clamped. No governor is ever written that the device does not list.
    pub fn open(
        files: Arc<dyn Files>,
        dir: &Path,
        request: Request,
        table_required: bool,
    ) -> Result<Self, Error> {
        let available = match read_table(&*files, &dir.join("available_frequencies"), Unit::Hz) {
            Ok(table) => Some(table),
            Err(e) if table_required => return Err(e),
            Err(_) => None,
        };
        let bounds = bounds(dir);
        let limits = bounds.get(&*files).ok();
        let governors = files::read(&*files, &dir.join("available_governors")).unwrap_or_default();
        let has_userspace = governors.split_whitespace().any(|g| g == USERSPACE);
        let knob = match (request, limits) {
            (Request::Exactly, _) if has_userspace => Knob::SetFreq,
            (Request::Exactly, Some(_)) => Knob::Clamp,
            (Request::AtLeast, Some(_)) => Knob::Minimum,
            _ => return Err(Error::NoKnob { path: dir.to_owned() }),
        };
        let mut saved = Saved::default();
        if knob == Knob::SetFreq {
            saved.remember(&*files, dir.join("governor"))?;
        }
        if limits.is_some() {
            saved.remember_bounds(&*files, bounds)?;
        }
        let limits = limits.map(|(min, max)| (Unit::Hz.to_khz(min), Unit::Hz.to_khz(max)));
        let found =
            limits.map_or(Window::at_least(0), |(min_khz, max_khz)| Window { min_khz, max_khz });
        let table = available.as_deref().unwrap_or(&[]);
        let lowest_khz = table.first().copied().or(limits.map(|l| l.0)).unwrap_or(0);
        let highest_khz = match (table.last(), limits) {
            (Some(table), Some((_, max))) => (*table).min(max),
            (Some(table), None) => *table,
            (None, Some((_, max))) => max,
            (None, None) => return Err(Error::NoKnob { path: dir.to_owned() }),
        };
        Ok(Devfreq {
            files,
            dir: dir.to_owned(),
            knob,
            available,
            lowest_khz,
            highest_khz,
            found,
            saved,
            touched: false,
        })
    }

    /// Frequencies of the device's table, kHz, ascending.
    pub fn available_khz(&self) -> Option<&[u32]> {
        self.available.as_deref()
    }

    /// Highest frequency of the table that the maximum found allows.
    pub fn highest_khz(&self) -> u32 {
        self.highest_khz
    }

    /// What is given back.
    pub fn saved(&self) -> &Saved {
        &self.saved
    }

    fn target(&self, khz: u32) -> u32 {
        let khz = khz.clamp(self.lowest_khz.min(self.highest_khz), self.highest_khz);
        self.available.as_deref().and_then(|table| snap_down(table, khz)).unwrap_or(khz)
    }

    fn set(&mut self, khz: u32) -> Result<(), Error> {
        let files = &*self.files;
        match self.knob {
            Knob::SetFreq => {
                let governor = self.dir.join("governor");
                if files::read(files, &governor)? != USERSPACE {
                    files::write(files, &governor, USERSPACE)?;
                }
                write_khz(files, &self.dir.join("userspace/set_freq"), Unit::Hz, khz)
            }
            Knob::Clamp => {
                let hz = Unit::Hz.of_khz(khz);
                bounds(&self.dir).set(files, hz, hz)
            }
            Knob::Minimum => {
                // Who raised the minimum before us still needs it.
                let votes = Votes::<2>::default();
                let _holders = [votes.hold(self.found), votes.hold(Window::at_least(khz))];
                let min_khz = votes.outcome().min_khz;
                write_khz(files, &self.dir.join("min_freq"), Unit::Hz, min_khz)
            }
        }
    }
}

fn bounds(dir: &Path) -> Bounds {
    Bounds { min: dir.join("min_freq"), max: dir.join("max_freq") }
}

impl FrequencyActuator for Devfreq {
    type Error = Error;

    /// Snaps down to the device's table, sets, reads back. What was set half is given back.
    fn request_khz(&mut self, khz: u32) -> Result<u32, Error> {
        self.touched = true;
        let target = self.target(khz);
        match self.set(target).and_then(|()| self.current_khz()) {
            Ok(khz) => Ok(khz),
            Err(error) => {
                // The first error says more than one of the way back.
                let _ = self.restore();
                Err(error)
            }
        }
    }

    fn current_khz(&mut self) -> Result<u32, Error> {
        read_khz(&*self.files, &self.dir.join("cur_freq"), Unit::Hz)
    }

    fn restore(&mut self) -> Result<(), Error> {
        if self.touched {
            self.saved.restore(&*self.files)?;
            self.touched = false;
        }
        Ok(())
    }
}
