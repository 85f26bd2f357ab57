//! The figures and tables of the EnerInfer paper for our simulated devices, as exhibits beside
//! the published values.
//!
//! A [`Topic`] is one figure or table; [`exhibit`] computes it from [`Inputs`]. Topics about the
//! devices alone need no predictors; the others judge predictors on models they have not seen.
//! Topics of the closed loop are about the devices of the paper, whatever devices are evaluated.

mod accuracy;
mod breakdown;
mod corun;
mod devices;
mod goals;
mod headline;
mod judged;
mod moe;
mod policies;
mod power;
mod qoe;
mod ranks;
mod real_llms;
mod scaled;
mod scores;
mod survey;
mod thermal_prediction;
mod tpot;

use enerinfer_artifacts::OperatingPoint;
use enerinfer_artifacts::exhibit::{
    Chart, Drawing, Exhibit, FiveNumbers, NamedBox, Provenance, Series,
};
use enerinfer_artifacts::record::ThermalAccuracy;
use enerinfer_datasets::LlmShape;
use enerinfer_device::SimulatedDevice;

use crate::closed_loop::exhibits as closed_loop;

pub use judged::{Judged, JudgedModel, Tables, WithMixtures};

/// Why a figure could not be computed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FigureError {
    /// A score has no value on the tables given.
    #[error(transparent)]
    Score(#[from] enerinfer_hyperparam::Error),
    /// A published table of the devices has a fault.
    #[error(transparent)]
    Device(#[from] enerinfer_device::DeviceError),
    /// The closed loop cannot be run.
    #[error(transparent)]
    Loop(#[from] crate::closed_loop::LoopError),
}

/// One figure or table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// Which of the figures to reach are reached.
    Goals,
    /// The simulated devices and how close they come to what is published.
    Devices,
    /// Figure 2: time per operator of one token.
    Fig2,
    /// Figure 3: hyper-parameters of the surveyed LLMs.
    Fig3,
    /// Figure 5: efficiency ranks of operating points over models.
    Fig5,
    /// Figure 6: time per token over model size.
    Fig6,
    /// Figure 7: throughput relative to the highest clocks.
    Fig7,
    /// Figure 8: power over models.
    Fig8,
    /// Figure 10: accuracy on held-out synthetic models.
    Fig10,
    /// Figure 11: accuracy of the thermal model.
    Fig11,
    /// Figure 12: accuracy on real LLMs.
    Fig12,
    /// Accuracy on mixtures of experts (§4.6), apart from dense models.
    Moe,
    /// Figure 13: speed and efficiency over QoE targets.
    Fig13,
    /// Figure 13 in the closed loop.
    Fig13Loop,
    /// Figure 14: thermal stress, in the closed loop.
    Fig14,
    /// The best that any policy could do in Figure 14's scenario.
    Optimum,
    /// Controllers on devices other than those trained on.
    Robustness,
    /// Foreground apps in the closed loop.
    Interference,
    /// Request patterns and ambient temperatures in the closed loop.
    Workloads,
    /// Figure 15: energy per task, in the closed loop.
    Fig15,
    /// Table 1: foreground apps.
    Table1,
    /// Table 2: policies.
    Table2,
    /// Table 2 in the closed loop.
    Table2Loop,
}

impl Topic {
    /// All topics in the order of a report.
    pub const ALL: [Topic; 23] = [
        Topic::Goals,
        Topic::Devices,
        Topic::Fig2,
        Topic::Fig3,
        Topic::Fig5,
        Topic::Fig6,
        Topic::Fig7,
        Topic::Fig8,
        Topic::Fig10,
        Topic::Fig11,
        Topic::Fig12,
        Topic::Moe,
        Topic::Fig13,
        Topic::Fig13Loop,
        Topic::Fig14,
        Topic::Optimum,
        Topic::Robustness,
        Topic::Interference,
        Topic::Workloads,
        Topic::Fig15,
        Topic::Table1,
        Topic::Table2,
        Topic::Table2Loop,
    ];

    /// Name on the command line and anchor in the report.
    pub fn name(self) -> &'static str {
        match self {
            Topic::Goals => "goals",
            Topic::Devices => "devices",
            Topic::Fig2 => "fig2",
            Topic::Fig3 => "fig3",
            Topic::Fig5 => "fig5",
            Topic::Fig6 => "fig6",
            Topic::Fig7 => "fig7",
            Topic::Fig8 => "fig8",
            Topic::Fig10 => "fig10",
            Topic::Fig11 => "fig11",
            Topic::Fig12 => "fig12",
            Topic::Moe => "moe",
            Topic::Fig13 => "fig13",
            Topic::Fig13Loop => "fig13_loop",
            Topic::Fig14 => "fig14",
            Topic::Optimum => "optimum",
            Topic::Robustness => "robustness",
            Topic::Interference => "interference",
            Topic::Workloads => "workloads",
            Topic::Fig15 => "fig15",
            Topic::Table1 => "table1",
            Topic::Table2 => "table2",
            Topic::Table2Loop => "table2_loop",
        }
    }

    /// The topic of a name.
    pub fn from_name(name: &str) -> Option<Topic> {
        Topic::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Whether it judges predictors, which must be trained first.
    pub fn needs_predictors(self) -> bool {
        matches!(
            self,
            Topic::Goals
                | Topic::Fig10
                | Topic::Fig12
                | Topic::Moe
                | Topic::Fig13
                | Topic::Fig13Loop
                | Topic::Table2
                | Topic::Table2Loop
        )
    }
}

/// What figures are computed from.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The devices, each in the format it is evaluated in.
    pub devices: &'a [SimulatedDevice],
    /// The sampler's synthetic models.
    pub synthetic: &'a [LlmShape],
    /// Synthetic models as the paper drew them.
    pub independent: &'a [LlmShape],
    /// Predictors of the devices judged on unseen models; only for topics that need predictors.
    pub judged: &'a [Judged],
    /// Accuracy of the devices' thermal models; only for Figure 11.
    pub thermal: &'a [(SimulatedDevice, ThermalAccuracy)],
}

