//! Single operating points: at each of them a forest decides by the shape alone, and its trees are
//! merged for that point.

use std::io::{self, Write};

use enerinfer_artifacts::{ClockTables, Feature, Forest, IntPredictor, Target};

use super::GENERATED;
use super::additions::{self, Adds};
use super::condition::Ranked;
use super::merged::{Condition, Merged, Place, merge, merge_at};
use super::statements::Statements;

/// Most places of a predictor's walks: about ten seconds of rustc.
const MAX_PLACES: usize = 200_000;

/// A predictor at every operating point.
pub(crate) struct Points {
    /// The walks, each of which adds to one sum.
    merged: Merged,
    /// By operating point, the number of its walk: points that no split tells apart share one.
    walks: Vec<usize>,
}

impl Points {
    /// `None` where the table of all points does as well: for one value, for predictors whose trees
    /// are not merged or do not depend on the shape, and for those that would become too large.
    pub(crate) fn of(predictor: &IntPredictor, clocks: &ClockTables) -> Option<Self> {
        let forest = &predictor.forest;
        if predictor.target == Target::Peak || !merge(forest, clocks)?.reads_shape() {
            return None;
        }
        let thresholds = forest.thresholds();
        let mut known: Vec<Vec<usize>> = Vec::new();
        let (mut places, mut starts, mut walks) = (Vec::new(), Vec::new(), Vec::new());
        for point in clocks.points() {
            let clocks_khz = clocks.clocks_khz(point);
            let sides = sides(forest, &thresholds, clocks_khz);
            if let Some(walk) = known.iter().position(|known| *known == sides) {
                walks.push(walk);
                continue;
            }
            let first = places.len() as u32;
            places.extend(shifted(merge_at(forest, clocks_khz)?, first));
            if places.len() > MAX_PLACES {
                return None;
            }
            walks.push(known.len());
            starts.push(first);
            known.push(sides);
        }
        let merged = Merged { places, starts, rects: Vec::new(), start: Vec::new() };
        Some(Points { merged, walks })
    }

    /// All conditions.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = Condition> + '_ {
        self.merged.conditions()
    }

    /// Writes the file: `sum`, which knows the function of every point, then the functions.
    pub(crate) fn write(
        &self,
        out: &mut dyn Write,
        target: Target,
        ranked: &[Ranked],
    ) -> io::Result<()> {
        let statements = Statements::of(&self.merged);
        out.write_all(GENERATED.as_bytes())?;
        writeln!(out, "\nuse super::{}::Ranks;", target.name())?;
        writeln!(out, "\npub(super) fn sum(x: &Ranks, point: u16) -> i32 {{\n    match point {{")?;
        for (point, &walk) in self.walks.iter().enumerate() {
            writeln!(out, "        {point} => add_{}(x),", statements.starts()[walk])?;
        }
        writeln!(out, "        _ => 0,\n    }}\n}}")?;
        additions::write(out, &statements, ranked, Adds::ToVariable)
    }
}

/// Which side of the splits on clocks a point takes: per clock, the number of thresholds below.
fn sides(
    forest: &Forest<i64>,
    thresholds: &[Vec<u32>],
    (accel_khz, mem_khz): (u32, u32),
) -> Vec<usize> {
    let below = |khz: u32, thresholds: &[u32]| thresholds.partition_point(|&t| t < khz);
    let columns = forest.features.iter().zip(thresholds);
    columns
        .filter_map(|(feature, thresholds)| match feature {
            Feature::AccelKhz => Some(below(accel_khz, thresholds)),
            Feature::MemKhz => Some(below(mem_khz, thresholds)),
            _ => None,
        })
        .collect()
}

/// The places of a walk, renumbered to stand behind `first` others.
fn shifted(merged: Merged, first: u32) -> impl Iterator<Item = Place> {
    merged.places.into_iter().map(move |mut place| {
        place.branches.values_mut().flatten().for_each(|next| *next += first);
        place.always.iter_mut().for_each(|next| *next += first);
        place
    })
}

