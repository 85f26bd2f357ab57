//! An hour on a phone, with nothing but the generated crate: shape, tables, fronts, both
//! controllers, and a device in whole numbers that warms up by what they choose.

use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime::model::THERMAL;
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::thermal::Mode;
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::{qoe, MicroTokPerS, Predictor, Shape};

/// What happened.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hour {
    /// Tokens decoded.
    pub tokens: u32,
    /// Seconds of decoding.
    pub decoding_s: u32,
    /// Seconds of them in which the operating point was too slow for the QoE.
    pub slow_s: u32,
    /// Seconds of them in which the thermal-aware controller chose.
    pub thermal_s: u32,
    /// Changes of the operating point.
    pub changes: u32,
    /// Highest shell temperature, m°C.
    pub hottest_mc: i32,
    /// FNV-1a of every second's operating point and temperature.
    pub digest: u64,
}

/// The phone: two heat capacities, one resistance between them and one to the air, as EnerInfer
/// Figure 14 suggests them. A device that draws more is cooled in proportion.
struct Phone {
    core_uc: i64,
    shell_uc: i64,
}

const AMBIENT_UC: i64 = 27_000_000;
const CORE_MJ_PER_K: i64 = 11_488;
const SHELL_MJ_PER_K: i64 = 10_000;
const CORE_TO_SHELL_MK_PER_W: i64 = 1_000;
const SHELL_TO_AMBIENT_MK_PER_W: i64 = 16_704;
const BACKGROUND_CORE_UW: i64 = 190_000;
const BACKGROUND_SHELL_UW: i64 = 430_000;
/// Draw above which a device has a larger heat sink than the phone.
const PHONE_UW: i64 = 4_000_000;
/// Step of the simulation, ms.
const STEP_MS: i64 = 100;
const STEP_US: u64 = STEP_MS as u64 * 1_000;

impl Phone {
    fn step(&mut self, power_uw: i64) {
        let to_shell = (self.core_uc - self.shell_uc) * 1_000 / CORE_TO_SHELL_MK_PER_W;
        let to_air = (self.shell_uc - AMBIENT_UC) * 1_000 / SHELL_TO_AMBIENT_MK_PER_W;
        // µW · ms / (mJ/K) = µ°C
        self.core_uc += (power_uw + BACKGROUND_CORE_UW - to_shell) * STEP_MS / CORE_MJ_PER_K;
        self.shell_uc += (BACKGROUND_SHELL_UW + to_shell - to_air) * STEP_MS / SHELL_MJ_PER_K;
    }
}

/// Seconds of a request and of the pause after it.
const REQUEST_S: u32 = 150;
const PAUSE_S: u32 = 10;

/// Reading at its fastest, with three tokens for two words: a speed that overheats the phone.
fn need() -> MicroTokPerS {
    qoe::from_words(qoe::READING_WORDS_PER_KS, 150)
}

/// Qwen2-1.5B, read along for an hour of requests with short pauses.
pub fn run(config: Config) -> Hour {
    let shape = Shape::new(28, 1536, 12, 2, 8960, 151_936).tied_embeddings();
    let tables = Predictor::tables(&shape).tables;
    let fronts = Fronts::new(&tables);
    let model = THERMAL.unwrap_or(ThermalModel::PERSISTENCE);
    let mut control = Coordinator::new(&tables, &fronts, &model, config);
    let highest_uw = tables.power.iter().map(|p| i64::from(p.0)).max().unwrap_or(0);
    let heat = |point: u16| {
        let power = tables.power.get(usize::from(point)).map_or(0, |p| i64::from(p.0));
        power * PHONE_UW / highest_uw.max(PHONE_UW)
    };

    let mut hour = Hour { digest: 0xcbf2_9ce4_8422_2325, ..Hour::default() };
    let mut phone = Phone { core_uc: 30_000_000, shell_uc: 30_000_000 };
    let mut point = None;
    let mut next_token_us = 0;
    for second in 0..3_600 {
        let start_us = u64::from(second) * 1_000_000;
        let before = point;
        match second % (REQUEST_S + PAUSE_S) {
            0 => {
                point = control.begin_prefill(Micros(start_us)).or(point);
                point = control.begin_decode(need(), Micros(start_us)).or(point);
                next_token_us = start_us;
            }
            REQUEST_S => {
                control.end();
                point = None;
            }
            _ => (),
        }
        let shell_mc = (phone.shell_uc / 1_000) as i32;
        let decided = control.tick(Micros(start_us), Some(MilliCelsius(shell_mc)));
        point = point.map(|p| decided.unwrap_or(p));
        for step in 1..=1_000_000 / STEP_US {
            let now_us = start_us + step * STEP_US;
            while let Some(p) = point.filter(|_| next_token_us < now_us) {
                let speed = tables.throughput.get(usize::from(p)).map_or(1, |r| r.0.max(1));
                next_token_us += 1_000_000_000_000 / u64::from(speed);
                hour.tokens += 1;
                point = control.on_token(Micros(next_token_us)).or(point);
            }
            phone.step(point.map_or(0, heat));
        }
        hour.hottest_mc = hour.hottest_mc.max(shell_mc);
        hour.changes += u32::from(before.is_some() && point.is_some() && before != point);
        if let Some(p) = point {
            hour.decoding_s += 1;
            let speed = tables.throughput.get(usize::from(p)).copied().unwrap_or_default();
            hour.slow_s += u32::from(speed < need());
            hour.thermal_s += u32::from(control.status().thermal.mode == Mode::ThermalAware);
        }
        let said = u64::from(point.unwrap_or(u16::MAX)) << 32 | u64::from(shell_mc as u32);
        for byte in said.to_le_bytes() {
            hour.digest = (hour.digest ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    hour
}
