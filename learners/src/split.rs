//! The best split of a node: exact CART (Breiman et al. 1984) on coded features.
//!
//! Every boundary between two different values that the node's rows have is considered, and the
//! one that lowers the weighted squared error most is taken; ties go to the lowest feature, then
//! the lowest threshold. Rows move physically with their node, so a node's rows are one slice. A
//! feature is judged by summing the rows per distinct value in bins, with a bitmap of the occupied
//! ones, so that small nodes pay for their own values only.

use std::cmp::Ordering;

use crate::CodedMatrix;
use crate::draw::{NodeSeed, below};
use crate::fixed::{FixedRows, Scale, Sum};
use crate::matrix::MAX_FEATURES;

/// Distance of rows that are visited one after the other.
const STRIDE: usize = 64;

/// Rows per word of the bitmap from which looking at every bin is cheaper than marking rows.
const DENSE: usize = 128;

/// A row with all that growing needs, so that a pass over a node reads memory in order.
#[derive(Clone, Copy, Debug)]
struct Row<const F: usize> {
    sum: Sum,
    codes: [u16; F],
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
    /// [`Scale::separation`] of the two sides.
    score: f64,
    pub(crate) feature: u32,
    /// Codes next to the boundary.
    pub(crate) codes: (u16, u16),
    pub(crate) left: Sum,
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
pub(crate) struct Splitter<'a, const F: usize> {
    matrix: &'a CodedMatrix,
    limits: Limits,
    pub(crate) scale: Scale,
    rows: Vec<Row<F>>,
    spare: Vec<Row<F>>,
    /// One per possible code, so that no index needs a check; all zero between uses.
    bins: Box<[Sum; 1 << 16]>,
    /// One bit per bin; all zero between uses.
    occupied: Box<[u64; 1 << 10]>,
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

impl<'a, const F: usize> Splitter<'a, F> {
    pub(crate) fn new(matrix: &'a CodedMatrix, limits: Limits, scale: Scale) -> Self {
        Splitter {
            matrix,
            limits,
            scale,
            rows: Vec::new(),
            spare: Vec::new(),
            bins: zeroed(),
            occupied: zeroed(),
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
        self.spare.clear();
        self.spare.extend_from_slice(&self.rows);
        let varying = u32::MAX >> (MAX_FEATURES - self.matrix.features().len());
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
        let mut best: Option<Best> = None;
        let candidates = node.varying;
        if limits.max_features < candidates.count_ones() {
            self.consider_drawn(node, &mut best);
        } else if rows == 2 {
            best = self.split_pair(node.lo, candidates);
        } else {
            for f in bits(candidates) {
                if !self.consider(node, f, &mut best) {
                    node.varying &= !(1 << f);
                }
            }
        }
        best.filter(|b| self.scale.means_differ(b.left, node.total - b.left))
    }

    /// Considers features drawn without replacement, until enough that vary here were seen.
    fn consider_drawn(&mut self, node: &mut Open, best: &mut Option<Best>) {
        let mut list = [0u32; MAX_FEATURES];
        let mut n = 0;
        for f in bits(node.varying) {
            list[n] = f;
            n += 1;
        }
        let mut rng = node.seed.rng();
        let mut seen = 0;
        while n > 0 && seen < self.limits.max_features {
            let at = below(&mut rng, n);
            let f = list[at];
            n -= 1;
            list[at] = list[n];
            if self.consider(node, f, best) {
                seen += 1;
            } else {
                node.varying &= !(1 << f);
            }
        }
    }

    /// The only way to split two rows: every feature that tells them apart is equally good.
    fn split_pair(&self, lo: usize, candidates: u32) -> Option<Best> {
        let (a, b) = (&self.rows[lo], &self.rows[lo + 1]);
        bits(candidates).find_map(|feature| {
            let codes = (a.codes[feature as usize], b.codes[feature as usize]);
            let score = f64::INFINITY;
            match codes.0.cmp(&codes.1) {
                Ordering::Less => Some(Best { score, feature, codes, left: a.sum }),
                Ordering::Equal => None,
                Ordering::Greater => {
                    Some(Best { score, feature, codes: (codes.1, codes.0), left: b.sum })
                }
            }
        })
    }

    /// Looks for a better split by feature `f`; false if `f` is constant in the node.
    fn consider(&mut self, node: &Open, f: u32, best: &mut Option<Best>) -> bool {
        let at = f as usize;
        let rows = &self.rows[node.lo..node.hi];
        let words = self.matrix.distinct(at).len().div_ceil(64);
        if rows.len() > DENSE * words {
            for row in rows {
                self.bins[usize::from(row.codes[at])] += row.sum;
            }
            for (word, bins) in self.occupied[..words].iter_mut().zip(self.bins.chunks(64)) {
                *word = (0..64).fold(0, |bits, i| bits | u64::from(!bins[i].is_empty()) << i);
            }
        } else {
            for row in rows {
                let code = usize::from(row.codes[at]);
                self.bins[code] += row.sum;
                self.occupied[code / 64] |= 1 << (code % 64);
            }
        }
        let scale = self.scale;
        let least = self.limits.min_samples_leaf;
        let mut left = Sum::default();
        let mut last = None;
        let mut varies = false;
        let mut found = Best { score: 0.0, feature: f, codes: (0, 0), left };
        for (w, word) in self.occupied[..words].iter_mut().enumerate() {
            while *word != 0 {
                let code = 64 * w + word.trailing_zeros() as usize;
                *word &= *word - 1;
                if let Some(last) = last {
                    varies = true;
                    let right = node.total - left;
                    let score = scale.separation(left, right);
                    if score > found.score
                        && (least <= 1 || scale.rows(left).min(scale.rows(right)) >= least)
                    {
                        found = Best { score, feature: f, codes: (last, code as u16), left };
                    }
                }
                last = Some(code as u16);
                left += std::mem::take(&mut self.bins[code]);
            }
        }
        // Equal scores go to the lower feature, whatever the order in which they are looked at.
        let better = match best {
            None => found.score > 0.0,
            Some(b) => found.score > b.score || (found.score == b.score && f < b.feature),
        };
        if better {
            *best = Some(found);
        }
        varies
    }

    /// Moves the rows of a split node, keeping their order on both sides; gives both children.
    pub(crate) fn partition(&mut self, node: &Open, best: &Best) -> (Open, Open) {
        let feature = best.feature as usize;
        let (mut left, mut right) = (node.lo, 0);
        for i in node.lo..node.hi {
            let row = self.rows[i];
            let goes_left = row.codes[feature] <= best.codes.0;
            // Both are written and one is kept: no branch to predict.
            self.rows[left] = row;
            self.spare[right] = row;
            left += usize::from(goes_left);
            right += usize::from(!goes_left);
        }
        self.rows[left..node.hi].copy_from_slice(&self.spare[..right]);
        let (left_seed, right_seed) = node.seed.children();
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

/// An array on the heap that never stood on the stack.
fn zeroed<T: Clone + Default, const N: usize>() -> Box<[T; N]> {
    match vec![T::default(); N].into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("the length is N"),
    }
}
