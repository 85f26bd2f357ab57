//! `train --thermal`: traces and fitted models of a user, and how it ends on bad ones.
#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::fmt::Write as _;
use std::path::Path;

use common::{Run, train};
use enerinfer_artifacts::{Bundle, record::Record};
use enerinfer_datasets::{Model, sampler};
use enerinfer_device::{Noise, SimulatedDevice};

/// A recording: sessions of a simulated phone, of six models at three ambient temperatures.
fn recording(sessions: u32) -> String {
    recording_cooler_by(0.0, sessions)
}

fn recording_cooler_by(offset_celsius: f64, sessions: u32) -> String {
    let device = SimulatedDevice::builtin("h_phone", None).unwrap();
    let models: Vec<Model> = sampler::sample(6, 1).unwrap();
    let mut text = "session,model,time_s,shell_celsius,accel_power_w,ambient_celsius\n".to_owned();
    for session in 0..sessions {
        let trace = device.temperature_trace(&models, &[19.0, 24.0, 31.0], 1, session);
        for (time, second) in trace.seconds.iter().enumerate() {
            writeln!(
                text,
                "{},{},{time},{:.1},{},{}",
                trace.session,
                trace.model,
                second.shell_celsius - offset_celsius,
                second.accel_power_w,
                trace.ambient_celsius.unwrap()
            )
            .unwrap();
        }
    }
    text
}

const OWN: [&str; 7] =
    ["--platform", "board9", "--measurements", "table.csv", "--trials", "1", "--quiet"];

/// Measurements of as few models as can be trained on.
fn write_table(folder: &Path) {
    let device = SimulatedDevice::builtin("h_phone", None).unwrap();
    let table = device.measure(&sampler::sample(6, 1).unwrap(), Noise { relative_sd: 0.01 }, 1);
    table.write(&folder.join("table.csv")).unwrap();
}

/// Trains on a small table, with a file for `--thermal`.
fn train_with(folder: &Path, name: &str, text: &str, more: &[&str]) -> Run {
    write_table(folder);
    std::fs::write(folder.join(name), text).unwrap();
    train(folder, &[&OWN[..], &["--thermal", name], more].concat())
}

#[test]
fn a_users_traces_give_a_model_the_same_for_any_number_of_threads() {
    let text = recording(120);
    let outputs = ["1", "2"].map(|threads| {
        let folder = tempfile::tempdir().unwrap();
        let run = train_with(folder.path(), "traces.csv", &text, &["--threads", threads]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(!run.stdout.contains("No thermal model"), "{}", run.stdout);
        let out = folder.path().join("out/board9");
        let record = Record::read(&out.join("report.json")).unwrap();
        let thermal = record.details.thermal.unwrap();
        assert_eq!(thermal.source, "file:traces.csv");
        assert!(thermal.mae_c < 0.3 && thermal.segments >= 50, "{thermal:?}");
        let bundle = std::fs::read(out.join("bundle.enerinfer")).unwrap();
        assert!(Bundle::from_bytes(&bundle).unwrap().thermal.is_some());
        let model =
            std::fs::read_to_string(out.join("enerinfer-runtime/src/model/mod.rs")).unwrap();
        assert!(model.contains("THERMAL: Option<ThermalModel> = Some("), "emitted");
        (bundle, model, std::fs::read(out.join("report.json")).unwrap())
    });
    assert!(outputs[0] == outputs[1], "threads change the outputs");
}

#[test]
fn without_traces_a_measured_platform_has_no_thermal_model_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    write_table(folder.path());
    let run = train(folder.path(), &OWN);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("No thermal model"), "{}", run.stdout);
    let out = folder.path().join("out/board9");
    assert_eq!(Bundle::read(&out.join("bundle.enerinfer")).unwrap().thermal, None);
    assert_eq!(Record::read(&out.join("report.json")).unwrap().details.thermal, None);
}

/// The error that a file ends in; nothing may be written.
fn refused(name: &str, text: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let run = train_with(folder.path(), name, text, &[]);
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(!folder.path().join("out").exists(), "something was written");
    assert_eq!(run.stderr.lines().count(), 1, "one clear error: {}", run.stderr);
    assert!(run.stderr.starts_with(&format!("error: {name}: ")), "{}", run.stderr);
    run.stderr
}

