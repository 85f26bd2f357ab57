//! Bi-modal control: the energy-aware and the thermal-aware controller and their shared flag
//! (EnerInfer §4, Figure 9).

use crate::energy::{self, EnergyController, Phase};
use crate::front::Front;
use crate::tables::Tables;
use crate::temperature::MilliCelsius;
use crate::thermal::{self, Mode, Situation, ThermalController};
use crate::thermal_model::ThermalModel;
use crate::time::Micros;
use crate::units::{MicroTokPerS, MicroWatt};

/// Settings of both controllers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Policy of the energy-aware controller.
    pub energy: energy::Policy,
    /// Settings of the thermal-aware controller.
    pub thermal: thermal::Config,
}

/// The two orders in which operating points are walked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fronts<const N: usize> {
    /// Pareto front, most efficient first.
    pub efficient: Front<N>,
    /// All points, slowest first: for foreground apps that use much memory bandwidth, whose power
    /// cannot be told from ours (EnerInfer §4.6).
    pub slowest_first: Front<N>,
}

impl<const N: usize> Fronts<N> {
    /// Both orders for a model's tables.
    pub fn new(tables: &Tables<N>) -> Self {
        let without_power = Tables { power: [MicroWatt(0); N], ..tables.clone() };
        Fronts { efficient: Front::new(tables), slowest_first: Front::new(&without_power) }
    }
}

/// State of both controllers, for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Energy-aware controller.
    pub energy: energy::Status,
    /// Thermal-aware controller.
    pub thermal: thermal::Status,
    /// Point asked for; `None` between requests.
    pub wanted: Option<u16>,
    /// Point in effect, as far as is known.
    pub achieved: u16,
}

/// Runs both controllers over request sessions back to back.
///
/// Calls return the operating point to apply when it changed. Between [`end`](Self::end) and the
/// next request there is none: the caller then withdraws its clocks. Call
/// [`tick`](Self::tick) every second in either case.
///
/// ```
/// use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
/// use enerinfer_runtime::tables::Tables;
/// use enerinfer_runtime::temperature::MilliCelsius;
/// use enerinfer_runtime::thermal_model::ThermalModel;
/// use enerinfer_runtime::time::Micros;
/// use enerinfer_runtime::units::{MicroTokPerS, MicroWatt};
/// use enerinfer_runtime::qoe;
///
/// let tables = Tables {
///     throughput: [4_000_000, 6_000_000, 9_000_000].map(MicroTokPerS),
///     power: [250_000, 300_000, 600_000].map(MicroWatt),
///     accel_power: [150_000, 180_000, 400_000].map(MicroWatt),
/// };
/// let fronts = Fronts::new(&tables);
/// let model = ThermalModel::PERSISTENCE;
/// let mut control = Coordinator::new(&tables, &fronts, &model, Config::default());
///
/// control.tick(Micros(0), Some(MilliCelsius::from_celsius(30)));
/// assert_eq!(control.begin_prefill(Micros(1_000)), Some(2)); // highest clocks
/// assert_eq!(control.begin_decode(qoe::READING, Micros(200_000)), Some(1)); // 6 tokens/s suffice
/// assert_eq!(control.on_token(Micros(360_000)), None);
/// control.end();
/// ```
#[derive(Clone, Debug)]
pub struct Coordinator<'a, const N: usize> {
    fronts: &'a Fronts<N>,
    energy: EnergyController<'a, N>,
    thermal: ThermalController<'a, N>,
    wanted: Option<u16>,
    achieved: u16,
    memory_heavy_foreground: bool,
}

impl<'a, const N: usize> Coordinator<'a, N> {
    /// Controllers for one model on one device.
    pub fn new(
        tables: &'a Tables<N>,
        fronts: &'a Fronts<N>,
        model: &'a ThermalModel,
        config: Config,
    ) -> Self {
        Coordinator {
            fronts,
            energy: EnergyController::new(&fronts.efficient, config.energy),
            thermal: ThermalController::new(tables, model, config.thermal),
            wanted: None,
            achieved: 0,
            memory_heavy_foreground: false,
        }
    }

