//! Rules of the house that no single crate can check.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Direct dependencies (not for tests) of every package of the workspace.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut out = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let of = package["dependencies"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|d| d["kind"].is_null())
            .map(|d| d["name"].as_str().unwrap().to_owned())
            .collect();
        out.insert(package["name"].as_str().unwrap().to_owned(), of);
    }
    out
}

/// Everything that a package reaches within the workspace.
fn reaches(all: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(at) = open.pop() {
        for name in all.get(&at).into_iter().flatten() {
            if seen.insert(name.clone()) {
                open.push(name.clone());
            }
        }
    }
    seen
}

#[test]
fn learners_never_see_a_simulated_device() {
    let all = dependencies();
    for package in ["enerinfer-learners", "enerinfer-hyperparam", "enerinfer-codegen"] {
        let reached = reaches(&all, package);
        assert!(all.contains_key(package), "{package} is gone: mend this test");
        assert!(!reached.contains("enerinfer-device"), "{package} reaches the simulated devices");
    }
}

#[test]
fn the_arrows_are_those_of_the_architecture() {
    let all = dependencies();
    let ours = |package: &str| -> BTreeSet<String> {
        reaches(&all, package).into_iter().filter(|n| n.starts_with("enerinfer-")).collect()
    };
    assert!(all["enerinfer-runtime-core"].is_empty(), "the device crate depends on nothing");
    assert!(ours("enerinfer-artifacts").is_empty());
    assert_eq!(ours("enerinfer-datasets"), BTreeSet::from(["enerinfer-artifacts".to_owned()]));
    assert!(!ours("enerinfer-reports").contains("enerinfer-trainer"), "reports read records only");
}

/// The table of crates in CONTRIBUTING.md.
#[test]
fn contributors_are_told_what_depends_on_what() {
    let folder = |package: &str| match package.trim_start_matches("enerinfer-") {
        "runtime-core" => "codegen/runtime".to_owned(),
        name => name.to_owned(),
    };
    let text = std::fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `")?.strip_suffix(" |"));
    let told: BTreeMap<String, BTreeSet<String>> = rows
        .map(|row| {
            let (name, rest) = row.split_once("/` |").unwrap();
            let (_, on) = rest.rsplit_once("| ").unwrap();
            let on = on.split(", ").filter(|on| !on.starts_with("nothing"));
            (name.to_owned(), on.map(str::to_owned).collect())
        })
        .collect();
    let true_ones = dependencies().into_iter().map(|(package, on)| {
        let ours = on.iter().filter(|on| on.starts_with("enerinfer-"));
        (folder(&package), ours.map(|on| folder(on)).collect())
    });
    assert_eq!(told, true_ones.collect());
}

#[test]
fn train_builds_without_polars() {
    let all = dependencies();
    assert!(!reaches(&all, "enerinfer-trainer").contains("polars"));
}

/// Text files that git tracks.
fn tracked() -> Vec<(String, String)> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "this suite runs in a checkout");
    String::from_utf8(output.stdout)
        .unwrap()
        .split('\0')
        .filter(|name| !name.is_empty())
        .filter_map(|name| {
            Some((name.to_owned(), std::fs::read_to_string(root().join(name)).ok()?))
        })
        .collect()
}

#[test]
fn every_workspace_dependency_says_what_it_is_for() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .and_then(|s| s.split("\n[").next())
        .unwrap();
    let mut checked = 0;
    for line in section.lines().filter(|l| l.contains('=') && !l.starts_with('#')) {
        if !line.starts_with("enerinfer-") {
            assert!(line.contains(" # "), "without a reason: {line}");
            checked += 1;
        }
    }
    assert!(checked > 10);
}

#[test]
fn no_unfinished_work_is_committed() {
    // Built from pieces, so that this file does not name them.
    let marks: Vec<String> = [("to", "do!("), ("unimple", "mented!("), ("#[ig", "nore")]
        .map(|(a, b)| format!("{a}{b}"))
        .into();
    for (name, text) in tracked().iter().filter(|(name, _)| name.ends_with(".rs")) {
        for mark in &marks {
            assert!(!text.contains(mark.as_str()), "{name} has {mark}");
        }
    }
}

#[test]
fn the_lists_of_packages_in_the_readme_are_complete() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let all = dependencies();
    for package in [
        "linfa",
        "linfa-trees",
        "smartcore",
        "ndarray",
        "polars",
        "rand",
        "rayon",
        "serde",
        "bincode",
        "argmin",
    ] {
        let row = readme.lines().find(|l| l.starts_with(&format!("| `{package}` |")));
        let row = row.unwrap_or_else(|| panic!("{package} is not in the table"));
        let used = all.values().any(|dependencies| dependencies.contains(package));
        assert_eq!(used, !row.contains("not used"), "{row}");
    }
    let ci = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    let command = "cargo test --workspace --locked";
    assert!(readme.contains(command) && ci.contains(command), "CI runs the README's test command");
}
