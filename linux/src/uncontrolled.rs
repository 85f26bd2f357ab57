//! A clock that this kernel does not let anyone set, e.g. memory without a `dmc` node.

use enerinfer_runtime::hal::FrequencyActuator;

use crate::Error;

/// Runs at one frequency, whatever is requested.
#[derive(Clone, Debug)]
pub struct Uncontrolled {
    khz: [u32; 1],
}

impl Uncontrolled {
    /// A clock that runs at `khz`.
    pub fn at(khz: u32) -> Self {
        Uncontrolled { khz: [khz] }
    }

    /// Its frequency.
    pub fn khz(&self) -> u32 {
        self.khz[0]
    }

    /// Its frequency as a table.
    pub fn available_khz(&self) -> &[u32] {
        &self.khz
    }
}

impl FrequencyActuator for Uncontrolled {
    type Error = Error;

    fn request_khz(&mut self, _: u32) -> Result<u32, Error> {
        Ok(self.khz())
    }

    fn current_khz(&mut self) -> Result<u32, Error> {
        Ok(self.khz())
    }

    fn restore(&mut self) -> Result<(), Error> {
        Ok(())
    }
}
