//! Forest IR: what learners produce, passes transform, the interpreter runs and the emitter prints.
//!
//! A forest is one pool of nodes in which **children stand before their parents**, and a list of
//! roots. The order makes every forest acyclic by construction, lets trees share subtrees, and
//! makes one forward scan enough for anything bottom-up.
//!
//! Comparison contract: features are `u32`; `x <= threshold` goes left. The value of a forest is
//! `base + Σ leaf` over its trees; averaging forests store leaves already divided by the number
//! of trees, so bagged and boosted forests look the same from here on.

use serde::{Deserialize, Serialize};

use crate::{Error, Feature};

/// Most nodes one forest may hold; protects decoding and code generation from hostile input.
pub const MAX_NODES: usize = 16 << 20;
/// Most trees one forest may hold.
pub const MAX_TREES: usize = 1 << 16;

/// A node of the pool; `L` is the leaf value: `f64` as trained, `i64` once quantised.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Node<L> {
    /// End of a path: this tree's contribution.
    Leaf(L),
    /// `x[feature] <= threshold` continues at `left`, else at `right`.
    Split {
        /// Index into [`Forest::features`].
        feature: u16,
        /// Largest value that goes left.
        threshold: u32,
        /// Pool index of the left child, smaller than this node's own.
        left: u32,
        /// Pool index of the right child, smaller than this node's own.
        right: u32,
    },
}

/// A sum of trees over integer features.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forest<L> {
    /// Meaning of each input column.
    pub features: Vec<Feature>,
    /// Value to which the trees' leaves are added.
    pub base: L,
    /// Node pool, children before parents.
    pub nodes: Vec<Node<L>>,
    /// Pool index of each tree's root.
    pub roots: Vec<u32>,
}

/// Node counts and depth of a forest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ForestStats {
    /// Trees.
    pub trees: u32,
    /// Nodes in the pool (shared subtrees counted once).
    pub nodes: u32,
    /// Leaves in the pool.
    pub leaves: u32,
    /// Longest path in splits.
    pub depth: u32,
}

impl<L: Copy> Forest<L> {
    /// A forest without trees: always `base`.
    pub fn constant(features: Vec<Feature>, base: L) -> Self {
        Forest { features, base, nodes: Vec::new(), roots: Vec::new() }
    }

    /// Checks the structural rules: features without repetition, indices in range, children
    /// before parents, caps. Leaf values are checked by [`Forest::validate`] of `Forest<f64>`.
    pub fn validate_structure(&self) -> Result<(), Error> {
        if self.nodes.len() > MAX_NODES || self.roots.len() > MAX_TREES {
            return Err(Error::invalid(format!(
                "forest of {} nodes and {} trees; at most {MAX_NODES} and {MAX_TREES} are possible",
                self.nodes.len(),
                self.roots.len()
            )));
        }
        for (i, feature) in self.features.iter().enumerate() {
            if self.features[..i].contains(feature) {
                return Err(Error::invalid(format!(
                    "feature `{}` stands twice in the forest's inputs",
                    feature.name()
                )));
            }
        }
        for (i, node) in self.nodes.iter().enumerate() {
            if let Node::Split { feature, left, right, .. } = *node {
                if usize::from(feature) >= self.features.len() {
                    return Err(Error::invalid(format!(
                        "node {i} splits on input {feature}, but the forest has {} inputs",
                        self.features.len()
                    )));
                }
                if left as usize >= i || right as usize >= i {
                    return Err(Error::invalid(format!(
                        "node {i} has children {left} and {right}; children stand before parents"
                    )));
                }
            }
        }
        for (t, &root) in self.roots.iter().enumerate() {
            if root as usize >= self.nodes.len() {
                return Err(Error::invalid(format!(
                    "tree {t} has root {root}, but the forest has {} nodes",
                    self.nodes.len()
                )));
            }
        }
        Ok(())
    }

    /// The leaf value that row `x` (one value per entry of `features`) reaches in tree `root`.
    pub fn leaf(&self, root: u32, x: &[u32]) -> L {
        let mut at = root;
        loop {
            match self.nodes[at as usize] {
                Node::Leaf(value) => return value,
                Node::Split { feature, threshold, left, right } => {
                    at = if x[usize::from(feature)] <= threshold { left } else { right };
                }
            }
        }
    }

    /// Depth of every node of the pool in splits (a leaf has 0).
    pub fn heights(&self) -> Vec<u32> {
        let mut heights = vec![0u32; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            if let Node::Split { left, right, .. } = *node {
                heights[i] = 1 + heights[left as usize].max(heights[right as usize]);
            }
        }
        heights
    }

    /// Counts and depth.
    pub fn stats(&self) -> ForestStats {
        let heights = self.heights();
        ForestStats {
            trees: self.roots.len() as u32,
            nodes: self.nodes.len() as u32,
            leaves: self.nodes.iter().filter(|n| matches!(n, Node::Leaf(_))).count() as u32,
            depth: self.roots.iter().map(|&r| heights[r as usize]).max().unwrap_or(0),
        }
    }

    /// The same trees with every leaf and the base mapped.
    pub fn map_leaves<M>(&self, mut f: impl FnMut(L) -> M) -> Forest<M> {
        Forest {
            features: self.features.clone(),
            base: f(self.base),
            nodes: self
                .nodes
                .iter()
                .map(|node| match *node {
                    Node::Leaf(value) => Node::Leaf(f(value)),
                    Node::Split { feature, threshold, left, right } => {
                        Node::Split { feature, threshold, left, right }
                    }
                })
                .collect(),
            roots: self.roots.clone(),
        }
    }

    /// Sorted distinct thresholds of each input, over all trees.
    pub fn thresholds(&self) -> Vec<Vec<u32>> {
        let mut out = vec![Vec::new(); self.features.len()];
        for node in &self.nodes {
            if let Node::Split { feature, threshold, .. } = *node {
                out[usize::from(feature)].push(threshold);
            }
        }
        for list in &mut out {
            list.sort_unstable();
            list.dedup();
        }
        out
    }
}

impl Forest<f64> {
    /// Checks structure and that the base and every leaf are finite.
    pub fn validate(&self) -> Result<(), Error> {
        self.validate_structure()?;
        if !self.base.is_finite() {
            return Err(Error::invalid(format!("base value {} is not finite", self.base)));
        }
        // A leaf is named by its tree and node, which is what a person can look up.
        for (i, node) in self.nodes.iter().enumerate() {
            if let Node::Leaf(value) = node
                && !value.is_finite()
            {
                let tree = self.tree_of(i as u32);
                return Err(Error::invalid(format!(
                    "leaf value {value} at node {i}{} is not finite",
                    tree.map(|t| format!(" (tree {t})")).unwrap_or_default()
                )));
            }
        }
        Ok(())
    }

    /// `base + Σ leaf` for a row.
    pub fn predict(&self, x: &[u32]) -> f64 {
        self.roots.iter().fold(self.base, |sum, &root| sum + self.leaf(root, x))
    }
}

impl<L> Forest<L> {
    /// First tree that reaches a node.
    fn tree_of(&self, node: u32) -> Option<usize> {
        self.roots.iter().position(|&root| {
            let mut stack = vec![root];
            while let Some(at) = stack.pop() {
                if at == node {
                    return true;
                }
                if let Some(Node::Split { left, right, .. }) = self.nodes.get(at as usize) {
                    stack.extend([*left, *right]);
                }
            }
            false
        })
    }
}
