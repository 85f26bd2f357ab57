//! Predictors: a forest with the meaning of its output, as trained and as the device runs it.
//!
//! Device semantics, which the interpreter here defines and generated code repeats bit for bit:
//!
//! ```text
//! sum    = base + Σ leaf                          (64-bit, never overflows: checked when built)
//! value  = sum >> shift   (shift ≥ 0)  or  sum << −shift
//! value  = clamp(value, 1, max)                   max = 2^30 for `scale`, else 2^32 − 1
//! ```
//!
//! `value` is in µtok/s for throughput, µW for power, and 2⁻³⁰ for `scale`. A normalised `peak`
//! is multiplied by `reference` and divided by the shape's `feature`. Then
//! `R[u] = max(1, (peak · scale[u]) >> 30)`; at the highest clocks `scale` is 1 by definition,
//! whatever is predicted, so that `R` is `peak` there and nowhere higher.

use serde::{Deserialize, Serialize};

use crate::{ClockTables, Error, Feature, Forest, ShapeDims};

/// What a predictor predicts (EnerInfer §4.2–4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Decode throughput at the highest clocks, tokens/s.
    Peak,
    /// Throughput at an operating point relative to `Peak`, in (0, 1].
    Scale,
    /// Accelerator + memory power while decoding, W.
    Power,
    /// Accelerator power alone, W.
    AccelPower,
    /// Throughput at an operating point directly, tokens/s: the baseline that shows what
    /// `Peak · Scale` buys.
    Monolithic,
}

impl Target {
    /// All targets that are compiled for a device.
    pub const COMPILED: [Target; 4] =
        [Target::Peak, Target::Scale, Target::Power, Target::AccelPower];

    /// Stable snake-case name.
    pub fn name(self) -> &'static str {
        match self {
            Target::Peak => "peak",
            Target::Scale => "scale",
            Target::Power => "power",
            Target::AccelPower => "accel_power",
            Target::Monolithic => "monolithic",
        }
    }

    /// Integer units of one: 10⁶ per tok/s or W, 2³⁰ for the dimensionless scale.
    pub fn units_per_one(self) -> f64 {
        match self {
            Target::Scale => f64::from(SCALE_ONE),
            _ => 1e6,
        }
    }

    /// Largest device value.
    pub fn max_value(self) -> u32 {
        match self {
            Target::Scale => SCALE_ONE,
            _ => u32::MAX,
        }
    }
}

/// 1.0 of `scale` on the device.
pub const SCALE_ONE: u32 = 1 << 30;

/// The target was multiplied by `feature / reference` before fitting; the device divides back.
///
/// Throughput is nearly inverse to the weights read per token; a forest, which can only average,
/// predicts the product much better than the quotient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Normaliser {
    /// Shape feature that multiplied the target.
    pub feature: Feature,
    /// Positive reference value of that feature, which keeps the product near tokens/s.
    pub reference: u32,
}

impl Normaliser {
    /// Factor by which a target value of the given shape was multiplied.
    pub fn factor(&self, shape: &ShapeDims) -> f64 {
        let value = shape.feature(self.feature).unwrap_or(1).max(1);
        f64::from(value) / f64::from(self.reference)
    }
}

/// Training range of one input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// Smallest training value.
    pub min: u32,
    /// Largest training value.
    pub max: u32,
}

/// A predictor as trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predictor {
    /// What is predicted.
    pub target: Target,
    /// Set when the forest learnt a normalised target.
    pub normaliser: Option<Normaliser>,
    /// Training range per input, in the order of `forest.features`.
    pub domain: Vec<Domain>,
    /// The forest; its value is in tok/s, W, or 1 for `scale`.
    pub forest: Forest<f64>,
}

impl Predictor {
    /// Checks the forest, the domain and the normaliser.
    pub fn validate(&self) -> Result<(), Error> {
        let context = |e: Error| Error::invalid(format!("predictor `{}`: {e}", self.target.name()));
        self.forest.validate().map_err(context)?;
        if self.domain.len() != self.forest.features.len() {
            return Err(context(Error::invalid(format!(
                "{} domains for {} inputs",
                self.domain.len(),
                self.forest.features.len()
            ))));
        }
        if self.domain.iter().any(|d| d.min > d.max) {
            return Err(context(Error::invalid("a domain has min > max".to_owned())));
        }
        if let Some(n) = &self.normaliser
            && (n.reference == 0 || n.feature.is_clock())
        {
            return Err(context(Error::invalid(format!(
                "normaliser by `{}` with reference {}; a shape feature and a positive \
                     reference are needed",
                n.feature.name(),
                n.reference
            ))));
        }
        Ok(())
    }