#[cfg(test)]
mod tests {
    use enerinfer_artifacts::Node;
    use proptest::prelude::*;

    use super::*;

    fn clocks() -> ClockTables {
        ClockTables { accel_khz: vec![10, 20, 30], mem_khz: vec![100, 200] }
    }

    /// A forest over two shape features and both clocks: each number becomes a split over earlier
    /// nodes, so that trees share subtrees and repeat conditions.
    fn predictor(numbers: &[u64], trees: usize) -> IntPredictor {
        let features = vec![Feature::Layers, Feature::Heads, Feature::AccelKhz, Feature::MemKhz];
        let mut nodes = vec![Node::Leaf(0), Node::Leaf(1), Node::Leaf(7), Node::Leaf(300)];
        for number in numbers {
            let count = nodes.len() as u64;
            let feature = (number % 4) as u16;
            let threshold = match feature {
                2 => (number >> 8) as u32 % 40,
                3 => (number >> 8) as u32 % 250,
                _ => (number >> 8) as u32 % 8,
            };
            let (left, right) = ((number >> 16) % count, (number >> 40) % count);
            nodes.push(Node::Split { feature, threshold, left: left as u32, right: right as u32 });
        }
        let last = nodes.len();
        let roots = (last.saturating_sub(trees)..last).map(|root| root as u32).collect();
        let forest = Forest { features, base: 0, nodes, roots };
        IntPredictor { target: Target::Power, forest, shift: 0, domain: vec![], normaliser: None }
    }

    /// What a walk adds for a shape.
    fn added(merged: &Merged, start: u32, shape: [u32; 2]) -> i64 {
        let (mut sum, mut stack) = (0, vec![start]);
        while let Some(at) = stack.pop() {
            let place = &merged.places[at as usize];
            sum += place.values.values().sum::<i64>();
            stack.extend(&place.always);
            for (&(feature, threshold), &[left, right]) in &place.branches {
                let holds = shape[usize::from(feature)] <= threshold;
                stack.push(if holds { left } else { right });
            }
        }
        sum
    }

    proptest! {
        #[test]
        fn every_point_is_the_forest_s(
            numbers in prop::collection::vec(any::<u64>(), 1..14),
            trees in 1usize..6,
        ) {
            let (predictor, clocks) = (predictor(&numbers, trees), clocks());
            let Some(points) = Points::of(&predictor, &clocks) else { return Ok(()) };
            prop_assert_eq!(points.walks.len(), clocks.len());
            for (point, &walk) in clocks.points().zip(&points.walks) {
                let (accel, mem) = clocks.clocks_khz(point);
                let start = points.merged.starts[walk];
                for shape in (0..9).flat_map(|layers| (0..9).map(move |heads| [layers, heads])) {
                    let [layers, heads] = shape;
                    let expected = predictor.sum(&[layers, heads, accel, mem]);
                    prop_assert_eq!(added(&points.merged, start, shape), expected);
                }
            }
        }
    }

    #[test]
    fn points_on_the_same_side_of_every_split_share_a_walk() {
        // 15 kHz parts the first accelerator level from the others; memory does not matter.
        let split =
            |feature, threshold, left, right| Node::Split { feature, threshold, left, right };
        let mut predictor = predictor(&[], 0);
        predictor.forest.nodes =
            vec![Node::Leaf(0), Node::Leaf(1), split(0, 4, 0, 1), split(2, 15, 2, 1)];
        predictor.forest.roots = vec![3];
        let points = Points::of(&predictor, &clocks()).unwrap();
        assert_eq!(points.walks, [0, 1, 1, 0, 1, 1]);
        // One value, and trees that only clocks decide: the table does as well.
        predictor.target = Target::Peak;
        assert!(Points::of(&predictor, &clocks()).is_none());
        predictor.target = Target::Power;
        predictor.forest.nodes[2] = Node::Leaf(5);
        assert!(Points::of(&predictor, &clocks()).is_none());
    }
}
