//! Published figures that the simulated devices answer to.

use enerinfer_datasets::{LlmShape, OperatingPoint, WeightFormat, survey};
use serde::Deserialize;

use crate::policy::Policy;
use crate::{Decode, DeviceError, SimulatedDevice, builtin};

const TABLE_2: &str = include_str!("../published/table2.csv");

/// What a published figure measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Quantity {
    /// Decode throughput, tokens/s.
    ThroughputTokPerS,
    /// Throughput divided by the throughput at the highest clocks.
    RelativeThroughput,
    /// Time of decoding 500 tokens, s.
    #[serde(rename = "latency_500_tokens_s")]
    Latency500TokensS,
    /// Power of the platform's power domain, W.
    PowerW,
    /// Energy efficiency, tokens/J.
    EfficiencyTokPerJ,
    /// Energy per token, mJ.
    EnergyMjPerToken,
    /// Energy of decoding 1000 tokens, J. Not fitted: it checks the fit.
    #[serde(rename = "energy_1000_tokens_j")]
    Energy1000TokensJ,
    /// Weights read per second, GB/s. Not fitted: it checks the fit.
    BandwidthGbPerS,
}

impl Quantity {
    /// Name with unit, as in the files under `published/`.
    pub fn name(self) -> &'static str {
        match self {
            Quantity::ThroughputTokPerS => "throughput_tok_per_s",
            Quantity::RelativeThroughput => "relative_throughput",
            Quantity::Latency500TokensS => "latency_500_tokens_s",
            Quantity::PowerW => "power_w",
            Quantity::EfficiencyTokPerJ => "efficiency_tok_per_j",
            Quantity::EnergyMjPerToken => "energy_mj_per_token",
            Quantity::Energy1000TokensJ => "energy_1000_tokens_j",
            Quantity::BandwidthGbPerS => "bandwidth_gb_per_s",
        }
    }

    /// Whether calibration fits to figures of this quantity; the others check it.
    pub(crate) fn is_fitted(self) -> bool {
        !matches!(self, Quantity::Energy1000TokensJ | Quantity::BandwidthGbPerS)
    }
}

/// One published figure of a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Model name, as in the survey.
    pub model: String,
    /// Model shape.
    pub shape: LlmShape,
    /// Weight format.
    pub format: WeightFormat,
    /// Operating point.
    pub point: OperatingPoint,
    /// What is measured.
    pub quantity: Quantity,
    /// The published value.
    pub value: f64,
    /// How far the simulation may be from it, in percent.
    pub tolerance_percent: f64,
    /// Where it is published.
    pub source: String,
}

impl Figure {
    /// The simulated value. The device must be the figure's platform in the figure's format.
    pub fn simulate(&self, device: &SimulatedDevice) -> f64 {
        let decode = device.decode(&self.shape, self.point);
        let speed = decode.throughput_tok_per_s;
        match self.quantity {
            Quantity::ThroughputTokPerS => speed,
            Quantity::RelativeThroughput => {
                let highest = device.platform().clocks.highest();
                speed / device.decode(&self.shape, highest).throughput_tok_per_s
            }
            Quantity::Latency500TokensS => 500.0 / speed,
            Quantity::PowerW => decode.power_w,
            Quantity::EfficiencyTokPerJ => decode.efficiency_tok_per_j(),
            Quantity::EnergyMjPerToken => 1e3 / decode.efficiency_tok_per_j(),
            Quantity::Energy1000TokensJ => 1e3 / decode.efficiency_tok_per_j(),
            Quantity::BandwidthGbPerS => {
                let format = device.platform().format;
                crate::layout::bytes_per_token(format, &self.shape) / 1e9 * speed
            }
        }
    }
}

/// A published figure beside its simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The published figure.
    pub figure: Figure,
    /// The simulated value, in the figure's unit.
    pub simulated: f64,
}

impl Comparison {
    /// Error of the simulation, in percent of the published value.
    pub fn error_percent(&self) -> f64 {
        100.0 * (self.simulated / self.figure.value - 1.0)
    }
}

/// All published figures of a built-in platform beside their simulation.
///
/// # Errors
/// The platform is unknown.
pub fn compare(platform: &str) -> Result<Vec<Comparison>, DeviceError> {
    figures(platform)?
        .into_iter()
        .map(|figure| {
            let device = SimulatedDevice::builtin(platform, Some(figure.format))?;
            Ok(Comparison { simulated: figure.simulate(&device), figure })
        })
        .collect()
}

/// Mean absolute error of a built-in platform against its published figures, in percent.
///
/// # Errors
/// The platform is unknown.
pub fn mean_error_percent(platform: &str) -> Result<f64, DeviceError> {
    let comparisons = compare(platform)?;
    let total: f64 = comparisons.iter().map(|c| c.error_percent().abs()).sum();
    Ok(total / comparisons.len().max(1) as f64)
}

