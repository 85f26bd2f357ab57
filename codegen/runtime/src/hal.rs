//! What a platform must offer: a clock, a shell temperature, frequency actuators.
//!
//! Like `embedded-hal`: error types are the platform's own, and [`Error::kind`] lets generic code
//! decide what to do.

use core::fmt::Debug;

use crate::temperature::MilliCelsius;
use crate::time::Micros;

/// What went wrong, as far as a controller needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Not there now (gated, offline); may come back.
    Unavailable,
    /// Not permitted; trying again will not help.
    PermissionDenied,
    /// Busy; the next attempt may succeed.
    Busy,
    /// The value was refused.
    InvalidValue,
    /// Anything else.
    Other,
}

/// An error of a platform.
pub trait Error: Debug {
    /// What it means to a controller.
    fn kind(&self) -> ErrorKind;
}

impl Error for ErrorKind {
    fn kind(&self) -> ErrorKind {
        *self
    }
}

impl Error for core::convert::Infallible {
    fn kind(&self) -> ErrorKind {
        match *self {}
    }
}

/// A monotonic clock.
pub trait Clock {
    /// The present time.
    fn now(&mut self) -> Micros;
}

/// The shell temperature.
pub trait TemperatureSensor {
    /// The platform's error.
    type Error: Error;

    /// Reads the temperature; must not block for longer than a fraction of a second.
    fn temperature(&mut self) -> Result<MilliCelsius, Self::Error>;
}

/// A clock domain whose frequency can be requested.
pub trait FrequencyActuator {
    /// The platform's error.
    type Error: Error;

    /// Requests a frequency in kHz and returns the one that is in effect afterwards, read back
    /// from the hardware: tables, caps and PLLs round requests.
    fn request_khz(&mut self, khz: u32) -> Result<u32, Self::Error>;

    /// The frequency in kHz that is in effect now.
    fn current_khz(&mut self) -> Result<u32, Self::Error>;

    /// Gives the domain back as it was found.
    fn restore(&mut self) -> Result<(), Self::Error>;
}
