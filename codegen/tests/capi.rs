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
    common::cargo(&capi, &["doc", "--no-deps"]);
    common::cargo(&capi, &["build", "--release"]);

    let example = std::fs::read_to_string(capi.join("examples/token_callback.c")).unwrap();
    let printed = compile_and_run(&capi, &example);

    let shape = &bundle.test_shapes[0];
    let at = |target, point| {
        let clocks = bundle.clocks.clocks_khz(bundle.clocks.point(point));
        lowered.predictor(target).unwrap().predict(shape, clocks)
    };
    let [peak, scale] = [Target::Peak, Target::Scale].map(|t| lowered.predictor(t).unwrap());
    let throughput = throughput_utok_per_s(peak, scale, &bundle.clocks, shape);
    for (point, throughput) in throughput.iter().enumerate() {
        let expected = format!(
            "predicted {point} {throughput} {} {}\n",
            at(Target::Power, point),
            at(Target::AccelPower, point)
        );
        assert!(printed.contains(&expected), "{expected}not in\n{printed}");
    }
    assert!(printed.contains("\npoint "), "{printed}");
    nothing_allocates_or_unwinds(&capi);
    assert_eq!(compile_and_run(&capi, include_str!("edges.c")), "");
    header_is_cpp(&capi);
}

/// Compiles a C program against the built library, and returns what it prints.
fn compile_and_run(capi: &Path, source: &str) -> String {
    std::fs::write(capi.join("program.c"), source).unwrap();
    let compiled = Command::new("gcc")
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Iinclude",
            "-o",
            "program",
            "program.c",
        ])
        .arg("target/release/libenerinfer.a")
        .current_dir(capi)
        .output()
        .expect("this test needs gcc");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let ran = Command::new("./program").current_dir(capi).output().unwrap();
    let printed = String::from_utf8(ran.stdout).unwrap();
    assert!(ran.status.success(), "{printed}");
    printed
}

/// What the linked program takes from other libraries.
fn nothing_allocates_or_unwinds(capi: &Path) {
    let output = Command::new("nm")
        .args(["--dynamic", "--undefined-only", "program"])
        .current_dir(capi)
        .output()
        .expect("this test needs nm");
    let symbols = String::from_utf8(output.stdout).unwrap();
    assert!(symbols.contains("printf"), "{symbols}");
    for name in ["malloc", "calloc", "realloc", "free", "memalign", "_Unwind"] {
        assert!(!symbols.contains(name), "{name}: {symbols}");
    }
}

fn header_is_cpp(capi: &Path) {
    let checked = Command::new("gcc")
        .args(["-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"])
        .args(["-fsyntax-only", "include/enerinfer.h"])
        .current_dir(capi)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    // gcc alone does not bring C++ on every system.
    assert!(checked.status.success() || said.contains("cc1plus"), "{said}");
}
