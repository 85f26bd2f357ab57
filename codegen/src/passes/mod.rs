//! Compiler passes: each a pure function from a forest to a forest, in a file of its own.
//!
//! All but [`quantise`] and [`prune`] leave every prediction as it was, bit for bit.

pub mod drop_unreachable;
pub mod estimate_size;
pub mod merge_equal_leaves;
pub mod prune;
pub mod quantise;
pub mod share_subtrees;

pub(crate) mod rebuild;
