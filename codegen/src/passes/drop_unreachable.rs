//! Branches that no input can reach are dropped: a threshold outside what the path above leaves
//! possible, or between two clock levels that the platform does not have apart.

use enerinfer_artifacts::{ClockTables, Feature, Forest, Node};

use super::rebuild::Pool;

/// Removes unreachable branches. Clock features take only the values of `clocks`; every other
/// feature may have any value.
///
/// Subtrees shared between paths are copied per path only where they differ; a pool that would
/// thereby grow is returned unchanged.
pub fn drop_unreachable<L: Copy>(forest: &Forest<L>, clocks: &ClockTables) -> Forest<L> {
    let levels: Vec<Option<&[u32]>> = forest
        .features
        .iter()
        .map(|f| match f {
            Feature::AccelKhz => Some(clocks.accel_khz.as_slice()),
            Feature::MemKhz => Some(clocks.mem_khz.as_slice()),
            _ => None,
        })
        .collect();
    let bounds: Vec<(u32, u32)> = levels
        .iter()
        .map(|levels| match levels {
            Some([first, .., last]) => (*first, *last),
            Some([only]) => (*only, *only),
            _ => (0, u32::MAX),
        })
        .collect();
    let mut pass = Pass { forest, levels, bounds, pool: Pool::new() };
    let mut roots = Vec::with_capacity(forest.roots.len());
    for &root in &forest.roots {
        match pass.tree(root) {
            Some(root) => roots.push(root),
            None => return forest.clone(),
        }
    }
    Forest { features: forest.features.clone(), base: forest.base, nodes: pass.pool.nodes, roots }
}

struct Pass<'a, L> {
    forest: &'a Forest<L>,
    /// Levels of clock features.
    levels: Vec<Option<&'a [u32]>>,
    /// Possible values of each feature at the current node, inclusive.
    bounds: Vec<(u32, u32)>,
    pool: Pool<L>,
}

/// What is left to do, on a stack of its own: foreign trees may be thousands of levels deep.
enum Step {
    Visit(u32),
    Restore(u16, (u32, u32)),
    Join(u16, u32),
}

impl<L: Copy> Pass<'_, L> {
    fn tree(&mut self, root: u32) -> Option<u32> {
        let mut steps = vec![Step::Visit(root)];
        let mut done: Vec<u32> = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                Step::Restore(feature, bounds) => self.bounds[usize::from(feature)] = bounds,
                Step::Join(feature, threshold) => {
                    let (right, left) = (done.pop()?, done.pop()?);
                    done.push(self.pool.push(Node::Split { feature, threshold, left, right }));
                }
                Step::Visit(at) => match self.forest.nodes[at as usize] {
                    Node::Leaf(value) => done.push(self.pool.push(Node::Leaf(value))),
                    Node::Split { feature, threshold, left, right } => {
                        let f = usize::from(feature);
                        let (min, max) = self.bounds[f];
                        if max <= threshold {
                            steps.push(Step::Visit(left));
                        } else if min > threshold {
                            steps.push(Step::Visit(right));
                        } else {
                            let (below, above) = self.around(f, threshold);
                            steps.push(Step::Join(feature, threshold));
                            steps.push(Step::Restore(feature, (min, max)));
                            steps.push(Step::Visit(right));
                            steps.push(Step::Restore(feature, (above, max)));
                            steps.push(Step::Visit(left));
                            self.bounds[f] = (min, below);
                        }
                    }
                },
            }
            if self.pool.nodes.len() > self.forest.nodes.len() {
                return None;
            }
        }
        done.pop()
    }

    /// Largest possible value `<= threshold` and smallest possible value above it. Called only
    /// when both exist.
    fn around(&self, feature: usize, threshold: u32) -> (u32, u32) {
        match self.levels[feature] {
            None => (threshold, threshold.saturating_add(1)),
            Some(levels) => {
                let above = levels.partition_point(|&l| l <= threshold);
                (levels[above - 1], levels[above])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks() -> ClockTables {
        ClockTables { accel_khz: vec![100, 200, 300], mem_khz: vec![50] }
    }

    fn forest(nodes: Vec<Node<i64>>) -> Forest<i64> {
        let root = nodes.len() as u32 - 1;
        Forest {
            features: vec![Feature::AccelKhz, Feature::MemKhz, Feature::Layers],
            base: 0,
            nodes,
            roots: vec![root],
        }
    }

    fn split(feature: u16, threshold: u32, left: u32, right: u32) -> Node<i64> {
        Node::Split { feature, threshold, left, right }
    }

    #[test]
    fn single_level_clock_never_branches() {
        let f = forest(vec![Node::Leaf(1), Node::Leaf(2), split(1, 50, 0, 1)]);
        assert_eq!(drop_unreachable(&f, &clocks()).nodes, vec![Node::Leaf(1)]);
    }

    #[test]
    fn between_levels_nothing_is_possible() {
        // Above 200 only 300 remains, so `<= 250` inside is always false.
        let f = forest(vec![
            Node::Leaf(1),
            Node::Leaf(2),
            Node::Leaf(3),
            split(0, 250, 1, 2),
            split(0, 200, 0, 3),
        ]);
        let dropped = drop_unreachable(&f, &clocks());
        assert_eq!(dropped.nodes, vec![Node::Leaf(1), Node::Leaf(3), split(0, 200, 0, 1)]);
    }

    #[test]
    fn nested_thresholds_of_a_free_feature() {
        let f = forest(vec![
            Node::Leaf(1),
            Node::Leaf(2),
            split(2, 9, 0, 1),
            Node::Leaf(3),
            split(2, 9, 2, 3),
        ]);
        let dropped = drop_unreachable(&f, &clocks());
        assert_eq!(dropped.nodes, vec![Node::Leaf(1), Node::Leaf(3), split(2, 9, 0, 1)]);
    }

    #[test]
    fn threshold_at_the_top_of_u32_always_goes_left() {
        let f = forest(vec![Node::Leaf(1), Node::Leaf(2), split(2, u32::MAX, 0, 1)]);
        assert_eq!(drop_unreachable(&f, &clocks()).nodes, vec![Node::Leaf(1)]);
    }
}
