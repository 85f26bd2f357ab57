//! Forests that were trained elsewhere, converted to the integer contract or refused.
//!
//! The contract: inputs are whole numbers, and `x <= threshold` goes left, with a whole
//! `threshold`. A foreign threshold becomes the largest whole number that the foreign library
//! would send left, found by asking its own comparison; so every row of whole numbers takes the
//! same way in both.

mod lightgbm;
mod sklearn;
mod spec;

pub use lightgbm::from_lightgbm;
pub use sklearn::from_sklearn;
pub(crate) use spec::IMPORTED;
pub use spec::import_bundle;

use std::path::PathBuf;

use enerinfer_artifacts::{Feature, Forest, Node};

/// Why a foreign forest cannot be imported.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The text is not in the format.
    #[error("{format}: {reason}")]
    Format {
        /// The expected format.
        format: &'static str,
        /// What is wrong with it, and where.
        reason: String,
    },
    /// The forest does something that the integer contract has no place for.
    #[error("tree {tree}, node {node}: {reason}")]
    Unsupported {
        /// Index of the tree.
        tree: usize,
        /// Index of the node in the dump.
        node: usize,
        /// What it does, and what to change in training.
        reason: String,
    },
    /// A feature name is not one of the schema's.
    #[error("unknown feature `{}`; the features are {known}", name.escape_debug())]
    Feature {
        /// The name.
        name: String,
        /// The schema's names.
        known: String,
    },
    /// A file that the import names cannot be used.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why not; part of the message, hence no `source()`, which would repeat it.
        reason: Box<ImportError>,
    },
    /// The imported forest breaks a rule of the schema.
    #[error(transparent)]
    Artifact(#[from] enerinfer_artifacts::Error),
}

/// Features by their names.
fn features<'a>(names: impl Iterator<Item = &'a str>) -> Result<Vec<Feature>, ImportError> {
    names
        .map(|name| {
            Feature::from_name(name).ok_or_else(|| ImportError::Feature {
                name: name.to_owned(),
                known: Feature::ALL.map(Feature::name).join(", "),
            })
        })
        .collect()
}

/// A node of a foreign tree; children are indices in its dump.
enum Foreign {
    Leaf(f64),
    Split { feature: u16, threshold: Threshold, left: usize, right: usize },
}

/// Where whole numbers are divided.
enum Threshold {
    /// Up to this number goes left.
    At(u32),
    /// Nothing goes left.
    NeverLeft,
}

/// The largest whole number for which `goes_left` holds; it must be monotone.
fn threshold(goes_left: impl Fn(u32) -> bool) -> Threshold {
    if !goes_left(0) {
        return Threshold::NeverLeft;
    }
    let (mut left, mut right) = (0u32, u32::MAX);
    if goes_left(right) {
        return Threshold::At(right);
    }
    while right - left > 1 {
        let middle = left + (right - left) / 2;
        if goes_left(middle) {
            left = middle;
        } else {
            right = middle;
        }
    }
    Threshold::At(left)
}

/// Whether the device can have a feature of this value.
fn is_device_value(value: f64) -> bool {
    value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value)
}

const MISSING: &str = "a child with this index does not exist: the dump was cut";

/// The text without a byte order mark, which editors of some systems put in front.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Adds a tree to the pool, children before parents. Every node must be reached at most once.
fn add_tree(forest: &mut Forest<f64>, tree: usize, nodes: &[Foreign]) -> Result<(), ImportError> {
    let unsupported =
        |node, reason: &str| ImportError::Unsupported { tree, node, reason: reason.to_owned() };
    if nodes.is_empty() {
        return Err(unsupported(0, "the tree has no node"));
    }
    let mut placed: Vec<Option<u32>> = vec![None; nodes.len()];
    let mut opened = vec![false; nodes.len()];
    // The root is nobody's child.
    let mut reached = vec![false; nodes.len()];
    reached[0] = true;
    // A stack of its own: foreign trees may be thousands of levels deep.
    let mut stack = vec![0usize];
    while let Some(&at) = stack.last() {
        let place = match &nodes[at] {
            Foreign::Leaf(value) if value.is_finite() => Node::Leaf(*value),
            Foreign::Leaf(_) => return Err(unsupported(at, "the leaf's value is not finite")),
            Foreign::Split { feature, threshold, left, right } => {
                if !std::mem::replace(&mut opened[at], true) {
                    for child in [*right, *left] {
                        match reached.get_mut(child) {
                            Some(reached) if *reached => {
                                return Err(unsupported(child, "it is reached twice: not a tree"));
                            }
                            Some(reached) => *reached = true,
                            None => return Err(unsupported(child, MISSING)),
                        }
                        stack.push(child);
                    }
                    continue;
                }
                match (placed[*left], placed[*right]) {
                    (Some(left), Some(right)) => match *threshold {
                        Threshold::At(threshold) => {
                            Node::Split { feature: *feature, threshold, left, right }
                        }
                        Threshold::NeverLeft => {
                            placed[at] = Some(right);
                            stack.pop();
                            continue;
                        }
                    },
                    // Children are placed before their parent is looked at again.
                    _ => return Err(unsupported(at, MISSING)),
                }
            }
        };
        placed[at] = Some(forest.nodes.len() as u32);
        forest.nodes.push(place);
        stack.pop();
        if forest.nodes.len() > enerinfer_artifacts::MAX_NODES {
            return Err(unsupported(at, "the forest is larger than any that can be compiled"));
        }
    }
    forest.roots.extend(placed[0]);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_are_where_the_foreign_comparison_changes() {
        let at = |t: f64| match threshold(|x| f64::from(x) <= t) {
            Threshold::At(t) => Some(t),
            Threshold::NeverLeft => None,
        };
        assert_eq!(at(-0.5), None);
        assert_eq!(at(0.0), Some(0));
        assert_eq!(at(7.999), Some(7));
        assert_eq!(at(1e300), Some(u32::MAX));
        assert_eq!(at(f64::from(u32::MAX) - 0.5), Some(u32::MAX - 1));
    }
}
