//! Floating-point leaves become fixed point.
//!
//! A leaf becomes the nearest whole multiple of 2^−shift device units. The shift is the largest
//! (finest) one for which every leaf, counted from the smallest leaf of its tree, fits
//! [`LEAF_BITS`] bits; the smallest leaves move into the base. So leaves are small unsigned
//! numbers, which short instructions can load.

use enerinfer_artifacts::{Forest, IntPredictor, Node, Predictor};

use super::rebuild::Pool;
use crate::CodegenError;

/// Width of a quantised leaf. 16 bits keep the error of a leaf below 1/131 000 of the spread of
/// the largest tree: far below what forests resolve.
pub const LEAF_BITS: u32 = 16;
/// Largest magnitude of base and of the sum of leaves, in device units times 2^shift.
const MAX_SUM: f64 = (1u64 << 61) as f64;
/// Finest and coarsest shift that are tried.
const SHIFTS: core::ops::RangeInclusive<i32> = -16..=28;

/// A quantised predictor and how far its predictions may be from the floating-point ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantised {
    /// The integer predictor.
    pub predictor: IntPredictor,
    /// Largest difference of a prediction, before any normaliser, in tok/s, W or 1; values that
    /// the device clamps (below 10⁻⁶ or above the range of the unit) excepted.
    pub error_bound: f64,
}

/// Quantises every leaf and the base. Fails if the predictor's values do not fit the device's
/// 32-bit units.
pub fn quantise(predictor: &Predictor) -> Result<Quantised, CodegenError> {
    let forest = &predictor.forest;
    let units = predictor.target.units_per_one();
    let unrepresentable =
        |reason: String| CodegenError::Unrepresentable { target: predictor.target.name(), reason };

    let ranges = tree_ranges(forest);
    let widest = ranges.iter().map(|(min, max)| max - min).fold(0.0, f64::max) * units;
    let magnitude = ranges
        .iter()
        .map(|(min, max)| min.abs().max(max.abs()))
        .fold(forest.base.abs(), |sum, m| sum + m)
        * units;
    let max_code = f64::from((1u32 << LEAF_BITS) - 1);
    let shift = SHIFTS
        .rev()
        .find(|&s| {
            let scale = f64::from(s).exp2();
            widest * scale <= max_code && magnitude * scale.max(1.0) <= MAX_SUM
        })
        .ok_or_else(|| {
            unrepresentable(format!(
                "its leaves reach {magnitude:e} device units, which no shift brings into \
                 {LEAF_BITS} bits; check the unit of the training target"
            ))
        })?;
    let scale = units * f64::from(shift).exp2();

    // Every tree gets nodes of its own, since its leaves are counted from its own minimum.
    let mut pool = Pool::new();
    let mut base = (forest.base * scale).round() as i64;
    let mut roots = Vec::with_capacity(forest.roots.len());
    for (&root, &(min, _)) in forest.roots.iter().zip(&ranges) {
        base += (min * scale).round() as i64;
        roots
            .push(copy_tree(forest, root, &mut pool, |leaf| ((leaf - min) * scale).round() as i64));
        if pool.nodes.len() > enerinfer_artifacts::MAX_NODES {
            return Err(unrepresentable(format!(
                "more than {} nodes once trees no longer share subtrees",
                enerinfer_artifacts::MAX_NODES
            )));
        }
    }

    // Half a step for the base; half for the minimum and half for the leaf of each tree; one
    // device unit lost by the shift.
    let steps = 0.5 + forest.roots.len() as f64;
    let error_bound = steps / scale + 1.0 / units;
    Ok(Quantised {
        predictor: IntPredictor {
            target: predictor.target,
            normaliser: predictor.normaliser,
            domain: predictor.domain.clone(),
            forest: Forest { features: forest.features.clone(), base, nodes: pool.nodes, roots },
            // Within SHIFTS.
            shift: shift as i8,
        },
        error_bound,
    })
}

/// Smallest and largest leaf of every tree.
fn tree_ranges(forest: &Forest<f64>) -> Vec<(f64, f64)> {
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
    forest.roots.iter().map(|&root| ranges[root as usize]).collect()
}

/// Copies one tree with mapped leaves; a subtree that the tree shares with itself stays shared.
fn copy_tree<L: Copy, M>(
    forest: &Forest<L>,
    root: u32,
    pool: &mut Pool<M>,
    leaf: impl Fn(L) -> M,
) -> u32 {
    let mut map = std::collections::HashMap::new();
    let mut stack = vec![root];
    while let Some(&at) = stack.last() {
        if map.contains_key(&at) {
            stack.pop();
            continue;
        }
        let copied = match forest.nodes[at as usize] {
            Node::Leaf(value) => Node::Leaf(leaf(value)),
            Node::Split { feature, threshold, left, right } => {
                match (map.get(&left), map.get(&right)) {
                    (Some(&left), Some(&right)) => Node::Split { feature, threshold, left, right },
                    (None, _) => {
                        stack.push(left);
                        continue;
                    }
                    (_, None) => {
                        stack.push(right);
                        continue;
                    }
                }
            }
        };
        map.insert(at, pool.push(copied));
        stack.pop();
    }
    map[&root]
}