/// A row of EnerInfer's Table 2: what a policy reaches for a QoE.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyRow {
    /// Model name, as in the survey.
    pub model: String,
    /// Model shape.
    pub shape: LlmShape,
    /// Weight format.
    pub format: WeightFormat,
    /// The policy.
    pub policy: Policy,
    /// Throughput that the user needs, tokens/s.
    pub qoe_tok_per_s: f64,
    /// Published throughput, tokens/s.
    pub throughput_tok_per_s: f64,
    /// Published efficiency, tokens/J.
    pub efficiency_tok_per_j: f64,
    /// Published efficiency relative to the default's, in percent above it.
    pub gain_percent: f64,
}

impl PolicyRow {
    /// The operating point that the policy chooses on a noiseless table, its gain over the
    /// highest clocks in percent, and what it reaches; none if no point is fast enough.
    pub fn simulate(
        &self,
        table: &[(OperatingPoint, Decode)],
    ) -> Option<(OperatingPoint, f64, Decode)> {
        let (point, decode) = self.policy.choose(table, self.qoe_tok_per_s)?;
        let (_, highest) = table.last()?;
        let gain = decode.efficiency_tok_per_j() / highest.efficiency_tok_per_j() - 1.0;
        Some((point, 100.0 * gain, decode))
    }
}

#[derive(Deserialize)]
struct FigureRecord {
    model: String,
    format: String,
    mem_level: u8,
    accel_level: u8,
    quantity: Quantity,
    value: f64,
    tolerance_percent: f64,
    source: String,
}

#[derive(Deserialize)]
struct PolicyRecord {
    platform: String,
    model: String,
    format: String,
    policy: Policy,
    qoe_tok_per_s: f64,
    throughput_tok_per_s: f64,
    efficiency_tok_per_j: f64,
    gain_percent: f64,
}

/// The published figures of a built-in platform.
///
/// # Errors
/// The platform is unknown. The embedded tables themselves are held sound by a test.
pub fn figures(platform: &str) -> Result<Vec<Figure>, DeviceError> {
    let file = format!("published/{platform}.csv");
    records::<FigureRecord>(builtin::published(platform)?, &file)?
        .into_iter()
        .map(|(line, f)| {
            Ok(Figure {
                shape: shape(&file, line, &f.model)?,
                format: format_of(&file, line, &f.format)?,
                point: OperatingPoint { mem: f.mem_level, accel: f.accel_level },
                model: f.model,
                quantity: f.quantity,
                value: f.value,
                tolerance_percent: f.tolerance_percent,
                source: f.source,
            })
        })
        .collect()
}

/// The rows of EnerInfer's Table 2 of a platform; none if the table does not have it.
///
/// # Errors
/// None for the embedded table: it is held sound by a test.
pub fn policy_rows(platform: &str) -> Result<Vec<PolicyRow>, DeviceError> {
    let file = "published/table2.csv";
    records::<PolicyRecord>(TABLE_2, file)?
        .into_iter()
        .filter(|(_, r)| r.platform == platform)
        .map(|(line, r)| {
            Ok(PolicyRow {
                shape: shape(file, line, &r.model)?,
                format: format_of(file, line, &r.format)?,
                model: r.model,
                policy: r.policy,
                qoe_tok_per_s: r.qoe_tok_per_s,
                throughput_tok_per_s: r.throughput_tok_per_s,
                efficiency_tok_per_j: r.efficiency_tok_per_j,
                gain_percent: r.gain_percent,
            })
        })
        .collect()
}

/// Records with their lines.
fn records<T: serde::de::DeserializeOwned>(
    text: &str,
    file: &str,
) -> Result<Vec<(usize, T)>, DeviceError> {
    csv::Reader::from_reader(text.as_bytes())
        .into_deserialize()
        .zip(2..)
        .map(|(record, line)| Ok((line, record.map_err(|e| fault(file, line, e.to_string()))?)))
        .collect()
}

fn shape(file: &str, line: usize, model: &str) -> Result<LlmShape, DeviceError> {
    survey::find(model)
        .map(|m| m.shape)
        .ok_or_else(|| fault(file, line, format!("model `{model}` is not in the survey")))
}

fn format_of(file: &str, line: usize, name: &str) -> Result<WeightFormat, DeviceError> {
    WeightFormat::parse(name)
        .ok_or_else(|| fault(file, line, format!("unknown weight format `{name}`")))
}

fn fault(file: &str, line: usize, message: String) -> DeviceError {
    DeviceError::DataFile { file: file.to_owned(), line, message }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_tables_are_sound() {
        for platform in crate::names() {
            let device = SimulatedDevice::builtin(platform, None).unwrap();
            let clocks = &device.platform().clocks;
            for figure in figures(platform).unwrap() {
                assert!(usize::from(figure.point.mem) < clocks.mem_khz.len(), "{figure:?}");
                assert!(usize::from(figure.point.accel) < clocks.accel_khz.len(), "{figure:?}");
                assert!(figure.value > 0.0 && figure.tolerance_percent > 0.0, "{figure:?}");
            }
            policy_rows(platform).unwrap();
        }
    }
}
