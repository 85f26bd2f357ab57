//! Medians, spreads and confidence of repeated runs.

/// Two-sided 95 % points of Student's t for 1 to 30 degrees of freedom.
const T_95: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];
/// For more: the normal distribution's.
const Z_95: f64 = 1.960;

/// Half-width of the 95 % confidence interval of the mean, % of the mean; `None` below two values.
pub(crate) fn relative_ci_percent(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let degrees = n.checked_sub(1).filter(|d| *d > 0)?;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / degrees as f64;
    let t = T_95.get(degrees - 1).copied().unwrap_or(Z_95);
    Some(100.0 * t * (variance / n as f64).sqrt() / mean)
}

/// Median; the mean of the middle two of an even number; `None` of nothing.
pub(crate) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let upper = *sorted.get(n / 2)?;
    Some(if n % 2 == 1 { upper } else { (sorted[n / 2 - 1] + upper) / 2.0 })
}

/// Largest less smallest value, % of the median.
pub(crate) fn spread_percent(values: &[f64]) -> Option<f64> {
    let (low, high) =
        (values.iter().copied().reduce(f64::min)?, values.iter().copied().reduce(f64::max)?);
    Some(100.0 * (high - low) / median(values)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        // Mean 10, standard deviation 1, n = 3: 4.303 / sqrt(3) = 2.4843.
        let ci = relative_ci_percent(&[9.0, 10.0, 11.0]).unwrap();
        assert!((ci - 24.843).abs() < 0.01, "{ci}");
        assert_eq!(relative_ci_percent(&[5.0]), None);
        assert_eq!(relative_ci_percent(&[]), None);
        assert_eq!(relative_ci_percent(&[5.0, 5.0]), Some(0.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
        assert_eq!(spread_percent(&[9.0, 10.0, 11.0]), Some(20.0));
    }
}
