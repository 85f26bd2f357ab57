//! One regression tree: exact CART (Breiman et al. 1984) on coded features.
//!
//! Every split considers every boundary between two different values that the node's rows have,
//! and takes the one that lowers the weighted squared error most; ties go to the lowest feature,
//! then the lowest threshold. Rows move physically with their node, so a node's rows are one
//! slice. A feature is judged by summing the rows per distinct value in bins, with a bitmap of the
//! occupied ones, so that small nodes pay for their own values only. A feature found constant in a
//! node is not looked at below it.

use crate::CodedMatrix;
use crate::draw::{NodeSeed, below};
use crate::fixed::{FixedRows, Sum};
use crate::matrix::MAX_FEATURES;

/// Distance of rows that are visited one after the other.
const STRIDE: usize = 64;

/// When a node is not split further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) max_depth: u32,
    pub(crate) min_samples_leaf: u64,
    pub(crate) min_samples_split: u64,
    /// Features considered per node, of those that vary in it.
    pub(crate) max_features: u32,
}

/// A node of a grown tree; children stand before their parents, the root last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GrownNode {
    /// Weighted mean of the node's targets: the leaf value if the tree is cut here.
    pub(crate) value: f64,
    /// Rows in the node.
    pub(crate) rows: u32,
    /// The split, unless the node is a leaf.
    pub(crate) split: Option<Split>,
}

/// `x[feature] <= threshold` goes left; children are indices into the tree's nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Split {
    pub(crate) feature: u16,
    pub(crate) threshold: u32,
    pub(crate) left: u32,
    pub(crate) right: u32,
}

/// A row with all that growing needs, so that a pass over a node reads memory in order.
#[derive(Clone, Copy, Debug)]
struct Row<const F: usize> {
    sum: Sum,
    codes: [u16; F],
}

/// A way to split a node by some feature.
#[derive(Clone, Copy, Debug)]
struct Boundary {
    /// [`Scale::separation`] of the two sides.
    score: f64,
    /// Codes next to the boundary.
    codes: (u16, u16),
    left: Sum,
}

/// Best split of a node so far: the feature and its boundary.
type Best = (u32, Boundary);

/// Memory for growing trees of one fit, reused from tree to tree.
pub(crate) struct Grower<'a, const F: usize> {
    matrix: &'a CodedMatrix,
    fixed: &'a FixedRows,
    /// Codes of `fixed.rows`, row by row.
    codes: &'a [[u16; F]],
    limits: Limits,
    rows: Vec<Row<F>>,
    spare: Vec<Row<F>>,
    /// One per possible code, so that no index needs a check; all zero between uses.
    bins: Box<[Sum; 1 << 16]>,
    /// One bit per bin; all zero between uses.
    occupied: Box<[u64; 1 << 10]>,
    nodes: Vec<GrownNode>,
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

impl<'a, const F: usize> Grower<'a, F> {
    pub(crate) fn new(
        matrix: &'a CodedMatrix,
        fixed: &'a FixedRows,
        codes: &'a [[u16; F]],
        limits: Limits,
    ) -> Self {
        Grower {
            matrix,
            fixed,
            codes,
            limits,
            rows: Vec::new(),
            spare: Vec::new(),
            bins: zeroed(),
            occupied: zeroed(),
            nodes: Vec::new(),
        }
    }

    /// Grows a tree on the rows drawn `times[i] > 0` times.
    pub(crate) fn grow(&mut self, times: &[u32], tree_seed: u64) -> &[GrownNode] {
        self.rows.clear();
        self.nodes.clear();
        let mut total = Sum::default();
        // Rows of one model usually stand together. Visiting rows far apart makes consecutive ones
        // fall into different bins, and their additions need not wait for each other.
        for start in 0..STRIDE {
            for i in (start..times.len()).step_by(STRIDE) {
                if times[i] > 0 {
                    let sum = self.fixed.sum(i, times[i]);
                    total += sum;
                    self.rows.push(Row { sum, codes: self.codes[i] });
                }
            }
        }
        let n = self.rows.len();
        self.spare.clear();
        self.spare.extend_from_slice(&self.rows);
        let features = self.matrix.features().len();
        let all = (((1u64 << features) - 1) & u64::from(u32::MAX)) as u32;
        self.node(0, n, 0, all, NodeSeed::root(tree_seed), total);
        &self.nodes
    }

    /// Grows the node of rows `lo..hi` and what is below it; gives its index.
    fn node(
        &mut self,
        lo: usize,
        hi: usize,
        depth: u32,
        mut varying: u32,
        seed: NodeSeed,
        total: Sum,
    ) -> u32 {
        let rows = (hi - lo) as u64;
        let limits = self.limits;
        let mut split = None;
        if depth < limits.max_depth
            && rows >= limits.min_samples_split
            && rows >= 2 * limits.min_samples_leaf
            && let Some((feature, best)) = self.best_split(lo, hi, &mut varying, seed, total)
        {
            let middle = self.partition(lo, hi, feature as usize, best.codes.0);
            let (left_seed, right_seed) = seed.children();
            let left = self.node(lo, middle, depth + 1, varying, left_seed, best.left);
            let right = total - best.left;
            let right = self.node(middle, hi, depth + 1, varying, right_seed, right);
            let threshold = self.matrix.threshold(feature as usize, best.codes.0, best.codes.1);
            split = Some(Split { feature: feature as u16, threshold, left, right });
        }
        self.nodes.push(GrownNode {
            value: self.fixed.scale.mean(total),
            rows: rows as u32,
            split,
        });
        self.nodes.len() as u32 - 1
    }

