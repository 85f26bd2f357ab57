//! The memory of the compiler does not grow with the source that it writes. Alone in its process,
//! whose largest resident set is what is looked at.

#![cfg(target_os = "linux")] // /proc
#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::fs;
use std::path::Path;

use common::Drawn;
use enerinfer_codegen::{Options, generate, generate_to, lower, sizes};

/// Largest resident set of this process so far, in KiB.
fn most_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Bytes of all files below a folder.
fn bytes_in(folder: &Path) -> u64 {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .map(|path| if path.is_dir() { bytes_in(&path) } else { path.metadata().unwrap().len() })
        .sum()
}

#[test]
fn source_is_not_kept() {
    // Little forests, and for each of many shapes a test in the crate.
    let drawn = Drawn { trees: 2, depth: 4, leaf: (0.01, 0.06) };
    let mut bundle = common::random_bundle(71, common::board_clocks(), drawn);
    bundle.test_shapes = bundle.test_shapes.iter().copied().cycle().take(6000).collect();
    let options = Options::default();
    // What the bundle takes in every form in which it is compiled.
    let lowered = lower(&bundle, &options).unwrap();
    let (_, forests) = (sizes(&lowered, &bundle.clocks), most_kib());
    drop(lowered);

    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("enerinfer-runtime");
    generate_to(&bundle, &options, &krate).unwrap();
    let (written, most) = (bytes_in(&krate) / 1024, most_kib());
    assert!(written >= 6000, "too little source to tell: {written} KiB");
    assert!(most <= forests + written / 3, "{forests} KiB grew to {most}, writing {written} KiB");

    // The look does notice source that is kept.
    let kept = generate(&bundle, &options).unwrap();
    assert!(most_kib() > most + written / 2, "{most} KiB grew to {} only", most_kib());
    drop(kept);
    println!("{forests} KiB, {most} while {written} were written");
}
