//! Size of compiled predictors, estimated without compiling: a linear model.
//!
//! Fitted to the code and tables (`.text` and `.rodata`) of 24 predictors of 549 to 62 086 leaves,
//! trained on two simulated platforms and compiled for thumbv7em with `opt-level = "s"` by
//! rustc 1.96; it is within 6 % of each of them. The hand-written code around the predictors takes
//! another 4.5 KiB.

use enerinfer_artifacts::{Forest, Node};

/// Tenths of a byte, per thing counted, of forests that read clocks.
mod grid {
    pub(super) const PREDICTOR: u64 = 8900;
    /// Leaf of a part with several leaves: a comparison, a branch, a constant, a return.
    pub(super) const LEAF: u64 = 82;
    /// Part with several leaves: an entry of a list, the frame of a function.
    pub(super) const PART: u64 = 78;
    /// Part of one leaf: an entry of a list, where it is not merged with others.
    pub(super) const CONSTANT: u64 = 35;
    /// Shape split above a clock split: a comparison, an entry that selects, a list.
    pub(super) const SELECT: u64 = 223;
}

/// Tenths of a byte, per thing counted, of forests that do not read clocks.
mod value {
    pub(super) const PREDICTOR: u64 = 3200;
    /// Leaves are two bytes there.
    pub(super) const LEAF: u64 = 105;
}

/// Bytes per distinct threshold in the tables by which ranks are found.
const BYTES_PER_THRESHOLD: u64 = 4;

/// Tenths of a byte per leaf of a tree that is not known yet, parts and selections included: the
/// median of the same predictors (8.9 to 13 bytes).
const LEAF_OF_UNKNOWN: u64 = 104;

/// [`estimate_bytes`] before the forest exists: from its leaves, and the number of thresholds
/// that its training data allow at most.
pub fn estimate_bytes_of(trees: u64, leaves: u64, most_thresholds: u64) -> u64 {
    // Every tree is binary: one leaf more than splits.
    let thresholds = leaves.saturating_sub(trees).min(most_thresholds);
    (grid::PREDICTOR.saturating_add(leaves.saturating_mul(LEAF_OF_UNKNOWN)) / 10)
        .saturating_add(BYTES_PER_THRESHOLD.saturating_mul(thresholds))
}

/// What lies below a node, shared subtrees counted as often as they are reached.
#[derive(Clone, Copy, Default)]
struct Below {
    leaves: u64,
    parts: u64,
    constants: u64,
    selects: u64,
    reads_clocks: bool,
}

impl Below {
    /// Counts a subtree that no clock split divides as a part.
    fn closed(self) -> Self {
        if self.reads_clocks {
            self
        } else if self.leaves == 1 {
            Below { constants: 1, leaves: 0, ..self }
        } else {
            Below { parts: 1, ..self }
        }
    }

    fn plus(self, other: Self) -> Self {
        Below {
            leaves: self.leaves.saturating_add(other.leaves),
            parts: self.parts.saturating_add(other.parts),
            constants: self.constants.saturating_add(other.constants),
            selects: self.selects.saturating_add(other.selects),
            reads_clocks: self.reads_clocks || other.reads_clocks,
        }
    }
}

/// Estimated flash of one predictor on thumbv7em with `opt-level = "s"`, in bytes.
pub fn estimate_bytes<L: Copy>(forest: &Forest<L>) -> u64 {
    let mut below: Vec<Below> = Vec::with_capacity(forest.nodes.len());
    for node in &forest.nodes {
        below.push(match *node {
            Node::Leaf(_) => Below { leaves: 1, ..Below::default() },
            Node::Split { feature, left, right, .. } => {
                let (l, r) = (below[left as usize], below[right as usize]);
                let clock = forest.features[usize::from(feature)].is_clock();
                if clock || l.reads_clocks || r.reads_clocks {
                    let mut sum = l.closed().plus(r.closed());
                    sum.reads_clocks = true;
                    sum.selects = sum.selects.saturating_add(u64::from(!clock));
                    sum
                } else {
                    l.plus(r)
                }
            }
        });
    }
    let total = forest
        .roots
        .iter()
        .fold(Below::default(), |sum, &root| sum.plus(below[root as usize].closed()));
    let count = |tenths: u64, number: u64| tenths.saturating_mul(number);
    let tenths = if total.reads_clocks {
        grid::PREDICTOR
            .saturating_add(count(grid::LEAF, total.leaves))
            .saturating_add(count(grid::PART, total.parts))
            .saturating_add(count(grid::CONSTANT, total.constants))
            .saturating_add(count(grid::SELECT, total.selects))
    } else {
        value::PREDICTOR.saturating_add(count(value::LEAF, total.leaves))
    };
    let thresholds: u64 = forest.thresholds().iter().map(|t| t.len() as u64).sum();
    (tenths / 10).saturating_add(BYTES_PER_THRESHOLD * thresholds)
}

#[cfg(test)]
mod tests {
    use enerinfer_artifacts::Feature;

    use super::*;

    fn forest(nodes: Vec<Node<f64>>) -> Forest<f64> {
        let root = nodes.len() as u32 - 1;
        let features = vec![Feature::Layers, Feature::MemKhz];
        Forest { features, base: 0.0, nodes, roots: vec![root] }
    }

    fn split(feature: u16, left: u32, right: u32) -> Node<f64> {
        Node::Split { feature, threshold: 5, left, right }
    }

    #[test]
    fn counts_parts_constants_and_selects() {
        let leaf = Node::Leaf(1.0);
        // Shape split over (a clock split between a leaf and a part of two) and a leaf.
        let nodes = vec![leaf, leaf, leaf, split(0, 0, 1), split(1, 2, 3), leaf, split(0, 4, 5)];
        let tenths =
            grid::PREDICTOR + 2 * grid::LEAF + grid::PART + 2 * grid::CONSTANT + grid::SELECT;
        assert_eq!(estimate_bytes(&forest(nodes)), tenths / 10 + 2 * BYTES_PER_THRESHOLD);
    }

    #[test]
    fn without_clocks_every_leaf_counts() {
        let nodes = vec![Node::Leaf(1.0), split(0, 0, 0)];
        let tenths = value::PREDICTOR + 2 * value::LEAF;
        assert_eq!(estimate_bytes(&forest(nodes)), tenths / 10 + BYTES_PER_THRESHOLD);
    }
}
