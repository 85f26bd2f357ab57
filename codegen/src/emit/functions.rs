//! Which nodes of a pool become functions of their own.

use enerinfer_artifacts::{Forest, Node};

/// Most nodes of one function. rustc's time per function grows faster than the function.
const MAX_NODES_PER_FUNCTION: u32 = 512;
/// Most nested branches of one function: keeps lines within rustfmt's width, and far away from
/// the thousand levels that crash rustc's parser.
const MAX_NESTING: u32 = 14;
/// A shared subtree of at least this many nodes is called rather than repeated.
const MIN_SHARED_NODES: u32 = 7;

/// The nodes that become functions: roots of trees, shared subtrees, and cuts through trees that
/// are too large or too deep for one function.
pub(crate) struct Functions {
    /// Function number per node of the pool; children have smaller numbers than their callers.
    number: Vec<Option<u32>>,
    /// Node of each function.
    nodes: Vec<u32>,
}

impl Functions {
    pub(crate) fn of(forest: &Forest<i64>) -> Self {
        let count = forest.nodes.len();
        let mut parents = vec![0u32; count];
        for node in &forest.nodes {
            if let Node::Split { left, right, .. } = *node {
                parents[left as usize] += 1;
                parents[right as usize] += 1;
            }
        }
        let mut is_function = vec![false; count];
        for &root in &forest.roots {
            // A tree that is one leaf is part of the base.
            is_function[root as usize] = matches!(forest.nodes[root as usize], Node::Split { .. });
        }
        // Nodes and nesting of each node's text where it stands inside a function.
        let mut size = vec![1u32; count];
        let mut nesting = vec![0u32; count];
        for i in 0..count {
            let Node::Split { left, right, .. } = forest.nodes[i] else { continue };
            let (l, r) = (left as usize, right as usize);
            let inline = |child: usize, is_function: &[bool]| {
                if is_function[child] { (1, 0) } else { (size[child], nesting[child]) }
            };
            let (mut ls, mut ln) = inline(l, &is_function);
            let (mut rs, mut rn) = inline(r, &is_function);
            while 1 + ls + rs > MAX_NODES_PER_FUNCTION || 1 + ln.max(rn) > MAX_NESTING {
                let cut_left = if 1 + ln.max(rn) > MAX_NESTING { ln >= rn } else { ls >= rs };
                if cut_left {
                    is_function[l] = true;
                    (ls, ln) = (1, 0);
                } else {
                    is_function[r] = true;
                    (rs, rn) = (1, 0);
                }
            }
            size[i] = 1 + ls + rs;
            nesting[i] = 1 + ln.max(rn);
            if parents[i] > 1 && size[i] >= MIN_SHARED_NODES {
                is_function[i] = true;
            }
        }
        let mut number = vec![None; count];
        let mut nodes = Vec::new();
        for (i, &is_function) in is_function.iter().enumerate() {
            if is_function {
                number[i] = Some(nodes.len() as u32);
                nodes.push(i as u32);
            }
        }
        Functions { number, nodes }
    }

    /// Number of the function that computes a node, if it has one.
    pub(crate) fn number(&self, node: u32) -> Option<u32> {
        self.number[node as usize]
    }

    /// Root node of every function, in order of number.
    pub(crate) fn nodes(&self) -> &[u32] {
        &self.nodes
    }
}
