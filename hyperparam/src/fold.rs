//! Splits by model: rows of one model never stand on both sides.

use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{Error, below};

/// Models that train and models that are held out, each ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// Models to train on.
    pub train: Vec<u32>,
    /// Models to test on.
    pub test: Vec<u32>,
}

/// Holds out `test_fraction` of the models, rounded to the nearest count.
///
/// # Errors
///
/// When one side would be empty.
pub fn split_by_model(n_models: usize, test_fraction: f64, seed: u64) -> Result<Split, Error> {
    let held_out = (n_models as f64 * test_fraction).round();
    if !(held_out >= 1.0 && held_out < n_models as f64) {
        return Err(Error::Split { fraction: test_fraction, models: n_models });
    }
    let mut test = shuffled(n_models, seed);
    let mut train = test.split_off(held_out as usize);
    test.sort_unstable();
    train.sort_unstable();
    Ok(Split { train, test })
}

/// Grouped k-fold cross-validation: groups (models) are shuffled and dealt to exactly `k` folds,
/// whose group counts differ by at most one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupedKFold {
    folds: Vec<Vec<u32>>,
    fold_of: Vec<u32>,
}

impl GroupedKFold {
    /// Deals groups `0..groups` to `k` folds.
    ///
    /// # Errors
    ///
    /// `k < 2`, or more folds than groups.
    pub fn new(groups: usize, k: usize, seed: u64) -> Result<Self, Error> {
        if k < 2 {
            return Err(Error::TooFewFolds { k });
        }
        if k > groups {
            return Err(Error::TooManyFolds { k, groups });
        }
        let mut folds = vec![Vec::new(); k];
        let mut fold_of = vec![0; groups];
        for (i, group) in shuffled(groups, seed).into_iter().enumerate() {
            folds[i % k].push(group);
            fold_of[group as usize] = (i % k) as u32;
        }
        for fold in &mut folds {
            fold.sort_unstable();
        }
        Ok(GroupedKFold { folds, fold_of })
    }

    /// Number of folds.
    pub fn k(&self) -> usize {
        self.folds.len()
    }

    /// Groups held out in `fold`, ascending.
    pub fn test_groups(&self, fold: usize) -> &[u32] {
        &self.folds[fold]
    }

    /// The fold in which a group is held out.
    pub fn fold_of(&self, group: u32) -> usize {
        self.fold_of[group as usize] as usize
    }

    /// Row indices `(train, test)` of `fold`, ascending, given the group of every row.
    pub fn rows(&self, fold: usize, group_of_row: &[u32]) -> (Vec<u32>, Vec<u32>) {
        (0..group_of_row.len() as u32)
            .partition(|&row| self.fold_of(group_of_row[row as usize]) != fold)
    }
}

/// `0..n` in random order (Fisher–Yates).
fn shuffled(n: usize, seed: u64) -> Vec<u32> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut order: Vec<u32> = (0..n as u32).collect();
    for i in (1..n).rev() {
        order.swap(i, below(&mut rng, i as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn impossible_fold_counts_are_named() {
        let message = |groups, k| GroupedKFold::new(groups, k, 1).unwrap_err().to_string();
        assert!(message(3, 5).starts_with("k=5 > groups=3"));
        assert!(message(4, 10).starts_with("k=10 > groups=4"));
        assert!(message(10, 1).starts_with("k=1 folds"));
        assert!(message(0, 0).starts_with("k=0 folds"));
    }

    #[test]
    fn odd_counts_fill_every_fold() {
        for (groups, k) in [(13, 5), (11, 3), (3, 2), (5, 5)] {
            let folds = GroupedKFold::new(groups, k, 9).unwrap();
            assert_eq!(folds.k(), k);
            assert!((0..k).all(|f| !folds.test_groups(f).is_empty()));
        }
    }

    #[test]
    fn a_split_needs_both_sides() {
        assert!(split_by_model(1, 0.2, 0).is_err());
        assert!(split_by_model(2, 0.2, 0).is_err());
        assert!(split_by_model(10, f64::NAN, 0).is_err());
        assert!(split_by_model(10, 1.0, 0).is_err());
        let split = split_by_model(300, 0.2, 0).unwrap();
        assert_eq!((split.train.len(), split.test.len()), (240, 60));
    }

    proptest! {
        #[test]
        fn folds_partition_the_groups(groups in 2usize..80, k in 2usize..10, seed: u64) {
            prop_assume!(k <= groups);
            let folds = GroupedKFold::new(groups, k, seed).unwrap();
            let sizes: Vec<usize> = (0..k).map(|f| folds.test_groups(f).len()).collect();
            let (min, max) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            prop_assert!(*min >= 1 && max - min <= 1);
            let mut all: Vec<u32> = (0..k).flat_map(|f| folds.test_groups(f).to_vec()).collect();
            all.sort_unstable();
            prop_assert_eq!(all, (0..groups as u32).collect::<Vec<_>>());
        }

        #[test]
        fn no_group_stands_on_both_sides(
            rows in prop::collection::vec(0u32..7, 1..60), seed: u64,
        ) {
            let folds = GroupedKFold::new(7, 3, seed).unwrap();
            let mut tested = vec![0; rows.len()];
            for fold in 0..3 {
                let (train, test) = folds.rows(fold, &rows);
                prop_assert_eq!(train.len() + test.len(), rows.len());
                for &t in &test {
                    tested[t as usize] += 1;
                    prop_assert!(train.iter().all(|&r| rows[r as usize] != rows[t as usize]));
                }
            }
            prop_assert!(tested.iter().all(|&n| n == 1));
        }

        #[test]
        fn a_split_is_a_partition_and_seeded(n in 5usize..200, seed: u64) {
            let split = split_by_model(n, 0.2, seed).unwrap();
            let mut all = [split.train.clone(), split.test.clone()].concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..n as u32).collect::<Vec<_>>());
            prop_assert_eq!(split_by_model(n, 0.2, seed).unwrap(), split);
        }
    }
}
