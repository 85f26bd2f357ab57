//! linfa's `Fit` and `Predict` for forests, on datasets whose features are whole numbers.

use enerinfer_artifacts::{Feature, Forest};
use linfa::dataset::{AsSingleTargets, DatasetBase};
use linfa::traits::{Fit, PredictInplace};
use ndarray::{Array1, ArrayBase, Data, Ix2};

use crate::{CodedMatrix, ForestValidParams, LearnError};

/// A fitted forest as a linfa model.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomForest {
    /// The forest in IR.
    pub forest: Forest<f64>,
}

impl<D: Data<Elem = f64>, T: AsSingleTargets<Elem = f64>> Fit<ArrayBase<D, Ix2>, T, LearnError>
    for ForestValidParams
{
    type Object = RandomForest;

    /// Fits to a dataset whose feature names are those of the schema (`layers`, `accel_khz`, …)
    /// and whose values are whole numbers. Weights of the dataset are sample weights.
    fn fit(&self, dataset: &DatasetBase<ArrayBase<D, Ix2>, T>) -> Result<RandomForest, LearnError> {
        let records = dataset.records();
        let names = dataset.feature_names();
        let features = if names.is_empty() {
            return Err(LearnError::UnknownFeature(String::new()));
        } else {
            names
                .iter()
                .map(|name| {
                    let feature = Feature::from_name(name);
                    feature.ok_or_else(|| LearnError::UnknownFeature(name.clone()))
                })
                .collect::<Result<Vec<_>, _>>()?
        };
        let columns = records
            .columns()
            .into_iter()
            .zip(&features)
            .map(|(column, feature)| {
                column.iter().enumerate().map(|(row, &v)| whole(row, *feature, v)).collect()
            })
            .collect::<Result<Vec<Vec<u32>>, _>>()?;
        let x = CodedMatrix::new(features, columns)?;
        let y: Vec<f64> = dataset.as_single_targets().iter().copied().collect();
        let w: Option<Vec<f64>> =
            dataset.weights().map(|w| w.iter().map(|&w| f64::from(w)).collect());
        let rows: Vec<u32> = (0..x.n_rows() as u32).collect();
        let forest = ForestValidParams::fit(self, &x, &rows, &y, w.as_deref(), self.seed())?;
        Ok(RandomForest { forest })
    }
}

/// A cell as the whole number that it must be.
fn whole(row: usize, feature: Feature, value: f64) -> Result<u32, LearnError> {
    if value >= 0.0 && value <= f64::from(u32::MAX) && value.fract() == 0.0 {
        Ok(value as u32)
    } else {
        Err(LearnError::NotWhole { row, feature: feature.name().to_owned(), value })
    }
}

impl<D: Data<Elem = f64>> PredictInplace<ArrayBase<D, Ix2>, Array1<f64>> for RandomForest {
    /// linfa's prediction cannot fail. A value that is not a whole number is rounded down, which
    /// `x <= threshold` cannot tell from the value itself; outside `u32` it saturates; a row with
    /// NaN predicts NaN.
    fn predict_inplace<'a>(&'a self, x: &'a ArrayBase<D, Ix2>, y: &mut Array1<f64>) {
        for (row, out) in x.rows().into_iter().zip(y.iter_mut()) {
            *out = if row.len() != self.forest.features.len() || row.iter().any(|v| v.is_nan()) {
                f64::NAN
            } else {
                let values: Vec<u32> = row.iter().map(|&v| v.floor() as u32).collect();
                self.forest.predict(&values)
            };
        }
    }

    fn default_target(&self, x: &ArrayBase<D, Ix2>) -> Array1<f64> {
        Array1::zeros(x.nrows())
    }
}