/// Computes a topic.
///
/// # Errors
/// A score without value, or a fault of the published tables.
pub fn exhibit(topic: Topic, inputs: &Inputs<'_>) -> Result<Exhibit, FigureError> {
    match topic {
        Topic::Goals => goals::exhibit(inputs.judged),
        Topic::Devices => devices::exhibit(inputs.devices),
        Topic::Fig2 => Ok(breakdown::exhibit(inputs.devices)),
        Topic::Fig3 => Ok(survey::exhibit(inputs.synthetic)),
        Topic::Fig5 => Ok(ranks::exhibit(inputs.devices, inputs.synthetic)),
        Topic::Fig6 => Ok(tpot::exhibit(inputs.devices, inputs.independent)),
        Topic::Fig7 => Ok(scaled::exhibit(inputs.devices, inputs.independent)),
        Topic::Fig8 => Ok(power::exhibit(inputs.devices, inputs.independent)),
        Topic::Fig10 => accuracy::exhibit(inputs.judged),
        Topic::Fig11 => Ok(thermal_prediction::exhibit(inputs.thermal)),
        Topic::Fig12 => real_llms::exhibit(inputs.judged),
        Topic::Moe => moe::exhibit(inputs.judged),
        Topic::Fig13 => qoe::exhibit(inputs.judged),
        Topic::Fig13Loop => Ok(closed_loop::fig13(inputs.judged)?),
        Topic::Table1 => Ok(corun::exhibit(inputs.devices)),
        Topic::Table2 => policies::exhibit(inputs.devices, inputs.judged),
        Topic::Fig14 => Ok(closed_loop::fig14()?),
        Topic::Optimum => Ok(closed_loop::optima()?),
        Topic::Robustness => Ok(closed_loop::robustness()?),
        Topic::Interference => Ok(closed_loop::interference()?),
        Topic::Workloads => Ok(closed_loop::workloads()?),
        Topic::Fig15 => Ok(closed_loop::fig15()?),
        Topic::Table2Loop => Ok(closed_loop::table2(inputs.judged)?),
    }
}

/// A simulated box for each operating point that has a summary.
fn boxes_of_points(
    device: &SimulatedDevice,
    summary: impl Fn(OperatingPoint) -> Option<FiveNumbers>,
) -> Vec<NamedBox> {
    let boxed = |point| {
        let (name, provenance) = (point_name(point), Provenance::Simulated);
        summary(point).map(|summary| NamedBox { name, provenance, summary })
    };
    device.platform().clocks.points().filter_map(boxed).collect()
}

/// Name of an operating point as the paper writes it.
fn point_name(point: OperatingPoint) -> String {
    format!("M{} N{}", point.mem, point.accel)
}

/// Smallest and largest value; `None` without any.
fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.fold(None, |range, v| match range {
        None => Some((v, v)),
        Some((lo, hi)) => Some((v.min(lo), v.max(hi))),
    })
}

/// Mean; `None` without values.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, n) = values.into_iter().fold((0.0, 0u32), |(sum, n), v| (sum + v, n + 1));
    (n > 0).then(|| sum / f64::from(n))
}

/// Series that one chart can tell apart by colour.
const MOST_SERIES: usize = 5;

/// Charts of a few series each, so that their colours differ; none without series.
fn charts(
    id: &str,
    caption: &str,
    series: &[Series],
    drawing: impl Fn(Vec<Series>) -> Drawing,
) -> Vec<Chart> {
    let parts = series.chunks(MOST_SERIES).enumerate();
    parts
        .map(|(i, part)| Chart {
            id: if i == 0 { id.to_owned() } else { format!("{id}_{}", i + 1) },
            caption: caption.to_owned(),
            drawing: drawing(part.to_vec()),
        })
        .collect()
}

/// Name of a device with its weight format, for captions.
fn device_name(device: &SimulatedDevice) -> String {
    let platform = device.platform();
    format!("{}, {}", platform.name, platform.format)
}
