//! The best split of a node: exact CART (Breiman et al. 1984) on coded features.
//!
//! Every boundary between two different values that the node's rows have is considered, and the
//! one that lowers the weighted squared error most is taken; ties go to the preferred feature (by
//! default the lowest), then the lowest threshold. Rows move physically with their node, so a
//! node's rows are one slice. Few rows are sorted, many are summed per distinct value; sums are
//! exact, so both ways give the same split.

use std::cmp::Ordering;

use crate::CodedMatrix;
use crate::bins::Bins;
use crate::draw::{NodeSeed, below};
use crate::fixed::{FixedRows, Scale, Sum};
use crate::matrix::MAX_FEATURES;
use crate::small::Small;

/// Distance of rows that are visited one after the other.
const STRIDE: usize = 64;

/// A row with all that growing needs, so that a pass over a node reads memory in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<const F: usize> {
    pub(crate) sum: Sum,
    pub(crate) codes: [u16; F],
}

/// A node that may be split: where its rows stand and what is known of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Open {
    pub(crate) lo: usize,
    pub(crate) hi: usize,
    pub(crate) depth: u32,
    /// Features not known to be constant in the node, one bit each.
    pub(crate) varying: u32,
    pub(crate) seed: NodeSeed,
    pub(crate) total: Sum,
}

impl Open {
    /// Number of rows.
    pub(crate) fn rows(&self) -> u64 {
        (self.hi - self.lo) as u64
    }
}

/// A way to split a node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Best {
    pub(crate) feature: u32,
    /// Codes next to the boundary.
    pub(crate) codes: (u16, u16),
    pub(crate) left: Sum,
}

/// The best of the splits that were offered; the first of equals.
pub(crate) struct Winner {
    scale: Scale,
    total: Sum,
    min_samples_leaf: u64,
    /// [`Scale::separation`] of the two sides.
    score: f64,
    best: Best,
}

impl Winner {
    fn new(scale: Scale, total: Sum, min_samples_leaf: u64) -> Self {
        let best = Best { feature: 0, codes: (0, 0), left: Sum::default() };
        Winner { scale, total, min_samples_leaf, score: 0.0, best }
    }

    /// Score of the split with `left` on one side; 0 if a side has too few rows.
    #[inline(always)]
    pub(crate) fn score(&self, left: Sum) -> f64 {
        let right = self.total - left;
        let score = self.scale.separation(left, right);
        let least = self.min_samples_leaf;
        if least <= 1 || self.scale.rows(left).min(self.scale.rows(right)) >= least {
            score
        } else {
            0.0
        }
    }

    /// Whether a split of this score would be the best yet.
    #[inline(always)]
    pub(crate) fn beaten_by(&self, score: f64) -> bool {
        score > self.score
    }

    /// Takes the split between two neighbouring `codes` of a feature as the best yet.
    pub(crate) fn take(&mut self, score: f64, feature: u32, codes: (u16, u16), left: Sum) {
        self.score = score;
        self.best = Best { feature, codes, left };
    }

    /// The winner, if any split lowers the error.
    fn best(self) -> Option<Best> {
        (self.score > 0.0).then_some(self.best)
    }
}

/// When a node is not split further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) max_depth: u32,
    pub(crate) min_samples_leaf: u64,
    pub(crate) min_samples_split: u64,
    /// Features considered per node, of those that vary in it.
    pub(crate) max_features: u32,
}

/// Rows of one tree and memory for splitting them, reused from tree to tree.
pub(crate) struct Splitter<const F: usize> {
    limits: Limits,
    pub(crate) scale: Scale,
    /// Features in the order in which equally good splits are preferred.
    preferred: Vec<u32>,
    rows: Vec<Row<F>>,
    bins: Bins,
    small: Small<F>,
}

/// Codes of `rows`, row by row, padded to `F` columns.
pub(crate) fn gather<const F: usize>(matrix: &CodedMatrix, rows: &[u32]) -> Vec<[u16; F]> {
    let mut out = vec![[0u16; F]; rows.len()];
    for f in 0..matrix.features().len() {
        let codes = matrix.codes(f);
        for (row, &at) in out.iter_mut().zip(rows) {
            row[f] = codes[at as usize];
        }
    }
    out
}

impl<const F: usize> Splitter<F> {
    pub(crate) fn new(matrix: &CodedMatrix, limits: Limits, scale: Scale) -> Self {
        Splitter {
            limits,
            scale,
            preferred: (0..matrix.features().len() as u32).collect(),
            rows: Vec::new(),
            bins: Bins::new(matrix),
            small: Small::new(matrix),
        }
    }

    /// Prefers equally good splits by a random order of the features instead of the columns' order.
    pub(crate) fn shuffle_ties(&mut self, seed: NodeSeed) {
        let mut rng = seed.rng();
        self.preferred.sort_unstable();
        for i in (1..self.preferred.len()).rev() {
            self.preferred.swap(i, below(&mut rng, i + 1));
        }
    }

