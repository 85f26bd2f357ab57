//! The memory of the compiler does not grow with the source that it writes. Alone in its process,
//! whose largest resident set is what is looked at.

#![cfg(target_os = "linux")] // /proc
#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::fs;
use std::path::Path;

use common::Drawn;
use enerinfer_codegen::{Options, generate, generate_to, lower, sizes};

/// Largest resident set of this process so far, in MiB.
fn most_mib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() / 1024
}

fn source_mib(folder: &Path) -> u64 {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let bytes = files.map(|path| match path.is_dir() {
        true => source_mib(&path) << 20,
        false => fs::metadata(path).unwrap().len(),
    });
    bytes.sum::<u64>() >> 20
}

#[test]
fn source_is_not_kept() {
    let drawn = Drawn { trees: 16, depth: 12, leaf: (0.01, 0.06) };
    let mut bundle = common::random_bundle(71, common::board_clocks(), drawn);
    // A vector of the crate's own test for each.
    bundle.test_shapes = bundle.test_shapes.iter().copied().cycle().take(10_000).collect();
    let options = Options::default();
    // What the forests take in every form in which they are compiled.
    let lowered = lower(&bundle, &options).unwrap();
    let (_, forests) = (sizes(&lowered, &bundle.clocks), most_mib());
    drop(lowered);

    let folder = tempfile::tempdir().unwrap();
    let krate = folder.path().join("enerinfer-runtime");
    generate_to(&bundle, &options, &krate).unwrap();
    let (written, most) = (source_mib(&krate), most_mib());
    assert!(written >= 20, "too little source to tell: {written} MiB");
    assert!(most <= forests + written / 4, "{forests} MiB grew to {most}, writing {written} MiB");

    // The look does notice source that is kept.
    let kept = generate(&bundle, &options).unwrap();
    assert!(most_mib() > most + written / 2, "{most} MiB grew to {} only", most_mib());
    drop(kept);
}
