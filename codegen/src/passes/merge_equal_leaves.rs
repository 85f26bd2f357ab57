//! A split whose two sides are the same leaf value is that leaf.

use enerinfer_artifacts::{Forest, Node};

use super::rebuild::compact;

/// Replaces, bottom-up, every split between equal leaves (or between one and the same node) by
/// what it leads to.
pub fn merge_equal_leaves<L: Copy + PartialEq>(forest: &Forest<L>) -> Forest<L> {
    // Where each node's value is found: itself, or what it was replaced by.
    let mut to: Vec<u32> = (0..forest.nodes.len() as u32).collect();
    let mut nodes = forest.nodes.clone();
    for i in 0..nodes.len() {
        if let Node::Split { feature, threshold, left, right } = nodes[i] {
            let (l, r) = (to[left as usize], to[right as usize]);
            let same_leaf = matches!(
                (nodes[l as usize], nodes[r as usize]),
                (Node::Leaf(a), Node::Leaf(b)) if a == b
            );
            if l == r || same_leaf {
                to[i] = l;
            } else {
                nodes[i] = Node::Split { feature, threshold, left: l, right: r };
            }
        }
    }
    compact(&Forest {
        features: forest.features.clone(),
        base: forest.base,
        nodes,
        roots: forest.roots.iter().map(|&r| to[r as usize]).collect(),
    })
}

#[cfg(test)]
mod tests {
    use enerinfer_artifacts::Feature;

    use super::*;

    #[test]
    fn collapses_upwards() {
        let split = |left, right| Node::Split { feature: 0, threshold: 5, left, right };
        let forest = Forest {
            features: vec![Feature::Layers],
            base: 0,
            nodes: vec![Node::Leaf(3), Node::Leaf(3), split(0, 1), Node::Leaf(3), split(2, 3)],
            roots: vec![4, 2],
        };
        let merged = merge_equal_leaves(&forest);
        assert_eq!(merged.nodes, vec![Node::Leaf(3)]);
        assert_eq!(merged.roots, vec![0, 0]);
    }
}
