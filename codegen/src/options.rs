//! Settings of a compilation.

/// Default of [`Options::max_nodes`]: about a minute of rustc and 20 MiB of source.
pub const DEFAULT_MAX_NODES: u64 = 1_000_000;

/// What the generated crate's own build profile asks of rustc, and whether single operating points
/// have code of their own. The table's source is the same: the form that is smallest was measured
/// to be the fastest too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Optimise {
    /// Least flash (`opt-level = "z"`)
    #[default]
    Size,
    /// Least time for the table of a model (`opt-level = 3`) and, by code of their own, for single
    /// operating points
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
    /// Build profile of the generated crate.
    pub optimise: Optimise,
}

impl Default for Options {
    fn default() -> Self {
        Options { max_nodes: DEFAULT_MAX_NODES, flash_budget: None, optimise: Optimise::Size }
    }
}
