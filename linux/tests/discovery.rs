//! Which nodes are taken on which device, and what is said about them.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::sync::Arc;

use common::{Fake, sys};
use enerinfer_linux::devfreq::Request;
use enerinfer_linux::files::Files;
use enerinfer_linux::{Error, discover, doctor};

fn files(fake: &Arc<Fake>) -> Arc<dyn Files> {
    Arc::<Fake>::clone(fake)
}

fn accelerator(fake: &Arc<Fake>) -> String {
    discover::accelerator_device(&**fake).unwrap().name
}

fn warnings(fake: &Arc<Fake>) -> String {
    doctor::examine(&files(fake)).warnings.join("\n")
}

#[test]
fn accelerators_go_by_many_names() {
    for (tree, name) in [
        ("nano", "57000000.gpu"),
        ("orin", "17000000.gpu"),
        ("thor", "gpu-gpc-0"),
        ("rk3588", "fdab0000.npu"),
    ] {
        assert_eq!(accelerator(&Fake::tree(tree)), name);
    }
    // Older and other kernels.
    for node in [
        "devices/17000000.gv11b/devfreq/17000000.gv11b",
        "devices/gpu.0/devfreq/17000000.gp10b",
        "devices/platform/bus@0/17000000.ga10b/devfreq/17000000.ga10b",
        "class/devfreq/kgsl-3d0",
    ] {
        let fake = Arc::new(Fake::default());
        fake.set(&format!("{node}/available_frequencies"), "1000000 2000000");
        assert_eq!(discover::accelerator_device(&*fake).unwrap().dir, sys(node));
    }
}

#[test]
fn an_npu_is_preferred_to_a_gpu_and_an_encoder_is_never_taken() {
    let fake = Fake::tree("rk3588");
    fake.set("class/devfreq/fb000000.gpu/available_frequencies", "300000000");
    assert_eq!(accelerator(&fake), "fdab0000.npu");
    fake.remove("class/devfreq/fdab0000.npu");
    assert_eq!(accelerator(&fake), "fb000000.gpu");
    fake.remove("class/devfreq/fb000000.gpu");
    let error = discover::accelerator_device(&*fake).unwrap_err();
    assert!(matches!(error, Error::NotFound { .. }));
    assert!(error.to_string().contains("gpu-gpc-0"), "says what was looked for: {error}");
}

#[test]
fn a_device_without_any_knob_says_so() {
    let fake = Fake::tree("thor"); // lists neither userspace nor bounds
    let error = discover::accelerator(&files(&fake)).unwrap_err();
    assert!(matches!(error, Error::NoKnob { .. }), "{error}");
    fake.set("class/devfreq/gpu-gpc-0/min_freq", "315000000");
    fake.set("class/devfreq/gpu-gpc-0/max_freq", "1575000000");
    assert!(discover::accelerator(&files(&fake)).is_ok());
}

#[test]
fn memory_is_the_emc_or_a_devfreq_controller() {
    for (tree, name) in [("orin", "emc"), ("thor", "bwmgr"), ("rk3588", "dmc")] {
        let memory = discover::memory(&files(&Fake::tree(tree)), Request::Exactly).unwrap();
        assert!(format!("{memory:?}").contains(name), "{memory:?}");
    }
    let none = discover::memory(&files(&Fake::tree("nano")), Request::Exactly);
    assert!(matches!(none, Err(Error::NotFound { .. })));
}

#[test]
fn what_is_found_is_said_with_its_place_and_its_knob() {
    for (tree, said) in [
        ("rk3588", "accelerator: /sys/class/devfreq/fdab0000.npu (governor userspace), now"),
        ("orin", "memory: /sys/kernel/debug/bpmp/debug/clk/emc (locked rate), now"),
    ] {
        let facts = doctor::examine(&files(&Fake::tree(tree))).facts;
        assert!(facts.iter().any(|fact| fact.starts_with(said)), "{facts:?}");
    }
}

#[test]
fn a_board_without_memory_control_is_warned_about() {
    let fake = Fake::tree("rk3588");
    assert!(!warnings(&fake).contains("must not be merged"));
    fake.remove("class/devfreq/dmc");
    assert!(warnings(&fake).contains("must not be merged"), "{}", warnings(&fake));
}

#[test]
fn a_governor_that_never_steps_down_is_warned_about() {
    let fake = Fake::tree("rk3588"); // 20 and 20
    assert!(warnings(&fake).contains("dmc: its governor never steps down"));
    fake.set("class/devfreq/dmc/downdifferential", "25");
    assert!(warnings(&fake).contains("dmc: its governor never steps down"));
    fake.set("class/devfreq/dmc/downdifferential", "10");
    assert!(!warnings(&fake).contains("never steps down"));
}

#[test]
fn a_table_above_the_allowed_maximum_is_warned_about() {
    let fake = Fake::tree("nano");
    assert!(warnings(&fake).contains("at most 921.6 MHz"), "{}", warnings(&fake));
}

#[test]
fn examining_changes_nothing_whatever_fails() {
    for tree in ["nano", "orin", "thor", "rk3588", "rk3399", "x86_pstate"] {
        let fake = Fake::tree(tree);
        doctor::examine(&files(&fake));
        for path in fake.snapshot().into_keys() {
            fake.fail_read(&path, libc::EIO);
        }
        doctor::examine(&files(&fake));
        assert!(fake.trace().is_empty());
    }
}
