//! Floating-point leaves become fixed point.
//!
//! A leaf becomes a whole multiple of 2^−shift device units, counted from the smallest leaf of its
//! tree, whose value moves into the base. Then every *part* (a largest subtree without clock
//! splits: the unit that the emitter may print) gets the finest power-of-two step with which its
//! leaves, counted from its own smallest, fit a given number of bits.
//!
//! Both numbers of bits can be chosen: fewer bits of a tree make small numbers, which short
//! instructions can hold; fewer bits of a part make equal leaves, which need no comparison.

use std::collections::HashMap;

use enerinfer_artifacts::{Bundle, Forest, IntPredictor, Node, Predictor};

use super::rebuild::Pool;
use crate::CodegenError;

/// Largest magnitude of base and of the sum of leaves, in device units times 2^shift.
const MAX_SUM: f64 = (1u64 << 61) as f64;
/// Coarsest and finest shift that are tried.
const SHIFTS: core::ops::RangeInclusive<i32> = -24..=28;
/// Mean relative change of predictions up to which fewer bits are taken: well below the error of
/// any forest.
const MAX_DRIFT: f64 = 1e-3;

/// Widths of leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Bits of a leaf within its tree: at most 16.
    pub tree_bits: u32,
    /// Bits of a leaf within its part; as many as `tree_bits`: nothing is lost within parts.
    pub part_bits: u32,
}

impl Precision {
    /// The finest that the device holds.
    pub const FINEST: Precision = Precision { tree_bits: 16, part_bits: 16 };
    /// Fewest bits that are tried.
    const FEWEST_BITS: u32 = 3;
}

/// A quantised predictor and how far its predictions may be from the floating-point ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantised {
    /// The integer predictor.
    pub predictor: IntPredictor,
    /// Largest difference of a prediction, before any normaliser, in tok/s, W or 1; values that
    /// the device clamps (below 10⁻⁶ or above the range of the unit) excepted.
    pub error_bound: f64,
}

/// Quantises to the fewest bits that change predictions for the bundle's test shapes by at most
/// 0.1 % on average: first of trees, then of parts. Labels play no part in the choice. Without
/// test shapes nothing is known, and precision is the finest.
pub fn quantise(predictor: &Predictor, bundle: &Bundle) -> Result<Quantised, CodegenError> {
    let finest = Precision::FINEST;
    let mut best = quantise_to(predictor, finest)?;
    let mut fewest = |precision: &dyn Fn(u32) -> Precision| {
        let all = (Precision::FEWEST_BITS..finest.tree_bits).map(precision);
        let found = all.filter_map(|precision| {
            let candidate = quantise_to(predictor, precision).ok()?;
            let drift = drift(predictor, &candidate.predictor, bundle)?;
            (drift <= MAX_DRIFT).then_some((precision, candidate))
        });
        let (precision, candidate) = { found }.next()?;
        best = candidate;
        Some(precision)
    };
    if let Some(Precision { tree_bits, .. }) =
        fewest(&|bits| Precision { tree_bits: bits, part_bits: bits })
    {
        fewest(&|part_bits| Precision { tree_bits, part_bits: part_bits.min(tree_bits) });
    }
    Ok(best)
}

