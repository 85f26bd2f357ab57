//! Equal subtrees become one (hash-consing): within a tree and across trees.

use std::collections::HashMap;

use enerinfer_artifacts::{Forest, Node};

use super::rebuild::compact;

/// A node as a key: leaf value, or split with already shared children.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Leaf(i64),
    Split(u16, u32, u32, u32),
}

/// Maps every node to the first one that computes the same in the same way.
pub fn share_subtrees(forest: &Forest<i64>) -> Forest<i64> {
    let mut first: HashMap<Key, u32> = HashMap::with_capacity(forest.nodes.len());
    let mut to = vec![0u32; forest.nodes.len()];
    let mut nodes = forest.nodes.clone();
    for (i, node) in nodes.iter_mut().enumerate() {
        let key = match node {
            Node::Leaf(value) => Key::Leaf(*value),
            Node::Split { feature, threshold, left, right } => {
                *left = to[*left as usize];
                *right = to[*right as usize];
                Key::Split(*feature, *threshold, *left, *right)
            }
        };
        to[i] = *first.entry(key).or_insert(i as u32);
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
    fn equal_trees_become_one() {
        let split = |left, right| Node::Split { feature: 0, threshold: 5, left, right };
        let forest = Forest {
            features: vec![Feature::Layers],
            base: 1,
            nodes: vec![
                Node::Leaf(3),
                Node::Leaf(4),
                split(0, 1),
                Node::Leaf(3),
                Node::Leaf(4),
                split(3, 4),
                split(4, 3),
            ],
            roots: vec![2, 5, 6],
        };
        let shared = share_subtrees(&forest);
        assert_eq!(shared.nodes.len(), 4);
        assert_eq!(shared.roots, vec![2, 2, 3]);
    }
}
