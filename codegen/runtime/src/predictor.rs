//! Prediction of a model's tables from its shape.

use crate::coverage::Coverage;
use crate::model;
use crate::shape::Shape;
use crate::tables::Tables;
use crate::units::{MicroTokPerS, MicroWatt};

/// Predicted tables of one model, and how far they can be trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// Throughput and power at every operating point.
    pub tables: Tables<{ model::POINTS }>,
    /// Whether the shape lies inside the training range.
    pub coverage: Coverage,
}

/// Predicted throughput and power of one model at one operating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointPrediction {
    /// Decode throughput.
    pub throughput: MicroTokPerS,
    /// Accelerator + memory power while decoding; zero when there is no power predictor.
    pub power: MicroWatt,
    /// Accelerator power; zero when there is no such predictor.
    pub accel_power: MicroWatt,
    /// Whether the shape lies inside the training range.
    pub coverage: Coverage,
}

/// The predictors of this crate's platform.
#[derive(Clone, Copy, Debug)]
pub struct Predictor;

impl Predictor {
    /// Throughput, power and accelerator power of a model at every operating point. Called once
    /// when a model is loaded: `R[u] = peak · scale[u]` (EnerInfer §4.2). At the highest clocks
    /// the scale is 1 by definition, so that no point is predicted faster than they are and a
    /// controller that walks the front always gets to them.
    pub fn tables(shape: &Shape) -> Prediction {
        let peak = model::peak(shape);
        let mut scale = [0; model::POINTS];
        model::scale(shape, &mut scale);
        if let Some(highest) = scale.last_mut() {
            *highest = SCALE_ONE;
        }
        let mut power = [0; model::POINTS];
        model::power(shape, &mut power);
        let mut accel_power = [0; model::POINTS];
        model::accel_power(shape, &mut accel_power);
        Prediction {
            tables: Tables {
                throughput: scale.map(|s| MicroTokPerS(throughput(peak, s))),
                power: power.map(MicroWatt),
                accel_power: accel_power.map(MicroWatt),
            },
            coverage: coverage(shape),
        }
    }

    /// The entry of [`Predictor::tables`] for one operating point, to the bit; `None` where there
    /// is no such point. A crate that was compiled for speed walks trees of that point alone;
    /// others make the table, so that more than one point is better taken from there.
    pub fn at_point(shape: &Shape, point: u16) -> Option<PointPrediction> {
        if usize::from(point) >= model::POINTS {
            return None;
        }
        let scale = match usize::from(point) + 1 {
            model::POINTS => SCALE_ONE,
            _ => model::scale_at(shape, point),
        };
        Some(PointPrediction {
            throughput: MicroTokPerS(throughput(model::peak(shape), scale)),
            power: MicroWatt(model::power_at(shape, point)),
            accel_power: MicroWatt(model::accel_power_at(shape, point)),
            coverage: coverage(shape),
        })
    }
}

/// One entry of a table.
pub fn entry(point: u16, table: impl FnOnce(&mut [u32; model::POINTS])) -> u32 {
    let mut all = [0; model::POINTS];
    table(&mut all);
    all.get(usize::from(point)).copied().unwrap_or(0)
}

/// 1.0 of a scale.
const SCALE_ONE: u32 = 1 << 30;

/// `peak · scale`, the latter in 2⁻³⁰; never zero, so that efficiency and time per token exist.
fn throughput(peak: u32, scale: u32) -> u32 {
    let value = (u64::from(peak) * u64::from(scale)) >> 30;
    if value == 0 {
        1
    } else {
        value as u32
    }
}

fn coverage(shape: &Shape) -> Coverage {
    for range in model::RANGES {
        let value = shape.feature(range.feature);
        if value < range.min || value > range.max {
            return Coverage::Extrapolated { feature: range.feature };
        }
    }
    Coverage::Inside
}

/// Device value of a sum of leaves: shift, then clamp to `1..=max`.
pub fn finish(sum: i64, shift: i8, max: u32) -> u32 {
    let value = if shift >= 0 { sum >> (shift & 63) } else { sum << (shift.unsigned_abs() & 63) };
    if value < 1 {
        1
    } else if value > i64::from(max) {
        max
    } else {
        value as u32
    }
}

/// Undoes the normalisation of a target that was learnt as `target · feature / reference`.
pub fn denormalise(value: u32, reference: u32, feature: u32) -> u32 {
    let divisor = u64::from(if feature == 0 { 1 } else { feature });
    let quotient = u64::from(value) * u64::from(reference) / divisor;
    if quotient < 1 {
        1
    } else if quotient > u64::from(u32::MAX) {
        u32::MAX
    } else {
        quotient as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The committed model's forests are drawn at random, so that its scale of the highest clocks
    /// says nothing.
    #[test]
    fn the_highest_clocks_reach_the_peak_and_nothing_exceeds_it() {
        for hidden in [512, 1536, 4096, 8192] {
            let shape = Shape::new(28, hidden, 12, 2, 8960, 151_936);
            let throughput = Predictor::tables(&shape).tables.throughput;
            assert_eq!(throughput.last().map(|r| r.0), Some(model::peak(&shape)));
            assert_eq!(throughput.iter().max(), throughput.last());
        }
    }

    #[test]
    fn one_point_is_the_entry_of_the_table() {
        let shape = Shape::new(28, 1536, 12, 2, 8960, 151_936);
        let Prediction { tables, coverage } = Predictor::tables(&shape);
        let entries = tables.throughput.iter().zip(&tables.power).zip(&tables.accel_power);
        for (point, ((&throughput, &power), &accel_power)) in entries.enumerate() {
            let entry = PointPrediction { throughput, power, accel_power, coverage };
            assert_eq!(Predictor::at_point(&shape, point as u16), Some(entry));
        }
        assert_eq!(Predictor::at_point(&shape, model::POINTS as u16), None);
        assert_eq!(Predictor::at_point(&shape, u16::MAX), None);
    }
}
