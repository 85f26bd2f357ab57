//! Cost-complexity pruning of fitted forests (Breiman et al. 1984, chapter 3).

use enerinfer_artifacts::{Forest, Node};

use crate::predict::gather_values;
use crate::{CodedMatrix, LearnError};

/// A forest that is ready to be pruned to any cost of a leaf.
///
/// A subtree becomes one leaf, the mean of its leaves over the training rows, where the squared
/// error that this adds is at most the cost of the leaves that it saves. That is the smallest tree
/// of lowest total cost. In a forest each tree is pruned by itself, as if the changes of different
/// trees were independent.
#[derive(Clone, Debug)]
pub struct Pruner {
    forest: Forest<f64>,
    /// Weight of the training rows in each node, their mean leaf value, and the squared deviations
    /// from it, as a share of the number of rows.
    nodes: Vec<Collapsed>,
}

/// A node as one leaf.
#[derive(Clone, Copy, Debug, Default)]
struct Collapsed {
    weight: f64,
    value: f64,
    error: f64,
}

impl Pruner {
    /// Finds out what every subtree is worth on rows of `x`; `w` is indexed like `rows`. With
    /// weights `1/y²` errors are squared relative ones, means over the rows.
    ///
    /// # Errors
    ///
    /// As [`crate::predict`]; weights of another length.
    pub fn new(
        forest: &Forest<f64>,
        x: &CodedMatrix,
        rows: &[u32],
        w: Option<&[f64]>,
    ) -> Result<Self, LearnError> {
        if let Some(found) = w.map(<[f64]>::len).filter(|&found| found != rows.len()) {
            let what = "the weights".to_owned();
            return Err(LearnError::Length { what, found, expected: rows.len() });
        }
        let values = gather_values(&forest.features, x, rows)?;
        let width = forest.features.len();
        let share = 1.0 / rows.len().max(1) as f64;
        let mut nodes = vec![Collapsed::default(); forest.nodes.len()];
        for &root in &forest.roots {
            for i in 0..rows.len() {
                let row = &values[i * width..(i + 1) * width];
                let leaf = leaf_of(forest, root, row);
                nodes[leaf].weight += w.map_or(1.0, |w| w[i]) * share;
            }
        }
        // Children stand before their parents.
        for (at, node) in forest.nodes.iter().enumerate() {
            match *node {
                Node::Leaf(value) => nodes[at].value = value,
                Node::Split { left, right, .. } => {
                    nodes[at] = join(nodes[left as usize], nodes[right as usize]);
                }
            }
        }
        Ok(Pruner { forest: forest.clone(), nodes })
    }

    /// The forest with every subtree cut that adds less than `leaf_cost` per leaf: mean squared
    /// error (relative, if the weights made it so) that a leaf must save. At 0 only what changes
    /// nothing is cut. Trees of one leaf go into the base value.
    pub fn prune(&self, leaf_cost: f64) -> Forest<f64> {
        let Forest { features, base, nodes, roots } = &self.forest;
        // Lowest total cost below each node, and whether that is as one leaf.
        let mut lowest: Vec<(f64, bool)> = Vec::with_capacity(nodes.len());
        for (at, node) in nodes.iter().enumerate() {
            let alone = self.nodes[at].error + leaf_cost;
            lowest.push(match *node {
                Node::Leaf(_) => (leaf_cost, true),
                Node::Split { left, right, .. } => {
                    let split = lowest[left as usize].0 + lowest[right as usize].0;
                    if split < alone { (split, false) } else { (alone, true) }
                }
            });
        }
        let mut kept = vec![false; nodes.len()];
        let is_tree = |root: &&u32| !lowest[**root as usize].1;
        for &root in roots.iter().filter(is_tree) {
            kept[root as usize] = true;
        }
        for (at, node) in nodes.iter().enumerate().rev() {
            if let (true, false, &Node::Split { left, right, .. }) = (kept[at], lowest[at].1, node)
            {
                kept[left as usize] = true;
                kept[right as usize] = true;
            }
        }
        let mut place = vec![0; nodes.len()];
        let alone = roots.iter().filter(|root| !is_tree(root));
        let base = base + alone.map(|&root| self.nodes[root as usize].value).sum::<f64>();
        let mut out = Forest::constant(features.clone(), base);
        for at in (0..nodes.len()).filter(|&at| kept[at]) {
            place[at] = out.nodes.len() as u32;
            out.nodes.push(match (nodes[at], lowest[at].1) {
                (Node::Split { feature, threshold, left, right }, false) => Node::Split {
                    feature,
                    threshold,
                    left: place[left as usize],
                    right: place[right as usize],
                },
                _ => Node::Leaf(self.nodes[at].value),
            });
        }
        out.roots = roots.iter().filter(is_tree).map(|&root| place[root as usize]).collect();
        out
    }
}

/// Where a row ends.
fn leaf_of(forest: &Forest<f64>, root: u32, row: &[u32]) -> usize {
    let mut at = root as usize;
    while let Node::Split { feature, threshold, left, right } = forest.nodes[at] {
        at = if row[usize::from(feature)] <= threshold { left } else { right } as usize;
    }
    at
}

