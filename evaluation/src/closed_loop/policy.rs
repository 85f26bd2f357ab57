//! The policies that are compared.

use enerinfer_artifacts::{ClockTables, OperatingPoint};
use enerinfer_device::interference::ForegroundApp;
use enerinfer_device::{Decode, Policy as Choice};
use enerinfer_runtime::coordinator::Config;
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::{energy, thermal};

use super::{Scenario, SimpleOndemand};

/// Who chooses operating points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// What on-demand governors choose under load: the highest clocks (EnerInfer §6).
    Default,
    /// The slowest point predicted to meet the QoE.
    Deadline,
    /// The lowest memory level, then the lowest accelerator level predicted to meet the QoE.
    DeadlineLevels,
    /// Algorithm 2 as printed, without thermal control.
    Ener,
    /// Algorithms 1 and 2 as printed, without QoE constraint while hot.
    EnerInfer,
    /// Algorithms 1 and 2 as printed, with QoE constraint.
    EnerInferQoe,
    /// The default policies of the runtime, without QoE constraint while hot.
    Ours,
    /// The default policies of the runtime.
    OursQoe,
    /// The point that is truly most efficient among those that truly meet the QoE, at every
    /// moment; it minds no temperature.
    Oracle,
}

impl Policy {
    /// All policies.
    pub const ALL: [Policy; 9] = [
        Policy::Default,
        Policy::Deadline,
        Policy::DeadlineLevels,
        Policy::Ener,
        Policy::EnerInfer,
        Policy::EnerInferQoe,
        Policy::Ours,
        Policy::OursQoe,
        Policy::Oracle,
    ];

    /// Name for tables.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Default => "Default",
            Policy::Deadline => "Deadline",
            Policy::DeadlineLevels => "Deadline (levels)",
            Policy::Ener => "Ener",
            Policy::EnerInfer => "EnerInfer (paper)",
            Policy::EnerInferQoe => "EnerInfer QoE (paper)",
            Policy::Ours => "ours",
            Policy::OursQoe => "ours QoE",
            Policy::Oracle => "Oracle",
        }
    }

    /// The controllers' settings, for policies of the runtime.
    pub(super) fn config(self, threshold_celsius: f64) -> Option<Config> {
        let t_max = MilliCelsius((threshold_celsius * 1e3).round() as i32);
        let hot = |policy, qoe_constraint| thermal::Config {
            policy,
            t_max,
            qoe_constraint,
            ..thermal::Config::default()
        };
        let (energy, thermal) = match self {
            Policy::Default | Policy::Deadline | Policy::DeadlineLevels | Policy::Oracle => {
                return None;
            }
            // No believable temperature is above these.
            Policy::Ener => (
                energy::Policy::Paper,
                thermal::Config {
                    t_max: MilliCelsius(i32::MAX),
                    t_pre: MilliCelsius(i32::MAX),
                    ..hot(thermal::Policy::Paper, false)
                },
            ),
            Policy::EnerInfer => (energy::Policy::Paper, hot(thermal::Policy::Paper, false)),
            Policy::EnerInferQoe => (energy::Policy::Paper, hot(thermal::Policy::Paper, true)),
            Policy::Ours => (energy::Policy::Default, hot(thermal::Policy::Default, false)),
            Policy::OursQoe => (energy::Policy::Default, hot(thermal::Policy::Default, true)),
        };
        Some(Config { energy, thermal })
    }

    /// The fixed point for decoding, for policies without a controller: the highest clocks if
    /// no point is fast enough.
    pub(super) fn fixed_point(
        self,
        scenario: &Scenario,
        predicted: &[Decode],
        app: Option<ForegroundApp>,
        qoe_tok_per_s: f64,
    ) -> OperatingPoint {
        let clocks = &scenario.platform.clocks;
        let choose = |choice: Choice, table: &[Decode]| {
            let table: Vec<_> = clocks.points().zip(table.iter().copied()).collect();
            choice.choose(&table, qoe_tok_per_s).map(|(point, _)| point)
        };
        let point = match self {
            Policy::Deadline => choose(Choice::Deadline, predicted),
            Policy::DeadlineLevels => choose(Choice::DeadlineLevels, predicted),
            Policy::Oracle => choose(Choice::Enerinfer, &scenario.truth_beside(app)),
            _ => None,
        };
        point.unwrap_or_else(|| under_load(clocks))
    }
}

/// Where on-demand governors of both domains go under the load of decoding.
fn under_load(clocks: &ClockTables) -> OperatingPoint {
    let level = |table: &[u32]| {
        let khz = SimpleOndemand::default().next_khz(table, table[0], 100);
        // Clock tables have at most 64 levels.
        table.partition_point(|level| *level < khz) as u8
    };
    OperatingPoint { mem: level(&clocks.mem_khz), accel: level(&clocks.accel_khz) }
}
