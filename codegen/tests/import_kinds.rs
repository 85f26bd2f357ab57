//! Foreign forests of every kind that has misled an exporter: converted exactly, or refused with
//! the reason.

#![allow(clippy::unwrap_used)] // a test's way to fail

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use enerinfer_artifacts::{Domain, Feature, Forest, Node, Target};
use enerinfer_codegen::import::{from_lightgbm, from_sklearn, import_bundle};
use proptest::prelude::*;
use serde_json::{Value, json};

/// One tree as scikit-learn keeps it.
fn tree(feature: &[i64], threshold: Value, left: &[i64], right: &[i64], value: Value) -> Value {
    json!({"feature": feature, "threshold": threshold, "left": left, "right": right, "value": value})
}

fn stump(threshold: Value) -> Value {
    tree(&[0, -2, -2], json!([threshold, -2, -2]), &[1, -1, -1], &[2, -1, -1], json!([0, 1, 3]))
}

fn dump(features: &[&str], trees: &[Value]) -> String {
    json!({"format": "enerinfer-sklearn-forest", "version": 1, "features": features, "trees": trees})
        .to_string()
}

fn lightgbm(threshold: &str, leaves: &str) -> String {
    format!(
        "tree\nversion=v4\nnum_tree_per_iteration=1\nobjective=regression\nfeature_names=vocab\n\
         average_output\n\nTree=0\nnum_leaves=2\nsplit_feature=0\nthreshold={threshold}\n\
         decision_type=2\nleft_child=-1\nright_child=-2\nleaf_value={leaves}\n\nend of trees\n"
    )
}

fn refused<T: std::fmt::Debug, E: std::fmt::Display>(result: Result<T, E>, says: &[&str]) {
    let text = result.map(|_| ()).map_err(|e| e.to_string());
    let Err(text) = text else { panic!("accepted, instead of {says:?}") };
    assert!(says.iter().all(|s| text.contains(s)), "{text:?} instead of {says:?}");
    assert_eq!(text.lines().count(), 1, "{text:?}");
}

proptest! {
    /// Thresholds at, beside and between neighbouring values, in `f64` and as rounded to `f32`.
    #[test]
    fn every_threshold_divides_whole_numbers_as_the_library_does(
        at in prop_oneof![any::<u32>(), 0u32..100, (1u32 << 24) - 50..(1 << 24) + 50],
        ulps in -3i64..=3,
        half: bool,
        single: bool,
    ) {
        let mut threshold = f64::from(at) + if half { 0.5 } else { 0.0 };
        threshold = if single {
            f64::from(f32::from_bits(((threshold as f32).to_bits() as i64 + ulps).max(0) as u32))
        } else {
            f64::from_bits((threshold.to_bits() as i64 + ulps).max(0) as u64)
        };
        let sklearn = from_sklearn(&dump(&["vocab"], &[stump(json!(threshold))])).unwrap();
        let booster = from_lightgbm(&lightgbm(&format!("{threshold:?}"), "1 3")).unwrap();
        let near = (-300i64..=300).map(|d| (i64::from(at) + d).clamp(0, u32::MAX.into()) as u32);
        for x in near.chain([0, 1, u32::MAX - 1, u32::MAX]) {
            let expected = |left: bool| if left { 1.0 } else { 3.0 };
            // scikit-learn rounds inputs to f32 and compares them as f64; LightGBM compares f64.
            prop_assert_eq!(sklearn.predict(&[x]), expected(f64::from(x as f32) <= threshold));
            prop_assert_eq!(booster.predict(&[x]), expected(f64::from(x) <= threshold));
        }
    }
}

#[test]
fn extreme_but_finite_thresholds_are_converted() {
    for (threshold, zero, max) in [
        (json!(-0.0), 1.0, 3.0),
        (json!(1e-45), 1.0, 3.0),
        (json!(5e-324), 1.0, 3.0),
        (json!(-5e-324), 3.0, 3.0),
        (json!(3.402_823_5e38), 1.0, 1.0),
        (json!(-1e300), 3.0, 3.0),
        (json!(4_294_967_295u32), 1.0, 3.0), // u32::MAX is 2^32 as f32
        (json!(4_294_967_296u64), 1.0, 1.0),
    ] {
        let forest = from_sklearn(&dump(&["vocab"], &[stump(threshold.clone())])).unwrap();
        assert_eq!((forest.predict(&[0]), forest.predict(&[u32::MAX])), (zero, max), "{threshold}");
    }
}

