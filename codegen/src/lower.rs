//! The pipeline of passes from a bundle to integer predictors.

use enerinfer_artifacts::{Bundle, Forest, IntPredictor, Node, Predictor, Target};
use serde::Serialize;

use crate::passes::drop_unreachable::drop_unreachable;
use crate::passes::estimate_size::estimate_bytes;
use crate::passes::merge_equal_leaves::merge_equal_leaves;
use crate::passes::quantise::quantise;
use crate::passes::share_subtrees::share_subtrees;
use crate::{CodegenError, Options};

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
    let mut lowered = Lowered { predictors: Vec::new(), steps: Vec::new() };
    for predictor in Target::COMPILED.iter().filter_map(|&t| bundle.predictor(t)) {
        let int = lower_predictor(predictor, bundle, &mut lowered.steps)?;
        lowered.predictors.push(int);
    }
    check_size(&lowered, options)?;
    Ok(lowered)
}

fn lower_predictor(
    predictor: &Predictor,
    bundle: &Bundle,
    steps: &mut Vec<PassEffect>,
) -> Result<IntPredictor, CodegenError> {
    let mut log = |name, before: (u64, u64), after: (u64, u64), est_bytes, error_bound| {
        steps.push(PassEffect {
            target: predictor.target.name(),
            name,
            nodes_before: before.0,
            nodes_after: after.0,
            leaves_before: before.1,
            leaves_after: after.1,
            est_bytes,
            error_bound,
        });
    };
    let merged = merge_equal_leaves(&predictor.forest);
    log(
        "merge equal leaves",
        counts(&predictor.forest),
        counts(&merged),
        estimate_bytes(&merged),
        0.0,
    );
    let reachable = drop_unreachable(&merged, &bundle.clocks);
    log("drop unreachable", counts(&merged), counts(&reachable), estimate_bytes(&reachable), 0.0);
    let quantised =
        quantise(&Predictor { forest: reachable.clone(), ..predictor.clone() }, bundle)?;
    let mut int = quantised.predictor;
    log(
        "quantise",
        counts(&reachable),
        counts(&int.forest),
        estimate_bytes(&int.forest),
        quantised.error_bound,
    );
    let merged = merge_equal_leaves(&int.forest);
    log("merge equal leaves", counts(&int.forest), counts(&merged), estimate_bytes(&merged), 0.0);
    int.forest = share_subtrees(&merged);
    log("share subtrees", counts(&merged), counts(&int.forest), estimate_bytes(&merged), 0.0);
    Ok(int)
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
