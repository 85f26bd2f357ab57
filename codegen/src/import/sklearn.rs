//! scikit-learn's random forests, from the JSON that `import/export_sklearn.py` writes:
//!
//! ```json
//! {"format": "enerinfer-sklearn-forest", "version": 1, "features": ["layers", "mem_khz"],
//!  "trees": [{"feature": [0, -2, -2], "threshold": [12.5, -2, -2], "left": [1, -1, -1],
//!             "right": [2, -1, -1], "value": [0.4, 0.3, 0.5]}]}
//! ```
//!
//! The arrays are those of `tree_`; a left child of −1 marks a leaf. The prediction is the mean of
//! the trees. scikit-learn rounds inputs to `f32` and compares them to an `f64` threshold.
//!
//! Forests that were trained on other than whole numbers (GHz, or scaled) are refused, unless the dump
//! says `"whole_numbers": true`, as the exporter does when it was given the rows. `"estimator"` tells
//! what gives them away: random forests split halfway between two training values, so at a multiple
//! of one half; `ExtraTreesRegressor` splits anywhere between them, so not below zero. From any, three
//! or more thresholds of a feature that all fall between two neighbouring whole numbers.

use enerinfer_artifacts::{Feature, Forest};
use serde::Deserialize;

use super::{Foreign, ImportError, add_tree, features, threshold, without_mark};

const FORMAT: &str = "enerinfer-sklearn-forest";

#[derive(Deserialize)]
struct Dump {
    format: String,
    version: u32,
    features: Vec<String>,
    trees: Vec<Tree>,
    /// Whether the exporter has seen that the rows are whole numbers.
    #[serde(default)]
    whole_numbers: bool,
    /// The class that was exported; dumps made by hand may leave it out.
    #[serde(default)]
    estimator: String,
}

#[derive(Deserialize)]
struct Tree {
    feature: Vec<i64>,
    /// `null` where Python wrote a number that JSON does not have.
    threshold: Vec<Option<f64>>,
    left: Vec<i64>,
    right: Vec<i64>,
    value: Vec<Option<f64>>,
}

/// Reads the dump of a `RandomForestRegressor` or `ExtraTreesRegressor`.
pub fn from_sklearn(json: &str) -> Result<Forest<f64>, ImportError> {
    let format = |reason: String| ImportError::Format { format: FORMAT, reason };
    let dump: Dump = serde_json::from_str(without_mark(json)).map_err(|e| format(e.to_string()))?;
    if dump.format != FORMAT || dump.version != 1 {
        return Err(format(format!(
            "format `{}` version {}; `{FORMAT}` version 1 is read",
            dump.format, dump.version
        )));
    }
    let features = features(dump.features.iter().map(String::as_str))?;
    let mut forest = Forest::constant(features, 0.0);
    if dump.trees.is_empty() {
        return Err(format("the forest has no tree: was it fitted?".to_owned()));
    }
    if !dump.whole_numbers {
        check_thresholds(&dump, &forest.features)?;
        check_not_collapsed(&dump, &forest.features)?;
    }
    let share = dump.trees.len() as f64;
    for (t, tree) in dump.trees.iter().enumerate() {
        let count = tree.feature.len();
        let lengths = [tree.threshold.len(), tree.left.len(), tree.right.len(), tree.value.len()];
        if lengths.iter().any(|&length| length != count) {
            return Err(format(format!("the arrays of tree {t} differ in length")));
        }
        let nodes: Result<Vec<Foreign>, ImportError> =
            (0..count).map(|n| node(tree, t, n, share, forest.features.len())).collect();
        add_tree(&mut forest, t, &nodes?)?;
    }
    forest.validate()?;
    Ok(forest)
}

/// Refuses thresholds that the estimator cannot have found between whole numbers.
fn check_thresholds(dump: &Dump, features: &[Feature]) -> Result<(), ImportError> {
    let (possible, rule): (fn(f64) -> bool, _) = match dump.estimator.as_str() {
        "RandomForestRegressor" => {
            (|t| t >= 0.0 && (2.0 * t).fract() == 0.0, "halfway between two of them")
        }
        "ExtraTreesRegressor" => (|t| t >= 0.0, "between two of them"),
        _ => return Ok(()),
    };
    for (t, tree) in dump.trees.iter().enumerate() {
        let splits = tree.feature.iter().zip(&tree.left).zip(&tree.threshold).enumerate();
        for (node, ((&feature, &left), &threshold)) in splits {
            // What is no number, or infinite, or has no name, is refused with its own reason.
            let known = usize::try_from(feature).ok().and_then(|f| features.get(f));
            let (Some(feature), Some(threshold)) = (known, threshold) else { continue };
            if left != -1 && threshold.is_finite() && !possible(threshold) {
                return Err(ImportError::Unsupported {
                    tree: t,
                    node,
                    reason: format!(
                        "it splits `{}` at {threshold}; trained on whole numbers, it would split \
                         {rule}: train in the schema's unit",
                        feature.name()
                    ),
                });
            }
        }
    }
    Ok(())
}

