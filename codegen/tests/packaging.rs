//! The generated crate as a package: what cargo, registries and users of several crates ask of it.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{Drawn, cargo};
use enerinfer_artifacts::Bundle;
use enerinfer_codegen::{Options, generate, generate_to, size_warning};

fn bundle(seed: u64) -> Bundle {
    common::random_bundle(
        seed,
        common::board_clocks(),
        Drawn { trees: 4, depth: 4, leaf: (0.01, 0.1) },
    )
}

#[test]
fn cargo_package_accepts_builds_and_holds_everything() {
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("enerinfer-runtime");
    generate_to(&bundle(51), &Options::default(), &krate).unwrap();
    // Builds what it packed; without a repository nothing is committed, hence dirty.
    cargo(&krate, &["package", "--allow-dirty"]);
    let listed = cargo(&krate, &["package", "--allow-dirty", "--list"]);
    // A lock file would carry the format of our cargo, which old ones do not read.
    let made = generate(&bundle(51), &Options::default()).unwrap().files;
    assert!(!made.contains_key("Cargo.lock"));
    let manifest = String::from_utf8_lossy(&made["Cargo.toml"]);
    // What the oldest Rust promised can read; checks/msrv.sh builds with it.
    assert!(manifest.contains("\nedition = \"2021\"\nrust-version = \"1.63\"\n"), "{manifest}");
    for name in ["README.md", "CHANGELOG.md", "MANIFEST.json", "LICENSE-MIT", "LICENSE-APACHE"] {
        assert!(listed.lines().any(|line| line == name), "{name}: {listed}");
    }
}

#[test]
fn manifest_has_the_digest_of_every_file() {
    let files = generate(&bundle(52), &Options::default()).unwrap().files;
    let manifest: serde_json::Value = serde_json::from_slice(&files["MANIFEST.json"]).unwrap();
    let digests = manifest["files"].as_object().unwrap();
    assert_eq!(digests.len() + 1, files.len());
    for (path, digest) in digests {
        assert_eq!(digest.as_str(), Some(blake3::hash(&files[path]).to_hex().as_str()), "{path}");
    }
    assert_eq!(manifest["model_digest"].as_str(), Some(bundle(52).digest().unwrap().as_str()));
}

#[test]
fn version_is_that_of_the_schema_and_has_its_section_in_the_changelog() {
    let files = generate(&bundle(53), &Options::default()).unwrap().files;
    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    let schema = text("src/model/mod.rs");
    let schema = schema.split("pub const SCHEMA_VERSION: u32 = ").nth(1).unwrap();
    let schema: u32 = schema.split(';').next().unwrap().parse().unwrap();
    let manifest = text("Cargo.toml");
    assert!(manifest.contains(&format!("\nversion = \"0.{schema}.0+model.")), "{manifest}");
    assert!(text("CHANGELOG.md").contains(&format!("\n## Schema version {schema}\n")));
    assert!(text("README.md").contains("\n## Upgrading\n"));
}

#[test]
fn crates_of_two_models_stand_in_one_program() {
    let folder = tempfile::tempdir().unwrap();
    for (name, seed) in [("phone", 54), ("board", 55)] {
        generate_to(&bundle(seed), &Options::default(), &folder.path().join(name)).unwrap();
    }
    let app = folder.path().join("app");
    fs::create_dir_all(app.join("src")).unwrap();
    fs::write(
        app.join("Cargo.toml"),
        "[package]\nname = \"app\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n\
         phone = { package = \"enerinfer-runtime\", path = \"../phone\" }\n\
         board = { package = \"enerinfer-runtime\", path = \"../board\" }\n[workspace]\n",
    )
    .unwrap();
    fs::write(
        app.join("src/main.rs"),
        "fn main() {\n    println!(\"{} {}\", phone::model::MODEL_DIGEST, board::model::MODEL_DIGEST);\n}\n",
    )
    .unwrap();
    let said = cargo(&app, &["run"]);
    let expected: Vec<String> = [54, 55].map(|seed| bundle(seed).digest().unwrap()).into();
    assert_eq!(said.split_whitespace().collect::<Vec<_>>(), expected);
}