    /// Prediction in tok/s, W or 1, in floating point (the reference before quantisation).
    pub fn predict(&self, shape: &ShapeDims, clocks_khz: (u32, u32)) -> f64 {
        let x = inputs(&self.forest.features, shape, clocks_khz);
        let raw = self.forest.predict(&x);
        match &self.normaliser {
            Some(n) => raw / n.factor(shape),
            None => raw,
        }
    }
}

/// Input row of a forest for a shape at the given `(accel_khz, mem_khz)`.
pub fn inputs(features: &[Feature], shape: &ShapeDims, clocks_khz: (u32, u32)) -> Vec<u32> {
    features
        .iter()
        .map(|&f| match f {
            Feature::AccelKhz => clocks_khz.0,
            Feature::MemKhz => clocks_khz.1,
            // Every other feature is a shape feature.
            f => shape.feature(f).unwrap_or(0),
        })
        .collect()
}

/// A predictor as the device runs it: fixed-point leaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntPredictor {
    /// What is predicted.
    pub target: Target,
    /// Set when the forest learnt a normalised target.
    pub normaliser: Option<Normaliser>,
    /// Training range per input, in the order of `forest.features`.
    pub domain: Vec<Domain>,
    /// Forest with fixed-point leaves.
    pub forest: Forest<i64>,
    /// Right shift (left if negative) from the sum to the unit of the target.
    pub shift: i8,
}

impl IntPredictor {
    /// The device's value of a sum of leaves: shift, then clamp to `1..=max`.
    pub fn finish(&self, sum: i64) -> u32 {
        let value =
            if self.shift >= 0 { sum >> self.shift } else { sum << self.shift.unsigned_abs() };
        // Clamped to at most u32::MAX, so the cast is exact.
        value.clamp(1, i64::from(self.target.max_value())) as u32
    }

    /// `base + Σ leaf` for a row.
    pub fn sum(&self, x: &[u32]) -> i64 {
        self.forest.roots.iter().fold(self.forest.base, |s, &r| s + self.forest.leaf(r, x))
    }

    /// Device value for a row of inputs, before the normaliser.
    pub fn raw(&self, x: &[u32]) -> u32 {
        self.finish(self.sum(x))
    }

    /// Device value for a shape at the given `(accel_khz, mem_khz)`, normaliser applied.
    pub fn predict(&self, shape: &ShapeDims, clocks_khz: (u32, u32)) -> u32 {
        let raw = self.raw(&inputs(&self.forest.features, shape, clocks_khz));
        match &self.normaliser {
            None => raw,
            Some(n) => {
                let divisor = u64::from(shape.feature(n.feature).unwrap_or(1).max(1));
                let value = u64::from(raw) * u64::from(n.reference) / divisor;
                value.clamp(1, u64::from(u32::MAX)) as u32
            }
        }
    }
}

/// `R[u]` in µtok/s of a shape at every operating point, in index order.
///
/// A predicted scale of the highest clocks would leave the fastest point to chance: it could be
/// predicted slower than another, and be missing from the front that feedback walks.
pub fn throughput_utok_per_s(
    peak: &IntPredictor,
    scale: &IntPredictor,
    clocks: &ClockTables,
    shape: &ShapeDims,
) -> Vec<u32> {
    let highest = clocks.highest();
    let peak = peak.predict(shape, clocks.clocks_khz(highest));
    let at = |point| match point == highest {
        true => SCALE_ONE,
        false => scale.predict(shape, clocks.clocks_khz(point)),
    };
    clocks.points().map(|point| scaled_utok_per_s(peak, at(point))).collect()
}

/// `peak · scale`, never zero.
fn scaled_utok_per_s(peak: u32, scale: u32) -> u32 {
    ((u64::from(peak) * u64::from(scale)) >> 30).max(1) as u32
}
