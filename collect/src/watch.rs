//! Power and temperature sampled beside a run.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use enerinfer_linux::files::Files;
use enerinfer_linux::sensor::Shell;
use enerinfer_linux::zones::Zone;
use enerinfer_runtime::hal::TemperatureSensor as _;

use crate::power::PowerSensor;
use crate::unix_time::now_unix_s;

/// What is sampled.
#[derive(Clone, Default)]
pub struct Sensors {
    /// Zones whose hottest is recorded.
    pub zones: Vec<Zone>,
    /// Sensors whose sum is the table's `power_w`.
    pub total: Vec<PowerSensor>,
    /// Sensors whose sum is the table's `accel_power_w`.
    pub accel: Vec<PowerSensor>,
}

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    unix_s: f64,
    temp_c: Option<f64>,
    total_w: Option<f64>,
    accel_w: Option<f64>,
}

/// Samples of one run, in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Sampled {
    /// Highest temperature, °C.
    pub max_temp_c: Option<f64>,
    /// Mean power while decoding, W.
    pub power_w: Option<f64>,
    /// Mean accelerator power while decoding, W.
    pub accel_power_w: Option<f64>,
    /// Samples while decoding.
    pub samples: u32,
}

/// Samples in a thread of its own until it is asked what it saw.
pub struct Watch {
    files: Arc<dyn Files>,
    sensors: Sensors,
    every: Duration,
}

/// A watch that runs.
pub struct Running {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Sample>>,
}

impl Watch {
    /// A watch over sensors, reading them once per `every`.
    pub fn new(files: Arc<dyn Files>, sensors: Sensors, every: Duration) -> Self {
        Watch { files, sensors, every }
    }

    /// Whether power is sampled.
    pub fn has_power(&self) -> bool {
        !self.sensors.total.is_empty()
    }

    /// Starts sampling; `None` if there is nothing to sample.
    pub fn start(&self) -> Option<Running> {
        let Sensors { zones, total, accel } = self.sensors.clone();
        if zones.is_empty() && total.is_empty() && accel.is_empty() {
            return None;
        }
        let (files, every) = (Arc::clone(&self.files), self.every);
        let (stop, stopped) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut shell = Shell::of(&files, &zones);
            let mut samples = Vec::new();
            loop {
                let sum = |sensors: &[PowerSensor]| -> Option<f64> {
                    let watts: Option<Vec<f64>> =
                        sensors.iter().map(|s| s.read_w(&*files).ok()).collect();
                    watts.filter(|w| !w.is_empty()).map(|w| w.iter().sum())
                };
                samples.push(Sample {
                    unix_s: now_unix_s(),
                    temp_c: shell.temperature().ok().map(|t| f64::from(t.0) / 1e3),
                    total_w: sum(&total),
                    accel_w: sum(&accel),
                });
                match stopped.recv_timeout(every) {
                    Err(RecvTimeoutError::Timeout) => {}
                    Ok(()) | Err(RecvTimeoutError::Disconnected) => break samples,
                }
            }
        });
        Some(Running { stop, thread })
    }
}

impl Running {
    /// Ends sampling; power is averaged from `begin` to `end` (seconds since 1970).
    pub fn stop(self, begin: f64, end: f64) -> Sampled {
        drop(self.stop);
        // A panic of the thread would be a fault of ours; the run then has no samples.
        let samples = self.thread.join().unwrap_or_default();
        summarise(&samples, begin, end)
    }
}

fn summarise(samples: &[Sample], begin: f64, end: f64) -> Sampled {
    let within: Vec<&Sample> =
        samples.iter().filter(|s| (begin..=end).contains(&s.unix_s)).collect();
    let mean = |of: fn(&Sample) -> Option<f64>| {
        let values: Vec<f64> = within.iter().filter_map(|s| of(s)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    Sampled {
        max_temp_c: samples.iter().filter_map(|s| s.temp_c).reduce(f64::max),
        power_w: mean(|s| s.total_w),
        accel_power_w: mean(|s| s.accel_w),
        samples: within.len() as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn power_is_averaged_over_decode_and_heat_over_everything() {
        let at = |unix_s, temp, w| Sample {
            unix_s,
            temp_c: Some(temp),
            total_w: Some(w),
            accel_w: None,
        };
        let samples = [at(1.0, 80.0, 100.0), at(2.0, 50.0, 4.0), at(3.0, 51.0, 6.0)];
        let seen = summarise(&samples, 1.5, 3.0);
        assert_eq!(
            seen,
            Sampled { max_temp_c: Some(80.0), power_w: Some(5.0), accel_power_w: None, samples: 2 }
        );
        assert_eq!(summarise(&samples, 4.0, 5.0).power_w, None);
    }
}
