//! The pipeline of passes from a bundle to integer predictors.

use std::fmt;

use enerinfer_artifacts::{Bundle, Forest, IntPredictor, Node, Predictor, Target};
use serde::Serialize;

use crate::passes::drop_unreachable::drop_unreachable;
use crate::passes::estimate_size::{LeafValue, estimate_bytes};
use crate::passes::merge_equal_leaves::merge_equal_leaves;
use crate::passes::prune::{Pruned, prune, prune_together};
use crate::passes::quantise::{Quantised, quantise};
use crate::passes::share_subtrees::share_subtrees;
use crate::{CodegenError, Optimise, Options};

/// What a pass did to one predictor: a row of `--explain`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PassEffect {
    /// Target of the predictor.
    pub target: &'static str,
    /// Name of the pass.
    pub name: &'static str,
    /// Nodes before the pass.
    pub nodes_before: u64,
    /// Nodes after it.
    pub nodes_after: u64,
    /// Leaves before the pass.
    pub leaves_before: u64,
    /// Leaves after it.
    pub leaves_after: u64,
    /// Estimated flash after it (thumbv7em).
    pub est_bytes: u64,
    /// Largest change of a prediction in tok/s, W or 1; 0 for exact passes.
    pub error_bound: f64,
}

/// Integer predictors, ready to be emitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// In the order of [`Target::COMPILED`], absent ones left out.
    pub predictors: Vec<IntPredictor>,
    /// Every pass on every predictor, in order.
    pub steps: Vec<PassEffect>,
    /// Set if trees had to be pruned to the flash budget.
    pub pruning: Option<Pruning>,
    /// Build profile of the generated crate.
    pub optimise: Optimise,
}

/// What a flash budget took away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pruning {
    /// The budget, bytes.
    pub budget_bytes: u64,
    /// Leaves of all predictors before.
    pub leaves_before: u64,
    /// Leaves of all predictors after.
    pub leaves_after: u64,
}

impl fmt::Display for Pruning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Pruned from {} to {} leaves for a flash budget of {} KiB",
            self.leaves_before,
            self.leaves_after,
            self.budget_bytes / 1024
        )
    }
}

impl Lowered {
    /// The predictor of a target.
    pub fn predictor(&self, target: Target) -> Option<&IntPredictor> {
        self.predictors.iter().find(|p| p.target == target)
    }
}

/// Validates the bundle and lowers its predictors for the device.
pub fn lower(bundle: &Bundle, options: &Options) -> Result<Lowered, CodegenError> {
    bundle.validate()?;
    if let Some(thermal) = &bundle.thermal {
        // Checked here, where it can be refused with its reason.
        thermal.to_int()?;
    }
    let predictors: Vec<&Predictor> =
        Target::COMPILED.iter().filter_map(|&t| bundle.predictor(t)).collect();
    let mut log = Log::default();
    let mut forests: Vec<Forest<f64>> = Vec::with_capacity(predictors.len());
    for p in &predictors {
        let merged = merge_equal_leaves(&p.forest);
        log.add(p.target, "merge equal leaves", &p.forest, &merged, 0.0);
        let reachable = drop_unreachable(&merged, &bundle.clocks);
        log.add(p.target, "drop unreachable", &merged, &reachable, 0.0);
        forests.push(reachable);
    }
    let mut pruning = None;
    if let Some(budget_bytes) = options.flash_budget {
        let leaves = |all: &[Forest<f64>]| all.iter().map(|forest| counts(forest).1).sum();
        let leaves_before = leaves(&forests);
        if let Some(pruned) = prune_to(budget_bytes, &predictors, &forests, &mut log)? {
            forests = pruned;
            let leaves_after = leaves(&forests);
            pruning = Some(Pruning { budget_bytes, leaves_before, leaves_after });
        }
    }
    let mut lowered = Vec::with_capacity(predictors.len());
    for (&p, forest) in predictors.iter().zip(forests) {
        let Quantised { predictor: mut int, error_bound } =
            quantise(&Predictor { forest: forest.clone(), ..p.clone() }, bundle)?;
        log.add(p.target, "quantise", &forest, &int.forest, error_bound);
        let merged = merge_equal_leaves(&int.forest);
        log.add(p.target, "merge equal leaves", &int.forest, &merged, 0.0);
        int.forest = share_subtrees(&merged);
        log.add(p.target, "share subtrees", &merged, &int.forest, 0.0);
        lowered.push(int);
    }
    let lowered =
        Lowered { predictors: lowered, steps: log.steps, pruning, optimise: options.optimise };
    check_size(&lowered, options)?;
    Ok(lowered)
}

/// All forests pruned together; `None` if they fit as they are.
fn prune_to(
    budget: u64,
    predictors: &[&Predictor],
    forests: &[Forest<f64>],
    log: &mut Log,
) -> Result<Option<Vec<Forest<f64>>>, CodegenError> {
    let bytes = |forests: &mut dyn Iterator<Item = &Forest<f64>>| -> u64 {
        forests.map(estimate_bytes).fold(0, u64::saturating_add)
    };
    if bytes(&mut forests.iter()) <= budget {
        return Ok(None);
    }
    let fits = |all: &[Pruned]| bytes(&mut all.iter().map(|p| &p.forest)) <= budget;
    let pruned = prune_together(forests, fits).ok_or_else(|| {
        let constants: Vec<Forest<f64>> =
            forests.iter().map(|forest| prune(forest, f64::INFINITY).forest).collect();
        CodegenError::FlashBudget { smallest: bytes(&mut constants.iter()), budget }
    })?;
    let steps = predictors.iter().zip(forests).zip(&pruned);
    for ((p, before), Pruned { forest, error_bound }) in steps {
        log.add(p.target, "prune to budget", before, forest, *error_bound);
    }
    Ok(Some(pruned.into_iter().map(|p| p.forest).collect()))
}

/// Records what passes do.
#[derive(Default)]
struct Log {
    steps: Vec<PassEffect>,
}

impl Log {
    fn add<A: Copy, B: LeafValue>(
        &mut self,
        target: Target,
        name: &'static str,
        before: &Forest<A>,
        after: &Forest<B>,
        error_bound: f64,
    ) {
        let (nodes_before, leaves_before) = counts(before);
        let (nodes_after, leaves_after) = counts(after);
        self.steps.push(PassEffect {
            target: target.name(),
            name,
            nodes_before,
            nodes_after,
            leaves_before,
            leaves_after,
            est_bytes: estimate_bytes(after),
            error_bound,
        });
    }
}

/// Nodes and leaves of the pool.
fn counts<L: Copy>(forest: &Forest<L>) -> (u64, u64) {
    let leaves = forest.nodes.iter().filter(|n| matches!(n, Node::Leaf(_))).count();
    (forest.nodes.len() as u64, leaves as u64)
}

fn check_size(lowered: &Lowered, options: &Options) -> Result<(), CodegenError> {
    let nodes: u64 = lowered.predictors.iter().map(|p| p.forest.nodes.len() as u64).sum();
    if nodes <= options.max_nodes {
        return Ok(());
    }
    let flash: u64 = lowered.predictors.iter().map(|p| estimate_bytes(&p.forest)).sum();
    Err(CodegenError::TooLarge {
        nodes,
        source_mib: (nodes * crate::emit::SOURCE_BYTES_PER_NODE).div_ceil(1 << 20),
        flash_kib: flash.div_ceil(1 << 10),
        max_nodes: options.max_nodes,
    })
}
