//! What acting on predictions instead of measurements costs.

use crate::error::{all_finite, same_length};
use crate::{Error, choose, pareto_front};

/// Result of one choice on predicted tables, judged by the measured ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Index of the chosen operating point.
    pub chosen: usize,
    /// Index of the measured best: highest efficiency with measured `R ≥ qoe`.
    pub best: usize,
    /// Efficiency lost against the measured best, %; negative when the chosen point is more
    /// efficient because it misses the QoE.
    pub loss_percent: f64,
    /// The chosen point's measured throughput is below the QoE.
    pub violation: bool,
}

/// Chooses by predicted throughput and efficiency (front rule, predicted `R > qoe`, else the
/// fastest) and compares measured efficiency with the measured best among points that reach the
/// QoE. `None` when no point reaches it: there is nothing to lose then.
///
/// # Errors
///
/// Different lengths, no points, values that are not finite or measured efficiency not positive.
pub fn regret(
    predicted_r: &[f64],
    predicted_e: &[f64],
    measured_r: &[f64],
    measured_e: &[f64],
    qoe_tok_per_s: f64,
) -> Result<Option<Outcome>, Error> {
    same_length("predicted throughput and efficiency", predicted_r.len(), predicted_e.len())?;
    same_length("measured throughput and efficiency", measured_r.len(), measured_e.len())?;
    same_length("predicted and measured points", predicted_r.len(), measured_r.len())?;
    for (what, values) in [
        ("predicted_r", predicted_r),
        ("predicted_e", predicted_e),
        ("measured_r", measured_r),
        ("measured_e", measured_e),
    ] {
        all_finite(what, values)?;
    }
    if let Some(index) = measured_e.iter().position(|&e| e <= 0.0) {
        let value = measured_e[index];
        return Err(Error::Value { what: "measured_e", index, value, rule: "must be positive" });
    }
    let reaching = (0..measured_r.len()).filter(|&i| measured_r[i] >= qoe_tok_per_s);
    let Some(best) =
        reaching.max_by(|&a, &b| measured_e[a].total_cmp(&measured_e[b]).then(b.cmp(&a)))
    else {
        return Ok(None);
    };
    let front = pareto_front(predicted_r, predicted_e);
    let Some(chosen) = choose(&front, predicted_r, qoe_tok_per_s) else {
        return Ok(None);
    };
    Ok(Some(Outcome {
        chosen,
        best,
        loss_percent: 100.0 * (1.0 - measured_e[chosen] / measured_e[best]),
        violation: measured_r[chosen] < qoe_tok_per_s,
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn perfect_predictions_lose_nothing() {
        let (r, e) = ([5., 10., 20.], [9., 8., 4.]);
        let o = regret(&r, &e, &r, &e, 6.0).unwrap().unwrap();
        assert_eq!((o.chosen, o.best, o.loss_percent, o.violation), (1, 1, 0.0, false));
        assert_eq!(regret(&r, &e, &r, &e, 21.0).unwrap(), None);
    }

    #[test]
    fn wrong_predictions_lose_or_violate() {
        let (r, e) = ([5., 10., 20.], [9., 8., 4.]);
        // Throughput of point 1 underestimated: the fast point is taken and half the energy lost.
        let o = regret(&[5., 5.5, 20.], &e, &r, &e, 6.0).unwrap().unwrap();
        assert_eq!((o.chosen, o.loss_percent, o.violation), (2, 50.0, false));
        // Throughput of point 0 overestimated: it is taken and misses the QoE.
        let o = regret(&[7., 10., 20.], &e, &r, &e, 6.0).unwrap().unwrap();
        assert_eq!((o.chosen, o.loss_percent, o.violation), (0, -12.5, true));
    }

    #[test]
    fn bad_tables_are_refused() {
        assert!(regret(&[1.0], &[1.0], &[1.0, 2.0], &[1.0, 2.0], 1.0).is_err());
        assert!(regret(&[1.0], &[f64::NAN], &[1.0], &[1.0], 1.0).is_err());
        assert!(regret(&[1.0], &[1.0], &[1.0], &[0.0], 1.0).is_err());
    }

    proptest! {
        #[test]
        fn without_violation_the_loss_is_never_negative(
            v in prop::collection::vec((1u8..20, 1u8..20, 1u8..20, 1u8..20), 1..30),
            qoe in 0u8..20,
        ) {
            let column = |f: fn(&(u8, u8, u8, u8)) -> u8| -> Vec<f64> {
                v.iter().map(|p| f64::from(f(p))).collect()
            };
            let (pr, pe) = (column(|p| p.0), column(|p| p.1));
            let (r, e) = (column(|p| p.2), column(|p| p.3));
            if let Some(o) = regret(&pr, &pe, &r, &e, f64::from(qoe)).unwrap() {
                prop_assert!(o.violation || o.loss_percent >= 0.0);
                prop_assert!(o.loss_percent < 100.0);
            }
        }
    }
}
