//! Clock domains on fake devices: the kernel's ways, faults, and what is given back.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::path::Path;
use std::sync::Arc;

use common::{Fake, sys};
use enerinfer_linux::bpmp::{self, BpmpClock};
use enerinfer_linux::cpufreq::CpuPolicy;
use enerinfer_linux::devfreq::{Devfreq, Request};
use enerinfer_linux::files::Files;
use enerinfer_linux::{Error, discover};
use enerinfer_runtime::hal::{Error as _, ErrorKind, FrequencyActuator};
use proptest::prelude::*;

const NANO: &str = "devices/57000000.gpu/devfreq/57000000.gpu";
const ORIN: &str = "class/devfreq/17000000.gpu";
const NPU: &str = "class/devfreq/fdab0000.npu";
const DMC: &str = "class/devfreq/dmc";

fn files(fake: &Arc<Fake>) -> Arc<dyn Files> {
    Arc::<Fake>::clone(fake)
}

fn devfreq(fake: &Arc<Fake>, dir: &str) -> Result<Devfreq, Error> {
    Devfreq::open(files(fake), &sys(dir), Request::Exactly, true)
}

/// Takes the governor `userspace` away, so that bounds have to do.
fn without_userspace(fake: &Fake, dir: &str, governors: &str) {
    fake.set(&format!("{dir}/available_governors"), governors);
}

/// Minimum and maximum after every write of the trace, and whether they ever crossed.
fn crossed(fake: &Fake, dir: &str, start: (u64, u64)) -> bool {
    let (mut min, mut max) = start;
    for (path, text) in fake.trace() {
        if path == sys(dir).join("min_freq") {
            min = text.parse().unwrap();
        } else if path == sys(dir).join("max_freq") {
            max = text.parse().unwrap();
        }
        if min > max {
            return true;
        }
    }
    false
}

#[test]
fn requests_snap_down_before_the_kernel_snaps_them_up() {
    let fake = Fake::tree("nano");
    let mut gpu = devfreq(&fake, NANO).unwrap();
    // The table goes to 998.4 MHz; max_freq allows 921.6.
    assert_eq!(gpu.request_khz(950_000).unwrap(), 921_600);
    assert_eq!(gpu.request_khz(900_000).unwrap(), 844_800);
    assert_eq!(gpu.request_khz(u32::MAX).unwrap(), 921_600);
    assert_eq!(gpu.request_khz(0).unwrap(), 76_800);
    let written: Vec<_> =
        fake.trace().into_iter().filter(|(p, _)| p.ends_with("set_freq")).collect();
    assert_eq!(written[0].1, "921600000");
}

#[test]
fn what_the_pll_delivers_is_reported() {
    let fake = Fake::tree("rk3588");
    fake.cap(&format!("{NPU}/cur_freq"), 850_000_000);
    let mut npu = devfreq(&fake, NPU).unwrap();
    assert_eq!(npu.request_khz(1_000_000).unwrap(), 850_000);
    assert_eq!(npu.current_khz().unwrap(), 850_000);
}

#[test]
fn everything_comes_back_whatever_was_requested() {
    for (tree, dir) in [("nano", NANO), ("orin", ORIN), ("rk3588", NPU), ("rk3588", DMC)] {
        for userspace in [true, false] {
            let fake = Fake::tree(tree);
            if !userspace {
                let governor = fake.get(&format!("{dir}/governor"));
                without_userspace(&fake, dir, &governor);
            }
            let before = fake.snapshot();
            let mut domain = devfreq(&fake, dir).unwrap();
            assert_eq!(fake.snapshot(), before, "opening changes nothing");
            for khz in [400_000, 900_000, 600_000, 2_000_000] {
                domain.request_khz(khz).unwrap();
            }
            assert_ne!(fake.snapshot(), before);
            domain.restore().unwrap();
            assert_eq!(fake.snapshot(), before, "{tree} {dir}");
            // Once is enough.
            let writes = fake.trace().len();
            domain.restore().unwrap();
            assert_eq!(fake.trace().len(), writes);
        }
    }
}

