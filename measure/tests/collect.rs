//! `measure collect` as users run it, with an engine that is a shell script.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

struct Bench(tempfile::TempDir);

impl Bench {
    fn new(script: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("engine.sh"), script).unwrap();
        fs::create_dir(dir.path().join("root")).unwrap();
        Bench(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn collect(&self, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_measure"));
        let engine = format!("sh {} {{model}} {{threads}}", self.path("engine.sh").display());
        command
            .args(["collect", "--platform", "toy", "--engine-command", &engine])
            .args(["--pattern", r"(?<tok_per_s>\S+) tok/s", "--engine-name", "script"])
            .args(["--synthesize", "3", "--params", "8M..20M", "--repetitions", "2"])
            .arg("--folder")
            .arg(self.0.path())
            .arg("--root")
            .arg(self.path("root"))
            .arg("--out")
            .arg(self.path("out.csv"))
            .args(more)
            .stdin(Stdio::null());
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        self.collect(more).output().unwrap()
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path("out.csv.journal")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    fn runs(&self) -> usize {
        self.lines().iter().filter(|l| l.starts_with(r#"{"kind":"run""#)).count()
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn header(path: &Path) -> usize {
    fs::read_to_string(path).unwrap().lines().count()
}

const SPEED: &str = "echo \"$2 tok/s\"\n";

#[test]
fn a_table_is_made_without_root_and_without_clocks() {
    let bench = Bench::new(SPEED);
    let spread = bench.path("spread.csv");
    let output = bench.run(&["--threads", "1,2", "--spread", spread.to_str().unwrap()]);
    let said = stderr(&output);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("operating points are thread counts"), "{said}");
    assert!(said.contains("3 models × 2 operating points, 12 runs at least"), "{said}");
    assert!(said.contains("3 of 3 models measured, 12 runs count, 0 discarded"), "{said}");
    let table = fs::read_to_string(bench.path("out.csv")).unwrap();
    let rows: Vec<&str> = table.lines().collect();
    assert_eq!(rows.len(), 7);
    assert!(rows[1].contains(",script,accel+mem,64,80,1,1,1,,,2,measured:collect"), "{}", rows[1]);
    assert!(rows[2].contains(",2,1,2,,,2,measured:collect"), "{}", rows[2]);
    assert_eq!(header(&spread), 7);

    let one = Bench::new(SPEED);
    let output = one.run(&["--only", "sized-0003,sized-0001"]);
    assert!(stderr(&output).contains("no clock can be set: one operating point"));
    assert_eq!(header(&one.path("out.csv")), 3);
}

#[test]
fn a_killed_collection_loses_at_most_the_run_it_was_in() {
    let bench = Bench::new("sleep 0.1\necho \"$2 tok/s\"\n");
    let mut child = bench.collect(&["--threads", "1,2"]).stderr(Stdio::null()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    while bench.runs() < 4 {
        assert!(Instant::now() < deadline, "no four runs within two minutes");
        sleep(Duration::from_millis(5));
    }
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let before = bench.lines();
    assert!(bench.runs() < 12 && !bench.path("out.csv").exists());
    let output = bench.run(&["--threads", "1,2"]);
    assert!(output.status.success(), "{}", stderr(&output));
    // Nothing of before is lost or repeated but the run that was cut.
    let after = bench.lines();
    let complete = before.iter().filter(|l| serde_json::from_str::<serde_json::Value>(l).is_ok());
    assert!(complete.zip(&after).all(|(a, b)| a == b));
    assert_eq!(bench.runs(), 12);
    let begun = after.iter().filter(|l| l.starts_with(r#"{"kind":"begin""#)).count();
    assert!(begun <= 13, "{begun} runs were begun for 12");
    assert_eq!(header(&bench.path("out.csv")), 7);
    // Once complete, another call measures nothing.
    assert!(bench.run(&["--threads", "1,2"]).status.success());
    assert_eq!(bench.lines(), after);
}

#[test]
fn a_budget_ends_early_and_a_dry_run_does_nothing() {
    let bench = Bench::new(SPEED);
    let output = bench.run(&["--dry-run"]);
    assert!(output.status.success() && stderr(&output).contains("6 runs at least: about"));
    assert!(bench.lines().is_empty());
    let output = bench.run(&["--time-budget", "0s"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("not complete: the same command goes on"));
    assert!(!bench.path("out.csv").exists());
}

#[test]
fn engines_that_fail_or_say_nonsense_are_reported_and_end_with_1() {
    for (script, reason) in [
        ("echo out of memory >&2; exit 3", "out of memory"),
        ("echo done", "no pattern matches"),
        ("echo 0 tok/s", "cannot be"),
        ("echo nan tok/s", "cannot be"),
    ] {
        let bench = Bench::new(script);
        let output = bench.run(&[]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{script}: {said}");
        assert!(said.contains("given up") && said.contains(reason), "{script}: {said}");
        assert!(!bench.path("out.csv").exists());
    }
    let bench = Bench::new("sleep 600");
    let output = bench.run(&["--timeout", "200ms", "--only", "sized-0001"]);
    assert!(stderr(&output).contains("was ended after"), "{}", stderr(&output));
}

#[test]
fn bad_usage_ends_with_2_and_measures_nothing() {
    let bench = Bench::new(SPEED);
    for more in [
        &["--pattern", "("][..],
        &["--pattern", "(?<nonsense>.)"],
        &["--accel-mhz", "100,200"],
        &["--power", "none/such"],
        &["--only", "sized-0009"],
        &["--max-repetitions", "1"],
        &["--params", "backwards"],
        &["--timeout", "soon"],
    ] {
        let mut command = bench.collect(&[]);
        if more[0] == "--params" {
            command = Command::new(env!("CARGO_BIN_EXE_measure"));
            command.args(["collect", "--platform", "p", "--synthesize", "1", "--out", "x"]);
            command.args(["--engine-command", "true {model}", "--pattern", "(?<tok_per_s>.)"]);
        }
        let output = command.args(more).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{more:?}: {}", stderr(&output));
    }
    assert!(bench.lines().is_empty());
    let output = bench.run(&["--root", "/", "--no-clocks", "--models", "/no/such"]);
    assert_ne!(output.status.code(), Some(0));
}

#[test]
fn an_external_meter_is_merged_by_time() {
    // Its clock is ours: samples every 10 ms around the present, in a log written beforehand.
    let bench = Bench::new("sleep 0.1\necho \"5 tok/s\"\n");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let mut log = "time,power\n".to_owned();
    for i in 0..6000 {
        log += &format!("{:.2},4.5\n", now.as_secs_f64() + f64::from(i) / 100.0);
    }
    let meter = bench.path("meter.csv");
    fs::write(&meter, log).unwrap();
    let output = bench.run(&[
        "--only",
        "sized-0001",
        "--meter",
        meter.to_str().unwrap(),
        "--meter-columns",
        "time=time:s,board=power:W",
        "--power-domain",
        "board",
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let table = fs::read_to_string(bench.path("out.csv")).unwrap();
    let row = table.lines().nth(1).unwrap();
    assert!(row.contains(",script,board,64,80,1,1,5,4.5,,2,measured:collect"), "{row}");
}

#[test]
fn no_output_replaces_a_model_the_meters_log_or_another_output() {
    let bench = Bench::new(SPEED);
    let models = bench.path("models");
    let path = |p: &Path| p.to_str().unwrap().to_owned();
    let synthesize = ["synthesize", "--platform", "p", "--format", "q4_0", "--count", "1"];
    let made = Command::new(env!("CARGO_BIN_EXE_measure"))
        .args(synthesize)
        .args(["--min-params", "30M", "--max-params", "90M", "--out", &path(&models)])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", stderr(&made));
    let model = fs::read_dir(&models)
        .unwrap()
        .map(|e| e.unwrap().path())
        .find(|p| p.extension().is_some_and(|e| e == "gguf"))
        .unwrap();
    let before = fs::read(&model).unwrap();
    let meter = bench.path("meter.csv");
    fs::write(&meter, "time,power\n1,2\n2,2\n").unwrap();
    let (model_path, meter_path) = (path(&model), path(&meter));
    let (same, clocks) = (path(&bench.path("same")), path(&bench.path("same.clocks")));
    let with_meter = ["--meter", &meter_path, "--meter-columns", "time=time:s,board=power:W"];
    for (options, out, more) in [
        (["--out", "--journal"], &same, &["--journal", &same][..]),
        (["--out", "--spread"], &same, &["--spread", &same]),
        (["--out", "--journal (clocks)"], &clocks, &["--journal", &same]),
        (["--out", "--models"], &model_path, &[]),
        (["--spread", "--models"], &same, &["--spread", &model_path]),
        (["--journal", "--models"], &same, &["--journal", &model_path]),
        (["--out", "--meter"], &meter_path, &with_meter),
    ] {
        let engine = format!("sh {} {{model}}", bench.path("engine.sh").display());
        let output = Command::new(env!("CARGO_BIN_EXE_measure"))
            .args(["collect", "--platform", "toy", "--engine-command", &engine])
            .args(["--pattern", r"(?<tok_per_s>\S+) tok/s", "--models", &path(&models)])
            .args(["--root", &path(&bench.path("root")), "--out", out])
            .args(more)
            .output()
            .unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {said}");
        assert!(options.iter().all(|o| said.contains(o)), "{options:?}: {said}");
    }
    assert!(before == fs::read(&model).unwrap());
    assert!(!bench.path("same").exists());
}