#[test]
fn bad_traces_end_in_one_error_with_its_place() {
    let good = recording(4);
    let edited = |row: usize, column: usize, value: &str| {
        let mut lines: Vec<String> = good.lines().map(str::to_owned).collect();
        let mut cells: Vec<&str> = lines[row].split(',').collect();
        cells[column] = value;
        lines[row] = cells.join(",");
        lines.join("\n") + "\n"
    };
    for (text, words) in [
        (edited(0, 3, "skin"), &["row 1", "shell_celsius", "skin"][..]),
        (edited(0, 2, "shell_celsius"), &["row 1", "shell_celsius", "twice"]),
        (edited(7, 3, "NaN"), &["row 8", "shell_celsius", "finite"]),
        (edited(7, 3, "310.2"), &["row 8", "shell_celsius", "-40 to 150 °C"]),
        (edited(7, 3, ""), &["row 8", "shell_celsius", "empty"]),
        (edited(7, 3, "warm"), &["row 8", "shell_celsius", "'warm'"]),
        (edited(7, 4, "-1"), &["row 8", "accel_power_w", "W"]),
        (edited(7, 4, "inf"), &["row 8", "accel_power_w", "finite"]),
        (edited(7, 2, "3"), &["row 8", "time_s", "not after 5 s"]),
        (edited(7, 2, "5"), &["row 8", "time_s", "not after 5 s"]),
        (edited(7, 1, "other"), &["row 8", "model", "another session name"]),
        (edited(7, 5, "3"), &["row 8", "ambient_celsius", "another session name"]),
        (edited(1, 5, "999"), &["row 2", "ambient_celsius", "°C"]),
        (edited(7, 0, ""), &["row 8", "session", "empty"]),
        (String::new(), &["empty"]),
        (good.lines().next().unwrap().to_owned(), &["no rows"]),
    ] {
        let error = refused("traces.csv", &text);
        for word in words {
            assert!(error.contains(word), "{word:?} in {error}");
        }
    }
}

#[test]
fn too_few_segments_are_refused_with_their_number() {
    // One session cannot be both fitted on and tested on.
    for sessions in [1, 4] {
        let error = refused("traces.csv", &recording(sessions));
        assert!(error.contains("segments to fit on") && error.contains("200"), "{error}");
    }
    // No stretch is long enough: the rows are too far apart.
    let sparse: String = recording(30)
        .lines()
        .enumerate()
        .filter(|(i, line)| {
            let time = line.split(',').nth(2).unwrap().parse::<u32>();
            *i == 0 || time.is_ok_and(|t| t.is_multiple_of(3))
        })
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    let error = refused("traces.csv", &sparse);
    assert!(error.contains("2.5 s apart") && error.contains("longest"), "{error}");
    // All too cool.
    let error = refused("traces.csv", &recording_cooler_by(40.0, 60));
    assert!(error.contains("at most 0 segments"), "{error}");
}

#[test]
fn a_fitted_model_is_taken_as_it_is_or_refused() {
    let history = format!("[{}1.0]", "0.0,".repeat(19));
    let model = |history: &str, power: &str| {
        format!(
            "{{\"window\":20,\"intercept_c\":0.0,\"history\":{history},\"power_c_per_w\":{power},\
             \"time_c_per_s\":0.0,\"time_power_c_per_ws\":0.0,\"time_history\":[]}}"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let run = train_with(folder.path(), "fitted.json", &model(&history, "0.25"), &[]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("was fitted elsewhere"), "{}", run.stdout);
    let bundle = Bundle::read(&folder.path().join("out/board9/bundle.enerinfer")).unwrap();
    assert_eq!(bundle.thermal.unwrap().power_c_per_w, 0.25);

    let good = model(&history, "0.25");
    let with = |from: &str, to: &str| {
        assert!(good.contains(from), "{from} in {good}");
        good.replacen(from, to, 1)
    };
    for (text, word) in [
        (with("\"window\":20", "\"window\":19"), "window is 19"),
        (with("\"window\":20", "\"window\":0"), "window is 0"),
        (with("{", "{\"shell\":1,"), "unknown field `shell`"),
        (with("{", "{\"window\":20,"), "duplicate field `window`"),
        (with("\"time_c_per_s\":0.0,", ""), "missing field `time_c_per_s`"),
        // Kelvin, watts as milliwatts, signs and orders.
        (with("\"intercept_c\":0.0", "\"intercept_c\":273.15"), "without any power"),
        (with("\"time_c_per_s\":0.0", "\"time_c_per_s\":60.0"), "without any power"),
        (with("1.0]", "0.0]"), "without any power"),
        (with("\"time_history\":[]", &format!("\"time_history\":{history}")), "without any power"),
        (with("\"power_c_per_w\":0.25", "\"power_c_per_w\":-0.25"), "a watt more"),
        (with("\"power_c_per_w\":0.25", "\"power_c_per_w\":250.0"), "a watt more"),
        (with("\"time_power_c_per_ws\":0.0", "\"time_power_c_per_ws\":-1.0"), "a watt more"),
        (model("[1.0]", "0.25"), "1 weights"),
        (model(&history, "1e9"), "power_c_per_w"),
        (model(&history, "\"much\""), "line 1"),
        ("{}".to_owned(), "window"),
        ("".to_owned(), "is no fitted thermal model"),
    ] {
        let error = refused("fitted.json", &text);
        assert!(error.contains(word), "{word:?} in {error}");
    }
}
