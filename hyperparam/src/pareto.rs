//! The Pareto front over throughput and efficiency, and the choice for a QoE (EnerInfer §4.5).

use std::cmp::Ordering;

/// Points that no other point beats **strictly in both** throughput and efficiency, most efficient
/// first; equal efficiency is ordered by throughput descending, then index ascending. Along the
/// front throughput never falls except within equal efficiency.
///
/// O(n log n). Values must be finite; `r` and `e` have the same length.
pub fn pareto_front(r: &[f64], e: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..r.len().min(e.len())).collect();
    order.sort_by(|&a, &b| e[b].total_cmp(&e[a]).then(r[b].total_cmp(&r[a])).then(a.cmp(&b)));
    let mut front = Vec::new();
    // Largest throughput among points of strictly higher efficiency than the current run's.
    let mut above = f64::NEG_INFINITY;
    for run in order.chunk_by(|&a, &b| e[a].total_cmp(&e[b]) == Ordering::Equal) {
        front.extend(run.iter().copied().filter(|&i| r[i] >= above));
        above = run.iter().fold(above, |m, &i| m.max(r[i]));
    }
    front
}

/// The point chosen for a QoE: the first of the front with `r > qoe`, else its fastest point
/// (Algorithm 2, line 1), which is the last but for ties in efficiency. `None` for an empty front.
pub fn choose(front: &[usize], r: &[f64], qoe_tok_per_s: f64) -> Option<usize> {
    let fastest = || front.iter().copied().rev().max_by(|&a, &b| r[a].total_cmp(&r[b]));
    front.iter().copied().find(|&i| r[i] > qoe_tok_per_s).or_else(fastest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ties_stay_and_are_ordered() {
        assert_eq!(pareto_front(&[10., 18., 32., 15.], &[10., 9., 8., 5.]), [0, 1, 2]);
        assert_eq!(pareto_front(&[10., 20., 5., 20.], &[10., 10., 5., 10.]), [1, 3, 0]);
        assert_eq!(pareto_front(&[], &[]), [] as [usize; 0]);
    }

    #[test]
    fn an_unreachable_qoe_gets_the_fastest_even_among_ties() {
        let (r, e) = ([10., 30., 20.], [4.; 3]);
        assert_eq!(choose(&pareto_front(&r, &e), &r, 30.0), Some(1));
    }

    #[test]
    fn chooses_strictly_faster_or_the_last() {
        let (r, front) = ([10., 18., 32.], [0, 1, 2]);
        assert_eq!(choose(&front, &r, 10.0), Some(1));
        assert_eq!(choose(&front, &r, 32.0), Some(2));
        assert_eq!(choose(&[], &r, 1.0), None);
    }

    proptest! {
        #[test]
        fn equals_the_definition(v in prop::collection::vec((0u8..6, 0u8..6), 0..40)) {
            let r: Vec<f64> = v.iter().map(|p| f64::from(p.0)).collect();
            let e: Vec<f64> = v.iter().map(|p| f64::from(p.1)).collect();
            let mut expected: Vec<usize> = (0..v.len())
                .filter(|&i| !(0..v.len()).any(|j| r[j] > r[i] && e[j] > e[i]))
                .collect();
            expected.sort_by(|&a, &b| {
                e[b].total_cmp(&e[a]).then(r[b].total_cmp(&r[a])).then(a.cmp(&b))
            });
            prop_assert_eq!(pareto_front(&r, &e), expected);
        }
    }
}
