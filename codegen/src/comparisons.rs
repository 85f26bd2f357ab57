//! Worst-case number of comparisons, computed from the trees.

use std::collections::{HashMap, HashSet};

use enerinfer_artifacts::{ClockTables, Feature, Forest, Node};
use serde::Serialize;

/// How many comparisons a predictor makes at most, for any shape.
///
/// Every tree's longest path counts, so these are exact for one tree and an upper bound for
/// several, whose longest paths no shape may take together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comparisons {
    /// To look up the ranks of a shape, once per prediction: a binary search for every feature.
    pub lookup: u64,
    /// In the trees, for one operating point.
    pub one_point: u64,
    /// In the trees, for all operating points in one walk: a split on a clock is none, since it is
    /// decided when compiling, and a subtree counts once for all points that share it.
    pub all_points: u64,
}

impl Comparisons {
    /// Counts for a forest on a platform with these clocks.
    pub fn of<L: Copy>(forest: &Forest<L>, clocks: &ClockTables) -> Self {
        Comparisons {
            lookup: lookup(forest),
            one_point: one_point(forest, clocks),
            all_points: all_points(forest, clocks),
        }
    }
}

fn lookup<L: Copy>(forest: &Forest<L>) -> u64 {
    let shape = forest.features.iter().zip(forest.thresholds()).filter(|(f, _)| !f.is_clock());
    shape
        .map(|(_, thresholds)| match thresholds.len() {
            0 => 0,
            n => u64::from(n.next_power_of_two().ilog2()) + 1,
        })
        .fold(0, u64::saturating_add)
}

/// The largest, over the operating points, of the sums of the trees' longest paths there.
fn one_point<L: Copy>(forest: &Forest<L>, clocks: &ClockTables) -> u64 {
    let at = |(accel_khz, mem_khz): (u32, u32)| {
        let mut longest = vec![0u64; forest.nodes.len()];
        for (i, node) in forest.nodes.iter().enumerate() {
            let Node::Split { feature, threshold, left, right } = *node else { continue };
            let (l, r) = (longest[left as usize], longest[right as usize]);
            let taken = |khz| if khz <= threshold { l } else { r };
            longest[i] = match forest.features[usize::from(feature)] {
                Feature::AccelKhz => taken(accel_khz),
                Feature::MemKhz => taken(mem_khz),
                _ => 1 + l.max(r),
            };
        }
        forest.roots.iter().map(|&root| longest[root as usize]).fold(0, u64::saturating_add)
    };
    clocks.points().map(|point| at(clocks.clocks_khz(point))).max().unwrap_or(0)
}

/// A node, and the operating points that reach it: first level and the one after the last of the
/// accelerator, then of memory.
type Reached = (u32, (usize, usize), (usize, usize));

fn all_points<L: Copy>(forest: &Forest<L>, clocks: &ClockTables) -> u64 {
    let levels = ((0, clocks.accel_khz.len()), (0, clocks.mem_khz.len()));
    let roots = || forest.roots.iter().map(|&root| (root, levels.0, levels.1));
    let mut seen: HashSet<Reached> = roots().collect();
    let mut stack: Vec<Reached> = seen.iter().copied().collect();
    while let Some(at) = stack.pop() {
        for below in children(forest, clocks, at).into_iter().flatten() {
            if seen.insert(below) {
                stack.push(below);
            }
        }
    }
    // Children stand before their parents.
    let mut order: Vec<Reached> = seen.into_iter().collect();
    order.sort_unstable();
    let mut most: HashMap<Reached, u64> = HashMap::with_capacity(order.len());
    for at in order {
        let [left, right] = children(forest, clocks, at).map(|c| c.map_or(0, |c| most[&c]));
        let count = match forest.nodes[at.0 as usize] {
            Node::Leaf(_) => 0,
            Node::Split { feature, .. } if forest.features[usize::from(feature)].is_clock() => {
                left.saturating_add(right)
            }
            Node::Split { .. } => 1 + left.max(right),
        };
        most.insert(at, count);
    }
    roots().map(|root| most[&root]).fold(0, u64::saturating_add)
}