    /// Best split of a node, if one lowers the error; clears features that are constant here
    /// from `varying`.
    fn best_split(
        &mut self,
        lo: usize,
        hi: usize,
        varying: &mut u32,
        seed: NodeSeed,
        total: Sum,
    ) -> Option<Best> {
        let mut best: Option<Best> = None;
        let candidates = *varying;
        if hi - lo == 2 && self.limits.max_features >= candidates.count_ones() {
            best = self.split_pair(lo, candidates);
        } else if self.limits.max_features >= candidates.count_ones() {
            let mut left = candidates;
            while left != 0 {
                let f = left.trailing_zeros();
                left &= left - 1;
                if !self.consider(lo, hi, f, total, &mut best) {
                    *varying &= !(1 << f);
                }
            }
        } else {
            // Without replacement, until enough features that vary here were seen.
            let mut list = [0u8; MAX_FEATURES];
            let mut n = 0;
            for f in 0..MAX_FEATURES as u32 {
                if candidates & (1 << f) != 0 {
                    list[n] = f as u8;
                    n += 1;
                }
            }
            let mut rng = seed.rng();
            let mut seen = 0;
            while n > 0 && seen < self.limits.max_features {
                let at = below(&mut rng, n);
                let f = u32::from(list[at]);
                n -= 1;
                list[at] = list[n];
                if self.consider(lo, hi, f, total, &mut best) {
                    seen += 1;
                } else {
                    *varying &= !(1 << f);
                }
            }
        }
        best.filter(|(_, b)| self.fixed.scale.means_differ(b.left, total - b.left))
    }

    /// The only way to split two rows: every feature that tells them apart is equally good.
    fn split_pair(&self, lo: usize, candidates: u32) -> Option<Best> {
        let (a, b) = (&self.rows[lo], &self.rows[lo + 1]);
        let mut left = candidates;
        while left != 0 {
            let feature = left.trailing_zeros();
            left &= left - 1;
            let codes = (a.codes[feature as usize], b.codes[feature as usize]);
            if codes.0 != codes.1 {
                let first = codes.0 < codes.1;
                let codes = if first { codes } else { (codes.1, codes.0) };
                let left = if first { a.sum } else { b.sum };
                return Some((feature, Boundary { score: f64::INFINITY, codes, left }));
            }
        }
        None
    }

    /// Looks for a better split by feature `f`; false if `f` is constant in the node.
    fn consider(
        &mut self,
        lo: usize,
        hi: usize,
        f: u32,
        total: Sum,
        best: &mut Option<Best>,
    ) -> bool {
        let at = f as usize;
        for row in &self.rows[lo..hi] {
            let code = usize::from(row.codes[at]);
            self.bins[code] += row.sum;
            self.occupied[code / 64] |= 1 << (code % 64);
        }
        let scale = self.fixed.scale;
        let least = self.limits.min_samples_leaf;
        let words = self.matrix.distinct(at).len().div_ceil(64);
        let mut left = Sum::default();
        let mut last = None;
        let mut varies = false;
        let mut found = Boundary { score: 0.0, codes: (0, 0), left };
        for (w, word) in self.occupied[..words].iter_mut().enumerate() {
            while *word != 0 {
                let code = 64 * w + word.trailing_zeros() as usize;
                *word &= *word - 1;
                if let Some(last) = last {
                    varies = true;
                    let right = total - left;
                    let score = scale.separation(left, right);
                    if score > found.score
                        && (least <= 1 || scale.rows(left).min(scale.rows(right)) >= least)
                    {
                        found = Boundary { score, codes: (last, code as u16), left };
                    }
                }
                last = Some(code as u16);
                left += std::mem::take(&mut self.bins[code]);
            }
        }
        // Equal scores go to the lower feature, whatever the order in which they are looked at.
        let better = match best {
            None => found.score > 0.0,
            Some((g, b)) => found.score > b.score || (found.score == b.score && f < *g),
        };
        if better {
            *best = Some((f, found));
        }
        varies
    }

    /// Moves rows whose code is at most `code` to the front, keeping the order on both sides.
    fn partition(&mut self, lo: usize, hi: usize, feature: usize, code: u16) -> usize {
        let (mut left, mut right) = (lo, 0);
        for i in lo..hi {
            let row = self.rows[i];
            let goes_left = row.codes[feature] <= code;
            // Both are written and one is kept: no branch to predict.
            self.rows[left] = row;
            self.spare[right] = row;
            left += usize::from(goes_left);
            right += usize::from(!goes_left);
        }
        self.rows[left..hi].copy_from_slice(&self.spare[..right]);
        left
    }
}

/// An array on the heap that never stood on the stack.
fn zeroed<T: Clone + Default, const N: usize>() -> Box<[T; N]> {
    match vec![T::default(); N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("the length is N"),
    }
}