#[test]
fn an_untouched_domain_is_not_written_on_restore() {
    let fake = Fake::tree("orin");
    devfreq(&fake, ORIN).unwrap().restore().unwrap();
    assert!(fake.trace().is_empty());
}

#[test]
fn only_listed_governors_are_written_and_only_to_the_selected_device() {
    let fake = Fake::tree("rk3588");
    let encoder = "class/devfreq/fdbd0000.rkvenc";
    assert!(matches!(devfreq(&fake, encoder), Err(Error::NoKnob { .. })));
    let mut npu = discover::accelerator(&files(&fake)).unwrap();
    npu.request_khz(600_000).unwrap();
    npu.restore().unwrap();
    for (path, text) in fake.trace() {
        assert!(path.starts_with(sys(NPU)), "{path:?} was written");
        if path.ends_with("governor") {
            let listed = fake.get(&format!("{NPU}/available_governors"));
            assert!(listed.split_whitespace().any(|g| g == text), "{text} is not listed");
        }
    }
}

#[test]
fn a_knob_that_may_not_be_written_gives_the_governor_back() {
    for errno in [libc::EACCES, libc::EPERM, libc::EROFS] {
        let fake = Fake::tree("rk3588");
        fake.fail_write(&format!("{NPU}/userspace/set_freq"), errno);
        let before = fake.snapshot();
        let mut npu = devfreq(&fake, NPU).unwrap();
        let error = npu.request_khz(600_000).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert_eq!(fake.snapshot(), before, "nothing half applied");
    }
}

#[test]
fn errno_values_keep_their_meaning() {
    for (errno, kind) in [
        (libc::EBUSY, ErrorKind::Busy),
        (libc::EINVAL, ErrorKind::InvalidValue),
        (libc::ENODEV, ErrorKind::Unavailable),
        (libc::EIO, ErrorKind::Other),
    ] {
        let fake = Fake::tree("orin");
        without_userspace(&fake, ORIN, "nvhost_podgov");
        fake.fail_write(&format!("{ORIN}/max_freq"), errno);
        let mut gpu = devfreq(&fake, ORIN).unwrap();
        assert_eq!(gpu.request_khz(600_000).unwrap_err().kind(), kind);
        fake.heal();
        gpu.restore().unwrap();
        assert_eq!(fake.get(&format!("{ORIN}/min_freq")), "306000000");
    }
}

#[test]
fn a_device_without_its_table_is_refused_untouched() {
    for text in [None, Some(""), Some("unknown")] {
        let fake = Fake::tree("orin");
        let table = format!("{ORIN}/available_frequencies");
        match text {
            None => fake.remove(&table),
            Some(text) => fake.set(&table, text),
        }
        let error = devfreq(&fake, ORIN).unwrap_err();
        assert!(error.to_string().contains("available_frequencies"), "{error}");
        assert!(fake.trace().is_empty());
    }
}

#[test]
fn a_vote_for_a_minimum_leaves_the_governor_and_the_maximum() {
    let fake = Fake::tree("rk3588");
    let open = Devfreq::open(files(&fake), &sys(DMC), Request::AtLeast, false);
    let mut dmc = open.unwrap();
    dmc.request_khz(1_100_000).unwrap();
    assert_eq!(fake.get(&format!("{DMC}/min_freq")), "1068000000");
    assert_eq!(fake.get(&format!("{DMC}/max_freq")), "2112000000");
    assert_eq!(fake.get(&format!("{DMC}/governor")), "dmc_ondemand");
    dmc.restore().unwrap();
    assert_eq!(fake.get(&format!("{DMC}/min_freq")), "528000000");
}

