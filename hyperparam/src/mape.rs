//! Mean absolute percentage error.

use crate::Error;
use crate::error::{all_finite, same_length};

/// `100 · mean(|pred − truth| / |truth|)` in percent.
///
/// # Errors
///
/// Names the index of a value that is NaN or infinite, and of a truth that is zero.
pub fn mape_percent(pred: &[f64], truth: &[f64]) -> Result<f64, Error> {
    same_length("predictions and truths", pred.len(), truth.len())?;
    all_finite("prediction", pred)?;
    all_finite("truth", truth)?;
    if let Some(index) = truth.iter().position(|&t| t == 0.0) {
        return Err(Error::Value {
            what: "truth",
            index,
            value: 0.0,
            rule: "a percentage of zero is undefined",
        });
    }
    let sum: f64 = pred.iter().zip(truth).map(|(p, t)| ((p - t) / t).abs()).sum();
    Ok(100.0 * sum / pred.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_mean_of_relative_errors() {
        assert_eq!(mape_percent(&[1.5, 8.0], &[1.0, -8.0]).unwrap(), 125.0);
        assert_eq!(mape_percent(&[3.0], &[3.0]).unwrap(), 0.0);
    }

    #[test]
    fn undefined_values_are_named_by_index() {
        for (pred, truth, text) in [
            ([1.0, f64::NAN], [1.0, 1.0], "prediction[1] = NaN"),
            ([1.0, 1.0], [f64::INFINITY, 1.0], "truth[0] = inf"),
            ([1.0, 1.0], [1.0, 0.0], "truth[1] = 0"),
            ([1.0, 1.0], [1.0, -0.0], "truth[1] = 0"),
        ] {
            let error = mape_percent(&pred, &truth).unwrap_err().to_string();
            assert!(error.starts_with(text), "{error}");
        }
        assert!(mape_percent(&[], &[]).is_err());
        assert!(mape_percent(&[1.0], &[1.0, 2.0]).is_err());
    }
}