/// Trained on GHz instead of kHz, every clock of the device would go right.
#[test]
fn features_that_collapse_are_refused() {
    let of = |thresholds: &[f64]| -> Vec<Value> {
        thresholds.iter().map(|&t| stump(json!(t))).collect()
    };
    let ghz = dump(&["mem_khz"], &of(&[0.204, 0.665, 0.8]));
    refused(from_sklearn(&ghz), &["`mem_khz` is split at 3 places from 0.204 to 0.8", "rows="]);
    // Whole numbers of a small range look alike: then the exporter has to have seen them.
    from_sklearn(&ghz.replace("{\"features", "{\"whole_numbers\":true,\"features")).unwrap();
    // Midpoints of {1, 3} and {2, 3}.
    from_sklearn(&dump(&["kv_heads"], &of(&[2.0, 2.5, 2.0]))).unwrap();
    from_sklearn(&dump(&["mem_khz"], &of(&[0.2, 0.7, 0.8, 1.5]))).unwrap();

    let with = |infos: &str| {
        let named =
            lightgbm("1.5", "1 3").replace("average_output", &format!("feature_infos={infos}"));
        from_lightgbm(&named)
    };
    for whole in ["[4:79]", "[0:4294967295]", "none", "[5:5]"] {
        with(whole).unwrap();
    }
    for other in ["[0.204:3.199]", "[-1:4]", "[0:4294967296]", "[1:1.5]", "[nan:2]", "[x:2]", "[]"]
    {
        refused(with(other), &["`vocab` was trained on", "whole numbers"]);
    }
}

/// What a random forest or extra trees cannot have found between whole numbers.
#[test]
fn estimators_give_away_that_they_were_trained_on_other_numbers() {
    let of = |estimator: &str, thresholds: &[f64]| {
        let trees: Vec<Value> = thresholds.iter().map(|&t| stump(json!(t))).collect();
        let known = format!("{{\"estimator\":{estimator:?},\"features");
        from_sklearn(&dump(&["mem_khz"], &trees).replace("{\"features", &known))
    };
    let (random, extra) = ("RandomForestRegressor", "ExtraTreesRegressor");
    // Whole numbers, their middles, and what lies beyond 2^24, where `f32` has few of them.
    of(random, &[0.5, 4.0, 1_432_800.0, 2_666_000.5, 16_777_217.0, 4_294_967_168.0]).unwrap();
    of(extra, &[0.25, 7.123, 2_666_000.7]).unwrap();
    // GHz, MHz with decimals, logarithms, scaled to [0, 1], standardised.
    for other in [&[0.434, 1.4, 2.7][..], &[434.8], &[11.5, 12.2], &[0.25], &[-1.5, 0.5]] {
        let says = &["splits `mem_khz` at", "halfway between two", "the schema's unit"];
        refused(of(random, other), says);
    }
    refused(of(extra, &[-0.3, 0.7]), &["tree 0, node 0", "splits `mem_khz` at -0.3"]);
    of("", &[-0.3, 0.25, 1.4]).unwrap();
}

