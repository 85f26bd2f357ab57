//! LightGBM's text models (`Booster.save_model`).
//!
//! In `rf` mode the prediction is the mean of the trees (`average_output`), else their sum.
//! LightGBM compares `f64` inputs with `f64` thresholds, so whole numbers compare exactly.

use std::collections::HashMap;

use enerinfer_artifacts::{Feature, Forest};

use super::{Foreign, ImportError, add_tree, features, is_device_value, threshold, without_mark};

const FORMAT: &str = "LightGBM model";

/// Objectives whose prediction is the sum of the trees itself.
const PLAIN_OBJECTIVES: [&str; 6] =
    ["regression", "regression_l1", "huber", "fair", "quantile", "mape"];

/// Bits of `decision_type`.
const CATEGORICAL: u32 = 1;
const MISSING_SHIFT: u32 = 2;
const MISSING_ZERO: u32 = 1;

fn format_error(reason: String) -> ImportError {
    ImportError::Format { format: FORMAT, reason }
}

/// One `Tree=` section: its `key=value` lines.
struct Section<'a> {
    tree: usize,
    values: HashMap<&'a str, &'a str>,
}

impl Section<'_> {
    fn list<T: std::str::FromStr>(&self, key: &str, count: usize) -> Result<Vec<T>, ImportError> {
        let at = |what: &str| format_error(format!("`{key}` of tree {} {what}", self.tree));
        let text = self.values.get(key).ok_or_else(|| at("is missing"))?;
        let list: Result<Vec<T>, _> = text.split_whitespace().map(str::parse).collect();
        let list = list.map_err(|_| at("has a value that is not a number"))?;
        if list.len() != count {
            return Err(at(&format!("has {} values instead of {count}", list.len())));
        }
        Ok(list)
    }

    fn nodes(&self, share: f64, features: usize) -> Result<Vec<Foreign>, ImportError> {
        let unsupported = |node, reason: &str| ImportError::Unsupported {
            tree: self.tree,
            node,
            reason: reason.to_owned(),
        };
        let leaves = self.list::<usize>("num_leaves", 1)?[0];
        if leaves == 0 {
            return Err(unsupported(0, "the tree has no leaf"));
        }
        if self.values.get("is_linear").is_some_and(|v| v.trim() == "1") {
            return Err(unsupported(0, "its leaves are linear models: train without linear_tree"));
        }
        let splits = leaves - 1;
        let values: Vec<f64> = self.list("leaf_value", leaves)?;
        let leaf = |value: &f64| Foreign::Leaf(value / share);
        if splits == 0 {
            return Ok(values.iter().map(leaf).collect());
        }
        let feature: Vec<u16> = self.list("split_feature", splits)?;
        let thresholds: Vec<f64> = self.list("threshold", splits)?;
        let kinds: Vec<u32> = self.list("decision_type", splits)?;
        let left: Vec<i64> = self.list("left_child", splits)?;
        let right: Vec<i64> = self.list("right_child", splits)?;
        // Splits first, then leaves: a negative child −1 − i is leaf i.
        let child = |index: i64| match usize::try_from(index) {
            Ok(split) => split,
            Err(_) => splits + index.unsigned_abs() as usize - 1,
        };
        let mut nodes = Vec::with_capacity(splits + leaves);
        for node in 0..splits {
            if kinds[node] & CATEGORICAL != 0 {
                return Err(unsupported(node, "it splits on a category: pass features as numbers"));
            }
            if kinds[node] >> MISSING_SHIFT & 3 == MISSING_ZERO {
                return Err(unsupported(
                    node,
                    "it treats zero as missing: train with zero_as_missing=false",
                ));
            }
            if usize::from(feature[node]) >= features {
                return Err(unsupported(node, "it splits on a feature that has no name"));
            }
            if !thresholds[node].is_finite() {
                return Err(unsupported(node, "its threshold is not finite"));
            }
            nodes.push(Foreign::Split {
                feature: feature[node],
                threshold: threshold(|x| f64::from(x) <= thresholds[node]),
                left: child(left[node]),
                right: child(right[node]),
            });
        }
        nodes.extend(values.iter().map(leaf));
        Ok(nodes)
    }
}

