//! The wall clock as a number.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970 (UTC).
pub(crate) fn now_unix_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64())
}
