//! Stack that the generated crate takes, estimated without compiling.
//!
//! Fitted to bundles with 1 to 61 operating points, measured on thumbv7em, aarch64 and x86-64 by
//! `checks/measure.sh`, which fails if a measurement is above the estimate.

use enerinfer_artifacts::{Forest, Node};

use crate::Lowered;

const FIXED: u64 = 448;
/// Tables while they are computed, their front, and copies of both.
const PER_POINT: u64 = 60;
/// The walk calls itself where a split on the shape stands above one on a clock.
const PER_SELECTION: u64 = 64;

/// Estimated bytes of stack from a shape to a choice, the tables and the front included.
pub(super) fn estimate_stack_bytes(lowered: &Lowered, points: usize) -> u64 {
    let nested = lowered.predictors.iter().map(|p| selections(&p.forest)).max().unwrap_or(0);
    FIXED + PER_POINT * points as u64 + PER_SELECTION * u64::from(nested)
}

/// How often, on one path, the shape selects among subtrees that split on clocks.
fn selections<L: Copy>(forest: &Forest<L>) -> u32 {
    let is_clock = |feature: u16| forest.features[usize::from(feature)].is_clock();
    let mut reads_clocks = vec![false; forest.nodes.len()];
    let mut below = vec![0u32; forest.nodes.len()];
    for (i, node) in forest.nodes.iter().enumerate() {
        let Node::Split { feature, left, right, .. } = *node else { continue };
        reads_clocks[i] =
            is_clock(feature) || [left, right].iter().any(|&c| reads_clocks[c as usize]);
        let of = |child: u32| {
            let child = child as usize;
            // Splits on the shape that follow each other select once.
            let same = match forest.nodes[child] {
                Node::Split { feature: f, .. } => {
                    reads_clocks[child] && !is_clock(f) && !is_clock(feature)
                }
                Node::Leaf(_) => false,
            };
            below[child] - u32::from(same)
        };
        let selects = reads_clocks[i] && !is_clock(feature);
        below[i] = of(left).max(of(right)) + u32::from(selects);
    }
    forest.roots.iter().map(|&root| below[root as usize]).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use enerinfer_artifacts::Feature;

    use super::*;

    #[test]
    fn selections_are_runs_of_shape_splits_above_clock_splits() {
        let split = |feature, left, right| Node::Split { feature, threshold: 5, left, right };
        let nodes = vec![
            Node::Leaf(1i64),
            split(0, 0, 0), // 1: shape alone
            split(1, 1, 0), // 2: clock above shape
            split(0, 2, 0), // 3: selects
            split(0, 3, 1), // 4: … in the same run
            split(1, 4, 0), // 5
            split(0, 5, 4), // 6: a second run
        ];
        let count = |root| {
            let features = vec![Feature::Layers, Feature::MemKhz];
            selections(&Forest { features, base: 0, nodes: nodes.clone(), roots: vec![root] })
        };
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(count), [0, 0, 0, 1, 1, 1, 2]);
    }
}
