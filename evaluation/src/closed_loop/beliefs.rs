//! What the controllers are told: predicted tables and a thermal model.

use enerinfer_device::Decode;
use enerinfer_runtime::coordinator::Fronts;
use enerinfer_runtime::tables::Tables;
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::units::{MicroTokPerS, MicroWatt};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::{HeatSplit, LoopError};

/// Operating points that the controllers are compiled for here. Points beyond a platform's own
/// are unattainable.
pub const POINTS: usize = 128;

/// Tables and thermal model as the controllers hold them.
#[derive(Clone, Debug)]
pub struct Beliefs {
    /// Predicted values per operating point, in index order.
    pub predicted: Vec<Decode>,
    pub(super) tables: Box<Tables<POINTS>>,
    pub(super) fronts: Box<Fronts<POINTS>>,
    pub(super) thermal: ThermalModel,
}

fn micro(value: f64) -> u32 {
    // Saturates; NaN becomes 0, which no controller chooses.
    (value * 1e6).round() as u32
}

impl Beliefs {
    /// From predictions. The power that the thermal model was fitted on is that of `heat`.
    ///
    /// # Errors
    /// There are more points than [`POINTS`].
    pub fn new(
        predicted: Vec<Decode>,
        heat: HeatSplit,
        thermal: ThermalModel,
    ) -> Result<Self, LoopError> {
        if predicted.len() > POINTS {
            return Err(LoopError::TooManyPoints { points: predicted.len() });
        }
        let mut tables = Box::new(Tables {
            throughput: [MicroTokPerS(0); POINTS],
            power: [MicroWatt(u32::MAX); POINTS],
            accel_power: [MicroWatt(u32::MAX); POINTS],
        });
        for (i, decode) in predicted.iter().enumerate() {
            tables.throughput[i] = MicroTokPerS(micro(decode.throughput_tok_per_s));
            tables.power[i] = MicroWatt(micro(decode.power_w));
            tables.accel_power[i] = MicroWatt(micro(heat.heat_w(decode)));
        }
        let fronts = Box::new(Fronts::new(&tables));
        Ok(Beliefs { predicted, tables, fronts, thermal })
    }

    /// The same with a power table (not heat) that makes one point look more efficient than it
    /// is, by a factor.
    pub(super) fn favour(mut self, index: usize, factor: f64) -> Self {
        if let (Some(decode), Some(power)) =
            (self.predicted.get(index), self.tables.power.get_mut(index))
        {
            *power = MicroWatt(micro(decode.power_w / factor));
            *self.fronts = Fronts::new(&self.tables);
        }
        self
    }
}

/// Predictions that are wrong by up to `relative` either way, drawn for every value from `seed`.
pub fn disturbed(truth: &[Decode], relative: f64, seed: u64) -> Vec<Decode> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut factor = || 1.0 + relative * (2.0 * rng.random::<f64>() - 1.0);
    truth
        .iter()
        .map(|decode| {
            let power_w = decode.power_w * factor();
            Decode {
                throughput_tok_per_s: decode.throughput_tok_per_s * factor(),
                power_w,
                accel_power_w: (decode.accel_power_w * factor()).min(power_w),
            }
        })
        .collect()
}
