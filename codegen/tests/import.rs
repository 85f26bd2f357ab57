//! Imported forests predict what the libraries that trained them predict, row by row.

#![allow(clippy::unwrap_used)] // a test that cannot prepare its input fails

use std::path::Path;
use std::process::Command;

use enerinfer_artifacts::Forest;
use enerinfer_codegen::import::{from_lightgbm, from_sklearn};
use serde::Deserialize;

/// Predictions by the libraries themselves: see `data/make.py`.
#[derive(Deserialize)]
struct Expected {
    rows: Vec<Vec<u32>>,
    sklearn: Vec<f64>,
    lightgbm: Vec<f64>,
}

fn expected() -> Expected {
    serde_json::from_str(include_str!("data/expected.json")).unwrap()
}

/// Rows lead to the same leaves; sums may differ in the order of additions.
fn same(forest: &Forest<f64>, rows: &[Vec<u32>], expected: &[f64]) {
    assert_eq!(rows.len(), expected.len());
    for (row, &value) in rows.iter().zip(expected) {
        let ours = forest.predict(row);
        assert!((ours - value).abs() <= 1e-14 * value.abs(), "{row:?}: {ours} instead of {value}");
    }
}

#[test]
fn sklearn_predicts_the_same() {
    let Expected { rows, sklearn, .. } = expected();
    same(&from_sklearn(include_str!("data/sklearn.json")).unwrap(), &rows, &sklearn);
}

#[test]
fn lightgbm_predicts_the_same() {
    let Expected { rows, lightgbm, .. } = expected();
    same(&from_lightgbm(include_str!("data/lightgbm.txt")).unwrap(), &rows, &lightgbm);
}

#[test]
fn imported_forests_compile() {
    let folder = tempfile::tempdir().unwrap();
    let spec = r#"{
        "platform": {"name": "board", "engine": "llama.cpp", "weight_format": "q4_k_m",
                     "power_domain": "accel+mem", "source": "measured:board"},
        "clocks": {"accel_khz": [306000, 612000],
                   "mem_khz": [204000, 665600, 2133000, 3199000]},
        "predictors": [
            {"target": "scale", "format": "sklearn", "file": "sklearn.json"},
            {"target": "peak", "format": "lightgbm", "file": "lightgbm.txt",
             "domain": {"layers": [4, 80]}}
        ]
    }"#;
    std::fs::write(folder.path().join("import.json"), spec).unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    for file in ["sklearn.json", "lightgbm.txt"] {
        std::fs::copy(data.join(file), folder.path().join(file)).unwrap();
    }
    let compile = |spec: &str| {
        Command::new(env!("CARGO_BIN_EXE_compile-forest"))
            .args([spec, "--out", "crate"])
            .current_dir(folder.path())
            .output()
            .unwrap()
    };
    let output = compile("import.json");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(folder.path().join("crate/MANIFEST.json").exists());
    // No file is named that never was: a bundle, in a folder of `train`.
    let readme = std::fs::read_to_string(folder.path().join("crate/README.md")).unwrap();
    let regenerate = readme.split("## Regenerate").nth(1).unwrap();
    let command = "# trained elsewhere and imported\n\
                   compile-forest forests.json --out enerinfer-runtime\n";
    assert!(regenerate.contains(command) && !readme.contains("bundle.enerinfer"), "{regenerate}");

    // Bad input: exit code 2, and the crate stays as it was.
    std::fs::write(folder.path().join("bad.json"), spec.replace("\"scale\"", "\"skale\"")).unwrap();
    let output = compile("bad.json");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("skale") && message.contains("line 7"), "{message}");
    assert!(folder.path().join("crate/MANIFEST.json").exists());
}
