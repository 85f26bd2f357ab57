//! One regression tree, grown depth first: every node is split as far as its limits allow.

use crate::CodedMatrix;
use crate::draw::NodeSeed;
use crate::fixed::FixedRows;
use crate::split::{Best, Limits, Open, Splitter};

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
    /// Largest code that goes left: the threshold among the rows' codes.
    pub(crate) code: u16,
    pub(crate) threshold: u32,
    pub(crate) left: u32,
    pub(crate) right: u32,
}

impl Split {
    pub(crate) fn new(matrix: &CodedMatrix, best: &Best, left: u32, right: u32) -> Self {
        let (below, above) = best.codes;
        let threshold = matrix.threshold(best.feature as usize, below, above);
        Split { feature: best.feature as u16, code: below, threshold, left, right }
    }
}

/// Grows trees of one fit.
pub(crate) struct Grower<'a, const F: usize> {
    matrix: &'a CodedMatrix,
    fixed: &'a FixedRows,
    /// Codes of `fixed.rows`, row by row.
    codes: &'a [[u16; F]],
    splitter: Splitter<F>,
    times: Vec<u32>,
    nodes: Vec<GrownNode>,
}

impl<'a, const F: usize> Grower<'a, F> {
    pub(crate) fn new(
        matrix: &'a CodedMatrix,
        fixed: &'a FixedRows,
        codes: &'a [[u16; F]],
        limits: Limits,
    ) -> Self {
        let splitter = Splitter::new(matrix, limits, fixed.scale);
        Grower { matrix, fixed, codes, splitter, times: Vec::new(), nodes: Vec::new() }
    }

    /// Grows a tree on the rows that `draw` gives a number of times above 0. With `random_ties`,
    /// equally good splits are preferred by an order of the features that the tree draws, else by
    /// the columns'.
    pub(crate) fn grow(
        &mut self,
        draw: impl FnOnce(&mut Vec<u32>),
        tree_seed: u64,
        random_ties: bool,
    ) {
        draw(&mut self.times);
        self.nodes.clear();
        let seed = NodeSeed::root(tree_seed);
        if random_ties {
            self.splitter.shuffle_ties(seed);
        }
        let root = self.splitter.load(self.fixed, self.codes, &self.times, seed);
        self.node(root);
    }

    /// The tree that was grown last.
    pub(crate) fn nodes(&self) -> &[GrownNode] {
        &self.nodes
    }

    /// Grows a node and what is below it; gives its index. Depth is limited, so recursion is too.
    fn node(&mut self, mut node: Open) -> u32 {
        let split = self.splitter.best_split(&mut node).map(|best| {
            let (left, right) = self.splitter.partition(&node, &best);
            let left = self.node(left);
            let right = self.node(right);
            Split::new(self.matrix, &best, left, right)
        });
        let value = self.splitter.scale.mean(node.total);
        self.nodes.push(GrownNode { value, rows: node.rows() as u32, split });
        self.nodes.len() as u32 - 1
    }
}