/// Refuses features that whole numbers divide in one way only, although training found several.
fn check_not_collapsed(dump: &Dump, features: &[Feature]) -> Result<(), ImportError> {
    for (column, feature) in features.iter().enumerate() {
        let mut thresholds: Vec<f64> = Vec::new();
        for tree in &dump.trees {
            let splits = tree.feature.iter().zip(&tree.left).zip(&tree.threshold);
            let own = splits.filter(|((f, left), _)| **f == column as i64 && **left != -1);
            thresholds.extend(own.filter_map(|(_, threshold)| *threshold));
        }
        thresholds.sort_by(f64::total_cmp);
        thresholds.dedup();
        let [lowest, .., highest] = thresholds[..] else { continue };
        if thresholds.len() >= 3 && lowest.floor() == highest.floor() {
            return Err(ImportError::Format {
                format: FORMAT,
                reason: format!(
                    "`{}` is split at {} places from {lowest} to {highest}, which are one for whole \
                     numbers: train in the schema's unit, or export with rows= if it was",
                    feature.name(),
                    thresholds.len()
                ),
            });
        }
    }
    Ok(())
}

fn node(
    tree: &Tree,
    t: usize,
    n: usize,
    share: f64,
    features: usize,
) -> Result<Foreign, ImportError> {
    let unsupported =
        |reason: &str| ImportError::Unsupported { tree: t, node: n, reason: reason.to_owned() };
    if tree.left[n] == -1 {
        if tree.right[n] != -1 {
            return Err(unsupported("it has a right child but no left one"));
        }
        let value = tree.value[n].ok_or_else(|| unsupported("the leaf's value is not finite"))?;
        return Ok(Foreign::Leaf(value / share));
    }
    let feature = u16::try_from(tree.feature[n])
        .ok()
        .filter(|&f| usize::from(f) < features)
        .ok_or_else(|| unsupported("it splits on a feature that the dump does not name"))?;
    let foreign = tree.threshold[n]
        .filter(|t| t.is_finite())
        .ok_or_else(|| unsupported("its threshold is not finite: train without missing values"))?;
    let child = |index: i64| {
        usize::try_from(index).map_err(|_| unsupported("one of its children has no index"))
    };
    Ok(Foreign::Split {
        feature,
        threshold: threshold(|x| f64::from(x as f32) <= foreign),
        left: child(tree.left[n])?,
        right: child(tree.right[n])?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump(feature: &str, thresholds: &str) -> String {
        format!(
            r#"{{"format": "{FORMAT}", "version": 1, "features": ["{feature}"], "trees": [
                {{"feature": [0, -2, -2], "threshold": [{thresholds}, -2, -2],
                  "left": [1, -1, -1], "right": [2, -1, -1], "value": [2, 1, 3]}},
                {{"feature": [-2], "threshold": [-2], "left": [-1], "right": [-1], "value": [5]}}
            ]}}"#
        )
    }

    #[test]
    fn is_the_mean_of_the_trees() {
        let forest = from_sklearn(&dump("layers", "12.5")).unwrap();
        assert_eq!(forest.predict(&[12]), 3.0);
        assert_eq!(forest.predict(&[13]), 4.0);
    }

    #[test]
    fn follows_the_rounding_of_inputs_beyond_24_bits() {
        // 2^24 + 1 is rounded to 2^24 as f32, and so goes left of 2^24 + 0.5.
        let forest = from_sklearn(&dump("vocab", "16777216.5")).unwrap();
        assert_eq!(forest.predict(&[(1 << 24) + 1]), 3.0);
        assert_eq!(forest.predict(&[(1 << 24) + 2]), 4.0);
    }

    #[test]
    fn a_threshold_below_zero_sends_all_right() {
        let forest = from_sklearn(&dump("layers", "-0.5")).unwrap();
        assert_eq!(forest.predict(&[0]), 4.0);
    }

    #[test]
    fn says_what_it_refuses() {
        let error = |json: String| from_sklearn(&json).unwrap_err().to_string();
        assert!(error(dump("gpu_freq", "1")).contains("unknown feature `gpu_freq`"));
        assert!(error(dump("layers", "null")).contains("tree 0, node 0"));
        assert!(error(dump("layers", "1").replace("[2, -1, -1]", "[0, -1, -1]")).contains("tree"));
        assert!(
            error(dump("layers", "1").replace("[2, -1, -1]", "[9, -1, -1]")).contains("node 9")
        );
        assert!(error("{}".to_owned()).contains("missing field"));
    }
}