/// Two nodes as one leaf.
fn join(a: Collapsed, b: Collapsed) -> Collapsed {
    let weight = a.weight + b.weight;
    let difference = b.value - a.value;
    // Where no row comes, neither side counts more.
    let share = if weight > 0.0 { b.weight / weight } else { 0.5 };
    Collapsed {
        weight,
        value: a.value + difference * share,
        error: a.error + b.error + difference * difference * a.weight * share,
    }
}

#[cfg(test)]
mod tests {
    use enerinfer_artifacts::Feature;
    use linfa::ParamGuard as _;
    use proptest::prelude::*;

    use super::*;
    use crate::{ForestParams, predict};

    /// Every tree that cutting subtrees of `at` can give, as (leaves, error).
    fn every(pruner: &Pruner, at: u32) -> Vec<(usize, f64)> {
        let mut all = vec![(1, pruner.nodes[at as usize].error)];
        if let Node::Split { left, right, .. } = pruner.forest.nodes[at as usize] {
            let rights = every(pruner, right);
            for (leaves, error) in every(pruner, left) {
                all.extend(rights.iter().map(|r| (leaves + r.0, error + r.1)));
            }
        } else {
            all[0].1 = 0.0;
        }
        all
    }

    proptest! {
        /// By the definition: of all trees that cutting can give, none has lower cost, and none of
        /// the same cost is smaller.
        #[test]
        fn the_pruned_tree_is_the_cheapest(
            rows in prop::collection::vec((0u32..6, 0u32..4, 1.0f64..9.0, 0.1f64..2.0), 2..9),
            leaf_cost in 0.0f64..1.0,
        ) {
            let columns = vec![
                rows.iter().map(|r| r.0).collect(),
                rows.iter().map(|r| r.1).collect(),
            ];
            let y: Vec<f64> = rows.iter().map(|r| r.2).collect();
            let w: Vec<f64> = rows.iter().map(|r| r.3).collect();
            let x = CodedMatrix::new(Feature::ALL[..2].to_vec(), columns).unwrap();
            let ids: Vec<u32> = (0..rows.len() as u32).collect();
            let params = ForestParams::new().n_trees(1).bootstrap(false).check().unwrap();
            let forest = params.fit(&x, &ids, &y, Some(&w), 0).unwrap();
            let pruner = Pruner::new(&forest, &x, &ids, Some(&w)).unwrap();
            let pruned = pruner.prune(leaf_cost);
            prop_assert!(pruned.validate().is_ok());

            let cost = |(leaves, error): (usize, f64)| error + leaf_cost * leaves as f64;
            let all = every(&pruner, forest.roots[0]);
            let lowest = all.iter().map(|&t| cost(t)).fold(f64::INFINITY, f64::min);
            let leaves = pruned.stats().leaves.max(1) as usize;
            let before = predict(&forest, &x, &ids).unwrap();
            let after = predict(&pruned, &x, &ids).unwrap();
            let changes = w.iter().zip(before.iter().zip(after)).map(|(w, (a, b))| w * (a - b) * (a - b));
            let error = changes.sum::<f64>() / rows.len() as f64;
            prop_assert!((cost((leaves, error)) - lowest).abs() < 1e-9);
        }
    }

    #[test]
    fn a_leaf_for_nothing_keeps_every_prediction_and_a_dear_one_leaves_the_mean() {
        let x = CodedMatrix::new(vec![Feature::Layers], vec![(0..40).collect()]).unwrap();
        let rows: Vec<u32> = (0..40).collect();
        let y: Vec<f64> = rows.iter().map(|&r| f64::from(r * r % 17 + 1)).collect();
        let forest = ForestParams::new().n_trees(7).check().unwrap();
        let forest = forest.fit(&x, &rows, &y, None, 3).unwrap();
        let pruner = Pruner::new(&forest, &x, &rows, None).unwrap();
        let before = predict(&forest, &x, &rows).unwrap();
        let same = predict(&pruner.prune(0.0), &x, &rows).unwrap();
        assert!(before.iter().zip(same).all(|(a, b)| (a - b).abs() < 1e-12));

        let constant = pruner.prune(f64::INFINITY);
        assert!(constant.roots.is_empty());
        let mean = before.iter().sum::<f64>() / 40.0;
        assert!((constant.predict(&[5]) - mean).abs() < 1e-12);
        let sizes: Vec<u32> =
            [0.0, 1e-4, 1e-3, 1e-2, 1.0].map(|c| pruner.prune(c).stats().leaves).to_vec();
        assert!(sizes.is_sorted_by(|a, b| a >= b) && sizes[0] > sizes[4], "{sizes:?}");
    }

    #[test]
    fn weights_of_another_length_are_refused() {
        let x = CodedMatrix::new(vec![Feature::Layers], vec![vec![1, 2]]).unwrap();
        let forest = Forest::constant(vec![Feature::Layers], 1.0);
        assert!(Pruner::new(&forest, &x, &[0, 1], Some(&[1.0])).is_err());
        assert_eq!(Pruner::new(&forest, &x, &[0, 1], None).unwrap().prune(1.0), forest);
    }
}
