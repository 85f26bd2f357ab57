//! Generated crates are built and tested by cargo, in a folder of their own.

#![allow(clippy::unwrap_used)] // a test that cannot prepare its input fails

mod common;

use std::fs;
use std::path::Path;

use common::{Drawn, cargo};
use enerinfer_artifacts::ThermalModel;
use enerinfer_codegen::{Options, generate, generate_to};

const DRAWN: Drawn = Drawn { trees: 12, depth: 7, leaf: (0.01, 0.08) };

#[test]
fn builds_alone_and_passes_its_vectors_and_lints() {
    let mut bundle = common::random_bundle(2, common::board_clocks(), DRAWN);
    bundle.thermal = Some(ThermalModel {
        window: 20,
        intercept_c: 0.31,
        history: (0..20).map(|i| f64::from(i) / 190.0).collect(),
        power_c_per_w: 0.024,
        time_c_per_s: -0.0031,
        time_power_c_per_ws: 0.0172,
        time_history: vec![-0.0004; 20],
    });
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("enerinfer-runtime");
    generate_to(&bundle, &Options::default(), &krate).unwrap();
    cargo(&krate, &["test"]);
    cargo(&krate, &["test", "--release"]);
    cargo(&krate, &["clippy", "--all-targets"]);
    cargo(&krate, &["doc", "--no-deps"]);
    let said = cargo(&krate, &["run", "--example", "choose"]);
    assert!(said.contains("predicted power") && !said.contains("SIMULATED"), "{said}");
    cargo(&krate, &["run", "--example", "control"]);
    common::cargo_fmt_is_silent(&krate);
    let said = readme_and_included_model_build(&krate);
    assert_eq!(said.matches("- readme (line").count(), 2, "{said}");
}

#[test]
fn without_power_examples_and_readme_are_true_and_compile() {
    let mut bundle = common::random_bundle(4, common::board_clocks(), DRAWN);
    bundle.predictors.truncate(2); // peak and scale
    bundle.platform.source = "simulated:drawn".to_owned();
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("enerinfer-runtime");
    generate_to(&bundle, &Options::default(), &krate).unwrap();
    cargo(&krate, &["clippy", "--all-targets"]);
    common::cargo_fmt_is_silent(&krate);
    let said = cargo(&krate, &["run", "--example", "choose"]);
    assert!(said.contains("SIMULATED") && said.contains("no power is predicted"), "{said}");
    cargo(&krate, &["run", "--example", "control"]);
    let said = readme_and_included_model_build(&krate);
    assert_eq!(said.matches("- readme (line").count(), 2, "{said}");
}

/// Makes the snippets of the README documentation tests, has the model included instead of being a
/// module of its own, and runs the documentation tests.
fn readme_and_included_model_build(krate: &Path) -> String {
    let lib = krate.join("src/lib.rs");
    let text = fs::read_to_string(&lib).unwrap();
    let module = "\npub mod model;\n";
    assert!(text.contains(module), "{text}");
    let included = "\npub mod model {\n    include!(\"model/mod.rs\");\n}\n";
    let readme = "\n#[cfg(doctest)]\n#[doc = include_str!(\"../README.md\")]\nmod readme {}\n";
    fs::write(&lib, text.replace(module, included) + readme).unwrap();
    cargo(krate, &["test", "--doc"])
}

#[test]
fn memory_and_folder_get_the_same_bytes_every_time() {
    let bundle = common::random_bundle(3, common::board_clocks(), DRAWN);
    let first = generate(&bundle, &Options::default()).unwrap();
    assert_eq!(first, generate(&bundle, &Options::default()).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("crate");
    generate_to(&bundle, &Options::default(), &krate).unwrap();
    for (path, bytes) in &first.files {
        assert_eq!(&std::fs::read(krate.join(path)).unwrap(), bytes, "{path}");
    }
}
