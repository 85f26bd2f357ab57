//! Generated crates are built and tested by cargo, in a folder of their own.

mod common;

use common::{Drawn, cargo};
use enerinfer_artifacts::ThermalModel;
use enerinfer_codegen::{CodegenError, Options, generate, generate_to};

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
    cargo(&krate, &["run", "--example", "choose"]);
    common::cargo_fmt_is_silent(&krate);
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

#[test]
fn replaces_its_own_folder_only() {
    let bundle = common::tiny_bundle();
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("crate");
    generate_to(&bundle, &Options::default(), &krate).unwrap();
    std::fs::write(krate.join("stray.txt"), "left over").unwrap();
    generate_to(&bundle, &Options::default(), &krate).unwrap();
    assert!(!krate.join("stray.txt").exists());

    std::fs::remove_file(krate.join("MANIFEST.json")).unwrap();
    let error = generate_to(&bundle, &Options::default(), &krate).unwrap_err();
    assert!(matches!(error, CodegenError::NotOurs { .. }), "{error}");
    assert!(krate.join("Cargo.toml").exists());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "temporary folders remain");
}
