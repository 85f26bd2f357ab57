//! Worst-case number of comparisons, computed from what is printed.

use enerinfer_artifacts::{ClockTables, IntPredictor, Target};
use serde::Serialize;

use crate::emit::form::Form;

/// How many comparisons a predictor makes at most for a table of all operating points, or for its
/// one value (`peak`), for any shape: upper bounds, since no shape may take the longest path
/// everywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Comparisons {
    /// To look up the ranks of a shape, a binary search for every feature.
    pub lookup: u64,
    /// In the trees. A split on a clock is none, but where trees cannot be merged: it is decided when
    /// compiling.
    pub in_trees: u64,
}

impl Comparisons {
    /// Counts for a predictor on a platform with these clocks.
    pub fn of(predictor: &IntPredictor, clocks: &ClockTables) -> Self {
        let form = Form::of(predictor, clocks);
        let mut conditions = form.conditions();
        conditions.sort_unstable();
        conditions.dedup();
        let features = &predictor.forest.features;
        let is_clock = |feature: u16| features[usize::from(feature)].is_clock();
        // Without a merged walk, clocks are looked up and trees walked at each operating point.
        let reads_clocks = conditions.iter().any(|&(feature, _)| is_clock(feature));
        let walks = match predictor.target {
            Target::Peak => 1,
            _ if reads_clocks => clocks.len() as u64,
            _ => 1,
        };
        let lookup = conditions
            .chunk_by(|(a, _), (b, _)| a == b)
            .map(|of_one| {
                let search = u64::from(of_one.len().next_power_of_two().ilog2()) + 1;
                search * if is_clock(of_one[0].0) { walks } else { 1 }
            })
            .fold(0, u64::saturating_add);
        Comparisons { lookup, in_trees: form.most_comparisons().saturating_mul(walks) }
    }
}

#[cfg(test)]
mod tests {
    use enerinfer_artifacts::{Feature, Forest, Node};
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

    fn predictor(target: Target, forest: Forest<i64>) -> IntPredictor {
        IntPredictor { target, forest, shift: 0, domain: vec![], normaliser: None }
    }

    /// Comparisons that the form makes for a shape.
    fn made(form: &Form, shape: [u32; 2]) -> u64 {
        let Form::Table(merged) = form else { return 0 };
        let (mut count, mut stack) = (0, vec![0u32]);
        while let Some(at) = stack.pop() {
            let place = &merged.places[at as usize];
            stack.extend(&place.always);
            for (&(feature, threshold), &[left, right]) in &place.branches {
                count += 1;
                let holds = shape[usize::from(feature)] <= threshold;
                stack.push(if holds { left } else { right });
            }
        }
        count
    }

    proptest! {
        #[test]
        fn no_shape_takes_more(
            numbers in prop::collection::vec(any::<u64>(), 1..12),
            trees in 1usize..4,
        ) {
            let (forest, clocks) = (forest(&numbers, trees), clocks());
            let power = predictor(Target::Power, forest.clone());
            let said = Comparisons::of(&power, &clocks).in_trees;
            let form = Form::of(&power, &clocks);
            let points: Vec<_> = clocks.points().map(|point| clocks.clocks_khz(point)).collect();
            for shape in (0..=12).flat_map(|layers| (0..=12).map(move |heads| [layers, heads])) {
                let apart: u64 =
                    forest.roots.iter().map(|&root| walked(&forest, root, shape, &points)).sum();
                prop_assert!(made(&form, shape) <= said);
                // Followed together, trees take no more than one after the other.
                prop_assert!(made(&form, shape) <= apart);
            }
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
        let power = predictor(Target::Power, forest.clone());
        let expected = Comparisons { lookup: 2 + 1, in_trees: 3 };
        assert_eq!(Comparisons::of(&power, &clocks()), expected);
        // `peak` is asked at the highest clock: heads, since that side is taken.
        let peak = predictor(Target::Peak, forest);
        let expected = Comparisons { lookup: 2 + 1, in_trees: 2 };
        assert_eq!(Comparisons::of(&peak, &clocks()), expected);
    }

    #[test]
    fn lookups_are_those_of_a_binary_search() {
        for n in 1..40u32 {
            let mut nodes = vec![Node::Leaf(0)];
            for i in 0..n {
                nodes.push(Node::Leaf(i64::from(i) + 1));
                let leaf = nodes.len() as u32 - 1;
                let below = leaf - 1;
                nodes.push(Node::Split { feature: 0, threshold: 10 * i, left: below, right: leaf });
            }
            let roots = vec![nodes.len() as u32 - 1];
            let forest = Forest { features: vec![Feature::Layers], base: 0, nodes, roots };
            let thresholds: Vec<u32> = (0..n).map(|i| 10 * i).collect();
            let searched = (0..=10 * n).map(|value| {
                let mut count = 0;
                let _ = thresholds.partition_point(|&t| {
                    count += 1;
                    t < value
                });
                count
            });
            let said = Comparisons::of(&predictor(Target::Peak, forest), &clocks()).lookup;
            assert!(searched.max().is_some_and(|most| most <= said && said <= most + 1), "{n}");
        }
        let constant = predictor(Target::Power, Forest::constant(vec![], 0));
        assert_eq!(Comparisons::of(&constant, &clocks()), Comparisons::default());
    }
}
