//! `enerinferd` as a process on a tree of plain files.
//!
//! Plain files do not react to writes as a kernel does; what is tested here is that the process
//! follows events, and that values come back however it ends.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::time::{Duration, Instant};

use common::data;

const NPU: &str = "sys/class/devfreq/fdab0000.npu";
const DMC: &str = "sys/class/devfreq/dmc";

/// An RK3588 whose NPU's bounds are the knob, with a surface sensor, and a measured model.
struct Board {
    dir: tempfile::TempDir,
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}

fn snapshot(dir: &Path, into: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            snapshot(&path, into);
        } else {
            let text = fs::read_to_string(&path).unwrap();
            into.insert(path, text.trim().to_owned());
        }
    }
}

impl Board {
    fn new() -> Self {
        let board = Board { dir: tempfile::tempdir().unwrap() };
        copy(&data().join("rk3588"), &board.path("sys"));
        for device in [NPU, DMC] {
            board.set(&format!("{device}/available_governors"), "rknpu_ondemand dmc_ondemand");
        }
        fs::create_dir_all(board.path("sys/class/thermal/thermal_zone0")).unwrap();
        board.set("sys/class/thermal/thermal_zone0/type", "skin-thermal");
        board.set("sys/class/thermal/thermal_zone0/temp", "31000");
        let mut table = String::from(
            "model,layers,hidden,heads,kv_heads,ffn,vocab,total_params,format,engine,accel_mhz,\
             mem_mhz,throughput_tok_per_s,power_w,accel_power_w,samples,source\n",
        );
        // Invented: 4, 6, 7 and 12 tokens/s.
        for (accel, mem, speed, power, accel_power) in [
            (300, 528, 4.0, 0.6, 0.3),
            (1000, 528, 6.0, 1.0, 0.7),
            (300, 2112, 7.0, 0.8, 0.3),
            (1000, 2112, 12.0, 3.0, 1.4),
        ] {
            table.push_str(&format!(
                "toy,22,2048,32,4,5632,32000,1100048384,q8_0,test,{accel},{mem},{speed},{power},\
                 {accel_power},3,measured:invented\n"
            ));
        }
        board.set("table.csv", &table);
        board
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn set(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn get(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap().trim().to_owned()
    }

    /// Minimum and maximum of the NPU, then of the memory, MHz. Zero for a file that is just
    /// being written: plain files, unlike sysfs, are empty for a moment.
    fn clocks(&self) -> [u64; 4] {
        [(NPU, "min"), (NPU, "max"), (DMC, "min"), (DMC, "max")].map(|(device, bound)| {
            self.get(&format!("{device}/{bound}_freq")).parse::<u64>().unwrap_or(0) / 1_000_000
        })
    }

    fn snapshot(&self) -> BTreeMap<PathBuf, String> {
        let mut out = BTreeMap::new();
        snapshot(&self.path("sys"), &mut out);
        out
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_enerinferd"));
        command.arg(verb).arg("--root").arg(self.dir.path());
        if verb != "doctor" {
            command.arg("--journal").arg(self.path("journal"));
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self, more: &[&str]) -> (Child, ChildStdin) {
        let mut command = self.command("run");
        command.arg("--measurements").arg(self.path("table.csv")).args(["--model", "toy"]);
        let mut child = command.args(more).spawn().unwrap();
        let events = child.stdin.take().unwrap();
        (child, events)
    }

    fn wait_for(&self, clocks: [u64; 4]) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.clocks() != clocks {
            assert!(Instant::now() < deadline, "{:?} instead of {clocks:?}", self.clocks());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

const FOUND: [u64; 4] = [300, 1000, 528, 2112];
const FASTEST: [u64; 4] = [1000, 1000, 2112, 2112];

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn follows_events_and_gives_everything_back() {
    let board = Board::new();
    let before = board.snapshot();
    let (child, mut events) = board.start(&[]);
    writeln!(events, "prefill").unwrap();
    board.wait_for(FASTEST);
    // 6.5 tokens/s: the third point, which is also the most efficient.
    writeln!(events, "nonsense\ndecode 6.5").unwrap();
    board.wait_for([300, 300, 2112, 2112]);
    writeln!(events, "qoe 10").unwrap();
    board.wait_for(FASTEST);
    writeln!(events, "end").unwrap();
    board.wait_for(FOUND);
    writeln!(events, "decode 6.5").unwrap();
    board.wait_for([300, 300, 2112, 2112]);
    drop(events);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("unknown event \"nonsense\""), "{}", stderr(&output));
    assert_eq!(board.snapshot(), before);
    assert!(!board.path("journal").exists());
}

#[test]
fn control_goes_on_when_nobody_reads_the_log() {
    let board = Board::new();
    let before = board.snapshot();
    let (mut child, mut events) = board.start(&[]);
    drop(child.stderr.take());
    writeln!(events, "nonsense\nprefill").unwrap();
    board.wait_for(FASTEST);
    writeln!(events, "more nonsense\ndecode 6.5").unwrap();
    board.wait_for([300, 300, 2112, 2112]);
    drop(events);
    assert!(child.wait().unwrap().success());
    assert_eq!(board.snapshot(), before);
}

#[test]
fn a_cause_is_said_once() {
    let board = Board::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_enerinferd"));
    command.args(["restore", "--journal"]).arg(board.path("nowhere/journal"));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output).matches("No such file").count(), 1, "{}", stderr(&output));
}

#[test]
fn every_signal_gives_clocks_back() {
    for signal in ["TERM", "INT", "HUP", "QUIT"] {
        let board = Board::new();
        let before = board.snapshot();
        let (child, mut events) = board.start(&[]);
        writeln!(events, "prefill").unwrap();
        board.wait_for(FASTEST);
        kill(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{signal}: {}", stderr(&output));
        assert_eq!(board.snapshot(), before, "{signal}");
    }
}

fn kill(child: &Child, signal: &str) {
    let id = child.id().to_string();
    let status = Command::new("kill").args(["-s", signal, &id]).status().unwrap();
    assert!(status.success());
}

#[test]
fn a_killed_daemon_is_cleaned_up_after_by_its_watchdog() {
    let board = Board::new();
    let (mut child, mut events) = board.start(&[]);
    writeln!(events, "prefill").unwrap();
    board.wait_for(FASTEST);
    child.kill().unwrap();
    child.wait().unwrap();
    board.wait_for(FOUND);
    let deadline = Instant::now() + Duration::from_secs(20);
    while board.path("journal").exists() {
        assert!(Instant::now() < deadline, "the journal stays");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_killed_daemon_without_watchdog_is_cleaned_up_after_at_the_next_start() {
    for verb in ["restore", "run"] {
        let board = Board::new();
        let before = board.snapshot();
        let (mut child, mut events) = board.start(&["--no-watchdog"]);
        writeln!(events, "prefill").unwrap();
        board.wait_for(FASTEST);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(board.clocks(), FASTEST, "nobody was there");
        let output = if verb == "restore" {
            board.command("restore").output().unwrap()
        } else {
            let (child, events) = board.start(&["--no-watchdog"]);
            drop(events);
            child.wait_with_output().unwrap()
        };
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stderr(&output).contains("gave back"), "{}", stderr(&output));
        assert_eq!(board.snapshot(), before);
    }
}

#[test]
fn a_second_daemon_is_refused() {
    let board = Board::new();
    let (first, mut events) = board.start(&[]);
    writeln!(events, "prefill").unwrap();
    board.wait_for(FASTEST);
    let (second, _events) = board.start(&[]);
    let output = second.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert!(stderr(&output).contains("another enerinferd runs"), "{}", stderr(&output));
    assert_eq!(board.clocks(), FASTEST, "the first's clocks are untouched");
    drop(events);
    assert!(first.wait_with_output().unwrap().status.success());
}

#[test]
fn without_a_temperature_the_lowest_clocks_run() {
    let board = Board::new();
    board.set("sys/class/thermal/thermal_zone0/temp", "-256000");
    let (child, mut events) = board.start(&[]);
    writeln!(events, "decode 10").unwrap();
    board.wait_for([300, 300, 528, 528]);
    drop(events);
    let output = child.wait_with_output().unwrap();
    assert!(stderr(&output).contains("FailSafe"), "{}", stderr(&output));
}

#[test]
fn a_named_pipe_is_reopened_when_its_writer_leaves() {
    let board = Board::new();
    let pipe = board.path("events");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (child, _stdin) = board.start(&["--events", pipe.to_str().unwrap()]);
    for _ in 0..3 {
        let mut writer = fs::OpenOptions::new().write(true).open(&pipe).unwrap();
        writeln!(writer, "prefill").unwrap();
        board.wait_for(FASTEST);
        drop(writer); // the engine crashed
        board.wait_for(FOUND);
    }
    kill(&child, "TERM");
    assert!(child.wait_with_output().unwrap().status.success());
}

#[test]
fn points_that_the_device_lacks_are_left_out() {
    let board = Board::new();
    // A kernel without the highest NPU clock and without the lowest memory clock.
    board.set(&format!("{NPU}/available_frequencies"), "300000000 900000000");
    board.set(&format!("{DMC}/available_frequencies"), "1068000000 2112000000");
    let (child, mut events) = board.start(&[]);
    writeln!(events, "prefill").unwrap();
    board.wait_for([300, 300, 2112, 2112]);
    drop(events);
    let output = child.wait_with_output().unwrap();
    assert!(stderr(&output).contains("1 of 4 operating points"), "{}", stderr(&output));
    // None is left.
    board.set(&format!("{NPU}/available_frequencies"), "400000000");
    let (child, _events) = board.start(&[]);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("none of the operating points"), "{}", stderr(&output));
}

#[test]
fn an_uncontrolled_memory_clock_must_be_stated() {
    let board = Board::new();
    fs::remove_dir_all(board.path(DMC)).unwrap();
    let (child, _events) = board.start(&[]);
    let output = child.wait_with_output().unwrap();
    assert!(!output.status.success());
    assert!(stderr(&output).contains("--fixed-mem-mhz"), "{}", stderr(&output));
    let (child, mut events) = board.start(&["--fixed-mem-mhz", "528"]);
    writeln!(events, "prefill").unwrap();
    let npu = || board.get(&format!("{NPU}/min_freq"));
    let deadline = Instant::now() + Duration::from_secs(20);
    while npu() != "1000000000" {
        assert!(Instant::now() < deadline);
        std::thread::sleep(Duration::from_millis(10));
    }
    drop(events);
    let output = child.wait_with_output().unwrap();
    assert!(stderr(&output).contains("2 of 4 operating points"), "{}", stderr(&output));
}

#[test]
fn usage_errors_exit_with_2_and_say_what_to_do() {
    let board = Board::new();
    for arguments in [
        vec!["run"],
        vec!["run", "--bundle", "x", "--measurements", "y", "--model", "z"],
        vec!["run", "--bundle", "x", "--model", "z", "--qoe", "fast"],
    ] {
        let output =
            Command::new(env!("CARGO_BIN_EXE_enerinferd")).args(&arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
    for (arguments, said) in [
        (["--zone", "nowhere"], "there are skin-thermal"),
        (["--t-max", "inf"], "give 0 to 120"),
        (["--events", "/nowhere"], "No such file"),
        (["--events", "/"], "is a folder"),
    ] {
        let (child, _events) = board.start(&[&arguments[..], &["--no-watchdog"]].concat());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
        assert!(!board.path("journal").exists(), "{arguments:?}: nothing is to be given back");
    }
    assert!(board.command("doctor").output().unwrap().status.success());
}

#[test]
fn a_damaged_journal_is_named_and_nothing_is_written() {
    let board = Board::new();
    let before = board.snapshot();
    board.set("journal", "value\t/sys/class/devfreq/dmc/min_freq\n");
    let output = board.command("restore").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("line 1"), "{}", stderr(&output));
    assert_eq!(board.snapshot(), before);
}

/// An answer that does not arrive is a failure; a reader that has gone is none, and no panic.
#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_is_a_failure_and_a_closed_pipe_is_not() {
    let board = Board::new();
    for args in [&["--help"][..], &["--version"], &["run", "--help"], &["doctor"], &["no-verb"]] {
        let command = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_enerinferd"));
            command.args(args).arg("--root").arg(board.dir.path());
            command
        };
        let code = command().output().unwrap().status.code().unwrap();
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command().stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code.max(1)), "{args:?}: {said}");
        assert_eq!(said.contains("stdout: "), code == 0, "{args:?}: {said}");
        let closed = || std::io::pipe().unwrap().1;
        let status = command().stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}
