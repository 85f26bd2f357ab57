//! Ranks: how predictors compare. A feature's value is replaced, once per prediction, by the
//! number of thresholds below it; every branch then compares a small integer.

/// Number of `thresholds` (ascending) that are smaller than `value`, so that
/// `value <= thresholds[i]` exactly when `rank(value, thresholds) <= i`.
///
/// For features with at most 65 535 thresholds.
pub fn rank(value: u32, thresholds: &[u32]) -> u16 {
    rank_u32(value, thresholds) as u16
}

/// [`rank`] for features with at most 255 thresholds.
pub fn rank_u8(value: u32, thresholds: &[u32]) -> u8 {
    rank_u32(value, thresholds) as u8
}

/// [`rank`] for features with more thresholds, which take forests of other trainers.
pub fn rank_u32(value: u32, thresholds: &[u32]) -> u32 {
    // A feature has at most 2^32 − 1 different thresholds that some value is above.
    thresholds.partition_point(|&t| t < value) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    // Not on the stack, of which a debug build would take it several times.
    static MANY: [u32; 70_000] = [1; 70_000];

    #[test]
    fn rank_turns_comparisons_into_comparisons_of_small_integers() {
        let thresholds = [0, 7, 8, u32::MAX];
        for value in [0, 1, 6, 7, 8, 9, u32::MAX - 1, u32::MAX] {
            for (i, &t) in thresholds.iter().enumerate() {
                assert_eq!(value <= t, usize::from(rank(value, &thresholds)) <= i);
            }
        }
        assert_eq!(rank(5, &[]), 0);
        // Each in the smallest type that holds the number of thresholds.
        assert_eq!(rank_u8(u32::MAX, &MANY[..0xff]), 0xff);
        assert_eq!(rank(u32::MAX, &MANY[..0xffff]), 0xffff);
        assert_eq!(rank_u32(u32::MAX, &MANY), 70_000);
    }
}
