//! No floating point in a generated crate, by its assembly: on the host, and on 32-bit Arm where
//! the toolchain has `core` for it. (`checks/embedded.sh` searches linked firmware.)

#![cfg(target_arch = "x86_64")] // the instructions looked for
#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::Drawn;
use enerinfer_codegen::{Optimise, Options, generate_to};

const ARM: [&str; 3] = ["thumbv7em-none-eabihf", "thumbv7em-none-eabi", "thumbv6m-none-eabi"];

fn has_core(target: &str) -> bool {
    let output = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .expect("rustc runs");
    let folder = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    output.status.success() && fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some())
}

/// The crate's assembly for a target, or for the host.
fn assembly(krate: &Path, target: Option<&str>) -> String {
    let mut args = vec!["rustc", "--lib", "--release"];
    args.extend(target.iter().flat_map(|&target| ["--target", target]));
    args.extend(["--config", "profile.release.codegen-units=1"]);
    let output = Command::new(env!("CARGO"))
        .args(args)
        .args(["--offline", "--", "--emit=asm"])
        .current_dir(krate)
        .env("CARGO_TARGET_DIR", krate.join("target"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let deps = krate.join("target").join(target.unwrap_or(".")).join("release/deps");
    let mut files = fs::read_dir(deps).unwrap().map(|entry| entry.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|e| e == "s")).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    fs::remove_file(file).unwrap();
    text
}

/// Whether a line of assembly computes with floating-point numbers: an instruction of SSE, of the
/// x87 or of an Arm's unit, or a call of a helper of a core without one.
fn is_float(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let instruction = words.next().unwrap_or_default();
    let sse = ["add", "sub", "mul", "div", "sqrt", "min", "max", "ucomi", "comi", "cmp"];
    let scalar_or_packed = ["ss", "sd", "ps", "pd"].iter().any(|end| instruction.ends_with(end));
    let helpers =
        ["__aeabi_f", "__aeabi_d", "2f", "2d", "sf2", "df2", "sf3", "df3", "sisf", "sfsi"];
    let argument = words.next().unwrap_or_default();
    scalar_or_packed
        && sse.iter().any(|start| instruction.trim_start_matches('v').starts_with(start))
        || instruction.starts_with("cvt")
        || ["fld", "fild", "fst", "fadd", "fmul", "fdiv", "fist"]
            .iter()
            .any(|x| instruction.starts_with(x))
        || instruction.starts_with('v')
            && (instruction.contains(".f32") || instruction.contains(".f64"))
        || ["bl", "b", "blx", "b.w", "callq", "call", "jmp"].contains(&instruction)
            && argument.starts_with("__")
            && helpers.iter().any(|helper| argument.contains(helper))
}

fn float_lines(assembly: &str) -> Vec<&str> {
    assembly.lines().filter(|line| is_float(line)).collect()
}

#[test]
fn no_instruction_and_no_helper_of_floating_point() {
    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("enerinfer-runtime");
    let drawn = Drawn { trees: 8, depth: 6, leaf: (0.01, 0.1) };
    let bundle = common::random_bundle(61, common::board_clocks(), drawn);
    // For speed, single operating points have code of their own besides the table's.
    let options = Options { optimise: Optimise::Speed, ..Options::default() };
    generate_to(&bundle, &options, &krate).unwrap();
    let lib = krate.join("src/lib.rs");
    let source = fs::read_to_string(&lib).unwrap();
    let float = "\n/// Computes with them.\n#[no_mangle]\npub extern \"C\" fn three_halves(x: u32) -> u32 {\n    (x as f32 * 1.5) as u32\n}\n";

    let arm: Vec<&str> = ARM.into_iter().filter(|target| has_core(target)).collect();
    if arm.is_empty() {
        println!("NOT CHECKED on 32-bit Arm: none of {ARM:?} is installed");
    }
    for target in std::iter::once(None).chain(arm.into_iter().map(Some)) {
        fs::write(&lib, &source).unwrap();
        let text = assembly(&krate, target);
        assert!(text.contains("5model"), "{target:?}: the predictors are not in the assembly");
        let found = float_lines(&text);
        assert!(found.is_empty(), "{target:?}: {found:?}");
        // The search does notice a float.
        fs::write(&lib, source.replace("#![forbid(unsafe_code)]", "") + float).unwrap();
        assert!(!float_lines(&assembly(&krate, target)).is_empty(), "{target:?}");
    }
}