#[test]
fn the_emc_is_locked_capped_and_unlocked() {
    let fake = Fake::tree("orin");
    let emc = "kernel/debug/bpmp/debug/clk/emc";
    fake.cap(&format!("{emc}/rate"), 2_133_000_000);
    let open = || BpmpClock::open(files(&fake), Path::new(bpmp::EMC), Path::new(bpmp::EMC_RATES));
    let mut clock = open().unwrap();
    assert_eq!(clock.request_khz(3_199_000).unwrap(), 2_133_000, "capped silently");
    assert_eq!(fake.get(&format!("{emc}/mrq_rate_locked")), "1");
    clock.restore().unwrap();
    assert_eq!(fake.get(&format!("{emc}/mrq_rate_locked")), "0");
    // A lock that was there before comes back with its rate.
    fake.set(&format!("{emc}/mrq_rate_locked"), "1");
    fake.set(&format!("{emc}/rate"), "665600000");
    let mut clock = open().unwrap();
    clock.request_khz(204_000).unwrap();
    clock.restore().unwrap();
    assert_eq!(fake.get(&format!("{emc}/rate")), "665600000");
    assert_eq!(fake.get(&format!("{emc}/mrq_rate_locked")), "1");
}

#[test]
fn emc_requests_snap_down_where_the_rates_are_known() {
    let fake = Fake::tree("orin");
    fake.set("kernel/debug/bpmp/debug/emc/possible_rates", "204000 665600 2133000 3199000");
    let mut emc = discover::memory(&files(&fake), Request::Exactly).unwrap();
    assert_eq!(emc.request_khz(2_400_000).unwrap(), 2_133_000);
    assert_eq!(emc.request_khz(408_000).unwrap(), 204_000);
}

#[test]
fn a_cpu_policy_without_a_table_takes_any_frequency_within_the_hardware() {
    let fake = Fake::tree("x86_pstate");
    let policy = "devices/system/cpu/cpufreq/policy0";
    let mut cpu = CpuPolicy::open(files(&fake), &sys(policy)).unwrap();
    assert_eq!(cpu.available_khz(), None);
    assert_eq!(cpu.request_khz(1_234_567).unwrap(), 1_234_567);
    assert_eq!(cpu.request_khz(9_999_999).unwrap(), 3_400_000);
    assert_eq!(cpu.request_khz(1).unwrap(), 800_000);
    assert_eq!(fake.get(&format!("{policy}/scaling_governor")), "powersave", "left alone");
    cpu.restore().unwrap();
    assert_eq!(fake.get(&format!("{policy}/scaling_max_freq")), "3400000");
}

#[test]
fn clusters_have_tables_and_bounds_of_their_own() {
    let fake = Fake::tree("rk3399");
    let mut policies = Vec::new();
    for (policy, max) in [("policy0", 1_416_000u32), ("policy4", 1_800_000)] {
        let dir = format!("devices/system/cpu/cpufreq/{policy}");
        fake.set(&format!("{dir}/scaling_min_freq"), "408000");
        fake.set(&format!("{dir}/scaling_max_freq"), &max.to_string());
        let opened = CpuPolicy::open(files(&fake), &sys(&dir)).unwrap();
        policies.push((dir, max, opened));
    }
    for (_, _, policy) in &mut policies {
        policy.request_khz(700_000).unwrap();
    }
    for (dir, max, mut policy) in policies {
        assert_eq!(fake.get(&format!("{dir}/scaling_max_freq")), "600000");
        assert_eq!(policy.request_khz(u32::MAX).unwrap(), max, "back to its own maximum");
        policy.restore().unwrap();
        assert_eq!(fake.get(&format!("{dir}/scaling_max_freq")), max.to_string());
        assert_eq!(fake.get(&format!("{dir}/scaling_min_freq")), "408000");
    }
}

