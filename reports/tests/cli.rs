//! The binary `report` from outside: outputs, messages and exit codes.

#![allow(clippy::unwrap_used)] // a test's way to fail

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const RECORD: &str = include_str!("data/orin.json");

fn report(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_report")).args(args).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A folder with `name` holding `text`, and that file's path.
fn file(name: &str, text: &str) -> (TempDir, String) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap().to_owned();
    (folder, path)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

#[test]
fn render_is_complete_and_reproducible() {
    let (folder, record) = file("report.json", RECORD);
    let outs = ["a", "b"].map(|name| folder.path().join(name));
    for out in &outs {
        let out = out.to_str().unwrap();
        let output = report(&["render", &record, "--out", out, "--baseline", &record]);
        assert!(output.status.success(), "{}", stderr(&output));
    }
    let names = |i: usize| -> Vec<PathBuf> {
        files(&outs[i]).iter().map(|p| p.strip_prefix(&outs[i]).unwrap().to_owned()).collect()
    };
    assert_eq!(names(0), names(1));
    for name in ["report.html", "report.md", "junit.xml", "csv/scatter.csv", "svg/pareto_0.svg"] {
        assert!(names(0).contains(&PathBuf::from(name)), "{name}");
    }
    for name in names(0) {
        let [a, b] = [0, 1].map(|i| fs::read(outs[i].join(&name)).unwrap());
        assert!(a == b, "{}", name.display());
        assert!(!a.is_empty(), "{}", name.display());
    }
    assert!(
        fs::read_to_string(outs[0].join("report.html")).unwrap().contains("Against the baseline")
    );
}

/// What an earlier record's page had and this one's has not must not lie beside it; what somebody
/// else put there must stay.
#[test]
fn render_takes_away_what_an_earlier_render_left() {
    let (folder, full) = file("report.json", RECORD);
    let mut value: serde_json::Value = serde_json::from_str(RECORD).unwrap();
    value.as_object_mut().unwrap().remove("details").unwrap();
    value["fronts"] = serde_json::json!([]);
    let (_less, less) = file("report.json", &value.to_string());
    let [out, fresh] = ["out", "fresh"].map(|name| folder.path().join(name));
    let render = |record: &str, out: &Path| {
        let output = report(&["render", record, "--out", out.to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
    };
    let names = |of: &Path| -> Vec<PathBuf> {
        files(of).iter().map(|p| p.strip_prefix(of).unwrap().to_owned()).collect()
    };
    render(&less, &fresh);
    render(&full, &out);
    assert!(names(&out).len() > names(&fresh).len() + 10);
    let foreign = ["csv/mine.csv", "svg/logo.svg", "svg/pareto_9.svg", "index.html", "csv/a/b.csv"];
    fs::create_dir(out.join("csv/a")).unwrap();
    for name in foreign {
        fs::write(out.join(name), "mine").unwrap();
    }
    // A list that was tampered with reaches nothing else.
    let outside = folder.path().join("outside.csv");
    fs::write(&outside, "mine").unwrap();
    let list = out.join("report.files.txt");
    let text = fs::read_to_string(&list).unwrap();
    fs::write(&list, format!("csv/../../outside.csv\n../outside.csv\nindex.html\n{text}")).unwrap();
    // Gone already.
    fs::remove_file(out.join("svg/pareto_0.svg")).unwrap();
    render(&less, &out);
    let mut expected = names(&fresh);
    expected.extend(foreign.map(PathBuf::from));
    expected.sort();
    assert_eq!(names(&out), expected);
    assert!(outside.exists());
    assert_eq!(fs::read(&list).unwrap(), fs::read(fresh.join("report.files.txt")).unwrap());
}

#[test]
fn bad_records_are_refused_with_code_2_and_no_output() {
    let value: serde_json::Value = serde_json::from_str(RECORD).unwrap();
    let with = |edit: &dyn Fn(&mut serde_json::Value)| {
        let mut value = value.clone();
        edit(&mut value);
        value.to_string()
    };
    let mut bad = vec![
        (String::new(), "not an evaluation record: expected a JSON object"),
        ("[]".to_owned(), "not an evaluation record: expected a JSON object"),
        ("[1]".to_owned(), "not an evaluation record: expected a JSON object"),
        ("3".to_owned(), "not an evaluation record: expected a JSON object"),
        ("\"x\"".to_owned(), "not an evaluation record: expected a JSON object"),
        ("{}".to_owned(), "schema_version"),
        ("[".repeat(100_000), "not an evaluation record"),
        (with(&|v| v["schema_version"] = 2.into()), "record schema 2"),
        ("{\"schema_version\": 7, \"other\": true}".to_owned(), "record schema 7"),
        (RECORD.replacen("\"measured_w\": ", "\"measured_w\": NaN, \"x\": ", 1), "line"),
        (RECORD.replacen("\"measured_w\": ", "\"measured_w\": 1e999, \"x\": ", 1), "line"),
        (with(&|v| v["scatter"][0]["model"] = 99.into()), "model 99"),
        (with(&|v| v["scatter"][0]["point"]["mem"] = 63.into()), "not in the clock tables"),
        (with(&|v| v["clocks"]["mem_khz"] = serde_json::json!([])), "clock table"),
        (
            with(&|v| v["ranking"]["per_model"][1] = v["ranking"]["per_model"][0].clone()),
            "ranked twice",
        ),
    ];
    for share in 1..20 {
        bad.push((RECORD[..RECORD.len() * share / 20].to_owned(), "not an evaluation record"));
    }
    for (text, expected) in bad {
        let (folder, record) = file("report.json", &text);
        let out = folder.path().join("out");
        let output = report(&["render", &record, "--out", out.to_str().unwrap()]);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.starts_with("error: ") && message.contains("report.json"), "{message}");
        assert!(message.contains(expected), "{expected}: {message}");
        assert!(!out.exists());
    }
    let output = report(&["compare", "no-such-file.json", "no-such-file.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no-such-file.json"));
    assert_eq!(stderr(&output).matches("os error").count(), 1, "{}", stderr(&output));
}

#[test]
fn a_byte_order_mark_is_accepted() {
    let (_folder, record) = file("report.json", &format!("\u{feff}{RECORD}"));
    assert!(report(&["compare", &record, &record]).status.success());
}

#[test]
fn help_has_an_example_for_each_verb() {
    let help = stdout(&report(&["--help"]));
    let (_, examples) = help.split_once("Examples:").unwrap();
    for verb in ["render", "compare", "gate", "attach", "index", "schema"] {
        let example = format!("report {verb} ");
        assert!(examples.contains(&example), "{verb}: {help}");
        assert!(stdout(&report(&[verb, "--help"])).contains(&format!("Example: {example}")));
    }
}

/// A record from before `details` existed, or the digest of the bundle.
#[test]
fn optional_fields_may_be_absent() {
    let mut value: serde_json::Value = serde_json::from_str(RECORD).unwrap();
    value.as_object_mut().unwrap().remove("details").unwrap();
    value.as_object_mut().unwrap().remove("model_digest").unwrap();
    let (_folder, record) = file("report.json", &value.to_string());
    assert!(report(&["compare", &record, &record]).status.success());
}

#[test]
fn gate_prints_one_line_per_breach_and_ends_with_3() {
    let (folder, record) = file("report.json", RECORD);
    let policy = folder.path().join("gates.toml");
    let policy_arg = policy.to_str().unwrap();
    let junit = folder.path().join("junit.xml");
    fs::write(
        &policy,
        "[[gate]]\nmetric = \"throughput_mape_percent\"\nmax = 0.1\n\
         [[gate]]\nmetric = \"mean_tau_b\"\nmin = 0.5\n\
         [[gate]]\nmetric = \"accel_power.heldout_mape_percent\"\nmax = 0.2\n",
    )
    .unwrap();
    let junit_arg = junit.to_str().unwrap();
    let output = report(&["gate", &record, "--policy", policy_arg, "--junit", junit_arg]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert!(lines[0].starts_with("BREACH throughput_mape_percent max: 2."), "{text}");
    assert!(lines[1].starts_with("BREACH accel_power.heldout_mape_percent max: "), "{text}");
    assert_eq!(lines[2], "3 checks, 2 breached");
    assert_eq!(fs::read_to_string(&junit).unwrap().matches("<failure").count(), 2);

    fs::write(&policy, "[[gate]]\nmetric = \"mean_tau_b\"\nmin = 0.5\nmax_loss = 0.01\n").unwrap();
    let output = report(&["gate", &record, "--policy", policy_arg, "--baseline", &record]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(stdout(&output), "2 checks, 0 breached\n");

    let output = report(&["gate", &record, "--policy", policy_arg]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("needs a baseline"));

    fs::write(&policy, "[[gate]]\nmetric = \"mape\"\nmax = 1\n").unwrap();
    let output = report(&["gate", &record, "--policy", policy_arg]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("gates.toml") && stderr(&output).contains("mape"));
}

/// The record without compiled code, and that code as a file of `measure.sh`.
fn record_and_code() -> (serde_json::Value, serde_json::Value) {
    let mut record: serde_json::Value = serde_json::from_str(RECORD).unwrap();
    let code = record["details"].as_object_mut().unwrap().remove("compiled_code").unwrap();
    (record, code)
}

#[test]
fn attached_code_is_in_the_new_record_and_only_there() {
    let (record, code) = record_and_code();
    let (folder, record) = file("report.json", &record.to_string());
    let before = fs::read(&record).unwrap();
    let (_code, code) = file("code.json", &code.to_string());
    let out = folder.path().join("new/measured.json");
    for (report_file, name) in [(&record, "new"), (&out.to_str().unwrap().to_owned(), "again")] {
        // A second measurement replaces the first.
        let out = folder.path().join(name).join("measured.json");
        let output = report(&["attach", report_file, &code, "--out", out.to_str().unwrap()]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(fs::read_to_string(&out).unwrap(), RECORD, "{name}");
    }
    assert_eq!(fs::read(&record).unwrap(), before);
}

#[test]
fn code_of_another_bundle_is_refused() {
    let (record, code) = record_and_code();
    let refused = |record: &serde_json::Value, code: &str, says: &str| {
        let (folder, record) = file("report.json", &record.to_string());
        let (_code, code) = file("code.json", code);
        let out = folder.path().join("out.json");
        let output = report(&["attach", &record, &code, "--out", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{says}");
        assert!(stderr(&output).contains(says), "{says}: {}", stderr(&output));
        assert!(!out.exists());
    };
    let mut other = code.clone();
    other["model_digest"] = "0123".into();
    refused(&record, &other.to_string(), "compiled from bundle 0123");
    refused(&record, &record.to_string(), "not a measurement of compiled code");
    refused(&record, "", "measure.sh --json");
    refused(&record, "{\"schema_version\": 2}", "schema 2");
    // From before the digest was kept: still read, but nothing can be attached.
    let mut old = record.clone();
    old.as_object_mut().unwrap().remove("model_digest").unwrap();
    refused(&old, &code.to_string(), "train again");
    // By hand is no way round.
    let mut forged = record.clone();
    forged["details"]["compiled_code"] = other;
    refused(&forged, &code.to_string(), "compiled from bundle 0123");
}

#[test]
fn records_of_two_platforms_are_not_compared() {
    let (_a, record) = file("a.json", RECORD);
    let (_b, other) = file("b.json", &RECORD.replace("\"q4_k_m\"", "\"f16\""));
    assert!(report(&["compare", &record, &record]).status.success());
    let output = report(&["compare", &record, &other]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("weight format \"q4_k_m\" and \"f16\""),
        "{}",
        stderr(&output)
    );
}

#[test]
fn index_covers_a_folder() {
    let folder = TempDir::new().unwrap();
    let dir = folder.path().to_str().unwrap();
    assert_eq!(report(&["index", dir]).status.code(), Some(2));
    let hostile = "<img src=x onerror=alert(1)>\\u001b[2J";
    for (path, name) in [
        ("orin/2026-01.report.json", "orin"),
        ("orin/2026-02.report.json", "orin"),
        ("other/report.json", hostile),
    ] {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = RECORD.replace("\"name\": \"orin\"", &format!("\"name\": \"{name}\""));
        fs::write(path, text).unwrap();
    }
    fs::write(folder.path().join("other/report.html"), "").unwrap();
    fs::write(folder.path().join("other/unrelated.json"), "{").unwrap();
    let output = report(&["index", dir]);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = fs::read_to_string(folder.path().join("index.html")).unwrap();
    assert!(page.contains("href=\"./other/report.html\""));
    assert!(page.contains("&lt;img") && !page.contains("<img") && !page.contains('\u{1b}'));
    assert!(page.contains("SIMULATED"));
    fs::write(folder.path().join("other/report.json"), "{").unwrap();
    let output = report(&["index", dir]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("other"));
}

#[test]
fn messages_carry_no_control_characters() {
    let (folder, record) =
        file("report.json", &RECORD.replace("\"name\": \"orin\"", "\"name\": \"a\\u001b[2Jb\""));
    let policy = folder.path().join("gates.toml");
    fs::write(&policy, "[[gate]]\nmetric = \"mean_tau_b\"\nplatform = \"x\"\nmin = 0\n").unwrap();
    let output = report(&["gate", &record, "--policy", policy.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!stderr(&output).contains('\u{1b}'));
    let output = report(&["compare", &record, &record]);
    assert!(!stdout(&output).contains('\u{1b}'));
}

#[test]
fn nothing_that_is_read_is_overwritten() {
    let (folder, record) = file("report.md", RECORD);
    let at = folder.path().to_str().unwrap();
    let policy = folder.path().join("p.toml");
    fs::write(&policy, "[[gate]]\nmetric = \"power_mape_percent\"\nmax = 50.0\n").unwrap();
    let policy = policy.to_str().unwrap();
    let before = files(folder.path());
    for args in [
        &["render", &record, "--out", at][..],
        &["gate", &record, "--policy", policy, "--junit", &record],
        &["gate", &record, "--policy", policy, "--junit", policy],
        &["gate", &record, "--policy", policy, "--baseline", &record, "--junit", &record],
        &["attach", &record, policy, "--out", &record],
        &["attach", &record, policy, "--out", policy],
    ] {
        let output = report(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("would be overwritten"), "{args:?}: {}", stderr(&output));
    }
    assert_eq!(files(folder.path()), before);
    assert_eq!(fs::read_to_string(&record).unwrap(), RECORD);
}

#[test]
fn values_that_cannot_be_are_refused() {
    for (from, to, says) in [
        (
            "\"throughput_mape_percent\": ",
            "\"throughput_mape_percent\": -",
            "mean absolute error of -",
        ),
        ("\"mean_tau_b\": ", "\"mean_tau_b\": 5", "a tau-b of 5"),
        ("\"simulated\": true", "\"simulated\": false", "but the source is \"simulated:"),
    ] {
        assert!(RECORD.contains(from), "{from}");
        let (folder, path) = file("report.json", &RECORD.replacen(from, to, 1));
        let out = folder.path().join("out");
        let output = report(&["render", &path, "--out", out.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{to}");
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
        assert!(!out.exists());
    }
}

/// A policy without end is refused like a record without end.
#[cfg(target_os = "linux")]
#[test]
fn endless_policies_are_refused() {
    let (folder, record) = file("report.json", RECORD);
    let out = folder.path().join("out").to_str().unwrap().to_owned();
    let zero = "/dev/zero";
    for args in [
        &["gate", &record, "--policy", zero][..],
        &["render", &record, "--out", &out, "--policy", zero],
    ] {
        let output = report(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(
            stderr(&output).contains("/dev/zero: longer than"),
            "{args:?}: {}",
            stderr(&output)
        );
    }
    assert!(!Path::new(&out).exists());
}

/// An answer that does not arrive is a failure; a reader that has gone is none, and no panic.
#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_is_a_failure_and_a_closed_pipe_is_not() {
    let (_folder, record) = file("report.json", RECORD);
    for args in [
        &["--help"][..],
        &["--version"],
        &["render", "--help"],
        &["schema"],
        &["compare", &record, &record],
        &["compare", "gone", "gone"],
        &["no-such-verb"],
    ] {
        let command = || {
            let mut command = Command::new(env!("CARGO_BIN_EXE_report"));
            command.args(args);
            command
        };
        let code = command().output().unwrap().status.code().unwrap();
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command().stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(code.max(1)), "{args:?}: {}", stderr(&output));
        assert_eq!(stderr(&output).contains("stdout"), code == 0, "{args:?}: {}", stderr(&output));
        let closed = || std::io::pipe().unwrap().1;
        let status = command().stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}

/// An evaluation is no record of one run; every verb that reads records says what it is.
#[test]
fn an_evaluation_is_recognised() {
    let evaluation = r#"{"schema_version":1,"tool_version":"0","command":"train evaluate --all",
        "seed":1,"trials":0,"exhibits":[],"notes":[]}"#;
    let version = enerinfer_artifacts::exhibit::EVALUATION_VERSION.to_string();
    let evaluation = evaluation.replacen(":1,", &format!(":{version},"), 1);
    let (folder, path) = file("evaluation.json", &evaluation);
    let (_policy, policy) = file("gates.toml", include_str!("../../docs/ci/gates.toml"));
    let out = folder.path().join("out").to_str().unwrap().to_owned();
    for args in [
        &["render", &path, "--out", &out][..],
        &["compare", &path, &path],
        &["gate", "--policy", &policy, &path],
    ] {
        let output = report(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("an evaluation of `train evaluate`"), "{args:?}");
    }
    assert!(!Path::new(&out).exists());
}
