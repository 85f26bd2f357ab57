//! Out-of-bag estimate: each row predicted by the trees that did not see it (Breiman 2001).

use crate::{CodedMatrix, ForestValidParams, LearnError};

/// Out-of-bag predictions of one fit.
#[derive(Clone, Debug, PartialEq)]
pub struct OutOfBag {
    /// Mean prediction of the trees that did not see the row, indexed like the fit's rows;
    /// `None` if every tree saw it (or its weight is 0).
    pub predictions: Vec<Option<f64>>,
    /// Rows without a prediction.
    pub skipped: usize,
    /// MAPE over rows that have a prediction and a target other than 0, %; `None` if there is none.
    pub mape_percent: Option<f64>,
}

/// Fits with `params` and estimates the error from the rows that each tree did not see.
///
/// # Errors
///
/// As [`ForestValidParams::fit`].
pub fn out_of_bag(
    params: &ForestValidParams,
    x: &CodedMatrix,
    rows: &[u32],
    y: &[f64],
    w: Option<&[f64]>,
    seed: u64,
) -> Result<OutOfBag, LearnError> {
    let mut sums = vec![(0.0f64, 0u32); rows.len()];
    let used: Vec<usize> =
        (0..rows.len()).filter(|&i| w.is_none_or(|w| w.get(i) != Some(&0.0))).collect();
    let seeds = crate::draw::tree_seeds(seed, params.n_trees() as usize);
    let mut times = Vec::new();
    params.grow_each(x, rows, y, w, seed, |tree, nodes| {
        params.sample(seeds[tree], used.len(), &mut times);
        for (&i, _) in used.iter().zip(&times).filter(|(_, times)| **times == 0) {
            let mut at = &nodes[nodes.len() - 1];
            while let Some(s) = at.split {
                let left = x.value(rows[i] as usize, usize::from(s.feature)) <= s.threshold;
                at = &nodes[(if left { s.left } else { s.right }) as usize];
            }
            sums[i].0 += at.value;
            sums[i].1 += 1;
        }
    })?;
    let predictions: Vec<Option<f64>> =
        sums.iter().map(|&(sum, n)| (n > 0).then(|| sum / f64::from(n))).collect();
    let errors: Vec<f64> = predictions
        .iter()
        .zip(y)
        .filter_map(|(p, &y)| p.filter(|_| y != 0.0).map(|p| ((p - y) / y).abs()))
        .collect();
    Ok(OutOfBag {
        skipped: predictions.iter().filter(|p| p.is_none()).count(),
        predictions,
        mape_percent: (!errors.is_empty())
            .then(|| 100.0 * errors.iter().sum::<f64>() / errors.len() as f64),
    })
}
