//! Predictions of many rows at once.

use enerinfer_artifacts::{Feature, Forest};

use crate::{CodedMatrix, LearnError};

/// Predicts rows `rows` of `x`; each result equals `Forest::predict` bit for bit.
///
/// The matrix must have the forest's features, in any order.
///
/// # Errors
///
/// A feature that the matrix lacks, or a row outside it.
pub fn predict(
    forest: &Forest<f64>,
    x: &CodedMatrix,
    rows: &[u32],
) -> Result<Vec<f64>, LearnError> {
    let values = gather_values(&forest.features, x, rows)?;
    let width = forest.features.len();
    let mut out = vec![forest.base; rows.len()];
    // Tree by tree: one tree stays in the cache for all rows, and sums keep the trees' order.
    for &root in &forest.roots {
        for (i, sum) in out.iter_mut().enumerate() {
            *sum += forest.leaf(root, &values[i * width..(i + 1) * width]);
        }
    }
    Ok(out)
}

/// Values of `features`, row by row.
pub(crate) fn gather_values(
    features: &[Feature],
    x: &CodedMatrix,
    rows: &[u32],
) -> Result<Vec<u32>, LearnError> {
    if !rows.is_empty() {
        x.check_rows(rows)?;
    }
    let width = features.len();
    let mut values = vec![0; rows.len() * width];
    for (f, feature) in features.iter().enumerate() {
        let at = x.features().iter().position(|g| g == feature);
        let at = at.ok_or_else(|| LearnError::UnknownFeature(feature.name().to_owned()))?;
        for (i, &row) in rows.iter().enumerate() {
            values[i * width + f] = x.value(row as usize, at);
        }
    }
    Ok(values)
}