/// The children that some of the operating points reach.
fn children<L: Copy>(
    forest: &Forest<L>,
    clocks: &ClockTables,
    (node, accel, mem): Reached,
) -> [Option<Reached>; 2] {
    let Node::Split { feature, threshold, left, right } = forest.nodes[node as usize] else {
        return [None; 2];
    };
    let cut = |table: &[u32], (from, to): (usize, usize)| {
        let at = table.partition_point(|&khz| khz <= threshold).clamp(from, to);
        [(from, at), (at, to)].map(|(from, to)| (from < to).then_some((from, to)))
    };
    match forest.features[usize::from(feature)] {
        Feature::AccelKhz => {
            let [l, r] = cut(&clocks.accel_khz, accel);
            [l.map(|accel| (left, accel, mem)), r.map(|accel| (right, accel, mem))]
        }
        Feature::MemKhz => {
            let [l, r] = cut(&clocks.mem_khz, mem);
            [l.map(|mem| (left, accel, mem)), r.map(|mem| (right, accel, mem))]
        }
        _ => [Some((left, accel, mem)), Some((right, accel, mem))],
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn clocks() -> ClockTables {
        ClockTables { accel_khz: vec![10, 20, 30], mem_khz: vec![100, 200] }
    }

    /// A forest over two shape features and both clocks: each number becomes a split over earlier
    /// nodes.
    fn forest(numbers: &[u64], trees: usize) -> Forest<i64> {
        let features = vec![Feature::Layers, Feature::Heads, Feature::AccelKhz, Feature::MemKhz];
        let mut nodes = vec![Node::Leaf(0), Node::Leaf(1)];
        for (i, number) in numbers.iter().enumerate() {
            let count = nodes.len() as u64;
            let feature = (number % 4) as u16;
            let threshold = match feature {
                2 => 5 + (number >> 8) as u32 % 30,
                3 => 50 + (number >> 8) as u32 % 200,
                _ => i as u32,
            };
            let (left, right) = ((number >> 16) % count, (number >> 40) % count);
            nodes.push(Node::Split { feature, threshold, left: left as u32, right: right as u32 });
        }
        let last = nodes.len();
        let roots = (last.saturating_sub(trees)..last).map(|root| root as u32).collect();
        Forest { features, base: 0, nodes, roots }
    }

    /// Comparisons of shape features when a shape goes through a tree for several operating points
    /// at once, which part at splits on clocks.
    fn walked(forest: &Forest<i64>, node: u32, shape: [u32; 2], points: &[(u32, u32)]) -> u64 {
        let Node::Split { feature, threshold, left, right } = forest.nodes[node as usize] else {
            return 0;
        };
        if let Some(value) = shape.get(usize::from(feature)) {
            let child = if *value <= threshold { left } else { right };
            return 1 + walked(forest, child, shape, points);
        }
        let goes_left =
            |(accel, mem): &(u32, u32)| *[accel, mem][usize::from(feature) - 2] <= threshold;
        let (l, r): (Vec<_>, Vec<_>) = points.iter().copied().partition(goes_left);
        let side = |child, points: &[_]| match points {
            [] => 0,
            some => walked(forest, child, shape, some),
        };
        side(left, &l) + side(right, &r)
    }

    proptest! {
        #[test]
        fn no_shape_takes_more(
            numbers in prop::collection::vec(any::<u64>(), 1..12),
            trees in 1usize..4,
        ) {
            let (forest, clocks) = (forest(&numbers, trees), clocks());
            let said = Comparisons::of(&forest, &clocks);
            let points: Vec<_> = clocks.points().map(|point| clocks.clocks_khz(point)).collect();
            for shape in (0..=12).flat_map(|layers| (0..=12).map(move |heads| [layers, heads])) {
                let count = |points: &[_]| -> u64 {
                    forest.roots.iter().map(|&root| walked(&forest, root, shape, points)).sum()
                };
                prop_assert!(count(&points) <= said.all_points);
                prop_assert!(points.iter().all(|&point| count(&[point]) <= said.one_point));
            }
            prop_assert!(said.one_point <= said.all_points);
            prop_assert!(said.all_points <= said.one_point * points.len() as u64);
        }
    }

    #[test]
    fn one_tree_without_impossible_paths_is_exact() {
        let split =
            |feature, threshold, left, right| Node::Split { feature, threshold, left, right };
        // layers ≤ 8 over (layers ≤ 4 over leaves) and (accel ≤ 10 over a leaf and heads ≤ 3).
        let forest = Forest {
            features: vec![Feature::Layers, Feature::Heads, Feature::AccelKhz],
            base: 0,
            nodes: vec![
                Node::Leaf(1),
                Node::Leaf(2),
                split(0, 4, 0, 1),
                split(1, 3, 0, 1),
                split(2, 10, 2, 3),
                split(0, 8, 2, 4),
            ],
            roots: vec![5],
        };
        // The clock split takes both sides: layers, then layers again, and heads.
        let expected = Comparisons { lookup: 2 + 1, one_point: 2, all_points: 3 };
        assert_eq!(Comparisons::of(&forest, &clocks()), expected);
        let without_split = ClockTables { accel_khz: vec![5], mem_khz: vec![7] };
        assert_eq!(Comparisons::of(&forest, &without_split).all_points, 2);
    }

    #[test]
    fn lookups_are_those_of_a_binary_search() {
        for n in 1..40u32 {
            let mut nodes = vec![Node::Leaf(0)];
            for i in 0..n {
                nodes.push(Node::Split { feature: 0, threshold: 10 * i, left: i, right: 0 });
            }
            let forest = Forest { features: vec![Feature::Layers], base: 0, nodes, roots: vec![n] };
            let thresholds: Vec<u32> = (0..n).map(|i| 10 * i).collect();
            let searched = (0..=10 * n).map(|value| {
                let mut count = 0;
                let _ = thresholds.partition_point(|&t| {
                    count += 1;
                    t < value
                });
                count
            });
            let said = Comparisons::of(&forest, &clocks()).lookup;
            assert!(searched.max().is_some_and(|most| most <= said && said <= most + 1), "{n}");
        }
        assert_eq!(
            Comparisons::of(&Forest::constant(vec![], 0), &clocks()),
            Comparisons::default()
        );
    }
}