/// In another unit, every clock of the device would go the same way.
#[test]
fn features_split_only_outside_their_range_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let import = |file: &str, features: &[&str], threshold: &str, domain: &str| {
        let lightgbm = file.ends_with("txt");
        let text = match lightgbm {
            true => lightgbm_of(features, threshold),
            false => {
                let split: f64 = threshold.parse().unwrap();
                dump(features, &[stump(json!(split))])
            }
        };
        fs::write(at(file), text).unwrap();
        let format = if lightgbm { "lightgbm" } else { "sklearn" };
        let predictor = |target: &str| {
            format!(
                "{{\"target\": \"{target}\", \"format\": \"{format}\", \"file\": \"{file}\", \
                 \"domain\": {{{domain}}}}}"
            )
        };
        let spec = SPEC.split("\"predictors\"").next().unwrap();
        let spec = spec.replace("[1, 2]", "[306000, 612000]").replace("[3]", "[204000, 3199000]");
        let predictors = format!("[{}, {}]", predictor("peak"), predictor("scale"));
        fs::write(at("spec.json"), format!("{spec}\"predictors\": {predictors}}}")).unwrap();
        import_bundle(&at("spec.json"))
    };
    for file in ["f.json", "f.txt"] {
        for clock in ["accel_khz", "mem_khz"] {
            import(file, &[clock], "400000", "").unwrap();
            import(file, &[clock], "306000", "").unwrap();
            // MHz, GHz, Hz, and the highest clock, at which nothing is above.
            for other in ["435", "1.4", "435000000", "0.5", "3199000"] {
                let says = &[file, clock, "outside the platform's clocks", "unit"];
                refused(import(file, &[clock], other, ""), says);
            }
        }
        import(file, &["layers"], "12", "").unwrap();
        import(file, &["layers"], "12", "\"layers\": [4, 80]").unwrap();
        import(file, &["layers"], "12", "\"layers\": [32, 32]").unwrap();
        for outside in ["3", "80", "1000"] {
            let domain = "\"layers\": [4, 80]";
            refused(import(file, &["layers"], outside, domain), &["`layers`", "its `domain`"]);
        }
    }
}

/// A model of one split on the first feature.
#[test]
fn values_of_which_the_device_holds_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let import = |target: &str, leaves: [f64; 2]| {
        let value = json!([leaves[0], leaves[0], leaves[1]]);
        let tree = tree(&[0, -2, -2], json!([1.5, -2.0, -2.0]), &[1, -1, -1], &[2, -1, -1], value);
        fs::write(folder.path().join("ok.json"), dump(&["layers"], &[stump(json!(1.5))])).unwrap();
        fs::write(folder.path().join("f.json"), dump(&["layers"], &[tree])).unwrap();
        let predictors: Vec<String> = ["peak", "scale", "power"]
            .map(|name| {
                let file = if name == target { "f.json" } else { "ok.json" };
                format!("{{\"target\": \"{name}\", \"format\": \"sklearn\", \"file\": \"{file}\"}}")
            })
            .into();
        let spec = SPEC.split("\"predictors\"").next().unwrap();
        let spec = format!("{spec}\"predictors\": [{}]}}", predictors.join(", "));
        fs::write(folder.path().join("spec.json"), spec).unwrap();
        import_bundle(&folder.path().join("spec.json"))
    };
    for (target, leaves) in [
        ("scale", [0.2, 1.0]),
        ("scale", [0.0, 100.0]),
        ("peak", [0.0, 4294.0]),
        ("power", [-1.0, 1e-6]),
    ] {
        import(target, leaves).unwrap();
    }
    // Percent, a loss, nothing, µtok/s, mW of a server, and what rounds to nothing.
    for (target, leaves) in [
        ("scale", [20.0, 100.0]),
        ("scale", [-0.5, -0.1]),
        ("power", [0.0, 0.0]),
        ("peak", [1e7, 2e7]),
        ("power", [5e3, 9e3]),
        ("peak", [1e-9, 1e-8]),
    ] {
        refused(import(target, leaves), &["f.json", target, "the device holds nothing"]);
    }
}

fn lightgbm_of(features: &[&str], threshold: &str) -> String {
    lightgbm(threshold, "1 3").replace("=vocab", &format!("={}", features.join(" ")))
}

