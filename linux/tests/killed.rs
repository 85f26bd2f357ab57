//! A process that is killed at any moment leaves nothing behind for longer than until the next
//! start: between two writes to nodes the state is always that before the second.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::path::Path;
use std::sync::Arc;

use common::Fake;
use enerinfer_linux::devfreq::Request;
use enerinfer_linux::discover;
use enerinfer_linux::files::Files;
use enerinfer_linux::journal::Journal;
use enerinfer_runtime::hal::FrequencyActuator as _;

/// A device, with or without the governor `userspace` on its accelerator.
fn device(tree: &str, userspace: bool) -> Arc<Fake> {
    let fake = Fake::tree(tree);
    if !userspace {
        let dir = match tree {
            "rk3588" => "class/devfreq/fdab0000.npu",
            _ => "class/devfreq/17000000.gpu",
        };
        let governor = fake.get(&format!("{dir}/governor"));
        fake.set(&format!("{dir}/available_governors"), &governor);
    }
    fake
}

/// What `enerinferd` does from start to end. Errors are those of writes after its death.
fn life(fake: &Arc<Fake>, journal: &Path) {
    let files: Arc<dyn Files> = Arc::<Fake>::clone(fake);
    let journal = Journal::try_open(journal).unwrap().unwrap();
    if journal.recover(&*files).is_err() {
        return;
    }
    let mut accel = discover::accelerator(&files).unwrap();
    let mut mem = discover::memory(&files, Request::Exactly).unwrap();
    let mut saved = accel.saved();
    saved.extend(&mem.saved());
    journal.write(&saved).unwrap();
    for khz in [u32::MAX, 0, 700_000] {
        let _ = accel.request_khz(khz);
        let _ = mem.request_khz(khz);
    }
    if accel.restore().is_ok() & mem.restore().is_ok() {
        journal.clear().unwrap();
    }
}

#[test]
fn a_life_cut_short_at_any_write_is_made_good_by_the_next() {
    for (tree, userspace) in [("rk3588", true), ("rk3588", false), ("orin", true), ("orin", false)]
    {
        let dir = tempfile::tempdir().unwrap();
        let journal = dir.path().join("journal");
        let fake = device(tree, userspace);
        let before = fake.snapshot();
        life(&fake, &journal);
        assert_eq!(fake.snapshot(), before, "{tree}: a whole life");
        let writes = fake.trace().len();
        assert!(writes > 8, "{tree}: {writes} writes");
        for first in 0..=writes {
            // A fifth of all pairs, each count as a second at some time.
            for second in (first % 5..=writes).step_by(5) {
                let fake = device(tree, userspace);
                let place = format!("{tree}, {userspace}: killed at {first}, then at {second}");
                fake.die_after(first);
                life(&fake, &journal);
                // Its successor, which gives back and begins anew, is killed as well.
                fake.die_after(second);
                life(&fake, &journal);
                fake.heal();
                let last = Journal::try_open(&journal).unwrap().unwrap();
                last.recover(&*fake).unwrap();
                assert_eq!(fake.snapshot(), before, "{place}");
                assert!(!journal.exists(), "{place}");
            }
        }
    }
}
