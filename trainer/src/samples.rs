//! Training samples: a measurement table seen as inputs and values of one target.

use enerinfer_artifacts::{Feature, Normaliser, ShapeDims, Target, inputs};
use enerinfer_datasets::{MeasurementTable, Row};

/// Inputs and values of one target; one entry per row.
#[derive(Clone, Debug)]
pub(crate) struct Samples {
    /// Meaning of each column.
    pub(crate) features: Vec<Feature>,
    /// One column of whole numbers per feature.
    pub(crate) columns: Vec<Vec<u32>>,
    /// Value of the target, normalised if a normaliser is set.
    pub(crate) values: Vec<f64>,
    /// Model of each row, an index into the table's models.
    pub(crate) models: Vec<u32>,
    /// How values were normalised.
    pub(crate) normaliser: Option<Normaliser>,
}

/// A set of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum FeatureSet {
    /// The paper's inputs (EnerInfer §4.2 "Input", §4.3): six hyper-parameters, total parameters
    /// for the throughput predictors, and both clocks for all but `peak`.
    Paper,
    /// The paper's, total parameters for every target, and whole numbers derived from them: weights
    /// read per token, in the LM head, the FFN and attention; key/value and query widths; head size.
    Derived,
}

/// Inputs that tell a mixture of experts from the dense model that reads the same weights (EnerInfer
/// §4.6): its FFN is read in shorter rows, and it has a router.
pub(crate) const MIXTURE_FEATURES: [Feature; 2] = [Feature::ActiveExperts, Feature::Experts];

impl FeatureSet {
    /// The other set.
    pub(crate) fn other(self) -> Self {
        match self {
            FeatureSet::Paper => FeatureSet::Derived,
            FeatureSet::Derived => FeatureSet::Paper,
        }
    }

    /// Inputs of a target.
    pub(crate) fn features(self, target: Target) -> Vec<Feature> {
        let power = matches!(target, Target::Power | Target::AccelPower);
        let mut features = Feature::PAPER_SHAPE.to_vec();
        match self {
            // Total parameters stand last.
            FeatureSet::Paper if power => features.truncate(6),
            FeatureSet::Paper => {}
            FeatureSet::Derived => features.extend([
                Feature::ReadParamsK,
                Feature::LmHeadParamsK,
                Feature::FfnParamsK,
                Feature::AttnParamsK,
                Feature::KvWidth,
                Feature::QWidth,
                Feature::HeadDim,
            ]),
        }
        if target != Target::Peak {
            features.extend(Feature::CLOCKS);
        }
        features
    }
}

/// Measured value of a target in a row; `None` where the table has no such column.
pub(crate) fn measured(target: Target, row: &Row, peak_tok_per_s: f64) -> Option<f64> {
    match target {
        Target::Peak | Target::Monolithic => Some(row.throughput_tok_per_s),
        Target::Scale => Some(row.throughput_tok_per_s / peak_tok_per_s),
        Target::Power => row.power_w,
        Target::AccelPower => row.accel_power_w,
    }
}

/// Measured throughput of a model at the highest clocks, tok/s.
pub(crate) fn peak_tok_per_s(table: &MeasurementTable, model: usize) -> f64 {
    let highest = table.platform.clocks.index(table.platform.clocks.highest());
    table.rows_of(model)[highest].throughput_tok_per_s
}

/// Normaliser by the median of a shape feature over the table's models.
pub(crate) fn median_normaliser(table: &MeasurementTable, feature: Feature) -> Normaliser {
    let mut values: Vec<u32> =
        table.models.iter().filter_map(|m| m.shape.dims().feature(feature)).collect();
    values.sort_unstable();
    let reference = values.get(values.len() / 2).copied().unwrap_or(1).max(1);
    Normaliser { feature, reference }
}

/// Samples of a target over all models of a table: one row per model for `peak` (the highest
/// clocks), one per model and operating point for everything else.
pub(crate) fn samples(
    table: &MeasurementTable,
    target: Target,
    features: &[Feature],
    normaliser: Option<Normaliser>,
) -> Samples {
    let clocks = &table.platform.clocks;
    let mut out = Samples {
        features: features.to_vec(),
        columns: vec![Vec::new(); features.len()],
        values: Vec::new(),
        models: Vec::new(),
        normaliser,
    };
    for (m, model) in table.models.iter().enumerate() {
        let dims: &ShapeDims = model.shape.dims();
        let peak = peak_tok_per_s(table, m);
        let factor = normaliser.map_or(1.0, |n| n.factor(dims));
        for row in table.rows_of(m) {
            if target == Target::Peak && row.point != clocks.highest() {
                continue;
            }
            let Some(value) = measured(target, row, peak) else { continue };
            let x = inputs(features, dims, clocks.clocks_khz(row.point));
            for (column, value) in out.columns.iter_mut().zip(x) {
                column.push(value);
            }
            out.values.push(value * factor);
            out.models.push(m as u32);
        }
    }
    out
}
