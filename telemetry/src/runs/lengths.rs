//! Time against length, from sweeps: prefill over prompt tokens, decode over context.

/// `time = base + per_token · tokens`, least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LengthModel {
    /// Time at length 0, s.
    pub base_s: f64,
    /// Time per token of length, s.
    pub per_token_s: f64,
    /// Coefficient of determination.
    pub r2: f64,
    /// Points.
    pub points: usize,
}

impl LengthModel {
    /// Time at a length, s.
    pub fn seconds(&self, tokens: f64) -> f64 {
        self.base_s + self.per_token_s * tokens
    }
}

/// Fits `(tokens, seconds)`; `None` below three points or when all lengths are equal: one length
/// says nothing about the others.
pub fn fit_length(points: &[(f64, f64)]) -> Option<LengthModel> {
    let n = points.len() as f64;
    if points.len() < 3 {
        return None;
    }
    let mean = |f: fn(&(f64, f64)) -> f64| points.iter().map(f).sum::<f64>() / n;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let sxx: f64 = points.iter().map(|p| (p.0 - x).powi(2)).sum();
    let sxy: f64 = points.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    let syy: f64 = points.iter().map(|p| (p.1 - y).powi(2)).sum();
    if !(sxx > 0.0 && sxx.is_finite() && syy.is_finite()) {
        return None;
    }
    let per_token_s = sxy / sxx;
    let r2 = if syy > 0.0 { sxy * sxy / (sxx * syy) } else { 1.0 };
    Some(LengthModel { base_s: y - per_token_s * x, per_token_s, r2, points: points.len() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_and_one_length_is_not_enough() {
        let points: Vec<(f64, f64)> = [1000.0, 3000.0, 5000.0].map(|m| (m, 0.05 + 1e-4 * m)).into();
        let m = fit_length(&points).unwrap();
        assert!((m.base_s - 0.05).abs() < 1e-12 && (m.per_token_s - 1e-4).abs() < 1e-15);
        assert!((m.seconds(2000.0) - 0.25).abs() < 1e-12);
        assert!(m.r2 > 0.999_999);
        assert_eq!(fit_length(&[(500.0, 1.0); 5]), None);
        assert_eq!(fit_length(&points[..2]), None);
    }
}
