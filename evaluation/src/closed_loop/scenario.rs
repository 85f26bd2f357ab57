//! What happens to a device: its make, its surroundings, what is asked of it.

use enerinfer_datasets::{LlmShape, Platform};
use enerinfer_device::interference::ForegroundApp;
use enerinfer_device::thermal::{Temperatures, ThermalModel};
use enerinfer_device::{Decode, SimulatedDevice};

use super::HeatSplit;

/// One request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// When it arrives, s; it waits for the one before it.
    pub arrival_s: f64,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Tokens of the answer.
    pub tokens: u32,
}

/// What is asked of the device.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// One decode without end.
    Decode,
    /// Requests, by arrival.
    Requests(Vec<Request>),
}

/// When a session is over, besides at the end of its workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Longest duration, s.
    pub after_s: f64,
    /// At the first moment at which the shell reaches this, °C.
    pub at_shell_celsius: Option<f64>,
}

/// A device, its surroundings and its work.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// The platform.
    pub platform: Platform,
    /// What the device really does at each operating point, in index order.
    pub truth: Vec<Decode>,
    /// How it warms up.
    pub thermal: ThermalModel,
    /// What warms it.
    pub heat: HeatSplit,
    /// Temperature of the surroundings, °C.
    pub ambient_celsius: f64,
    /// Temperatures at the start.
    pub start: Temperatures,
    /// Resolution of the shell's sensor, °C.
    pub sensor_celsius: f64,
    /// Foreground apps: from when on, s; `None` for none. Ascending.
    pub apps: Vec<(f64, Option<ForegroundApp>)>,
    /// Throughput that the user needs, tokens/s: from when on, s. Ascending, from 0 on.
    pub qoe_tok_per_s: Vec<(f64, f64)>,
    /// The shell temperature that must not be exceeded, °C.
    pub threshold_celsius: f64,
    /// Requests.
    pub workload: Workload,
    /// The end.
    pub stop: Stop,
}

/// The threshold of EnerInfer §6.3, °C.
pub(super) const THRESHOLD_CELSIUS: f64 = 42.0;

/// Resolution of Linux thermal zones, °C.
const SENSOR_CELSIUS: f64 = 0.001;

impl Scenario {
    /// A decode of ten minutes at one QoE, from a shell at room temperature.
    pub fn new(device: &SimulatedDevice, shape: &LlmShape, qoe_tok_per_s: f64) -> Self {
        Scenario {
            platform: device.platform().clone(),
            truth: device.decode_all(shape).into_iter().map(|(_, decode)| decode).collect(),
            thermal: *device.thermal(),
            heat: HeatSplit::Total,
            ambient_celsius: 25.0,
            start: Temperatures { core_celsius: 25.0, shell_celsius: 25.0 },
            sensor_celsius: SENSOR_CELSIUS,
            apps: Vec::new(),
            qoe_tok_per_s: vec![(0.0, qoe_tok_per_s)],
            threshold_celsius: THRESHOLD_CELSIUS,
            workload: Workload::Decode,
            stop: Stop { after_s: 600.0, at_shell_celsius: None },
        }
    }

    /// QoE at a time, tokens/s.
    pub fn qoe_at(&self, seconds: f64) -> f64 {
        at(&self.qoe_tok_per_s, seconds).unwrap_or(0.0)
    }

    /// The decode at every operating point beside an app.
    pub fn truth_beside(&self, app: Option<ForegroundApp>) -> Vec<Decode> {
        let beside = |alone: &Decode| app.map_or(*alone, |app| app.beside(*alone));
        self.truth.iter().map(beside).collect()
    }

    /// The foreground app at a time.
    pub fn app_at(&self, seconds: f64) -> Option<ForegroundApp> {
        at(&self.apps, seconds).flatten()
    }
}

/// The value of a schedule at a time.
fn at<T: Copy>(schedule: &[(f64, T)], seconds: f64) -> Option<T> {
    schedule.iter().take_while(|(from, _)| *from <= seconds).last().map(|(_, value)| *value)
}
