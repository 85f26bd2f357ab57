//! Permutation importance (Breiman 2001; Fisher et al. 2019).

use enerinfer_artifacts::Forest;
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::draw::{below, tree_seeds};
use crate::{CodedMatrix, LearnError};

/// Increase of the mean absolute percentage error (in percentage points) when a feature's values
/// are shuffled among `rows`, mean over `repeats`, one number per feature of the forest.
///
/// Always finite: a feature on which nothing splits has exactly 0, and so has every feature of a
/// forest without splits. Rows with target 0 are left out, as MAPE cannot judge them.
///
/// # Errors
///
/// As [`crate::predict`]; columns of different length; a target that is not finite.
pub fn permutation_importance(
    forest: &Forest<f64>,
    x: &CodedMatrix,
    rows: &[u32],
    y: &[f64],
    repeats: u32,
    seed: u64,
) -> Result<Vec<f64>, LearnError> {
    if y.len() != rows.len() {
        let what = "the target".to_owned();
        return Err(LearnError::Length { what, found: y.len(), expected: rows.len() });
    }
    if let Some(i) = y.iter().position(|v| !v.is_finite()) {
        let (row, value) = (rows[i], y[i]);
        return Err(LearnError::Value { what: "target", row, value, rule: "must be finite" });
    }
    let width = forest.features.len();
    if rows.is_empty() || repeats == 0 {
        return Ok(vec![0.0; width]);
    }
    x.check_rows(rows)?;
    let columns: Vec<usize> = forest
        .features
        .iter()
        .map(|feature| {
            let at = x.features().iter().position(|g| g == feature);
            at.ok_or_else(|| LearnError::UnknownFeature(feature.name().to_owned()))
        })
        .collect::<Result<_, _>>()?;
    let mut values: Vec<Vec<u32>> = rows
        .iter()
        .map(|&row| columns.iter().map(|&f| x.value(row as usize, f)).collect())
        .collect();
    let base = mape(forest, &values, y);
    let used = forest.thresholds();
    let seeds = tree_seeds(seed, width);
    let mut out = vec![0.0; width];
    for f in (0..width).filter(|&f| !used[f].is_empty()) {
        let original: Vec<u32> = values.iter().map(|row| row[f]).collect();
        let mut shuffled = original.clone();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seeds[f]);
        for _ in 0..repeats {
            for i in (1..shuffled.len()).rev() {
                shuffled.swap(i, below(&mut rng, i + 1));
            }
            for (row, &v) in values.iter_mut().zip(&shuffled) {
                row[f] = v;
            }
            out[f] += (mape(forest, &values, y) - base) / f64::from(repeats);
        }
        for (row, &v) in values.iter_mut().zip(&original) {
            row[f] = v;
        }
    }
    Ok(out)
}

/// MAPE in percent over rows whose target is not zero; 0 if there is none.
fn mape(forest: &Forest<f64>, values: &[Vec<u32>], y: &[f64]) -> f64 {
    let (mut sum, mut n) = (0.0, 0usize);
    for (row, &y) in values.iter().zip(y).filter(|(_, y)| **y != 0.0) {
        sum += ((forest.predict(row) - y) / y).abs();
        n += 1;
    }
    if n == 0 { 0.0 } else { 100.0 * sum / n as f64 }
}
