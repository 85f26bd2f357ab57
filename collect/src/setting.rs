//! What is set for a run: the operating point as the measurement table will name it.

use serde::{Deserialize, Serialize};

/// An operating point of a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// Threads of the engine.
    pub threads: u32,
    /// Column `accel_mhz` of the table, in kHz.
    pub accel_khz: u32,
    /// Column `mem_mhz` of the table, in kHz.
    pub mem_khz: u32,
}

/// Unit of thread counts in the columns of clocks, kHz: `accel_mhz` of 2 means two threads.
const THREAD_KHZ: u32 = 1000;
/// What stands for a clock that is left alone: `mem_mhz` of 1.
const LEFT_ALONE_KHZ: u32 = 1000;

/// Operating points where clocks cannot be set and thread counts are varied instead.
///
/// The measurement table knows clocks only. The number of threads stands in `accel_mhz`, as if
/// each thread were one MHz: no device has such clocks, so that nobody takes them for real, and
/// more threads are more compute as a higher clock is. `mem_mhz` is 1: left alone.
pub fn of_threads(threads: &[u32]) -> Vec<Setting> {
    let mut threads = threads.to_vec();
    threads.sort_unstable();
    threads.dedup();
    threads
        .into_iter()
        .map(|threads| Setting {
            threads,
            accel_khz: threads.saturating_mul(THREAD_KHZ),
            mem_khz: LEFT_ALONE_KHZ,
        })
        .collect()
}

/// Every pair of the clocks, with one thread count.
pub fn of_clocks(threads: u32, accel_khz: &[u32], mem_khz: &[u32]) -> Vec<Setting> {
    let pairs = mem_khz.iter().flat_map(|m| accel_khz.iter().map(move |a| (*a, *m)));
    pairs.map(|(accel_khz, mem_khz)| Setting { threads, accel_khz, mem_khz }).collect()
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mhz = |khz: u32| f64::from(khz) / 1e3;
        write!(
            f,
            "accel {} MHz, mem {} MHz, {} threads",
            mhz(self.accel_khz),
            mhz(self.mem_khz),
            self.threads
        )
    }
}