#[test]
fn a_node_that_goes_offline_is_unavailable() {
    let fake = Fake::tree("orin");
    let mut gpu = devfreq(&fake, ORIN).unwrap();
    gpu.request_khz(612_000).unwrap();
    fake.remove(ORIN);
    assert_eq!(gpu.current_khz().unwrap_err().kind(), ErrorKind::Unavailable);
    assert_eq!(gpu.request_khz(306_000).unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn a_failure_does_not_keep_the_rest_from_being_given_back() {
    let fake = Fake::tree("rk3588");
    let mut npu = devfreq(&fake, NPU).unwrap();
    without_userspace(&fake, NPU, "rknpu_ondemand");
    npu.restore().unwrap();
    let fake = Fake::tree("rk3588");
    let mut npu = devfreq(&fake, NPU).unwrap();
    npu.request_khz(600_000).unwrap();
    fake.set(&format!("{NPU}/min_freq"), "600000000"); // someone else's doing
    fake.fail_write(&format!("{NPU}/governor"), libc::EIO);
    assert!(matches!(npu.restore(), Err(Error::Restore { failed: 1, .. })));
    assert_eq!(fake.get(&format!("{NPU}/min_freq")), "300000000");
    fake.heal();
    npu.restore().unwrap();
    assert_eq!(fake.get(&format!("{NPU}/governor")), "rknpu_ondemand");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any requests from any starting bounds: the minimum never exceeds the maximum, the kernel
    /// refuses nothing, and the bounds come back.
    #[test]
    fn minimum_never_exceeds_maximum(
        requests in prop::collection::vec(0u32..2_000_000, 1..10),
        start in (0usize..11, 0usize..11),
    ) {
        let fake = Fake::tree("orin");
        without_userspace(&fake, ORIN, "nvhost_podgov");
        let text = fake.get(&format!("{ORIN}/available_frequencies"));
        let table: Vec<u64> = text.split_whitespace().map(|w| w.parse().unwrap()).collect();
        let (min, max) = (table[start.0.min(start.1)], table[start.0.max(start.1)]);
        fake.set(&format!("{ORIN}/min_freq"), &min.to_string());
        fake.set(&format!("{ORIN}/max_freq"), &max.to_string());
        let before = fake.snapshot();
        let mut gpu = devfreq(&fake, ORIN).unwrap();
        for khz in requests {
            let got = gpu.request_khz(khz);
            prop_assert!(got.is_ok(), "{got:?}");
        }
        gpu.restore().unwrap();
        prop_assert!(!crossed(&fake, ORIN, (min, max)));
        prop_assert_eq!(fake.snapshot(), before);
    }

    /// One write fails, whichever: afterwards everything is as it was found, once the fault is
    /// gone.
    #[test]
    fn any_single_fault_leaves_nothing_behind(
        node in prop::sample::select(vec!["governor", "userspace/set_freq", "min_freq", "max_freq"]),
        errno in prop::sample::select(vec![libc::EACCES, libc::EBUSY, libc::EINVAL, libc::EIO]),
        userspace in any::<bool>(),
        requests in prop::collection::vec(0u32..1_200_000, 1..4),
    ) {
        let fake = Fake::tree("rk3588");
        if !userspace {
            without_userspace(&fake, NPU, "rknpu_ondemand");
        }
        let before = fake.snapshot();
        let mut npu = devfreq(&fake, NPU).unwrap();
        fake.fail_write(&format!("{NPU}/{node}"), errno);
        for khz in requests {
            let _ = npu.request_khz(khz); // may fail or not
        }
        fake.heal();
        npu.restore().unwrap();
        prop_assert_eq!(fake.snapshot(), before);
    }
}

#[test]
fn a_minimum_that_was_there_before_is_not_lowered() {
    let fake = Fake::tree("rk3588");
    let found = "1560000000";
    fake.set(&format!("{DMC}/min_freq"), found);
    let mut dmc = Devfreq::open(files(&fake), &sys(DMC), Request::AtLeast, false).unwrap();
    // Less than somebody else needs: theirs holds.
    dmc.request_khz(528_000).unwrap();
    assert_eq!(fake.get(&format!("{DMC}/min_freq")), found);
    // More: ours holds, until it ends.
    dmc.request_khz(2_112_000).unwrap();
    assert_eq!(fake.get(&format!("{DMC}/min_freq")), "2112000000");
    dmc.restore().unwrap();
    assert_eq!(fake.get(&format!("{DMC}/min_freq")), found);
}
