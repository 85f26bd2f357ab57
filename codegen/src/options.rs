//! Settings of a compilation.

/// Default of [`Options::max_nodes`]: about a minute of rustc and 20 MiB of source.
pub const DEFAULT_MAX_NODES: u64 = 1_000_000;

/// What the printed code is optimised for. Predictions are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Optimise {
    /// Flash: the smaller of two forms for each predictor, and leaves no finer than needed.
    #[default]
    Size,
    /// Time of a full table.
    Speed,
}

/// Settings of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Most nodes, over all predictors and after the passes, that are compiled.
    pub max_nodes: u64,
    /// Bytes of flash that all predictors together may take on thumbv7em; trees are pruned until
    /// they fit. `None`: no pruning.
    pub flash_budget: Option<u64>,
    /// What the printed code is optimised for.
    pub optimise: Optimise,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_nodes: DEFAULT_MAX_NODES, flash_budget: None, optimise: Optimise::Size }
    }
}
