//! What is worth a line in the log: changes, not repetitions.

use enerinfer_runtime::coordinator;
use enerinfer_runtime::driver;
use enerinfer_runtime::hal::ErrorKind;
use enerinfer_runtime::thermal::Mode;

/// Remembers what was said last.
#[derive(Clone, Debug, Default)]
pub struct ChangeLog {
    mode: Mode,
    wanted: Option<u16>,
    achieved_khz: Option<(u32, u32)>,
    failures: u32,
    last_failure: Option<ErrorKind>,
    stopped: bool,
    overridden: bool,
    unreachable: bool,
    stuck: bool,
}

impl ChangeLog {
    /// Lines for what changed since the last call. Repeated failures are reported when their
    /// number doubles.
    pub fn update(
        &mut self,
        control: &coordinator::Status,
        platform: &driver::Status,
        wanted_khz: Option<(u32, u32)>,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        let thermal = &control.thermal;
        if self.mode != thermal.mode {
            self.mode = thermal.mode;
            let temperature = thermal
                .temperature
                .map_or("unknown".to_owned(), |t| format!("{:.1} °C", f64::from(t.0) / 1e3));
            lines.push(format!("mode {:?}, temperature {temperature}", self.mode));
        }
        if self.stuck != thermal.stuck {
            self.stuck = thermal.stuck;
            let verb = if self.stuck { "does not move although it should" } else { "moves again" };
            lines.push(format!("the temperature {verb}"));
        }
        if self.wanted != control.wanted || self.achieved_khz != platform.achieved_khz {
            self.wanted = control.wanted;
            self.achieved_khz = platform.achieved_khz;
            match (wanted_khz, platform.achieved_khz) {
                (Some((accel, mem)), Some(achieved)) if achieved != (accel, mem) => {
                    lines.push(format!(
                        "wanted {accel} kHz and memory {mem} kHz, achieved {} and {} kHz",
                        achieved.0, achieved.1
                    ));
                }
                (Some((accel, mem)), _) => lines.push(format!("{accel} kHz, memory {mem} kHz")),
                (None, _) => lines.push("clocks given back".to_owned()),
            }
        }
        if control.wanted.is_some() && self.unreachable != control.energy.unreachable {
            self.unreachable = control.energy.unreachable;
            let verb = if self.unreachable { "cannot" } else { "can again" };
            lines.push(format!("the wanted speed {verb} be reached"));
        }
        if self.overridden != platform.overridden {
            self.overridden = platform.overridden;
            if self.overridden {
                lines.push("something else sets the clocks; left to it".to_owned());
            }
        }
        let doubled = platform.failures >= self.failures.saturating_mul(2).max(1);
        let other = self.last_failure != platform.last_failure;
        if platform.failures > 0 && (other || doubled) {
            self.last_failure = platform.last_failure;
            self.failures = platform.failures;
            lines.push(format!(
                "{} requests failed so far, the last: {:?}",
                platform.failures, platform.last_failure
            ));
        }
        if self.stopped != platform.stopped {
            self.stopped = platform.stopped;
            lines.push("permission denied: clocks are left alone from now on".to_owned());
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
    use enerinfer_runtime::tables::Tables;
    use enerinfer_runtime::thermal_model::ThermalModel;
    use enerinfer_runtime::units::{MicroTokPerS, MicroWatt};

    #[test]
    fn a_thousand_failures_make_a_dozen_lines() {
        let tables = Tables {
            throughput: [MicroTokPerS(1)],
            power: [MicroWatt(1)],
            accel_power: [MicroWatt(1)],
        };
        let fronts = Fronts::new(&tables);
        let model = ThermalModel::PERSISTENCE;
        let control = Coordinator::new(&tables, &fronts, &model, Config::default()).status();
        let mut log = ChangeLog::default();
        let mut lines = 0;
        for failures in 1..=1_000 {
            let last_failure = Some(ErrorKind::Busy);
            let platform = driver::Status { failures, last_failure, ..Default::default() };
            lines += log.update(&control, &platform, None).len();
        }
        assert!((1..=12).contains(&lines), "{lines} lines");
    }
}