/// The examples in the documentation of both formats are read as they stand.
#[test]
fn documented_examples_are_imported() {
    let example = |source: &str| -> String {
        let inside = source.split("//! ```").nth(1).unwrap();
        let lines = inside.lines().skip(1).map(|line| line.trim_start_matches("//!"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let forest = example(include_str!("../src/import/sklearn.rs"));
    assert_eq!(from_sklearn(&forest).unwrap().predict(&[13, 0]), 0.5);
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("spec.json"), example(include_str!("../src/import/spec.rs"))).unwrap();
    fs::write(at("peak.json"), forest).unwrap();
    fs::write(at("scale.txt"), lightgbm_of(&["layers"], "12")).unwrap();
    import_bundle(&at("spec.json")).unwrap();
}

#[test]
fn trees_of_one_leaf_are_constants() {
    let leaf = |value: f64| tree(&[-2], json!([-2]), &[-1], &[-1], json!([value]));
    let forest = from_sklearn(&dump(&["layers"], &[leaf(5.0), leaf(5.0)])).unwrap();
    assert_eq!(forest.predict(&[7]), 5.0);
    let text = "tree\nfeature_names=layers\naverage_output\nTree=0\nnum_leaves=1\nleaf_value=5\n\
                Tree=1\nnum_leaves=1\nleaf_value=5\nend of trees\n";
    assert_eq!(from_lightgbm(text).unwrap().predict(&[7]), 5.0);
}

#[test]
fn malformed_trees_of_sklearn_are_refused_by_tree_and_node() {
    let ok = stump(json!(1.5));
    let inner = |left: [i64; 5], right: [i64; 5]| {
        tree(&[0, 0, -2, -2, -2], json!([5, 3, -2, -2, -2]), &left, &right, json!([0, 0, 1, 2, 3]))
    };
    let with = |key: &str, value: Value| {
        let mut tree = ok.clone();
        tree[key] = value;
        tree
    };
    for (bad, says) in [
        (tree(&[], json!([]), &[], &[], json!([])), &["tree 1", "no node"][..]),
        (with("threshold", json!([null, -2, -2])), &["tree 1, node 0", "threshold is not finite"]),
        (with("value", json!([0, null, 3])), &["tree 1, node 1", "value is not finite"]),
        (with("left", json!([0, -1, -1])), &["tree 1, node 0", "reached twice"]),
        (with("left", json!([2, -1, -1])), &["tree 1, node 2", "reached twice"]),
        (with("left", json!([7, -1, -1])), &["tree 1, node 7", "does not exist"]),
        (with("left", json!([i64::MAX, -1, -1])), &["tree 1", "does not exist"]),
        (with("left", json!([-1, -1, -1])), &["tree 1, node 0", "no left one"]),
        (with("right", json!([-1, -1, -1])), &["tree 1, node 0", "no index"]),
        (with("left", json!([-7, -1, -1])), &["tree 1, node 0", "no index"]),
        (with("feature", json!([1, -2, -2])), &["tree 1, node 0", "does not name"]),
        (with("feature", json!([-2, -2, -2])), &["tree 1, node 0", "does not name"]),
        (with("feature", json!([65_536, -2, -2])), &["tree 1, node 0", "does not name"]),
        (with("value", json!([0, 1])), &["tree 1", "differ in length"]),
        // A cycle, and a node with two parents.
        (inner([1, 0, -1, -1, -1], [4, 3, -1, -1, -1]), &["tree 1, node 0", "reached twice"]),
        (inner([1, 2, -1, -1, -1], [2, 3, -1, -1, -1]), &["tree 1, node 2", "reached twice"]),
    ] {
        refused(from_sklearn(&dump(&["layers"], &[ok.clone(), bad])), says);
    }
}

#[test]
fn malformed_dumps_of_sklearn_are_refused() {
    let ok = stump(json!(1.5));
    let good = dump(&["layers"], std::slice::from_ref(&ok));
    refused(from_sklearn(&dump(&["layers"], &[])), &["no tree"]);
    refused(
        from_sklearn(&dump(&["layers", "layers"], std::slice::from_ref(&ok))),
        &["`layers` stands twice"],
    );
    for name in ["fn", "self", "7b", "a-b", "", " layers", "Layers", "layers\n", "Qwen2.5 (Q4)"] {
        refused(
            from_sklearn(&dump(&[name], std::slice::from_ref(&ok))),
            &["unknown feature", "layers, hidden"],
        );
    }
    for (text, says) in [
        (good.replace("forest\"", "tree\""), "version 1 is read"),
        (good.replace("\"version\":1", "\"version\":2"), "version 1 is read"),
        (good.replace("\"version\":1", "\"version\":99999999999"), "invalid value"),
        (good.replace("1.5", "1e400"), "out of range"),
        (good.replace("1.5", "NaN"), "expected value"),
        (good.replace("1.5", "Infinity"), "expected value"),
        (good.replace("1.5", "\"1.5\""), "invalid type"),
        (good[..good.len() - 2].to_owned(), "EOF"),
        (good.clone() + "{}", "trailing"),
        (good.replacen("{", "{\"trees\":[],", 1), "duplicate field"),
        ("[".repeat(100_000), "invalid type"),
        (String::new(), "EOF"),
    ] {
        refused(from_sklearn(&text), &[says]);
    }
}

#[test]
fn byte_order_marks_and_line_ends_of_windows_do_not_matter() {
    let sklearn = dump(&["layers"], &[stump(json!(1.5))]);
    let windows = format!("\u{feff}{}\r\n", sklearn.replace("},", "},\r\n"));
    assert_eq!(from_sklearn(&windows).unwrap(), from_sklearn(&sklearn).unwrap());
    let model = include_str!("data/lightgbm.txt");
    let windows = format!("\u{feff}{}", model.replace('\n', "\r\n"));
    assert_eq!(from_lightgbm(&windows).unwrap(), from_lightgbm(model).unwrap());
}

#[test]
fn malformed_models_of_lightgbm_are_refused() {
    let good = lightgbm("1.5", "1 3");
    from_lightgbm(&good).unwrap();
    let half = good.lines().take(10).collect::<Vec<_>>().join("\n");
    for (text, says) in [
        (half, "`end of trees` is missing"),
        (good.replace("end of trees\n", ""), "`end of trees` is missing"),
        ("tree\nfeature_names=vocab\nend of trees\n".to_owned(), "no tree"),
        (String::new(), "missing"),
        (good.replace("=1.5", "=nan"), "threshold is not finite"),
        (good.replace("=1.5", "=-inf"), "threshold is not finite"),
        (lightgbm("1.5", "nan 3"), "value is not finite"),
        (lightgbm("1.5", "1 inf"), "value is not finite"),
        (lightgbm("1.5", "1e999 3"), "value is not finite"),
        (lightgbm("1.5", "1"), "1 values instead of 2"),
        (good.replace("num_leaves=2", "num_leaves=0"), "no leaf"),
        (good.replace("num_leaves=2", "num_leaves=-1"), "not a number"),
        (good.replace("num_leaves=2", "num_leaves=99999999999"), "instead of"),
        (good.replace("left_child=-1", "left_child=0"), "reached twice"),
        (good.replace("left_child=-1", "left_child=-2"), "reached twice"),
        (good.replace("left_child=-1", "left_child=-9223372036854775808"), "does not exist"),
        (good.replace("left_child=-1", "left_child=5"), "does not exist"),
        (good.replace("split_feature=0", "split_feature=1"), "no name"),
        (good.replace("=vocab", "=vocab vocab"), "stands twice"),
        (good.replace("=vocab", "=fn"), "unknown feature `fn`"),
        (good.replace("decision_type=2\n", ""), "`decision_type` of tree 0 is missing"),
        (good.replace("objective=regression", "objective=binary sigmoid:1"), "`binary sigmoid:1`"),
        (good.replace("objective=regression", "objective=regression sqrt"), "sqrt"),
        (good.replace("objective=regression", "objective=multiclass"), "multiclass"),
        (good.replace("iteration=1", "iteration=3"), "3 trees per iteration"),
        (good.replace("Tree=0", "Tree=1"), "tree 1 stands where tree 0 belongs"),
        (good.replace("Tree=0", "Tree=0\nTree=0"), "tree 0 stands where tree 1 belongs"),
        (
            good.replace("\nthreshold", "\nthreshold=9\nthreshold"),
            "`threshold` of tree 0 stands twice",
        ),
        (
            good.replace("\nfeature_", "\nfeature_names=ffn\nfeature_"),
            "`feature_names` stands twice",
        ),
        // A category, with and without a default side, and zeros that count as missing.
        (
            good.replace("decision_type=2", "decision_type=1"),
            "tree 0, node 0: it splits on a category",
        ),
        (good.replace("decision_type=2", "decision_type=3"), "it splits on a category"),
        (good.replace("decision_type=2", "decision_type=6"), "it treats zero as missing"),
        (good.replace("decision_type=2", "decision_type=4"), "it treats zero as missing"),
    ] {
        refused(from_lightgbm(&text), &[says]);
    }
}

/// A chain as deep as a training set is long, from either library: converted without recursion.
#[test]
fn chains_of_a_hundred_thousand_splits_are_converted() {
    let depth = 100_000i64;
    let mut columns = [(); 4].map(|()| Vec::new()); // feature, threshold, left, right
    for i in 0..depth {
        for (column, value) in columns.iter_mut().zip([0, i, 2 * i + 1, 2 * i + 2]) {
            column.push(value);
        }
        for (column, value) in columns.iter_mut().zip([-2, -2, -1, -1]) {
            column.push(value);
        }
    }
    for (column, value) in columns.iter_mut().zip([-2, -2, -1, -1]) {
        column.push(value);
    }
    let [feature, threshold, left, right] = &columns;
    let value: Vec<usize> = (0..feature.len()).collect();
    let tree = tree(feature, json!(threshold), left, right, json!(value));
    let forest = from_sklearn(&dump(&["vocab"], &[tree])).unwrap();
    for x in [0, 1, 50_000, 99_999] {
        assert_eq!(forest.predict(&[x]), f64::from(2 * x + 1));
    }
    assert_eq!(forest.stats().depth, 100_000);
}

/// Every leaf of an imported forest, and the same value in the dump.
#[test]
fn leaves_are_the_library_s_to_the_bit() {
    let text = include_str!("data/sklearn.json");
    let dump: Value = serde_json::from_str(text).unwrap();
    let forest = from_sklearn(text).unwrap();
    let trees = dump["trees"].as_array().unwrap();
    let rows: Value = serde_json::from_str(include_str!("data/expected.json")).unwrap();
    let rows: Vec<Vec<u32>> = serde_json::from_value(rows["rows"].clone()).unwrap();
    let mut visited = std::collections::BTreeSet::new();
    for row in &rows {
        for (tree, &root) in trees.iter().zip(&forest.roots) {
            let at = |key: &str, node: usize| tree[key][node].as_f64().unwrap();
            let mut node = 0;
            while at("left", node) >= 0.0 {
                let x = f64::from(row[at("feature", node) as usize] as f32);
                let side = if x <= at("threshold", node) { "left" } else { "right" };
                node = at(side, node) as usize;
            }
            let expected = at("value", node) / trees.len() as f64;
            assert_eq!(forest.leaf(root, row).to_bits(), expected.to_bits(), "{row:?}");
            visited.insert((root, node));
        }
    }
    // Rows of the training grid reach every leaf.
    assert_eq!(visited.len(), leaves(&forest));
}

fn leaves(forest: &Forest<f64>) -> usize {
    forest.nodes.iter().filter(|node| matches!(node, Node::Leaf(_))).count()
}

const SPEC: &str = r#"{"platform": {"name": "board", "engine": "e", "weight_format": "q4",
  "power_domain": "d", "source": "measured:x"},
 "clocks": {"accel_khz": [1, 2], "mem_khz": [3]},
 "predictors": [{"target": "peak", "format": "sklearn", "file": "f.json"},
                {"target": "scale", "format": "sklearn", "file": "f.json", "domain": {"layers": [1, 9]}}]}"#;