/// Reads a text model for regression.
pub fn from_lightgbm(text: &str) -> Result<Forest<f64>, ImportError> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    let mut header: HashMap<&str, &str> = HashMap::new();
    let mut complete = false;
    for line in without_mark(text).lines() {
        if line.trim() == "end of trees" {
            complete = true;
            break;
        }
        let (key, value) = line.split_once('=').unwrap_or((line.trim(), ""));
        if key == "Tree" {
            let tree = sections.len();
            if value.trim() != tree.to_string() {
                return Err(format_error(format!(
                    "tree {} stands where tree {tree} belongs: trees are missing",
                    value.trim()
                )));
            }
            sections.push(Section { tree, values: HashMap::new() });
            continue;
        }
        let (of, values) = match sections.last_mut() {
            Some(section) => (format!(" of tree {}", section.tree), &mut section.values),
            None => (String::new(), &mut header),
        };
        if values.insert(key, value).is_some() && !key.is_empty() {
            return Err(format_error(format!("`{key}`{of} stands twice")));
        }
    }
    if !complete || sections.is_empty() {
        let what = if complete { "there is no tree" } else { "the line `end of trees` is missing" };
        return Err(format_error(format!("{what}: the file was cut, or is no text model")));
    }
    let names = header
        .get("feature_names")
        .ok_or_else(|| format_error("the line `feature_names` is missing".to_owned()))?;
    let per_iteration = header.get("num_tree_per_iteration").map_or("1", |v| v.trim());
    if per_iteration != "1" {
        return Err(format_error(format!(
            "{per_iteration} trees per iteration: a classifier; a regression is needed"
        )));
    }
    // A custom objective leaves no line; what it makes of the sum is its author's business.
    if let Some(objective) = header.get("objective") {
        let mut words = objective.split_whitespace();
        let plain = words.next().is_some_and(|name| PLAIN_OBJECTIVES.contains(&name));
        if !plain || words.any(|word| word == "sqrt") {
            return Err(format_error(format!(
                "objective `{}` transforms the sum of the trees, or is no regression: train with \
                 `regression`",
                objective.trim()
            )));
        }
    }
    let mut forest = Forest::constant(features(names.split_whitespace())?, 0.0);
    if let Some(infos) = header.get("feature_infos") {
        check_ranges(&forest.features, infos)?;
    }
    let share = if header.contains_key("average_output") { sections.len() as f64 } else { 1.0 };
    for section in &sections {
        let nodes = section.nodes(share, forest.features.len())?;
        add_tree(&mut forest, section.tree, &nodes)?;
    }
    forest.validate()?;
    Ok(forest)
}

/// Refuses features that were trained on other numbers than the device has: LightGBM keeps the
/// range of each as `[min:max]`, or `none` if nothing splits on it.
fn check_ranges(features: &[Feature], infos: &str) -> Result<(), ImportError> {
    for (feature, info) in features.iter().zip(infos.split_whitespace()) {
        let Some(range) = info.strip_prefix('[').and_then(|info| info.strip_suffix(']')) else {
            continue;
        };
        for end in range.split(':') {
            if !end.parse().is_ok_and(is_device_value) {
                return Err(format_error(format!(
                    "`{}` was trained on values such as {end}; the device has whole numbers below \
                     2^32 in the schema's unit: train on those",
                    feature.name()
                )));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hand-written after the layout of `GBDT::SaveModelToString`.
    const MODEL: &str = "tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=regression
feature_names=layers mem_khz
average_output

Tree=0
num_leaves=3
num_cat=0
split_feature=1 0
threshold=665600.00000000012 12.500000000000002
decision_type=2 2
left_child=1 -2
right_child=-1 -3
leaf_value=4 1 2

Tree=1
num_leaves=1
num_cat=0
leaf_value=10


end of trees
";

    #[test]
    fn rf_mode_is_the_mean() {
        let forest = from_lightgbm(MODEL).unwrap();
        assert_eq!(forest.predict(&[12, 665_600]), 5.5);
        assert_eq!(forest.predict(&[13, 665_600]), 6.0);
        assert_eq!(forest.predict(&[13, 665_601]), 7.0);
    }

    #[test]
    fn boosting_is_the_sum() {
        let forest = from_lightgbm(&MODEL.replace("average_output\n", "")).unwrap();
        assert_eq!(forest.predict(&[12, 0]), 11.0);
    }

    #[test]
    fn says_what_it_refuses() {
        let error =
            |from: &str, to: &str| from_lightgbm(&MODEL.replace(from, to)).unwrap_err().to_string();
        assert!(error("decision_type=2 2", "decision_type=2 1").contains("tree 0, node 1"));
        assert!(error("decision_type=2 2", "decision_type=6 2").contains("zero_as_missing"));
        assert!(error("threshold=665600.00000000012", "threshold=inf").contains("not finite"));
        assert!(error("leaf_value=4 1 2", "leaf_value=4 1").contains("2 values instead of 3"));
        assert!(error("objective=regression", "objective=poisson").contains("poisson"));
        assert!(error("left_child=1 -2", "left_child=1 -9").contains("node 10"));
        assert!(error("feature_names=layers", "feature_names=gpu").contains("`gpu`"));
    }
}
