//! What a process has used, from Linux's `/proc`.

use std::io::{Error, Result};

fn missing(what: &str) -> Error {
    Error::other(format!("{what} is missing from /proc"))
}

/// CPU time of all threads of this process, including those that have ended; in steps of 10 ms.
pub(crate) fn cpu_seconds() -> Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The name before it may hold spaces; user and system time are fields 14 and 15.
    let (_, fields) = stat.rsplit_once(')').ok_or_else(|| missing("the process name"))?;
    let ticks = |n: usize| fields.split_whitespace().nth(n - 3)?.parse::<u64>().ok();
    let (user, system) = ticks(14).zip(ticks(15)).ok_or_else(|| missing("CPU time"))?;
    Ok((user + system) as f64 / 100.0)
}

/// Largest resident memory of this process so far, MB.
pub(crate) fn peak_mb() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
    kib.map(|kib| kib * 1024.0 / 1e6).ok_or_else(|| missing("VmHWM"))
}
