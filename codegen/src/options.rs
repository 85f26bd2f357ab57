//! Settings of a compilation.

/// Default of [`Options::max_nodes`]: about a minute of rustc and 20 MiB of source.
pub const DEFAULT_MAX_NODES: u64 = 1_000_000;

/// Settings of a compilation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Most nodes, over all predictors and after the passes, that are compiled.
    pub max_nodes: u64,
    /// Bytes of flash that all predictors together may take on thumbv7em; trees are pruned until
    /// they fit. `None`: no pruning.
    pub flash_budget: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_nodes: DEFAULT_MAX_NODES, flash_budget: None }
    }
}
