//! The system's monotonic clock.

use std::time::Instant;

use enerinfer_runtime::hal::Clock;
use enerinfer_runtime::time::Micros;

/// Time since the clock was made.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        SystemClock { origin: Instant::now() }
    }

    /// Stamp of an instant.
    pub fn stamp(&self, instant: Instant) -> Micros {
        let micros = instant.saturating_duration_since(self.origin).as_micros();
        Micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }
}

impl Clock for SystemClock {
    fn now(&mut self) -> Micros {
        self.stamp(Instant::now())
    }
}