#[test]
fn imports_name_the_file_at_fault() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let good = dump(&["layers"], &[stump(json!(1.5))]);
    fs::write(at("f.json"), &good).unwrap();
    let import = |spec: &str| {
        fs::write(at("spec.json"), spec).unwrap();
        import_bundle(&at("spec.json"))
    };
    import(SPEC).unwrap();
    // The range of what no split reads, because it was alike in all training data.
    let dense = import(&SPEC.replace("[1, 9]", "[1, 9], \"experts\": [1, 1]")).unwrap();
    let scale = dense.predictor(Target::Scale).unwrap();
    assert_eq!(scale.forest.features, [Feature::Layers, Feature::Experts]);
    assert_eq!(scale.domain, [Domain { min: 1, max: 9 }, Domain { min: 1, max: 1 }]);
    import(&format!("\u{feff}{}", SPEC.replace('\n', "\r\n"))).unwrap();
    for (from, to, says) in [
        ("f.json", "missing.json", "missing.json"),
        ("\"layers\": [1, 9]", "\"layer\": [1, 9]", "`layer`, which is no feature"),
        ("[1, 9]", "[9, 1]", "min > max"),
        ("[1, 9]", "[-1, 9]", "spec.json"),
        ("\"peak\"", "\"scale\"", "peak"),
        ("\"peak\"", "\"fn\"", "spec.json"),
        ("[1, 2]", "[2, 1]", "ascending"),
        ("[1, 2]", "[]", "clock"),
        ("\"clocks\"", "\"klocks\"", "klocks"),
    ] {
        refused(import(&SPEC.replacen(from, to, 1)), &[says]);
    }
    fs::write(at("f.json"), good.replace("1.5", "null")).unwrap();
    refused(import(SPEC), &["f.json: tree 0, node 0"]);
    fs::write(at("f.json"), [0xff, 0xfe, 0x00]).unwrap();
    refused(import(SPEC), &["f.json"]);
}