/// Cargo takes path dependencies below a workspace into it.
#[test]
fn firmware_with_a_workspace_vendors_the_crate() {
    let folder = tempfile::tempdir().unwrap();
    let vendored = folder.path().join("vendor/enerinfer-runtime");
    generate_to(&bundle(57), &Options::default(), &vendored).unwrap();
    for (workspace, package) in
        [("[workspace]\n", ""), ("[workspace]\nmembers = [\"app\"]\nresolver = \"2\"\n", "app")]
    {
        let app = folder.path().join(package);
        fs::create_dir_all(app.join("src")).unwrap();
        fs::write(app.join("src/lib.rs"), "pub use enerinfer_runtime::Predictor;\n").unwrap();
        let up = if package.is_empty() { "" } else { "../" };
        let manifest = format!(
            "[package]\nname = \"app\"\nversion = \"0.0.0\"\nedition = \"2021\"\n[dependencies]\n\
             enerinfer-runtime = {{ path = \"{up}vendor/enerinfer-runtime\" }}\n"
        );
        if package.is_empty() {
            fs::write(folder.path().join("Cargo.toml"), manifest + workspace).unwrap();
        } else {
            fs::write(folder.path().join("Cargo.toml"), workspace).unwrap();
            fs::write(app.join("Cargo.toml"), manifest).unwrap();
        }
        cargo(folder.path(), &["build", "--package", "app"]);
    }
}

#[test]
fn texts_of_the_bundle_build_lint_and_document() {
    let mut bundle = bundle(56);
    let hostile = "Qwen2.5-7B (Q4_K_M) fn 7b a-b a_b \"#\\ {} */ `x` <b> é\u{202e}\u{2028}\r\n\0'";
    let p = &mut bundle.platform;
    for text in
        [&mut p.name, &mut p.engine, &mut p.weight_format, &mut p.power_domain, &mut p.source]
    {
        *text = hostile.to_owned();
    }
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("enerinfer-runtime");
    if let Err(refusal) = generate_to(&bundle, &Options::default(), &krate) {
        panic!("{refusal}");
    }
    cargo(&krate, &["clippy", "--all-targets"]);
    cargo(&krate, &["doc", "--no-deps"]);
    common::cargo_fmt_is_silent(&krate);
    cargo(&krate, &["run", "--example", "choose"]);
}

#[test]
fn a_large_function_builds_in_every_profile() {
    // One tree of about 7000 nodes, which has overflowed rustc with debug information only.
    let drawn = Drawn { trees: 1, depth: 13, leaf: (0.01, 0.5) };
    let bundle = common::random_bundle(57, common::board_clocks(), drawn);
    let nodes = bundle.predictors.iter().map(|p| p.forest.nodes.len()).max();
    assert!(nodes > Some(5000), "{nodes:?}");
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("enerinfer-runtime");
    generate_to(&bundle, &Options::default(), &krate).unwrap();
    cargo(&krate, &["build"]);
    cargo(&krate, &["build", "--release"]);
    cargo(&krate, &["build", "--release", "--config", "profile.release.debug=true"]);
}

#[test]
fn crates_too_large_for_a_registry_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("crate");
    generate_to(&bundle(58), &Options::default(), &krate).unwrap();
    assert_eq!(size_warning(&krate).unwrap(), None);

    // What compresses well is small, however large it is.
    fs::write(krate.join("zeros"), vec![0u8; 20 << 20]).unwrap();
    assert_eq!(size_warning(&krate).unwrap(), None);

    let mut state = 1u64;
    let noise: Vec<u8> = (0..9 << 20)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    fs::write(krate.join("noise"), noise).unwrap();
    let warning = size_warning(&krate).unwrap().unwrap();
    assert!(warning.contains("9.") && warning.contains("10 MiB"), "{warning}");
}

#[test]
fn compile_forest_prints_the_warning() {
    let folder = tempfile::tempdir().unwrap();
    let mut bundle = common::tiny_bundle();
    // A long text stands in several files, and is quicker to make than large forests.
    let mut state = 1u64;
    bundle.platform.engine = (0..8 << 20)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'0' + (state >> 58) as u8)
        })
        .collect();
    fs::write(folder.path().join("b"), bundle.to_bytes().unwrap()).unwrap();
    let run = |folder: &Path| {
        Command::new(env!("CARGO_BIN_EXE_compile-forest"))
            .args(["b", "--out", "c"])
            .current_dir(folder)
            .output()
            .unwrap()
    };
    let output = run(folder.path());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
    assert!(text.starts_with("warning: c: about ") && text.contains("flash budget"), "{text}");
}
