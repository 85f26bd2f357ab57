//! Preprocessing of the dense families: standardised inputs and target, learnt from the training
//! rows of a fit alone.

use enerinfer_artifacts::Feature;
use ndarray::{Array1, Array2};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::draw::subsample;
use crate::fixed::FixedRows;
use crate::{CodedMatrix, LearnError, Regressor};

/// How inputs and target enter a dense family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scales {
    /// `ln max(x, 1)` instead of `x`: sizes and clocks act by their ratios.
    pub(crate) log_inputs: bool,
    /// `ln y` instead of `y`: the squared error becomes relative. Needs positive targets.
    pub(crate) log_target: bool,
}

/// Standardisation of the inputs.
#[derive(Clone, Debug)]
struct Inputs {
    features: Vec<Feature>,
    log: bool,
    /// Mean and standard deviation; a constant column carries no information and becomes 0, for
    /// new values too.
    columns: Vec<Option<(f64, f64)>>,
}

impl Inputs {
    fn new(x: &CodedMatrix, rows: &[u32], log: bool) -> Self {
        let columns = (0..x.features().len())
            .map(|f| {
                let values: Vec<f64> =
                    rows.iter().map(|&r| Self::scale(log, x.value(r as usize, f))).collect();
                // No epsilon: a column is constant when all its codes are the same.
                let first = x.codes(f)[rows[0] as usize];
                if rows.iter().all(|&r| x.codes(f)[r as usize] == first) {
                    return None;
                }
                Some(mean_and_deviation(&values))
            })
            .collect();
        Inputs { features: x.features().to_vec(), log, columns }
    }

    fn scale(log: bool, value: u32) -> f64 {
        if log { f64::from(value.max(1)).ln() } else { f64::from(value) }
    }

    fn apply(&self, x: &CodedMatrix, rows: &[u32]) -> Array2<f64> {
        Array2::from_shape_fn((rows.len(), self.columns.len()), |(i, f)| match self.columns[f] {
            Some((mean, deviation)) => {
                let scaled = Self::scale(self.log, x.value(rows[i] as usize, f));
                rounded((scaled - mean) / deviation)
            }
            None => 0.0,
        })
    }
}

/// Mean and (population) standard deviation of values that are not all equal.
fn mean_and_deviation(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
    (mean, variance.sqrt())
}

/// A standardised value in units of 2⁻³⁰. Another unit of a feature changes the last bits of a
/// standardised value; iterative solvers would make a different model of that.
fn rounded(z: f64) -> f64 {
    const UNIT: f64 = (1u64 << 30) as f64;
    (z * UNIT).round() / UNIT
}

/// Training data in the form that dense families learn from.
pub(crate) struct Prepared {
    inputs: Inputs,
    log_target: bool,
    mean: f64,
    deviation: f64,
    /// Standardised inputs, a row per training row.
    pub(crate) z: Array2<f64>,
    /// Standardised target.
    pub(crate) t: Array1<f64>,
    /// Weights with mean 1.
    pub(crate) w: Array1<f64>,
}

impl Prepared {
    /// Prepares at most `max_rows` of the rows, drawn with `seed`. `None` if a logarithm of a
    /// target is asked for that does not exist.
    pub(crate) fn new(
        x: &CodedMatrix,
        rows: &[u32],
        y: &[f64],
        w: Option<&[f64]>,
        scales: Scales,
        max_rows: usize,
        seed: u64,
    ) -> Result<Option<Self>, LearnError> {
        x.check_rows(rows)?;
        // The same checks, and the same rows left out, as for forests.
        let mut kept = FixedRows::new(rows, y, w)?.positions;
        if kept.len() > max_rows {
            let mut times = Vec::new();
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
            subsample(&mut rng, kept.len(), max_rows, &mut times);
            let mut times = times.into_iter();
            kept.retain(|_| times.next() == Some(1));
        }
        let rows: Vec<u32> = kept.iter().map(|&i| rows[i]).collect();
        let y: Vec<f64> = kept.iter().map(|&i| y[i]).collect();
        if scales.log_target && y.iter().any(|&y| y <= 0.0) {
            return Ok(None);
        }
        // d ln y = dy / y: the weight of a squared difference of logarithms is w·y².
        let w = kept
            .iter()
            .zip(&y)
            .map(|(&i, &y)| w.map_or(1.0, |w| w[i]) * if scales.log_target { y * y } else { 1.0 });
        let mut w = Array1::from_iter(w);
        w *= w.len() as f64 / w.sum();
        let inputs = Inputs::new(x, &rows, scales.log_inputs);
        let scaled: Vec<f64> =
            if scales.log_target { y.iter().map(|y| y.ln()).collect() } else { y };
        let constant = scaled.iter().all(|&v| v == scaled[0]);
        let (mean, deviation) =
            if constant { (scaled[0], 1.0) } else { mean_and_deviation(&scaled) };
        let t = scaled.iter().map(|v| rounded((v - mean) / deviation)).collect();
        let z = inputs.apply(x, &rows);
        let log_target = scales.log_target;
        Ok(Some(Prepared { inputs, log_target, mean, deviation, z, t, w }))
    }

    /// Standardised inputs of new rows.
    ///
    /// # Errors
    ///
    /// Other columns than those of the fit.
    pub(crate) fn inputs(&self, x: &CodedMatrix, rows: &[u32]) -> Result<Array2<f64>, LearnError> {
        if let Some(missing) = self.inputs.features.iter().find(|f| !x.features().contains(f)) {
            return Err(LearnError::UnknownFeature(missing.name().to_owned()));
        }
        if !rows.is_empty() {
            x.check_rows(rows)?;
        }
        Ok(self.inputs.apply(&x.select(&self.inputs.features)?, rows))
    }

    /// Back from the standardised target.
    pub(crate) fn target(&self, t: f64) -> f64 {
        let scaled = t * self.deviation + self.mean;
        if self.log_target { scaled.exp() } else { scaled }
    }
}

/// What a dense family learns: from standardised inputs to the standardised target.
pub(crate) trait Core: Send + Sync {
    fn predict(&self, z: &Array2<f64>) -> Array1<f64>;
}

/// A fitted dense model with its preprocessing.
pub(crate) struct DenseModel<C> {
    pub(crate) prepared: Prepared,
    pub(crate) core: C,
}

impl<C: Core> Regressor for DenseModel<C> {
    fn predict(&self, x: &CodedMatrix, rows: &[u32]) -> Result<Vec<f64>, LearnError> {
        let z = self.prepared.inputs(x, rows)?;
        Ok(self.core.predict(&z).iter().map(|&t| self.prepared.target(t)).collect())
    }
}
