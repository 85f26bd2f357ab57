//! The C API: built as a static library, called from C, equal to the interpreter.

#![cfg(target_os = "linux")] // links with the system's gcc
#![allow(clippy::unwrap_used)] // a test that cannot prepare its input fails

mod common;

use std::path::Path;
use std::process::Command;

use common::Drawn;
use enerinfer_artifacts::{Target, throughput_utok_per_s};
use enerinfer_codegen::{Options, generate_capi_to, generate_to};

#[test]
fn token_callback_runs_and_predicts_what_the_interpreter_does() {
    let folder = tempfile::tempdir().unwrap();
    let capi = folder.path().join("enerinfer-runtime-capi");
    let drawn = Drawn { trees: 8, depth: 6, leaf: (0.01, 0.1) };
    let mut bundle = common::random_bundle(41, common::board_clocks(), drawn);
    // The example's shape is the bundle's first test shape.
    bundle.test_shapes.truncate(1);
    let runtime = folder.path().join("enerinfer-runtime");
    let lowered = generate_to(&bundle, &Options::default(), &runtime).unwrap();
    generate_capi_to(&bundle, Path::new("../enerinfer-runtime"), &capi).unwrap();
    common::cargo_fmt_is_silent(&capi);
    common::cargo(&capi, &["clippy", "--release"]);
    common::cargo(&capi, &["build", "--release"]);

    let library = capi.join("target/release/libenerinfer.a");
    let compiled = Command::new("gcc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-o", "example"])
        .arg("examples/token_callback.c")
        .arg(library)
        .current_dir(&capi)
        .output()
        .expect("this test needs gcc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new("./example").current_dir(&capi).output().unwrap();
    assert!(ran.status.success());
    let printed = String::from_utf8(ran.stdout).unwrap();

    let shape = &bundle.test_shapes[0];
    let at = |target, point| {
        let clocks = bundle.clocks.clocks_khz(bundle.clocks.point(point));
        lowered.predictor(target).unwrap().predict(shape, clocks)
    };
    for point in 0..bundle.clocks.len() {
        let peak = at(Target::Peak, bundle.clocks.len() - 1);
        let expected = format!(
            "predicted {point} {} {} {}\n",
            throughput_utok_per_s(peak, at(Target::Scale, point)),
            at(Target::Power, point),
            at(Target::AccelPower, point)
        );
        assert!(printed.contains(&expected), "{expected}not in\n{printed}");
    }
    assert!(printed.contains("\npoint "), "{printed}");
}
