//! Subtrees whose leaves differ least become one leaf, until the code fits a budget.
//!
//! The bundle holds no training data, so the cost of a cut is the largest change of a prediction
//! that it can cause, not the loss on samples. Choosing smaller forests where the data are, in
//! the search, is the better way to meet a budget; this pass is for forests that come as they are.

use enerinfer_artifacts::{Forest, Node};

use super::rebuild::compact;

/// Steps of the bisection; after so many the tolerance is exact to 2⁻⁴⁰ of the spread.
const STEPS: u32 = 40;

/// A pruned forest and the largest change of a prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Pruned {
    /// The forest.
    pub forest: Forest<f64>,
    /// Largest change of a prediction, in the unit of the leaves.
    pub error_bound: f64,
}

/// Replaces every largest subtree whose leaves differ by at most `tolerance` by the middle of
/// their range.
pub fn prune(forest: &Forest<f64>, tolerance: f64) -> Pruned {
    let mut ranges: Vec<(f64, f64)> = Vec::with_capacity(forest.nodes.len());
    // Largest change of a tree's leaf at or below a node.
    let mut errors: Vec<f64> = Vec::with_capacity(forest.nodes.len());
    let mut nodes = forest.nodes.clone();
    for node in &mut nodes {
        let (range, error) = match *node {
            Node::Leaf(value) => ((value, value), 0.0),
            Node::Split { left, right, .. } => {
                let (l, r) = (ranges[left as usize], ranges[right as usize]);
                let range = (l.0.min(r.0), l.1.max(r.1));
                let spread = range.1 - range.0;
                if spread <= tolerance {
                    *node = Node::Leaf(range.0 + spread / 2.0);
                    (range, spread / 2.0)
                } else {
                    (range, errors[left as usize].max(errors[right as usize]))
                }
            }
        };
        ranges.push(range);
        errors.push(error);
    }
    let error_bound = forest.roots.iter().map(|&root| errors[root as usize]).sum();
    Pruned { forest: compact(&Forest { nodes, ..forest.clone() }), error_bound }
}

/// Prunes several forests with the same tolerance, relative to the widest spread of a tree in
/// each, such that `fits` accepts the result and hardly more is pruned than needed. `None` if
/// nothing does.
pub fn prune_together(
    forests: &[Forest<f64>],
    fits: impl Fn(&[Pruned]) -> bool,
) -> Option<Vec<Pruned>> {
    let spreads: Vec<f64> = forests.iter().map(widest_spread).collect();
    let pruned = |relative: f64| -> Vec<Pruned> {
        forests.iter().zip(&spreads).map(|(f, spread)| prune(f, relative * spread)).collect()
    };
    // At 1 every tree is a leaf: nothing smaller is possible.
    let mut best = Some(pruned(1.0)).filter(|all| fits(all))?;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        let candidate = pruned(middle);
        if fits(&candidate) {
            (high, best) = (middle, candidate);
        } else {
            low = middle;
        }
    }
    Some(best)
}

/// Largest difference between two leaves of a tree.
fn widest_spread(forest: &Forest<f64>) -> f64 {
    tree_ranges(forest).map(|(min, max)| max - min).fold(0.0, f64::max)
}

/// The smallest and the largest leaf of each tree.
pub(crate) fn tree_ranges(forest: &Forest<f64>) -> impl Iterator<Item = (f64, f64)> {
    let mut ranges: Vec<(f64, f64)> = Vec::with_capacity(forest.nodes.len());
    for node in &forest.nodes {
        ranges.push(match *node {
            Node::Leaf(value) => (value, value),
            Node::Split { left, right, .. } => {
                let (l, r) = (ranges[left as usize], ranges[right as usize]);
                (l.0.min(r.0), l.1.max(r.1))
            }
        });
    }
    forest.roots.iter().map(move |&root| ranges[root as usize])
}

#[cfg(test)]
mod tests {
    use enerinfer_artifacts::Feature;

    use super::*;

    fn forest() -> Forest<f64> {
        let split = |left, right| Node::Split { feature: 0, threshold: 5, left, right };
        let nodes =
            vec![Node::Leaf(1.0), Node::Leaf(1.5), split(0, 1), Node::Leaf(9.0), split(2, 3)];
        Forest { features: vec![Feature::Layers], base: 0.0, nodes, roots: vec![4, 2] }
    }

    #[test]
    fn cuts_what_is_within_tolerance_and_bounds_the_change() {
        let pruned = prune(&forest(), 0.5);
        assert_eq!(pruned.forest.stats().leaves, 2);
        assert_eq!(pruned.error_bound, 0.5);
        assert_eq!(pruned.forest.predict(&[0]), 2.5);
        assert_eq!(prune(&forest(), 0.4).forest, forest());
    }

    #[test]
    fn prunes_no_more_than_needed() {
        let leaves = |all: &[Pruned]| all[0].forest.stats().leaves;
        let fitted = prune_together(&[forest()], |all| leaves(all) <= 2).unwrap();
        assert_eq!(leaves(&fitted), 2);
        assert!(prune_together(&[forest()], |_| false).is_none());
    }
}
