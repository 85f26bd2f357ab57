//! Ranks: how predictors compare. A feature's value is replaced, once per prediction, by the
//! number of thresholds below it; every branch then compares a small integer.

/// Number of `thresholds` (ascending) that are smaller than `value`, so that
/// `value <= thresholds[i]` exactly when `rank(value, thresholds) <= i`.
pub fn rank(value: u32, thresholds: &[u32]) -> u16 {
    // The compiler emits at most u16::MAX thresholds per feature.
    thresholds.partition_point(|&t| t < value) as u16
}

/// [`rank`] for features with at most 255 thresholds.
pub fn rank_u8(value: u32, thresholds: &[u32]) -> u8 {
    rank(value, thresholds) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_turns_comparisons_into_comparisons_of_small_integers() {
        let thresholds = [0, 7, 8, u32::MAX];
        for value in [0, 1, 6, 7, 8, 9, u32::MAX - 1, u32::MAX] {
            for (i, &t) in thresholds.iter().enumerate() {
                assert_eq!(value <= t, usize::from(rank(value, &thresholds)) <= i);
            }
        }
        assert_eq!(rank(5, &[]), 0);
    }
}
