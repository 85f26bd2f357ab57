//! Weights that make the squared error relative.

/// `1/y²` for each target, so that a squared error counts by its share of the target, which is
/// what MAPE asks for. A target of zero, whose relative error is undefined, gets weight 0 and is
/// left out of the fit.
pub fn relative_weights(y: &[f64]) -> Vec<f64> {
    y.iter().map(|&y| if y == 0.0 { 0.0 } else { 1.0 / (y * y) }).collect()
}
