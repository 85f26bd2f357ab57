//! Tables of a model as the device will compute them, next to what was measured.

use enerinfer_artifacts::{IntPredictor, ShapeDims, Target, throughput_utok_per_s};
use enerinfer_datasets::{MeasurementTable, Platform};

/// The compiled predictors of a platform.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Predictors<'a>(pub(crate) &'a [IntPredictor]);

/// Values per operating point of one model, in index order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ModelTables {
    /// Throughput, tok/s.
    pub(crate) tok_per_s: Vec<f64>,
    /// Power, W, if known.
    pub(crate) power_w: Option<Vec<f64>>,
}

impl ModelTables {
    /// Efficiency, tok/J, if power is known.
    pub(crate) fn tok_per_j(&self) -> Option<Vec<f64>> {
        let power = self.power_w.as_ref()?;
        Some(self.tok_per_s.iter().zip(power).map(|(r, p)| r / p).collect())
    }
}

impl<'a> Predictors<'a> {
    /// The predictor of a target.
    pub(crate) fn get(&self, target: Target) -> Option<&'a IntPredictor> {
        self.0.iter().find(|p| p.target == target)
    }

    /// Predictions of one target at every operating point, in tok/s, W or 1.
    pub(crate) fn target(
        &self,
        target: Target,
        platform: &Platform,
        shape: &ShapeDims,
    ) -> Option<Vec<f64>> {
        let p = self.get(target)?;
        let clocks = &platform.clocks;
        Some(
            clocks
                .points()
                .map(|u| f64::from(p.predict(shape, clocks.clocks_khz(u))) / target.units_per_one())
                .collect(),
        )
    }

    /// `R = peak · scale` and `P` at every operating point, by the device's integer arithmetic.
    /// `None` without the two throughput predictors.
    pub(crate) fn tables(&self, platform: &Platform, shape: &ShapeDims) -> Option<ModelTables> {
        let clocks = &platform.clocks;
        let (peak, scale) = (self.get(Target::Peak)?, self.get(Target::Scale)?);
        let tok_per_s = throughput_utok_per_s(peak, scale, clocks, shape)
            .into_iter()
            .map(|r| f64::from(r) / 1e6)
            .collect();
        Some(ModelTables { tok_per_s, power_w: self.target(Target::Power, platform, shape) })
    }
}

/// Measured tables of a model.
pub(crate) fn measured_tables(table: &MeasurementTable, model: usize) -> ModelTables {
    let rows = table.rows_of(model);
    ModelTables {
        tok_per_s: rows.iter().map(|r| r.throughput_tok_per_s).collect(),
        // Either every row has power or none has: a rule of the table.
        power_w: rows.iter().map(|r| r.power_w).collect(),
    }
}
