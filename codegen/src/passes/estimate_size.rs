//! Size of compiled predictors, estimated without compiling: a linear model.
//!
//! Fitted to the code and tables (`.text` and `.rodata`) of 38 predictors of 400 to 56 000 leaves
//! (boosted and random forests trained on simulated boards and a phone, scikit-learn's random forests
//! and extra trees), compiled for thumbv7em with `opt-level = "z"` by rustc 1.96; it is between 14 %
//! below and 18 % above each of them. The hand-written code around the predictors takes another
//! 6.5 KiB.

use enerinfer_artifacts::{ClockTables, Feature, Forest, Node};

use crate::emit::merged::merge_apart;
use crate::emit::statements::Statements;

/// Tenths of a byte of a predictor without trees.
const PREDICTOR: u64 = 4000;

/// Tenths of a byte per addition to a rectangle, with the comparison before it.
const ADDITION: u64 = 101;
/// Tenths of a byte per comparison within a value that is added to one rectangle.
const COMPARISON: u64 = 94;

/// Tenths of a byte per leaf of forests that cannot be merged.
const LEAF: u64 = 95;

/// Bytes per distinct threshold in the tables by which ranks are found, and per rectangle.
const BYTES_PER_ENTRY: u64 = 4;

/// Tenths of a byte per leaf of a tree that is not known yet, its thresholds excepted: somewhat more
/// than trained forests take (73 to 93 measured), so that few grow out of a budget when they
/// are fitted to all data. Many shallow trees take less, since they share comparisons.
const LEAF_OF_UNKNOWN: u64 = 104;

/// Most nodes of a forest that is merged to estimate it: larger ones are hardly ever compiled, and
/// merging costs about 3 µs and 0.8 KB per node.
const MAX_MERGED: usize = 1 << 20;

/// Most thresholds of a clock for which rectangles can be told apart.
const MAX_LEVELS: usize = 200;

/// [`estimate_bytes`] before the forest exists: from its leaves, and the number of thresholds
/// that its training data allow at most.
pub fn estimate_bytes_of(trees: u64, leaves: u64, most_thresholds: u64) -> u64 {
    // Every tree is binary: one leaf more than splits.
    let thresholds = leaves.saturating_sub(trees).min(most_thresholds);
    (PREDICTOR.saturating_add(leaves.saturating_mul(LEAF_OF_UNKNOWN)) / 10)
        .saturating_add(BYTES_PER_ENTRY.saturating_mul(thresholds))
}

/// What a leaf holds.
pub trait LeafValue: Copy {
    /// Equal for equal values.
    fn bits(self) -> u64;
}

impl LeafValue for f64 {
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

impl LeafValue for i64 {
    fn bits(self) -> u64 {
        self as u64
    }
}

/// Estimated flash of one predictor on thumbv7em with `opt-level = "z"`, in bytes. It depends on which
/// leaves are equal, not on which of them are one node.
pub fn estimate_bytes<L: LeafValue>(forest: &Forest<L>) -> u64 {
    let thresholds = forest.thresholds();
    let entries: u64 = thresholds.iter().map(|t| t.len() as u64).sum();
    let by_statements = estimate_merged(forest, &thresholds);
    let bytes = by_statements.unwrap_or_else(|| tree_leaves(forest).saturating_mul(LEAF) / 10);
    (PREDICTOR / 10).saturating_add(bytes).saturating_add(BYTES_PER_ENTRY * entries)
}

/// Leaves of all trees, as if no subtree were shared.
pub(crate) fn tree_leaves<L: Copy>(forest: &Forest<L>) -> u64 {
    let mut leaves: Vec<u64> = Vec::with_capacity(forest.nodes.len());
    for node in &forest.nodes {
        leaves.push(match *node {
            Node::Leaf(_) => 1,
            Node::Split { left, right, .. } => {
                leaves[left as usize].saturating_add(leaves[right as usize])
            }
        });
    }
    forest.roots.iter().map(|&root| leaves[root as usize]).fold(0, u64::saturating_add)
}

/// Bytes of a merged forest, its thresholds excepted; `None` for forests that are not merged.
fn estimate_merged<L: LeafValue>(forest: &Forest<L>, thresholds: &[Vec<u32>]) -> Option<u64> {
    if forest.nodes.len() > MAX_MERGED {
        return None;
    }
    // A level at each threshold and one above all: rectangles as different as they can be.
    let levels = |clock: Feature| -> Vec<u32> {
        let column = forest.features.iter().position(|&f| f == clock);
        let mut levels = column.map_or_else(Vec::new, |column| thresholds[column].clone());
        levels.retain(|&t| t < u32::MAX);
        levels.push(u32::MAX);
        levels
    };
    let clocks =
        ClockTables { accel_khz: levels(Feature::AccelKhz), mem_khz: levels(Feature::MemKhz) };
    if !(1..=MAX_LEVELS).contains(&clocks.accel_khz.len().max(clocks.mem_khz.len())) {
        return None;
    }
    // Which leaves are equal decides, since equal values are computed once; what they hold does not.
    // Numbers without order stand for them: numbers in the order of nodes would make the differences
    // of neighbours equal.
    let nodes = forest.nodes.iter().map(|node| match *node {
        Node::Leaf(value) => Node::Leaf((mix(value.bits()) >> 48) as i64),
        Node::Split { feature, threshold, left, right } => {
            Node::Split { feature, threshold, left, right }
        }
    });
    let forest = Forest {
        features: forest.features.clone(),
        base: 0,
        nodes: nodes.collect(),
        roots: forest.roots.clone(),
    };
    let merged = merge_apart(&forest, &clocks)?;
    let (additions, comparisons) = Statements::of(&merged).counts();
    let tenths = additions * ADDITION + comparisons * COMPARISON;
    Some(tenths / 10 + BYTES_PER_ENTRY * merged.rects.len() as u64)
}

/// The finaliser of SplitMix64: near inputs become numbers without relation.
fn mix(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forest(nodes: Vec<Node<f64>>, roots: Vec<u32>) -> Forest<f64> {
        Forest { features: vec![Feature::Layers, Feature::MemKhz], base: 0.0, nodes, roots }
    }

    fn split(feature: u16, left: u32, right: u32) -> Node<f64> {
        Node::Split { feature, threshold: 5, left, right }
    }

    #[test]
    fn trees_that_compare_the_same_add_in_one_place() {
        let [a, b, c] = [1.0, 2.0, 3.0].map(Node::Leaf);
        // Below the memory clock's threshold the layers decide.
        let nodes = vec![a, b, split(0, 0, 1), c, split(1, 2, 3)];
        let one = estimate_bytes(&forest(nodes.clone(), vec![4]));
        let bytes = (PREDICTOR + ADDITION) / 10 + 3 * BYTES_PER_ENTRY;
        assert_eq!(one, bytes);
        assert_eq!(estimate_bytes(&forest(nodes, vec![4, 4])), one);
    }

    #[test]
    fn without_clocks_every_leaf_counts() {
        let nodes = vec![
            Node::Leaf(1.0),
            Node::Leaf(2.0),
            split(0, 0, 1),
            Node::Leaf(3.0),
            Node::Split { feature: 0, threshold: 9, left: 2, right: 3 },
        ];
        let (root, one) = (vec![4], BYTES_PER_ENTRY);
        let two = PREDICTOR + 2 * COMPARISON;
        assert_eq!(estimate_bytes(&forest(nodes, root)), two / 10 + 2 * one + one);
    }
}
