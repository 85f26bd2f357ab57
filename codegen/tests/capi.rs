//! The C API: built as a static library, called from C, equal to the interpreter.

#![cfg(target_os = "linux")] // links with the system's gcc
#![allow(clippy::unwrap_used)] // a test that cannot prepare its input fails

mod common;

use std::path::Path;
use std::process::Command;

use common::Drawn;
use enerinfer_artifacts::{Bundle, Target, throughput_utok_per_s};
use enerinfer_codegen::{CapiName, Options, generate_capi_to, generate_to};

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
    let name = CapiName::default();
    generate_capi_to(&bundle, Path::new("../enerinfer-runtime"), &name, &capi).unwrap();
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
    let header = std::fs::read_to_string(capi.join("include/enerinfer.h")).unwrap();
    assert!(header.starts_with("/* @generated"), "{header}");
    nothing_allocates_or_unwinds(&capi);
    assert_eq!(compile_and_run(&capi, include_str!("edges.c")), "");
    header_is_cpp(&capi);
}

/// Two models in one C program: each answers for itself.
#[test]
fn libraries_of_two_models_stand_in_one_program() {
    const PROGRAM: &str = r#"
#include <stdio.h>
#include "phone/include/enerinfer_phone.h"
#include "board_2/include/enerinfer_board_2.h"
int main(void) {
    enerinfer_phone_shape a = {.layers = 28, .hidden = 1536, .heads = 12, .kv_heads = 2, .ffn = 8960, .vocab = 151936};
    enerinfer_board_2_shape b = {.layers = 28, .hidden = 1536, .heads = 12, .kv_heads = 2, .ffn = 8960, .vocab = 151936};
    static enerinfer_phone_tables phone;
    static enerinfer_board_2_tables board;
    enerinfer_phone_predict(&a, &phone);
    enerinfer_board_2_predict(&b, &board);
    printf("%d %u\n", ENERINFER_PHONE_POINTS, (unsigned)phone.power_uw[ENERINFER_PHONE_POINTS - 1]);
    printf("%d %u\n", ENERINFER_BOARD_2_POINTS, (unsigned)board.power_uw[ENERINFER_BOARD_2_POINTS - 1]);
    return 0;
}
"#;
    let folder = tempfile::tempdir().unwrap();
    let drawn = Drawn { trees: 4, depth: 4, leaf: (0.01, 0.1) };
    let few = enerinfer_artifacts::ClockTables { accel_khz: vec![5, 6], mem_khz: vec![7] };
    let mut expected = String::new();
    for (name, seed, clocks) in [("phone", 42, few), ("board_2", 43, common::board_clocks())] {
        let bundle = common::random_bundle(seed, clocks, drawn);
        let runtime = folder.path().join(format!("{name}-runtime"));
        let lowered = generate_to(&bundle, &Options::default(), &runtime).unwrap();
        let capi = folder.path().join(name);
        let relative = format!("../{name}-runtime");
        generate_capi_to(&bundle, Path::new(&relative), &name.parse().unwrap(), &capi).unwrap();
        common::cargo(&capi, &["build", "--release"]);
        let mut shape = common::shape(28, 1536, 12, 2, 8960, 151_936, false);
        shape.total_params = shape.formula_total_params();
        let highest = bundle.clocks.clocks_khz(bundle.clocks.highest());
        let power = lowered.predictor(Target::Power).unwrap().predict(&shape, highest);
        expected += &format!("{} {power}\n", bundle.clocks.len());
    }
    let libraries =
        ["phone", "board_2"].map(|name| format!("{name}/target/release/libenerinfer_{name}.a"));
    let printed = compile_run(folder.path(), PROGRAM, &libraries.each_ref().map(String::as_str));
    assert_eq!(printed, expected);
}

#[test]
fn names_of_every_length_are_formatted() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = common::tiny_bundle();
    // Cargo asks for it, though it is not formatted along.
    generate_to(&bundle, &Options::default(), &folder.path().join("runtime")).unwrap();
    for name in ["a", "orin", "twelve_chars", "a_name_of_24_characters_"] {
        let capi = folder.path().join(name);
        generate_capi_to(&bundle, Path::new("../runtime"), &name.parse().unwrap(), &capi).unwrap();
        common::cargo_fmt_is_silent(&capi);
    }
}

/// C programs have room for the header's points, whatever the runtime beside it writes.
#[test]
fn a_runtime_of_other_clocks_does_not_build() {
    let folder = tempfile::tempdir().unwrap();
    let drawn = Drawn { trees: 1, depth: 1, leaf: (0.01, 0.1) };
    let small = common::tiny_bundle();
    let capi = folder.path().join("capi");
    generate_capi_to(&small, Path::new("../runtime"), &CapiName::default(), &capi).unwrap();
    let runtime = folder.path().join("runtime");
    let build = |bundle: &Bundle| {
        generate_to(bundle, &Options::default(), &runtime).unwrap();
        let built = Command::new(env!("CARGO"))
            .args(["build", "--offline"])
            .current_dir(&capi)
            .env("CARGO_TARGET_DIR", folder.path().join("target"))
            .output()
            .unwrap();
        (built.status.success(), String::from_utf8(built.stderr).unwrap())
    };
    let mut more = small.clocks.clone();
    more.accel_khz.push(1_200_000);
    let mut fewer = small.clocks.clone();
    fewer.accel_khz.pop();
    for clocks in [more, fewer] {
        let (built, said) = build(&common::random_bundle(44, clocks, drawn));
        assert!(!built && said.contains("generate this crate anew"), "{said}");
    }
    let (built, said) = build(&small);
    assert!(built, "{said}");
}

#[test]
fn names_that_c_does_not_have_are_refused() {
    for name in ["", "a-b", "7 b", "Board", "a.b", "é", "a_name_of_twenty_five_chars"] {
        let refusal = name.parse::<CapiName>().unwrap_err().to_string();
        assert!(refusal.starts_with(&format!("`{name}` cannot")), "{refusal}");
    }
    for name in ["a", "7b", "qwen2_5_7b", "fn"] {
        assert!(name.parse::<CapiName>().is_ok(), "{name}");
    }
}

/// Compiles a C program against the built library, and returns what it prints.
fn compile_and_run(capi: &Path, source: &str) -> String {
    compile_run(capi, source, &["target/release/libenerinfer.a"])
}

/// Compiles a C program against libraries, and returns what it prints.
fn compile_run(capi: &Path, source: &str, libraries: &[&str]) -> String {
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
        .args(libraries)
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
