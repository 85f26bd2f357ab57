//! Hydra (arXiv 2608.25053): its log parsers, its fusion, its corpus and its analysis.
//!
//! What is here follows the released artifact (github.com/amirtaherin/hydra) as its users meet it:
//! the same columns, the same windows, the same failures. Where the original is at fault the fault
//! is kept here, named in the documentation, and put right in [`crate::fuse`].

pub mod canonical;
pub mod check;
pub mod corpus;
pub mod figures;
pub mod generate;
mod group;
mod layout;
mod parse;
pub mod quality;
mod svg;
pub mod tables;
mod timing;
mod unify;

pub use layout::HydraPlatform;
pub use parse::{HydraParser, LineFault, ParsedLine};
pub use svg::figure_svg;
pub use unify::{UnifyReport, unify_file};
