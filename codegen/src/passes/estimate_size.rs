//! Size of compiled predictors, estimated without compiling: a linear model.

use enerinfer_artifacts::{Forest, Node};

/// Bytes per split of a tree: a comparison and a branch.
const BYTES_PER_SPLIT: u64 = 5;
/// Bytes per leaf: a constant and a return.
const BYTES_PER_LEAF: u64 = 6;
/// Bytes per tree: loading ranks, the call, the addition.
const BYTES_PER_TREE: u64 = 30;
/// Bytes per distinct threshold in the rank tables.
const BYTES_PER_THRESHOLD: u64 = 4;
/// Bytes per predictor: rank look-ups and the loop over operating points.
const BYTES_PER_PREDICTOR: u64 = 300;

/// Estimated flash of one predictor on thumbv7em with `opt-level = "s"`, in bytes.
///
/// Linear in splits, leaves, trees and distinct thresholds.
pub fn estimate_bytes<L: Copy>(forest: &Forest<L>) -> u64 {
    let leaves = forest.nodes.iter().filter(|n| matches!(n, Node::Leaf(_))).count() as u64;
    let splits = forest.nodes.len() as u64 - leaves;
    let thresholds: u64 = forest.thresholds().iter().map(|t| t.len() as u64).sum();
    linear(forest.roots.len() as u64, splits, leaves, thresholds)
}

/// [`estimate_bytes`] before the forest exists: from its trees and leaves, and the number of
/// thresholds that its training data allow at most.
pub fn estimate_bytes_of(trees: u64, leaves: u64, most_thresholds: u64) -> u64 {
    // Every tree is binary: one leaf more than splits.
    let splits = leaves.saturating_sub(trees);
    linear(trees, splits, leaves, splits.min(most_thresholds))
}

fn linear(trees: u64, splits: u64, leaves: u64, thresholds: u64) -> u64 {
    BYTES_PER_PREDICTOR
        + BYTES_PER_SPLIT * splits
        + BYTES_PER_LEAF * leaves
        + BYTES_PER_TREE * trees
        + BYTES_PER_THRESHOLD * thresholds
}