    /// A prompt is being processed.
    pub fn begin_prefill(&mut self, now: Micros) -> Option<u16> {
        self.energy.begin_prefill();
        self.watch(now);
        let point = match self.thermal.policy() {
            thermal::Policy::Paper => self.thermal.highest_point(),
            thermal::Policy::Default => self.default_point(),
        };
        self.want(point)
    }

    /// The first token is out; the user needs `qoe`.
    pub fn begin_decode(&mut self, qoe: MicroTokPerS, now: Micros) -> Option<u16> {
        let first = self.energy.begin_decode(qoe, now);
        self.thermal.begin_decode();
        self.watch(now);
        let point = match self.thermal.policy() {
            thermal::Policy::Paper => first,
            thermal::Policy::Default => self.default_point(),
        };
        self.want(point)
    }

    /// The user's need changed, e.g. from reading to listening.
    pub fn set_qoe(&mut self, qoe: MicroTokPerS, now: Micros) -> Option<u16> {
        self.energy.set_qoe(qoe, now);
        self.want_if_decoding()
    }

    /// Whether the foreground app uses much memory bandwidth; known from its vote or the
    /// platform. While it does, plain feedback seeks the slowest setting that meets the QoE.
    pub fn set_memory_heavy_foreground(&mut self, heavy: bool, now: Micros) -> Option<u16> {
        if heavy == self.memory_heavy_foreground {
            return None;
        }
        self.memory_heavy_foreground = heavy;
        let front = if heavy { &self.fronts.slowest_first } else { &self.fronts.efficient };
        self.energy.set_front(front, now);
        self.want_if_decoding()
    }

    /// A token was generated.
    pub fn on_token(&mut self, now: Micros) -> Option<u16> {
        if self.energy.status().phase == Phase::Decode {
            self.thermal.on_token(now, self.achieved);
        }
        if self.watch(now) {
            let point = self.default_point();
            return self.want(point);
        }
        let point = self.energy.on_token(now)?;
        self.want(point)
    }

    /// One second has passed; `reading` is the shell temperature, `None` if it could not be read.
    pub fn tick(&mut self, now: Micros, reading: Option<MilliCelsius>) -> Option<u16> {
        let phase = self.energy.status().phase;
        let before = self.thermal.status().mode;
        let situation = Situation {
            current: self.achieved,
            energy_choice: self.energy.point(),
            qoe: self.energy.qoe(),
            busy: phase != Phase::Idle,
        };
        let mode = self.thermal.tick(now, reading, situation);
        self.energy.set_suspended(mode != Mode::EnergyAware);
        // Algorithm 2 never restores its choice by itself: the cooler point stays.
        let stays = self.thermal.policy() == thermal::Policy::Paper
            && mode == Mode::EnergyAware
            && before != Mode::FailSafe;
        if phase == Phase::Idle || stays {
            return None;
        }
        let point = self.default_point();
        self.want(point)
    }

    /// The request is complete or was cancelled: clocks are no longer asked for.
    pub fn end(&mut self) {
        self.energy.end();
        self.wanted = None;
    }

    /// Reports the point that is in effect after a request: tables, caps and other voters round.
    pub fn set_achieved(&mut self, point: u16) {
        self.achieved = point;
    }

    /// Goes to the fail-safe if ticks have stopped; true if it just did.
    fn watch(&mut self, now: Micros) -> bool {
        let failed = self.thermal.watch(now);
        if failed {
            self.energy.set_suspended(true);
        }
        failed
    }

    /// The point for the present phase and mode.
    fn default_point(&self) -> u16 {
        match (self.thermal.choice(), self.energy.status().phase) {
            (Some(point), _) => point,
            (None, Phase::Prefill) => self.thermal.prefill_point(),
            (None, _) => self.energy.point(),
        }
    }

    fn want_if_decoding(&mut self) -> Option<u16> {
        if self.energy.status().phase != Phase::Decode {
            return None;
        }
        let point = self.default_point();
        self.want(point)
    }

    fn want(&mut self, point: u16) -> Option<u16> {
        if self.wanted == Some(point) {
            return None;
        }
        self.wanted = Some(point);
        self.achieved = point;
        Some(point)
    }

    /// State for logs.
    pub fn status(&self) -> Status {
        Status {
            energy: self.energy.status(),
            thermal: self.thermal.status(),
            wanted: self.wanted,
            achieved: self.achieved,
        }
    }
}
