//! A device for the controllers' tests: per-token times, interference, a two-node thermal model.
//! It is a test double, not one of the calibrated simulated devices.
#![allow(dead_code, unreachable_pub, missing_docs, clippy::unwrap_used)] // every test file uses a part of it

use enerinfer_runtime::tables::Tables;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::units::{MicroTokPerS, MicroWatt};

/// Operating points of [`phone`].
pub const POINTS: usize = 12;

/// Invented tables of a phone's size: 4 memory levels by 3 accelerator levels. A few throughputs
/// and efficiencies are near those of EnerInfer Figure 4; none are measurements.
pub fn phone() -> Tables<POINTS> {
    let throughput = [
        4_140_000, 4_640_000, 4_740_000, 5_590_000, 6_820_000, 7_100_000, 7_500_000, 9_200_000,
        10_090_000, 8_110_000, 12_750_000, 15_480_000,
    ];
    let power = [
        256_000, 320_000, 420_000, 302_000, 410_000, 540_000, 440_000, 560_000, 610_000, 560_000,
        1_020_000, 1_460_000,
    ];
    let accel_power = [
        120_000, 170_000, 260_000, 140_000, 220_000, 340_000, 190_000, 280_000, 400_000, 220_000,
        520_000, 900_000,
    ];
    Tables {
        throughput: throughput.map(MicroTokPerS),
        power: power.map(MicroWatt),
        accel_power: accel_power.map(MicroWatt),
    }
}

/// Token times of a device whose true throughput differs from the prediction.
pub struct Engine {
    pub truth: Vec<f64>,
    pub now: Micros,
    jitter: u64,
}

impl Engine {
    pub fn new(predicted: &[MicroTokPerS], error: impl Fn(usize) -> f64) -> Self {
        let truth = predicted.iter().enumerate();
        let truth = truth.map(|(i, r)| f64::from(r.0) / 1e6 * error(i)).collect();
        Engine { truth, now: Micros(0), jitter: 0x9E37_79B9_7F4A_7C15 }
    }

    /// Uniform in ±1, by splitmix64.
    fn noise(&mut self) -> f64 {
        self.jitter = self.jitter.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.jitter;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) as f64 / u64::MAX as f64 * 2.0 - 1.0
    }

    /// Generates a token at `point`; `slowdown` multiplies its time, `noise` spreads it.
    pub fn token(&mut self, point: u16, slowdown: f64, noise: f64) -> Micros {
        let seconds = slowdown / self.truth[usize::from(point)] * (1.0 + noise * self.noise());
        self.now = Micros(self.now.0 + (seconds * 1e6) as u64);
        self.now
    }
}

/// Heat flows from the core through the shell to the air.
pub struct Thermal {
    pub core_c: f64,
    pub shell_c: f64,
    pub ambient_c: f64,
}

impl Thermal {
    /// °C per W of the shell over the air in the long run.
    pub const SHELL_C_PER_W: f64 = 40.0;

    pub fn at(shell_c: f64) -> Self {
        Thermal { core_c: shell_c + 0.5, shell_c, ambient_c: 25.0 }
    }

    pub fn step(&mut self, watts: f64, seconds: f64) {
        let steps = (seconds / 0.1).round() as usize;
        for _ in 0..steps {
            let to_shell = (self.core_c - self.shell_c) / 8.0;
            let to_air = (self.shell_c - self.ambient_c) / Self::SHELL_C_PER_W;
            self.core_c += 0.1 * (watts - to_shell) / 1.5;
            self.shell_c += 0.1 * (to_shell - to_air) / 8.0;
        }
    }
}

/// A linear model of [`Thermal`]: half the trend of the window, half the heat balance.
pub fn thermal_model(ambient_c: f64) -> enerinfer_artifacts::ThermalModel {
    let time_constant_s = Thermal::SHELL_C_PER_W * 9.5;
    let mut history = vec![0.0; 20];
    history[19] = 1.0;
    let mut time_history = vec![0.0; 20];
    time_history[0] = -0.5 / 19.0;
    time_history[19] = 0.5 / 19.0 - 0.5 / time_constant_s;
    enerinfer_artifacts::ThermalModel {
        window: 20,
        intercept_c: 0.0,
        history,
        power_c_per_w: 0.0,
        time_c_per_s: 0.5 * ambient_c / time_constant_s,
        time_power_c_per_ws: 0.5 * Thermal::SHELL_C_PER_W / time_constant_s,
        time_history,
    }
}

/// The device's form of a model.
pub fn on_device(
    model: &enerinfer_artifacts::ThermalModel,
) -> enerinfer_runtime::thermal_model::ThermalModel {
    let int = model.to_int().expect("a valid model");
    enerinfer_runtime::thermal_model::ThermalModel {
        intercept_uc: int.intercept_uc,
        history_q24: int.history_q24,
        power_uc_per_w: int.power_uc_per_w,
        time_uc_per_s: int.time_uc_per_s,
        time_power_uc_per_ws: int.time_power_uc_per_ws,
        time_history_q24: int.time_history_q24,
    }
}