/// Mean relative difference over the test shapes at all operating points.
fn drift(float: &Predictor, int: &IntPredictor, bundle: &Bundle) -> Option<f64> {
    let units = float.target.units_per_one();
    let mut sum = 0.0;
    let mut count = 0u32;
    for shape in &bundle.test_shapes {
        for point in bundle.clocks.points() {
            let clocks = bundle.clocks.clocks_khz(point);
            let exact = float.predict(shape, clocks);
            let device = f64::from(int.predict(shape, clocks)) / units;
            sum += ((device - exact) / exact).abs();
            count += 1;
        }
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// Quantises every leaf and the base. Predictions beyond the device's 32-bit units are clamped there,
/// not refused. Fails if leaves are so large that no shift brings them into the bits of a tree and
/// their sum into 64 bits, or if there are too many nodes once trees share none.
pub fn quantise_to(predictor: &Predictor, precision: Precision) -> Result<Quantised, CodegenError> {
    let forest = &predictor.forest;
    let units = predictor.target.units_per_one();
    let unrepresentable =
        |reason: String| CodegenError::Unrepresentable { target: predictor.target.name(), reason };

    let subtrees = subtrees(forest);
    let trees = || forest.roots.iter().map(|&root| &subtrees[root as usize]);
    let widest = trees().map(|t| t.max - t.min).fold(0.0, f64::max) * units;
    let magnitude =
        trees().map(|t| t.min.abs().max(t.max.abs())).fold(forest.base.abs(), |a, b| a + b) * units;
    let max_code = max_code(precision.tree_bits);
    let shift = SHIFTS
        .rev()
        .find(|&s| {
            let scale = f64::from(s).exp2();
            widest * scale <= max_code && magnitude * scale.max(1.0) <= MAX_SUM
        })
        .ok_or_else(|| {
            unrepresentable(format!(
                "its leaves reach {magnitude:e} device units, which no shift brings into \
                 {} bits; check the unit of the training target",
                precision.tree_bits
            ))
        })?;
    let scale = units * f64::from(shift).exp2();

    let mut copy =
        Copier { forest, subtrees: &subtrees, scale, precision, pool: Pool::new(), error: 0.0 };
    // The device's shift cuts off; half a unit more, and it rounds: a constant that was divided among
    // trees comes out as it went in.
    let half = if shift > 0 { 1i64 << (shift - 1) } else { 0 };
    let mut base = half + (forest.base * scale).round() as i64;
    let mut error = 0.5;
    let mut roots = Vec::with_capacity(forest.roots.len());
    for (&root, range) in forest.roots.iter().zip(trees()) {
        base += (range.min * scale).round() as i64;
        roots.push(copy.tree(root, range.min));
        // Half a step for the smallest leaf; then the tree's own.
        error += 0.5 + std::mem::take(&mut copy.error);
        if copy.pool.nodes.len() > enerinfer_artifacts::MAX_NODES {
            return Err(unrepresentable(format!(
                "more than {} nodes once trees no longer share subtrees",
                enerinfer_artifacts::MAX_NODES
            )));
        }
    }
    Ok(Quantised {
        predictor: IntPredictor {
            target: predictor.target,
            normaliser: predictor.normaliser,
            domain: predictor.domain.clone(),
            forest: Forest {
                features: forest.features.clone(),
                base,
                nodes: copy.pool.nodes,
                roots,
            },
            // Within SHIFTS.
            shift: shift as i8,
        },
        // The shift rounds to a device unit.
        error_bound: error / scale + 0.5 / units,
    })
}

/// Largest number of so many bits.
fn max_code(bits: u32) -> f64 {
    f64::from((1u32 << bits.min(16)) - 1)
}

/// What is known of the subtree below a node.
struct Subtree {
    min: f64,
    max: f64,
    reads_clocks: bool,
}

fn subtrees(forest: &Forest<f64>) -> Vec<Subtree> {
    let mut subtrees: Vec<Subtree> = Vec::with_capacity(forest.nodes.len());
    for node in &forest.nodes {
        subtrees.push(match *node {
            Node::Leaf(value) => Subtree { min: value, max: value, reads_clocks: false },
            Node::Split { feature, left, right, .. } => {
                let (l, r) = (&subtrees[left as usize], &subtrees[right as usize]);
                Subtree {
                    min: l.min.min(r.min),
                    max: l.max.max(r.max),
                    reads_clocks: l.reads_clocks
                        || r.reads_clocks
                        || forest.features[usize::from(feature)].is_clock(),
                }
            }
        });
    }
    subtrees
}

/// Copies trees with quantised leaves. Every tree, and every part of it, gets nodes of its own,
/// since its leaves are counted from its own smallest.
struct Copier<'a> {
    forest: &'a Forest<f64>,
    subtrees: &'a [Subtree],
    scale: f64,
    precision: Precision,
    pool: Pool<i64>,
    /// Largest error of a leaf of the current tree, in steps.
    error: f64,
}

impl Copier<'_> {
    fn tree(&mut self, root: u32, tree_min: f64) -> u32 {
        let mut map = HashMap::new();
        let mut stack = vec![root];
        while let Some(&at) = stack.last() {
            if map.contains_key(&at) {
                stack.pop();
                continue;
            }
            match self.forest.nodes[at as usize] {
                Node::Split { feature, threshold, left, right }
                    if self.subtrees[at as usize].reads_clocks =>
                {
                    match (map.get(&left), map.get(&right)) {
                        (Some(&left), Some(&right)) => {
                            let split = Node::Split { feature, threshold, left, right };
                            map.insert(at, self.pool.push(split));
                        }
                        (None, _) => stack.push(left),
                        (_, None) => stack.push(right),
                    }
                }
                _ => {
                    let part = self.part(at, tree_min);
                    map.insert(at, part);
                }
            }
        }
        map[&root]
    }

    fn part(&mut self, root: u32, tree_min: f64) -> u32 {
        let Subtree { min, max, .. } = self.subtrees[root as usize];
        let from = ((min - tree_min) * self.scale).round() as i64;
        let spread = (max - min) * self.scale;
        let mut step_log2 = 0;
        while (spread / f64::from(step_log2).exp2()).round() > max_code(self.precision.part_bits) {
            step_log2 += 1;
        }
        let step = f64::from(step_log2).exp2();
        // Half a step for the part's smallest leaf, half a (coarser) step for the others.
        self.error = self.error.max(0.5 + if spread > 0.0 { 0.5 * step } else { 0.0 });
        let scale = self.scale;
        let leaf =
            |value: f64| from + ((((value - min) * scale / step).round() as i64) << step_log2);
        copy_subtree(self.forest, root, &mut self.pool, leaf)
    }
}

/// Copies a subtree with mapped leaves; what it shares with itself stays shared.
fn copy_subtree(
    forest: &Forest<f64>,
    root: u32,
    pool: &mut Pool<i64>,
    leaf: impl Fn(f64) -> i64,
) -> u32 {
    let mut map = HashMap::new();
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
