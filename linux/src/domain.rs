//! Any clock domain.

use std::fmt;

use enerinfer_runtime::hal::FrequencyActuator;

use crate::Error;
use crate::bpmp::BpmpClock;
use crate::cpufreq::CpuPolicy;
use crate::devfreq::Devfreq;
use crate::saved::Saved;
use crate::uncontrolled::Uncontrolled;

/// A clock domain of this device.
#[derive(Debug)]
pub enum Domain {
    /// A devfreq device.
    Devfreq(Devfreq),
    /// A clock of Jetson's boot and power management processor.
    Bpmp(BpmpClock),
    /// A CPU cluster.
    Cpu(CpuPolicy),
    /// A clock that cannot be set.
    Uncontrolled(Uncontrolled),
}

impl Domain {
    /// Frequencies that can be requested, kHz, ascending; `None` where any within the bounds can.
    pub fn available_khz(&self) -> Option<&[u32]> {
        match self {
            Domain::Devfreq(d) => d.available_khz(),
            Domain::Bpmp(d) => d.available_khz(),
            Domain::Cpu(d) => d.available_khz(),
            Domain::Uncontrolled(d) => Some(d.available_khz()),
        }
    }

    /// Highest frequency that the device allows at present, kHz.
    pub fn highest_khz(&self) -> u32 {
        match self {
            Domain::Devfreq(d) => d.highest_khz(),
            Domain::Bpmp(d) => d.highest_khz(),
            Domain::Cpu(d) => d.highest_khz(),
            Domain::Uncontrolled(d) => d.khz(),
        }
    }

    /// What is given back in the end.
    pub fn saved(&self) -> Saved {
        match self {
            Domain::Devfreq(d) => d.saved().clone(),
            Domain::Bpmp(d) => d.saved().clone(),
            Domain::Cpu(d) => d.saved().clone(),
            Domain::Uncontrolled(_) => Saved::default(),
        }
    }
}

/// Where the domain is, and how it is set.
impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Domain::Devfreq(d) => d.fmt(f),
            Domain::Bpmp(d) => d.fmt(f),
            Domain::Cpu(d) => d.fmt(f),
            Domain::Uncontrolled(_) => f.write_str("a clock that cannot be set"),
        }
    }
}

impl FrequencyActuator for Domain {
    type Error = Error;

    fn request_khz(&mut self, khz: u32) -> Result<u32, Error> {
        match self {
            Domain::Devfreq(d) => d.request_khz(khz),
            Domain::Bpmp(d) => d.request_khz(khz),
            Domain::Cpu(d) => d.request_khz(khz),
            Domain::Uncontrolled(d) => d.request_khz(khz),
        }
    }

    fn current_khz(&mut self) -> Result<u32, Error> {
        match self {
            Domain::Devfreq(d) => d.current_khz(),
            Domain::Bpmp(d) => d.current_khz(),
            Domain::Cpu(d) => d.current_khz(),
            Domain::Uncontrolled(d) => d.current_khz(),
        }
    }

    fn restore(&mut self) -> Result<(), Error> {
        match self {
            Domain::Devfreq(d) => d.restore(),
            Domain::Bpmp(d) => d.restore(),
            Domain::Cpu(d) => d.restore(),
            Domain::Uncontrolled(d) => d.restore(),
        }
    }
}
