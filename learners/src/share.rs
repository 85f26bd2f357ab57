//! Exact sharing between trials: one fit serves every trial that it contains.
//!
//! What shares, and why the results are identical to the bit:
//!
//! - **Random forest, `n_trees`**: tree `i` depends on `(seed, i)` alone, so a smaller forest is
//!   the beginning of a larger one.
//! - **Random forest, `max_depth` and `min_samples_split`**: CART is greedy. The split of a node
//!   depends on its rows and its way from the root, not on what is allowed below, so a stricter
//!   limit cuts the same tree; each node keeps the value that it has as a leaf.
//! - **Boosted trees, `n_rounds`**: fewer rounds are the beginning of more.
//!
//! What cannot share: `min_samples_leaf` and `max_features` change which split is best,
//! `bootstrap` and `sample_fraction` change the rows; in boosting every parameter but `n_rounds`
//! changes the residuals that later trees see.

use crate::forest::ForestValidParams;
use crate::predict::gather_values;
use crate::tree::GrownNode;
use crate::{BoostValidParams, CodedMatrix, LearnError};

/// Result of one trial on held-out rows.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// Predictions, indexed like the test rows.
    pub predictions: Vec<f64>,
    /// Size of the fitted forest; `None` for families that are not compiled.
    pub size: Option<ForestSize>,
}

/// How large a forest is. Every tree is binary, so it has `2 · leaves − trees` nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForestSize {
    /// Trees.
    pub trees: u32,
    /// Leaves of all trees.
    pub leaves: u64,
}

/// What is learnt from and what is predicted. `y` and `w` are indexed like `rows`.
#[derive(Clone, Copy, Debug)]
pub struct Fold<'a> {
    /// All rows of the table.
    pub x: &'a CodedMatrix,
    /// Rows to learn from.
    pub rows: &'a [u32],
    /// Their targets.
    pub y: &'a [f64],
    /// Their weights.
    pub w: Option<&'a [f64]>,
    /// Rows to predict.
    pub test: &'a [u32],
    /// Seed of the fit.
    pub seed: u64,
}

/// Groups trials by `shares`, an equivalence; groups and members keep the order of the trials.
pub(crate) fn group<P>(trials: &[P], shares: impl Fn(&P, &P) -> bool) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (i, trial) in trials.iter().enumerate() {
        match groups.iter_mut().find(|g| shares(&trials[g[0]], trial)) {
            Some(members) => members.push(i),
            None => groups.push(vec![i]),
        }
    }
    groups
}

/// Groups of random-forest trials that one fit serves, as indices into `trials`.
pub fn forest_groups(trials: &[ForestValidParams]) -> Vec<Vec<usize>> {
    group(trials, ForestValidParams::shares_with)
}

/// Groups of boosting trials that one fit serves, as indices into `trials`.
pub fn boost_groups(trials: &[BoostValidParams]) -> Vec<Vec<usize>> {
    group(trials, BoostValidParams::shares_with)
}

/// Evaluates the random-forest trials of one group ([`forest_groups`]) from one fit; the
/// predictions of each equal `predict(fit(…))` of that trial alone, bit for bit.
///
/// # Errors
///
/// As [`ForestValidParams::fit`]; trials that do not share.
pub fn evaluate_forests(
    group: &[&ForestValidParams],
    fold: Fold<'_>,
) -> Result<Vec<HeldOut>, LearnError> {
    let Some(&first) = group.first() else { return Ok(Vec::new()) };
    if !group.iter().all(|trial| first.shares_with(trial)) {
        return Err(not_shared());
    }
    let largest = first.covering(group);
    let names = fold.x.features();
    let values = gather_values(names, fold.x, fold.test)?;
    let mut out: Vec<(Vec<f64>, ForestSize)> = group
        .iter()
        .map(|trial| (vec![0.0; fold.test.len()], ForestSize { trees: trial.n_trees(), leaves: 0 }))
        .collect();
    let mut path = Vec::new();
    largest.grow_each(fold.x, fold.rows, fold.y, fold.w, fold.seed, |tree, nodes| {
        let mut members: Vec<_> = group
            .iter()
            .copied()
            .zip(&mut out)
            .filter(|(trial, _)| trial.n_trees() as usize > tree)
            .collect();
        for (i, row) in values.chunks_exact(names.len()).enumerate() {
            walk(nodes, row, &mut path);
            for (trial, out) in &mut members {
                out.0[i] += cut_value(&path, trial) / f64::from(trial.n_trees());
            }
        }
        let profile = Profile::new(nodes);
        for (trial, out) in &mut members {
            out.1.leaves += profile.leaves(trial);
        }
    })?;
    let held_out = |(predictions, size)| HeldOut { predictions, size: Some(size) };
    Ok(out.into_iter().map(held_out).collect())
}

