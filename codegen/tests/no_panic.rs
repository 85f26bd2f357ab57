//! No panic path exists in a generated crate: it links although the panic handler does not.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))] // links with the system's gcc
#![allow(clippy::unwrap_used)] // a test that cannot prepare its input fails

mod common;

use std::path::Path;
use std::process::Command;

use common::Drawn;
use enerinfer_codegen::{Optimise, Options, generate_to};

const CARGO_TOML: &str = r#"
[package]
name = "no-panic"
version = "0.0.0"
edition = "2021"

[lib]
crate-type = ["staticlib"]
path = "lib.rs"

[dependencies]
enerinfer-runtime = { path = "../enerinfer-runtime" }

[profile.release]
panic = "abort"
lto = true
codegen-units = 1

[workspace]
"#;

/// Links the probe; returns the linker's complaint, if it has one.
fn link(folder: &Path, lib_rs: &str) -> Result<(), String> {
    let probe = folder.join("probe");
    std::fs::create_dir_all(&probe).unwrap();
    std::fs::write(probe.join("Cargo.toml"), CARGO_TOML).unwrap();
    std::fs::write(probe.join("lib.rs"), lib_rs).unwrap();
    std::fs::write(probe.join("start.c"), include_str!("no_panic/start.c")).unwrap();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--offline", "--target-dir", "target"])
        .current_dir(&probe)
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let linked = Command::new("gcc")
        .args(["-O2", "-ffreestanding", "-nostdlib", "-static", "-Wl,--gc-sections", "-o", "probe"])
        .args(["start.c", "target/release/libno_panic.a"])
        .current_dir(&probe)
        .output()
        .expect("this test needs gcc");
    match linked.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&linked.stderr).into_owned()),
    }
}

#[test]
fn no_panic_is_reachable() {
    let folder = tempfile::tempdir().unwrap();
    let drawn = Drawn { trees: 8, depth: 6, leaf: (0.01, 0.1) };
    let bundle = common::random_bundle(31, common::board_clocks(), drawn);
    let probe = include_str!("no_panic/lib.rs");
    for optimise in [Optimise::Speed, Optimise::Size] {
        let options = Options { optimise, ..Options::default() };
        generate_to(&bundle, &options, &folder.path().join("enerinfer-runtime")).unwrap();
        link(folder.path(), probe).unwrap_or_else(|complaint| panic!("{complaint}"));
        // Nor is the code that prints panics and numbers there, some 20 KB on a small core.
        let symbols = Command::new("nm").arg(folder.path().join("probe/probe")).output().unwrap();
        let symbols = String::from_utf8_lossy(&symbols.stdout);
        for entry in ["choose", "one_point", "control"] {
            assert!(symbols.contains(entry), "{symbols}");
        }
        assert!(!symbols.contains("4core3fmt") && !symbols.contains("9panicking"), "{symbols}");
    }

    // The probe does notice a panic.
    let panicking = probe
        .replace("None => u32::MAX", "None => panic!()")
        .replace("front.entries().get(", "front.entries().get(qoe as usize + ");
    let complaint = link(folder.path(), &panicking).unwrap_err();
    assert!(complaint.contains("a_panic_is_reachable"), "{complaint}");
}