/// The exporter, on objects with the attributes that scikit-learn documents.
#[test]
fn the_exporter_writes_what_is_imported() {
    const SCRIPT: &str = r#"
import sys
from types import SimpleNamespace as New
sys.path.insert(0, sys.argv[1])
from export_sklearn import export
class ExtraTreesRegressor(New): pass
class RandomForestRegressor(New): pass
class Derived(RandomForestRegressor): pass
class Frame(New):
    def __iter__(self): return iter(["layers"])
def tree(threshold=1.5):
    return New(tree_=New(feature=[0, -2, -2], threshold=[threshold, -2.0, -2.0],
        children_left=[1, -1, -1], children_right=[2, -1, -1], value=[[[0.2]], [[0.1]], [[0.30000000000000004]]]))
def forest(*trees, kind=RandomForestRegressor, **more):
    return kind(**{"estimators_": list(trees), "n_features_in_": 1, "n_outputs_": 1, **more})
export(forest(tree(), tree(0.1 + 0.2)), ["layers"], "good.json", rows=[[1], [2.0], [0], [2**32 - 1]])
export(forest(tree()), ["layers"], "whole.json")
export(forest(tree(0.7), kind=ExtraTreesRegressor), ["layers"], "extra.json", Frame(values=[[4]]))
export(forest(tree(0.7)), ["layers"], "scaled.json")
export(forest(tree(float("inf"))), ["layers"], "infinite.json")
def refused(*arguments):
    try:
        export(*arguments)
    except ValueError:
        return
    sys.exit(f"accepted: {arguments}")
for rows in [[[0.5]], [[-1]], [[2**32]], [[float("nan")]], [[float("inf")]],
             [], [[]], [[1, 2]], [[1], [1, 2]], ["1"], [["1"]], "layers", Frame(values=[[0.5]])]:
    refused(forest(tree()), ["layers"], "bad.json", rows)
refused(forest(tree(), n_outputs_=2), ["layers"], "bad.json")
refused(forest(tree()), ["layers", "hidden"], "bad.json")
refused(RandomForestRegressor(n_features_in_=1), ["layers"], "bad.json")
refused(forest(tree(), kind=Derived), ["layers"], "bad.json")
# Other ensembles with lists of trees, which do not predict their mean, or not of all columns.
for name in ["AdaBoostRegressor", "BaggingRegressor", "IsolationForest", "RandomForestClassifier",
             "RandomTreesEmbedding", "StackingRegressor", "VotingRegressor", "GradientBoostingRegressor"]:
    refused(forest(tree(), kind=type(name, (New,), {})), ["layers"], "bad.json")
"#;
    let folder = tempfile::tempdir().unwrap();
    let import = Path::new(env!("CARGO_MANIFEST_DIR")).join("import");
    let ran = Command::new("python3")
        .args(["-B", "-c", SCRIPT])
        .arg(import)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output();
    let Ok(ran) = ran else {
        println!("NOT CHECKED: there is no python3");
        return;
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let forest = from_sklearn(&read("good.json")).unwrap();
    assert_eq!(forest.predict(&[0]), 0.1 / 2.0 + 0.1 / 2.0);
    assert_eq!(
        forest.predict(&[1]).to_bits(),
        (0.1 / 2.0 + 0.300_000_000_000_000_04 / 2.0f64).to_bits()
    );
    refused(from_sklearn(&read("infinite.json")), &["tree 0, node 0", "not finite"]);
    from_sklearn(&read("whole.json")).unwrap();
    from_sklearn(&read("extra.json")).unwrap();
    refused(from_sklearn(&read("scaled.json")), &["`layers` at 0.7", "halfway"]);
    assert!(!folder.path().join("bad.json").exists());
}