/// Evaluates the boosting trials of one group ([`boost_groups`]) from one fit, likewise.
///
/// # Errors
///
/// As [`BoostValidParams::fit`]; trials that do not share.
pub fn evaluate_boosted(
    group: &[&BoostValidParams],
    fold: Fold<'_>,
) -> Result<Vec<HeldOut>, LearnError> {
    let Some(&first) = group.first() else { return Ok(Vec::new()) };
    if !group.iter().all(|trial| first.shares_with(trial)) {
        return Err(not_shared());
    }
    let largest = group.iter().copied().max_by_key(|trial| trial.n_rounds()).unwrap_or(first);
    // Trees and the round of each: rounds without a tree leave a gap.
    let mut rounds = Vec::new();
    let forest = largest.fit_with(fold.x, fold.rows, fold.y, fold.w, fold.seed, |round| {
        rounds.push(round);
    })?;
    let names = fold.x.features();
    let values = gather_values(names, fold.x, fold.test)?;
    let sizes: Vec<ForestSize> = group
        .iter()
        .map(|trial| {
            let trees = rounds.partition_point(|&round| round < trial.n_rounds());
            let nodes = trees.checked_sub(1).map_or(0, |last| forest.roots[last] as usize + 1);
            ForestSize { trees: trees as u32, leaves: (nodes + trees) as u64 / 2 }
        })
        .collect();
    let mut predictions = vec![Vec::with_capacity(fold.test.len()); group.len()];
    let mut sums = Vec::new();
    for row in values.chunks_exact(names.len()) {
        sums.clear();
        sums.push(forest.base);
        let mut sum = forest.base;
        for &root in &forest.roots {
            sum += forest.leaf(root, row);
            sums.push(sum);
        }
        for (predictions, size) in predictions.iter_mut().zip(&sizes) {
            predictions.push(sums[size.trees as usize]);
        }
    }
    let held_out = |(predictions, size)| HeldOut { predictions, size: Some(size) };
    Ok(predictions.into_iter().zip(sizes).map(held_out).collect())
}

fn not_shared() -> LearnError {
    LearnError::Param {
        name: "group",
        value: "trials".to_owned(),
        rule: "the trials differ in parameters that cannot share a fit; group them first",
    }
}

/// Values and row counts of the nodes from the root to the leaf of a row.
fn walk(nodes: &[GrownNode], row: &[u32], path: &mut Vec<(f64, u32)>) {
    path.clear();
    let mut at = &nodes[nodes.len() - 1];
    path.push((at.value, at.rows));
    while let Some(s) = at.split {
        let left = row[usize::from(s.feature)] <= s.threshold;
        at = &nodes[(if left { s.left } else { s.right }) as usize];
        path.push((at.value, at.rows));
    }
}

/// Value at which the tree of a stricter trial ends on this path.
fn cut_value(path: &[(f64, u32)], trial: &ForestValidParams) -> f64 {
    // Rows only become fewer along a path.
    let too_few = path.partition_point(|node| node.1 >= trial.min_samples_split());
    path[too_few.min(trial.max_depth() as usize).min(path.len() - 1)].0
}

/// Depth, rows and rows of the parent of every node of a tree, root first.
struct Profile {
    nodes: Vec<(u32, u32, u32, bool)>,
}

impl Profile {
    fn new(nodes: &[GrownNode]) -> Self {
        let mut out = vec![(0, 0, u32::MAX, false); nodes.len()];
        // Parents stand behind their children.
        for (at, node) in nodes.iter().enumerate().rev() {
            out[at].1 = node.rows;
            if let Some(s) = node.split {
                out[at].3 = true;
                for child in [s.left, s.right] {
                    out[child as usize].0 = out[at].0 + 1;
                    out[child as usize].2 = node.rows;
                }
            }
        }
        Profile { nodes: out }
    }

    /// Leaves of the tree cut by the limits of `trial`.
    fn leaves(&self, trial: &ForestValidParams) -> u64 {
        let (deepest, least) = (trial.max_depth(), trial.min_samples_split());
        let is_leaf = |&(depth, rows, above, splits): &(u32, u32, u32, bool)| {
            depth <= deepest && above >= least && !(splits && rows >= least && depth < deepest)
        };
        self.nodes.iter().filter(|node| is_leaf(node)).count() as u64
    }
}
