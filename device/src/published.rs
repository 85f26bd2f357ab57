//! Published figures that the simulated devices answer to.

use enerinfer_datasets::{LlmShape, OperatingPoint, ShapeSpec, WeightFormat};
use serde::Deserialize;

use crate::{DeviceError, SimulatedDevice};

const MODELS: &str = include_str!("../published/models.csv");

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
        }
    }
}

/// One published figure of a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Model name.
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
        }
    }
}

#[derive(Deserialize)]
struct ModelRecord {
    model: String,
    layers: u32,
    hidden: u32,
    heads: u32,
    kv_heads: u32,
    head_dim: u32,
    ffn: u32,
    vocab: u32,
    gated: bool,
    tied: bool,
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

/// The shapes that published figures speak of, by name.
///
/// # Panics
/// Never: the embedded file is checked by a test.
pub fn models() -> Vec<(String, LlmShape)> {
    records::<ModelRecord>(MODELS)
        .into_iter()
        .map(|m| {
            let spec = ShapeSpec {
                layers: m.layers,
                hidden: m.hidden,
                heads: m.heads,
                kv_heads: m.kv_heads,
                head_dim: Some(m.head_dim),
                ffn: m.ffn,
                vocab: m.vocab,
                gated: Some(m.gated),
                tied: Some(m.tied),
                ..ShapeSpec::default()
            };
            let shape = LlmShape::new(spec).expect("embedded shapes are checked by a test");
            (m.model, shape)
        })
        .collect()
}

/// The published figures of a built-in platform.
///
/// # Errors
/// The platform is unknown.
pub fn figures(platform: &str) -> Result<Vec<Figure>, DeviceError> {
    let text = crate::builtin::published(platform)?;
    let models = models();
    let figures = records::<FigureRecord>(text)
        .into_iter()
        .map(|f| {
            let shape = models.iter().find(|(name, _)| *name == f.model).map(|(_, shape)| *shape);
            Figure {
                shape: shape.expect("every model of the embedded figures is in models.csv"),
                format: WeightFormat::parse(&f.format).expect("embedded formats are known"),
                point: OperatingPoint { mem: f.mem_level, accel: f.accel_level },
                model: f.model,
                quantity: f.quantity,
                value: f.value,
                tolerance_percent: f.tolerance_percent,
                source: f.source,
            }
        })
        .collect();
    Ok(figures)
}

fn records<T: serde::de::DeserializeOwned>(text: &str) -> Vec<T> {
    csv::Reader::from_reader(text.as_bytes())
        .into_deserialize()
        .collect::<Result<_, _>>()
        .expect("embedded tables are checked by a test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_tables_are_sound() {
        assert!(models().len() > 10);
        for platform in crate::names() {
            let clocks =
                SimulatedDevice::builtin(platform, None).unwrap().platform().clocks.clone();
            for figure in figures(platform).unwrap() {
                assert!(usize::from(figure.point.mem) < clocks.mem_khz.len(), "{figure:?}");
                assert!(usize::from(figure.point.accel) < clocks.accel_khz.len(), "{figure:?}");
                assert!(figure.value > 0.0 && figure.tolerance_percent > 0.0, "{figure:?}");
            }
        }
    }
}
