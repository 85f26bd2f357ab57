//! Time stamps of a monotonic clock.

/// Time in µs since an arbitrary origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Micros(pub u64);

impl Micros {
    /// From whole milliseconds, saturating.
    pub const fn from_millis(ms: u64) -> Self {
        Micros(ms.saturating_mul(1_000))
    }

    /// From whole seconds, saturating.
    pub const fn from_secs(s: u64) -> Self {
        Micros(s.saturating_mul(1_000_000))
    }

    /// µs since `earlier`; `None` if the clock went backwards.
    pub const fn since(self, earlier: Micros) -> Option<u64> {
        self.0.checked_sub(earlier.0)
    }
}
