//! Random draws of the learners. The generators are named, and the way from bits to a choice is
//! ours, so that a seed gives the same forest with every release of every dependency.

use rand::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

/// A whole number in `0..n` by widening multiplication (bias below `n / 2⁶⁴`).
#[inline]
pub(crate) fn below<R: Rng>(rng: &mut R, n: usize) -> usize {
    ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize
}

/// Seed of every tree: tree `i`'s depends on `(seed, i)` alone, so a forest of 50 trees is the
/// first 50 of a forest of 200, for any number of threads.
pub(crate) fn tree_seeds(seed: u64, n: usize) -> Vec<u64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    (0..n).map(|_| rng.next_u64()).collect()
}

/// How often each of `n` rows is drawn in `draws` draws with replacement.
pub(crate) fn bootstrap(tree_seed: u64, n: usize, draws: usize, times: &mut Vec<u32>) {
    times.clear();
    times.resize(n, 0);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(tree_seed);
    for _ in 0..draws {
        times[below(&mut rng, n)] += 1;
    }
}

/// Marks `draws` of `n` rows, drawn without replacement (selection sampling, Knuth's algorithm S).
pub(crate) fn subsample<R: Rng>(rng: &mut R, n: usize, draws: usize, times: &mut Vec<u32>) {
    times.clear();
    let mut left = draws;
    for i in 0..n {
        let take = below(rng, n - i) < left;
        left -= usize::from(take);
        times.push(u32::from(take));
    }
}

/// Seed of a node. It depends on the way from the root alone, not on the order in which nodes
/// are grown, so a depth limit changes nothing above it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NodeSeed(u64);

impl NodeSeed {
    pub(crate) fn root(tree_seed: u64) -> Self {
        NodeSeed(SplitMix64::seed_from_u64(!tree_seed).next_u64())
    }

    /// Seeds of the left and the right child.
    pub(crate) fn children(self) -> (Self, Self) {
        let mut rng = SplitMix64::seed_from_u64(self.0);
        (NodeSeed(rng.next_u64()), NodeSeed(rng.next_u64()))
    }

    /// Generator of the node's own draws.
    pub(crate) fn rng(self) -> SplitMix64 {
        SplitMix64::seed_from_u64(!self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bootstraps_of_a_forest_differ_pairwise() {
        let mut samples: Vec<Vec<u32>> = Vec::new();
        for seed in tree_seeds(1, 25) {
            let mut times = Vec::new();
            bootstrap(seed, 50, 50, &mut times);
            assert_eq!(times.iter().sum::<u32>(), 50);
            assert!(!samples.contains(&times));
            samples.push(times);
        }
    }

    #[test]
    fn a_subsample_has_its_size_and_reaches_every_row() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        let mut seen = [0; 10];
        for draws in 0..=10 {
            for _ in 0..30 {
                let mut times = Vec::new();
                subsample(&mut rng, 10, draws, &mut times);
                assert_eq!(times.iter().sum::<u32>() as usize, draws);
                seen.iter_mut().zip(&times).for_each(|(s, t)| *s += t);
            }
        }
        assert!(seen.iter().all(|&s| s > 100), "{seen:?}");
    }

    #[test]
    fn more_trees_keep_the_first_ones() {
        assert_eq!(tree_seeds(9, 200)[..50], tree_seeds(9, 50));
    }
}
