//! One regression tree: exact CART (Breiman et al. 1984) on coded features.
//!
//! Every split considers every boundary between two different values that the node's rows have,
//! and takes the one that lowers the weighted squared error most; ties go to the lowest feature,
//! then the lowest threshold. Rows move physically with their node, so a node's rows are one
//! slice. Large nodes sum their rows per distinct value in bins, with a bitmap of the occupied
//! ones; the smallest sort a handful of codes by insertion. A feature found constant in a node is
//! not looked at below it.

use crate::CodedMatrix;
use crate::draw::{NodeSeed, below};
use crate::fixed::{FixedRows, Scale, Sum};
use crate::matrix::MAX_FEATURES;

/// Largest node whose codes are sorted instead of binned.
const SORTED: usize = 20;

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

/// Best split of a node so far.
#[derive(Clone, Copy, Debug)]
struct Best {
    /// Decrease of the weighted squared error, times the node's weight.
    score: f64,
    feature: u32,
    /// Codes on both sides of the boundary.
    codes: (u16, u16),
    left: Sum,
}

/// Memory for growing trees of one fit, reused from tree to tree.
pub(crate) struct Grower<'a, const F: usize> {
    matrix: &'a CodedMatrix,
    fixed: &'a FixedRows,
    /// Codes of `fixed.rows`, row by row.
    codes: &'a [[u16; F]],
    limits: Limits,
    rows: Vec<Row<F>>,
    spare: Vec<Row<F>>,
    /// One per code of the feature with the most; all zero between uses.
    bins: Vec<Sum>,
    /// One bit per bin; all zero between uses.
    occupied: Vec<u64>,
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
        let bins = (0..matrix.features().len()).map(|f| matrix.distinct(f).len()).max();
        let bins = bins.unwrap_or(0);
        Grower {
            matrix,
            fixed,
            codes,
            limits,
            rows: Vec::new(),
            spare: Vec::new(),
            bins: vec![Sum::default(); bins],
            occupied: vec![0; bins.div_ceil(64)],
            nodes: Vec::new(),
        }
    }

    /// Grows a tree on the rows drawn `times[i] > 0` times.
    pub(crate) fn grow(&mut self, times: &[u32], tree_seed: u64) -> &[GrownNode] {
        self.rows.clear();
        self.nodes.clear();
        let mut total = Sum::default();
        for (i, &times) in times.iter().enumerate() {
            if times > 0 {
                let sum = self.fixed.sum(i, times);
                total += sum;
                self.rows.push(Row { sum, codes: self.codes[i] });
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
            && let Some(best) = self.best_split(lo, hi, &mut varying, seed, total)
        {
            let middle = self.partition(lo, hi, best.feature as usize, best.codes.0);
            let (left_seed, right_seed) = seed.children();
            let left = self.node(lo, middle, depth + 1, varying, left_seed, best.left);
            let right = total - best.left;
            let right = self.node(middle, hi, depth + 1, varying, right_seed, right);
            let threshold =
                self.matrix.threshold(best.feature as usize, best.codes.0, best.codes.1);
            split = Some(Split { feature: best.feature as u16, threshold, left, right });
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
        if self.limits.max_features >= candidates.count_ones() {
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
        best.filter(|b| self.fixed.scale.means_differ(b.left, total - b.left))
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
        let rows = &self.rows[lo..hi];
        let mut scan = Scan::new(self.fixed.scale, self.limits.min_samples_leaf, f, total, best);
        if rows.len() <= SORTED {
            let mut order = [0u32; SORTED];
            let mut n = 0;
            for (i, row) in rows.iter().enumerate() {
                let key = u32::from(row.codes[at]) << 16 | i as u32;
                let mut slot = n;
                while slot > 0 && order[slot - 1] > key {
                    order[slot] = order[slot - 1];
                    slot -= 1;
                }
                order[slot] = key;
                n += 1;
            }
            for &key in &order[..n] {
                scan.row((key >> 16) as u16, rows[(key & 0xffff) as usize].sum);
            }
        } else {
            for row in rows {
                let code = usize::from(row.codes[at]);
                self.bins[code] += row.sum;
                self.occupied[code / 64] |= 1 << (code % 64);
            }
            for (w, word) in self.occupied.iter_mut().enumerate() {
                while *word != 0 {
                    let code = 64 * w + word.trailing_zeros() as usize;
                    *word &= *word - 1;
                    scan.row(code as u16, std::mem::take(&mut self.bins[code]));
                }
            }
        }
        scan.boundaries > 0
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

/// Walks a feature's values in ascending order and keeps the best boundary.
struct Scan<'b> {
    scale: Scale,
    min_samples_leaf: u64,
    feature: u32,
    total: Sum,
    left: Sum,
    last: Option<u16>,
    boundaries: u32,
    best: &'b mut Option<Best>,
}

impl<'b> Scan<'b> {
    fn new(
        scale: Scale,
        min_samples_leaf: u64,
        feature: u32,
        total: Sum,
        best: &'b mut Option<Best>,
    ) -> Self {
        let left = Sum::default();
        Scan { scale, min_samples_leaf, feature, total, left, last: None, boundaries: 0, best }
    }

    /// Rows with `code`; codes ascend and may repeat.
    #[inline(always)]
    fn row(&mut self, code: u16, sum: Sum) {
        if let Some(last) = self.last
            && last != code
        {
            self.boundaries += 1;
            self.boundary(last, code);
        }
        self.last = Some(code);
        self.left += sum;
    }

    #[inline(always)]
    fn boundary(&mut self, below: u16, above: u16) {
        let right = self.total - self.left;
        let least = self.min_samples_leaf;
        if least > 1 && (self.scale.rows(self.left) < least || self.scale.rows(right) < least) {
            return;
        }
        let (wl, wr) = (self.scale.weight(self.left), self.scale.weight(right));
        let (sl, sr) = (self.scale.target(self.left), self.scale.target(right));
        // (mean_l − mean_r)² · w_l · w_r: the decrease of the squared error times w_l + w_r. This
        // form gives the same bits when left and right change places, so that two features that
        // separate the same rows tie exactly.
        let difference = sl * wr - sr * wl;
        let score = difference * difference / (wl * wr);
        let better = match self.best {
            None => score > 0.0,
            Some(b) => score > b.score || (score == b.score && self.feature < b.feature),
        };
        if better {
            *self.best =
                Some(Best { score, feature: self.feature, codes: (below, above), left: self.left });
        }
    }
}
