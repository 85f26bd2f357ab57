//! Rebuilding a node pool bottom-up: the mechanics that passes share.

use enerinfer_artifacts::{Forest, Node};

/// A pool under construction; nodes are appended, so children stand before parents.
#[derive(Debug)]
pub(crate) struct Pool<L> {
    pub(crate) nodes: Vec<Node<L>>,
}

impl<L> Pool<L> {
    pub(crate) fn new() -> Self {
        Pool { nodes: Vec::new() }
    }

    pub(crate) fn push(&mut self, node: Node<L>) -> u32 {
        // Pools are at most MAX_NODES long: rebuilt ones never grow beyond their source.
        let index = self.nodes.len() as u32;
        self.nodes.push(node);
        index
    }
}

/// The forest with only the nodes that its roots reach, in the order of a depth-first walk, so
/// that equal trees have equal pools whatever passes ran before.
pub(crate) fn compact<L: Copy>(forest: &Forest<L>) -> Forest<L> {
    const UNSEEN: u32 = u32::MAX;
    let mut map = vec![UNSEEN; forest.nodes.len()];
    let mut pool = Pool::new();
    let mut roots = Vec::with_capacity(forest.roots.len());
    for &root in &forest.roots {
        let mut stack = vec![root];
        while let Some(&at) = stack.last() {
            if map[at as usize] != UNSEEN {
                stack.pop();
                continue;
            }
            match forest.nodes[at as usize] {
                Node::Leaf(value) => map[at as usize] = pool.push(Node::Leaf(value)),
                Node::Split { feature, threshold, left, right } => {
                    let (l, r) = (map[left as usize], map[right as usize]);
                    if l == UNSEEN {
                        stack.push(left);
                        continue;
                    }
                    if r == UNSEEN {
                        stack.push(right);
                        continue;
                    }
                    map[at as usize] =
                        pool.push(Node::Split { feature, threshold, left: l, right: r });
                }
            }
            stack.pop();
        }
        roots.push(map[root as usize]);
    }
    Forest { features: forest.features.clone(), base: forest.base, nodes: pool.nodes, roots }
}