    /// Takes the rows that were drawn `times[i] > 0` times, with their `codes`; gives the root.
    pub(crate) fn load(
        &mut self,
        fixed: &FixedRows,
        codes: &[[u16; F]],
        times: &[u32],
        seed: NodeSeed,
    ) -> Open {
        self.scale = fixed.scale;
        self.rows.clear();
        let mut total = Sum::default();
        // Rows of one model usually stand together. Visiting rows far apart makes consecutive ones
        // fall into different bins, and their additions need not wait for each other.
        for start in 0..STRIDE {
            for i in (start..times.len()).step_by(STRIDE) {
                if times[i] > 0 {
                    let sum = fixed.sum(i, times[i]);
                    total += sum;
                    self.rows.push(Row { sum, codes: codes[i] });
                }
            }
        }
        let varying = u32::MAX >> (MAX_FEATURES - self.preferred.len());
        Open { lo: 0, hi: self.rows.len(), depth: 0, varying, seed, total }
    }

    /// Best split of a node, if it may be split and one lowers the error; features that are found
    /// constant are cleared from `varying`.
    pub(crate) fn best_split(&mut self, node: &mut Open) -> Option<Best> {
        let (rows, limits) = (node.rows(), self.limits);
        if node.depth >= limits.max_depth
            || rows < limits.min_samples_split
            || rows < 2 * limits.min_samples_leaf
        {
            return None;
        }
        let drawn = limits.max_features < node.varying.count_ones();
        let candidates = if drawn { self.draw(node) } else { node.varying };
        let best = if rows == 2 {
            self.split_pair(node.lo, candidates)
        } else {
            self.split_by(node, candidates)
        };
        best.filter(|b| self.scale.means_differ(b.left, node.total - b.left))
    }

    /// Features drawn without replacement, until enough that vary here were seen.
    fn draw(&self, node: &mut Open) -> u32 {
        let rows = &self.rows[node.lo..node.hi];
        let mut list = [0u32; MAX_FEATURES];
        let mut n = 0;
        for f in bits(node.varying) {
            list[n] = f;
            n += 1;
        }
        let mut rng = node.seed.rng();
        let mut drawn = 0u32;
        while n > 0 && drawn.count_ones() < self.limits.max_features {
            let at = below(&mut rng, n);
            let f = list[at];
            n -= 1;
            list[at] = list[n];
            if rows.iter().any(|row| row.codes[f as usize] != rows[0].codes[f as usize]) {
                drawn |= 1 << f;
            } else {
                node.varying &= !(1 << f);
            }
        }
        drawn
    }

    /// The only way to split two rows: every feature that tells them apart is equally good.
    fn split_pair(&self, lo: usize, candidates: u32) -> Option<Best> {
        let (a, b) = (&self.rows[lo], &self.rows[lo + 1]);
        let candidates = self.preferred.iter().filter(|&f| candidates & (1 << f) != 0);
        candidates.copied().find_map(|feature| {
            let codes = (a.codes[feature as usize], b.codes[feature as usize]);
            match codes.0.cmp(&codes.1) {
                Ordering::Less => Some(Best { feature, codes, left: a.sum }),
                Ordering::Equal => None,
                Ordering::Greater => Some(Best { feature, codes: (codes.1, codes.0), left: b.sum }),
            }
        })
    }

    /// Best split of a node by one of the `candidates`, offered in the order of preference.
    fn split_by(&mut self, node: &mut Open, candidates: u32) -> Option<Best> {
        let mut list = [0u32; MAX_FEATURES];
        let mut n = 0;
        for &f in self.preferred.iter().filter(|&f| candidates & (1 << f) != 0) {
            list[n] = f;
            n += 1;
        }
        let list = &list[..n];
        let rows = &self.rows[node.lo..node.hi];
        let mut winner = Winner::new(self.scale, node.total, self.limits.min_samples_leaf);
        let constant = if self.small.takes(rows.len()) {
            self.small.scan(rows, list, &mut winner)
        } else {
            self.bins.scan(rows, list, &mut winner)
        };
        node.varying &= !constant;
        winner.best()
    }

    /// Moves the rows of a split node; gives both children.
    pub(crate) fn partition(&mut self, node: &Open, best: &Best) -> (Open, Open) {
        let feature = best.feature as usize;
        let rows = &mut self.rows[node.lo..node.hi];
        // Single rows are not split further: nobody asks where they stand.
        let alone = rows.len() == 2;
        let mut left = usize::from(alone);
        for i in 0..if alone { 0 } else { rows.len() } {
            // Rows are swapped on both sides alike: no branch to predict.
            let goes_left = rows[i].codes[feature] <= best.codes.0;
            rows.swap(i, left);
            left += usize::from(goes_left);
        }
        let left = node.lo + left;
        let draws = (self.limits.max_features as usize) < self.preferred.len();
        let (left_seed, right_seed) =
            if draws { node.seed.children() } else { (node.seed, node.seed) };
        let child = Open { depth: node.depth + 1, ..*node };
        (
            Open { hi: left, seed: left_seed, total: best.left, ..child },
            Open { lo: left, seed: right_seed, total: node.total - best.left, ..child },
        )
    }
}

