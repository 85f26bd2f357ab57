//! CPU time of this process and of its finished children.

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};

/// CPU time of this process's threads so far, s.
#[cfg(any(test, feature = "engine-llama-cpp", feature = "engine-candle"))]
pub(crate) fn own_s() -> f64 {
    of(UsageWho::RUSAGE_SELF)
}

/// CPU time of the children that were waited for so far, s.
pub(crate) fn children_s() -> f64 {
    of(UsageWho::RUSAGE_CHILDREN)
}

fn of(who: UsageWho) -> f64 {
    let seconds = |t: TimeVal| t.num_microseconds() as f64 / 1e6;
    // The call fails for an unknown `who` only.
    getrusage(who).map_or(0.0, |u| seconds(u.user_time()) + seconds(u.system_time()))
}