/// Positions of the bits that are set, lowest first.
fn bits(mut set: u32) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let bit = (set != 0).then(|| set.trailing_zeros());
        set &= set.wrapping_sub(1);
        bit
    })
}

#[cfg(test)]
mod tests {
    use enerinfer_artifacts::Feature;
    use proptest::prelude::*;

    use super::*;

    /// The best split by the definition: every boundary of every feature, each side summed anew.
    fn naive(splitter: &Splitter<8>, node: &Open, features: &[u32]) -> Option<Best> {
        let rows = &splitter.rows[node.lo..node.hi];
        let least = splitter.limits.min_samples_leaf;
        let sum = |side: &dyn Fn(&Row<8>) -> bool| {
            let mut sum = Sum::default();
            rows.iter().filter(|row| side(row)).for_each(|row| sum += row.sum);
            sum
        };
        let mut best: Option<(f64, Best)> = None;
        for &feature in features {
            let code = |row: &Row<8>| row.codes[feature as usize];
            let mut codes: Vec<u16> = rows.iter().map(code).collect();
            codes.sort_unstable();
            codes.dedup();
            for pair in codes.windows(2) {
                let left = sum(&|row| code(row) <= pair[0]);
                let right = sum(&|row| code(row) > pair[0]);
                let score = splitter.scale.separation(left, right);
                let rows = splitter.scale.rows(left).min(splitter.scale.rows(right));
                if rows >= least && score > best.map_or(0.0, |b| b.0) {
                    best = Some((score, Best { feature, codes: (pair[0], pair[1]), left }));
                }
            }
        }
        let best = best.map(|b| b.1);
        best.filter(|b| splitter.scale.means_differ(b.left, node.total - b.left))
    }

    proptest! {
        /// Nodes of all sizes; narrow columns and (for the fallback of the sorting) one of more
        /// than 2048 values; equal columns and equal targets, so that ties occur.
        #[test]
        fn the_best_split_is_the_naive_one(
            (rows, spread, wide) in (2usize..400, 1u32..40, any::<bool>()),
            least in 1u64..5,
            l2 in prop::sample::select(vec![0.0, 2.0]),
            seed: u64,
        ) {
            let mut rng = NodeSeed::root(seed).rng();
            let mut column = |n: u32| -> Vec<u32> {
                (0..3000).map(|_| below(&mut rng, n as usize) as u32).collect()
            };
            let first = column(spread);
            let columns = vec![
                first.clone(),
                column(spread),
                if wide { (0..3000).rev().collect() } else { column(300) },
                first.iter().map(|v| 100 - v).collect(),
                column(2),
            ];
            let y: Vec<f64> = column(50).into_iter().map(f64::from).collect();
            let w: Vec<f64> = column(3).into_iter().map(|w| f64::from(w + 1)).collect();
            let matrix = CodedMatrix::new(Feature::ALL[..5].to_vec(), columns).unwrap();
            let ids: Vec<u32> = (0..rows as u32).collect();
            let mut fixed = FixedRows::new(&ids, &y[..rows], Some(&w[..rows])).unwrap();
            fixed.set_l2(l2);
            let limits = Limits {
                max_depth: u32::MAX,
                min_samples_leaf: least,
                min_samples_split: 2,
                max_features: 32,
            };
            let mut splitter = Splitter::<8>::new(&matrix, limits, fixed.scale);
            splitter.shuffle_ties(NodeSeed::root(seed));
            let codes = gather::<8>(&matrix, &fixed.rows);
            let root = splitter.load(&fixed, &codes, &vec![1; rows], NodeSeed::root(seed));
            let mut open = vec![root];
            while let Some(mut node) = open.pop() {
                let order = splitter.preferred.clone();
                let naive = naive(&splitter, &node, &order);
                if l2 > 0.0 && node.rows() == 2 {
                    continue; // That this may be a loss is for the caller to find.
                }
                let expected = naive.filter(|_| node.rows() >= 2 * least);
                let found = splitter.best_split(&mut node);
                let seen = |b: Option<Best>| b.map(|b| (b.feature, b.codes, b.left));
                prop_assert_eq!(seen(found), seen(expected), "{} rows", node.rows());
                if let Some(best) = found {
                    let (left, right) = splitter.partition(&node, &best);
                    open.extend([left, right]);
                }
            }
        }
    }
}
