//! The whole job, small: what it writes, that it is repeatable, and how it ends on bad input.
#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::train;
use enerinfer_artifacts::record::{BudgetCut, Record, SizePoint};
use enerinfer_artifacts::{Bundle, Domain, Feature, Predictor, Target};

const SMALL: [&str; 8] =
    ["--platform", "h_phone", "--models", "30", "--trials", "6", "--quiet", "--seed=7"];

/// Every file below a folder.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut out = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
                out.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    out
}

#[test]
fn writes_what_it_promises_and_the_same_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(folder.path(), &[&SMALL[..], &["--threads", "1"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.stderr, "", "--quiet");
    assert!(run.stdout.contains("SIMULATED"), "{}", run.stdout);
    assert!(run.stdout.lines().all(|l| l.chars().count() <= 100), "{}", run.stdout);

    let out = folder.path().join("out/h_phone");
    let one = files(&out);
    let folders: Vec<_> =
        std::fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(folders.len(), 7, "nothing temporary is left: {folders:?}");
    for name in ["measurements.csv", "bundle.enerinfer", "report.json", "report.html", "report.md"]
    {
        assert!(one.contains_key(name), "{name}");
    }
    let bundle = Bundle::read(&out.join("bundle.enerinfer")).unwrap();
    let record = Record::read(&out.join("report.json")).unwrap();
    assert_eq!(record.platform, bundle.platform);
    assert_eq!(record.model_digest, Some(bundle.digest().unwrap()));
    assert_eq!(bundle.platform.source, "simulated:h_phone");
    assert!(record.data.simulated);
    assert_eq!((record.data.train_models, record.data.test_models), (24, 6));
    assert_eq!(record.data.models_per_fold.iter().sum::<u32>(), 24);
    assert!(record.data.models_per_fold.iter().all(|&models| models == 4 || models == 5));
    assert!(record.targets.iter().all(|t| t.trials.len() == 6));
    assert!(record.size.est_bytes <= record.size.budget_bytes);
    assert!(String::from_utf8_lossy(&one["report.html"]).contains("SIMULATED"));

    let again = tempfile::tempdir().unwrap();
    let run = train(again.path(), &[&SMALL[..], &["--threads", "2"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let two = files(&again.path().join("out/h_phone"));
    assert_eq!(one.keys().collect::<Vec<_>>(), two.keys().collect::<Vec<_>>());
    // The journal keeps times, which are those of the machine.
    for (name, bytes) in one.iter().filter(|(name, _)| *name != "search.jsonl") {
        assert!(&two[name] == bytes, "{name} depends on the number of threads");
    }

    // A second run into the same folder replaces what is ours.
    let run = train(again.path(), &[&SMALL[..5], &["4", "--quiet"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(files(&again.path().join("out/h_phone"))["report.json"] != one["report.json"]);
}

#[test]
fn trains_on_a_users_own_table_and_gives_the_same_predictors() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(folder.path(), &SMALL);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let simulated = folder.path().join("out/h_phone");
    let run = train(
        folder.path(),
        &[
            "--platform",
            "h_phone",
            "--measurements",
            "out/h_phone/measurements.csv",
            "--out",
            "mine",
            "--trials",
            "6",
            "--seed=7",
            "--quiet",
        ],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let read = |at: &Path| Bundle::read(&at.join("bundle.enerinfer")).unwrap();
    let (a, b) = (read(&simulated), read(&folder.path().join("mine")));
    assert_eq!(a.predictors, b.predictors);
    assert_eq!(a.provenance.data_digest, b.provenance.data_digest);
    assert_eq!(b.platform.source, "simulated:h_phone", "the label stays with the data");

    let choose = ["choose", "--measurements", "out/h_phone/measurements.csv", "--qoe", "5"];
    assert!(train(folder.path(), &choose).stdout.starts_with("SIMULATED"));
}

/// Nothing varies: every family says the constant, no ranking exists, and nothing is NaN.
#[test]
fn constant_measurements_are_learnt_by_every_family() {
    let folder = tempfile::tempdir().unwrap();
    let small = ["--platform", "h_phone", "--models", "12", "--trials", "1", "--quiet"];
    assert_eq!(train(folder.path(), &small).code, 0);
    let simulated = folder.path().join("out/h_phone/measurements.csv");
    let text = std::fs::read_to_string(simulated).unwrap();
    let mut columns: Vec<usize> = Vec::new();
    let constant = text.lines().map(|line| {
        let mut fields: Vec<&str> = line.split(',').collect();
        if columns.is_empty() {
            let names = ["throughput_tok_per_s", "power_w", "accel_power_w"];
            columns.extend(names.map(|n| fields.iter().position(|f| *f == n).unwrap()));
        } else {
            columns.iter().for_each(|&at| fields[at] = "7.5");
        }
        fields.join(",") + "\n"
    });
    let constant: String = constant.collect();
    std::fs::write(folder.path().join("constant.csv"), constant).unwrap();
    let args = ["--platform", "x", "--measurements", "constant.csv", "--trials", "2", "--quiet"];
    let run = train(folder.path(), &[&args[..], &["--all-families"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let record = Record::read(&folder.path().join("out/x/report.json")).unwrap();
    assert!(record.ranking.per_model.iter().all(|model| model.kendall_tau_b.is_none()));
    let scored = record.details.families.iter().filter(|f| f.target != Target::Peak);
    for family in scored {
        let error = family.heldout_mape_percent.unwrap();
        // The perceptron's solver stops near the constant.
        let most = if family.family == "mlp" { 1.0 } else { 1e-3 };
        assert!(error < most, "{} {}: {error} %", family.target.name(), family.family);
    }
    let shares = record.details.importances.iter().filter(|i| i.target != Target::Peak);
    assert!(shares.clone().count() > 0 && shares.clone().all(|i| i.share == 0.0));
}

/// Runs on a table changed by `edit` and returns the error; nothing may be written.
fn refused(edit: impl Fn(&str) -> String) -> String {
    let folder = tempfile::tempdir().unwrap();
    let table = edit(include_str!("data/measured_small.csv"));
    std::fs::write(folder.path().join("table.csv"), table).unwrap();
    let run = train(
        folder.path(),
        &["--platform", "board9", "--measurements", "table.csv", "--trials", "1", "--quiet"],
    );
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert_eq!(run.stdout, "");
    assert!(!folder.path().join("out").exists(), "something was written");
    assert_eq!(run.stderr.lines().count(), 1, "one clear error: {}", run.stderr);
    run.stderr
}

/// Replaces field `column` of data row `row` (0 is the first after the header).
fn with_field(table: &str, row: usize, column: &str, value: &str) -> String {
    let mut lines: Vec<Vec<String>> =
        table.lines().map(|l| l.split(',').map(str::to_owned).collect()).collect();
    let at = lines[0].iter().position(|c| c == column).expect("column of the fixture");
    lines[row + 1][at] = value.to_owned();
    lines.into_iter().map(|l| l.join(",") + "\n").collect()
}

#[test]
fn bad_tables_end_in_one_error_with_file_row_and_column() {
    for (column, value) in [
        ("throughput_tok_per_s", "fast"),
        ("throughput_tok_per_s", "0"),
        ("throughput_tok_per_s", "-3"),
        ("throughput_tok_per_s", "NaN"),
        ("throughput_tok_per_s", "inf"),
        ("power_w", "-1"),
        ("layers", "0"),
        ("layers", "12.5"),
        ("accel_mhz", ""),
    ] {
        let error = refused(|t| with_field(t, 3, column, value));
        for part in ["table.csv", "row 5", column] {
            assert!(error.contains(part), "{column} = {value:?}: {error}");
        }
    }
    let error = refused(|t| t.replacen("throughput_tok_per_s", "speed", 1));
    assert!(error.contains("throughput_tok_per_s"), "{error}");
    let error = refused(|t| {
        let row = t.lines().nth(2).unwrap();
        format!("{t}{row}\n")
    });
    assert!(error.contains("row 3") && error.contains("row 14"), "{error}");
    let error = refused(|t| {
        let header = t.lines().next().unwrap();
        t.replacen("tiny-b", &format!("{header}\ntiny-b"), 1)
    });
    assert!(error.contains("row 6") && error.contains("repeats the header"), "{error}");
    let error = refused(|t| t.lines().take(12).collect::<Vec<_>>().join("\n") + "\n");
    assert!(error.contains("model"), "a hole in the grid: {error}");
    let error = refused(|t| with_field(t, 3, "throughput_tok_per_s", "4295"));
    assert!(error.contains("throughput_tok_per_s: 4295 of model tiny-a"), "{error}");
    assert!(refused(|_| String::new()).contains("table.csv"));
    assert!(refused(|t| t.lines().next().unwrap().to_owned() + "\n").contains("table.csv"));
}

/// Seven models, each at one point.
fn one_point_table() -> String {
    let small = include_str!("data/measured_small.csv");
    let (header, rows) = small.split_once('\n').unwrap();
    let row = rows.lines().next().unwrap();
    let rows = (0..7).map(|i| {
        let layers = format!("tiny-a,{}", 12 + i);
        let renamed = row.replacen("tiny-a,12", &layers, 1).replacen("tiny-a", &format!("m{i}"), 1);
        renamed.replacen("32.153", &(40.0 / f64::from(12 + i)).to_string(), 1) + "\n"
    });
    format!("{header}\n{}", rows.collect::<String>())
}

#[test]
fn what_input_files_are_called_does_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = |table: &str, out: &str| {
        std::fs::write(folder.path().join(table), one_point_table()).unwrap();
        let platform = ["--platform", "board9", "--measurements", table, "--out", out];
        let run = train(folder.path(), &[&platform[..], &["--trials", "1", "--quiet"]].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        std::fs::read(folder.path().join(out).join("bundle.enerinfer")).unwrap()
    };
    assert!(bundle("t.csv", "a") == bundle("'; touch x;`y`\n```\n$(z).csv", "b"));
    let readme = folder.path().join("b/enerinfer-runtime/README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    let command = "train --platform board9 --measurements measurements.csv ";
    assert!(readme.contains(command), "{readme}");
}

#[test]
fn one_operating_point_trains_with_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), one_point_table()).unwrap();
    let args = ["--platform", "board9", "--measurements", "t.csv", "--trials", "4", "--quiet"];
    let run = train(folder.path(), &args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("warning: t.csv: only one operating point"), "{}", run.stderr);
    let record = Record::read(&folder.path().join("out/board9/report.json")).unwrap();
    assert!(record.notes.iter().any(|n| n.contains("only one operating point")));
}

#[test]
fn fewer_models_than_the_folds_need() {
    let error = refused(str::to_owned);
    assert!(error.contains("3 model(s)") && error.contains("6 are needed"), "{error}");
    let error = refused(|t| t.lines().take(5).collect::<Vec<_>>().join("\n") + "\n");
    assert!(error.contains("1 model(s)") && error.contains("train choose"), "{error}");
}

#[test]
fn a_clock_that_the_platform_does_not_have_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), include_str!("data/measured_small.csv")).unwrap();
    let run = train(folder.path(), &["--platform", "orin", "--measurements", "t.csv", "--quiet"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("accel_mhz: 500 MHz is not a clock of"), "{}", run.stderr);
}

#[test]
fn usage_errors_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    write_tiny_platform(folder.path());
    for (args, part) in [
        (&["--platform", "oriin"][..], "did you mean `orin`"),
        (&["--platform", "orin", "--format", "q3"], "unknown weight format"),
        (&["--platform", "../x"], "name a platform"),
        (&["--platform", "orin", "--trials", "0"], "--trials"),
        (&[], "--platform"),
        (&["--platform", "x", "--measurements", "gone.csv"], "gone.csv"),
        (&["--platform", "orin", "--families", "svr,mlp"], "add one that can, to compare"),
        (&["--platform", "orin", "--optimise", "fast"], "[possible values: size, speed]"),
        (&["--platform", "orin", "--resume"], "no search to resume"),
        (&["--platform", "orin", "--models", "3"], "6 are needed"),
        (&["--platform", "orin", "--pick", "peak=1000,peak=2000"], "peak"),
        (&["--platform", "tiny.toml", "--models", "10"], "none of 10"),
        (&["evaluate", "--platform", "h_phone,tiny.toml", "--models", "10"], "none of 10"),
        (&["--platform", "orin", "--models", "10", "--thermal", "gone.csv"], "gone.csv"),
        (&["--platform", "orin", "--models", "10", "--thermal", "tiny.toml"], "tiny.toml"),
        (&["choose", "--measurements", "gone.csv", "--qoe", "5"], "gone.csv"),
        (&["choose", "--measurements", "tiny.toml", "--qoe", "5"], "tiny.toml"),
    ] {
        let run = train(folder.path(), args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{args:?}: {}", run.stderr);
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "something was written");
}

#[test]
fn a_flash_budget_that_nothing_fits_is_said_in_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(folder.path(), &[&SMALL[..], &["--flash-budget", "1"]].concat());
    // Either everything fits one KiB, or the error gives both numbers and what to change.
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stderr.contains("1024") && run.stderr.contains("--flash-budget"), "{}", run.stderr);
    let left = files(&folder.path().join("out"));
    assert_eq!(left.keys().collect::<Vec<_>>(), [&"h_phone/search.jsonl".to_owned()]);
}

/// A budget that no trial meets is met by pruning, whose cost is measured on held-out folds.
#[test]
fn what_exceeds_the_flash_budget_is_pruned_and_scored_again() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(folder.path(), &[&SMALL[..], &["--flash-budget", "8"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let record = Record::read(&folder.path().join("out/h_phone/report.json")).unwrap();
    assert!(record.size.est_bytes <= 8 << 10, "{}", record.size.est_bytes);
    assert!(record.notes.iter().any(|note| note.contains("pruned")), "{:?}", record.notes);
    assert_eq!(record.size.cuts.len(), record.targets.len());
    for (cut, target) in record.size.cuts.iter().zip(&record.targets) {
        assert_eq!((cut.target, cut.pruned_is_compiled), (target.target, true));
        let pruned = cut.pruned.unwrap();
        assert!(pruned.leaves <= cut.preferred.leaves);
        assert_eq!(pruned.cv_mape_percent, target.cv_mape_percent, "the score of what is compiled");
    }
    let sum = |of: &dyn Fn(&BudgetCut) -> f64| -> f64 { record.size.cuts.iter().map(of).sum() };
    let worse = sum(&|cut| cut.pruned.unwrap().cv_mape_percent);
    assert!(worse > sum(&|cut| cut.preferred.cv_mape_percent), "flash costs accuracy");
}

/// A user's own platform file works as a built-in name does, and faults have their line.
#[test]
fn a_platform_file_is_simulated() {
    let folder = tempfile::tempdir().unwrap();
    let text = include_str!("../../device/platforms/h_phone.toml").replacen(
        "name = \"h_phone\"",
        "name = \"my_phone\"",
        1,
    );
    std::fs::write(folder.path().join("it's mine.toml"), &text).unwrap();
    let args = ["--platform", "it's mine.toml", "--models", "10", "--trials", "1", "--quiet"];
    let run = train(folder.path(), &args);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let bundle = Bundle::read(&folder.path().join("out/my_phone/bundle.enerinfer")).unwrap();
    assert_eq!(bundle.platform.source, "simulated:my_phone");
    assert!(bundle.provenance.command.starts_with(r"train --platform 'it'\''s mine.toml' "));

    let run = train(
        folder.path(),
        &[
            "evaluate",
            "--platform",
            "it's mine.toml",
            "--only",
            "devices,fig2,table2",
            "--models",
            "10",
            "--trials",
            "1",
            "--quiet",
        ],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);

    std::fs::write(folder.path().join("bad.toml"), text.replacen("busy_w", "busy_watt", 1))
        .unwrap();
    for args in [&["--platform", "bad.toml"][..], &["evaluate", "--platform", "bad.toml"]] {
        let run = train(folder.path(), args);
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(
            run.stderr.contains("bad.toml:") && run.stderr.contains("busy_watt"),
            "{}",
            run.stderr
        );
    }
}

/// A name of ours would put the results of another device beside what is published of this one.
#[test]
fn a_platform_file_does_not_pass_for_a_built_in_device() {
    let folder = tempfile::tempdir().unwrap();
    let text = include_str!("../../device/platforms/h_phone.toml");
    let other = text.replacen("name = \"h_phone\"", "name = \"orin\"", 1);
    std::fs::write(folder.path().join("mine.toml"), other).unwrap();
    for args in [&["--platform", "mine.toml"][..], &["evaluate", "--platform", "mine.toml"]] {
        let run = train(folder.path(), args);
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains("mine.toml:4: name `orin`"), "{}", run.stderr);
    }
    assert!(!folder.path().join("out").exists());
}

/// A device, `tiny.toml`, that no model fits.
fn write_tiny_platform(folder: &Path) {
    let text: String = include_str!("../../device/platforms/h_phone.toml")
        .lines()
        .map(|line| match line.split(' ').next() {
            Some("usable_gib") => "usable_gib = { value = 0.01, source = \"x\" }\n".to_owned(),
            Some("name") => "name = \"tiny\"\n".to_owned(),
            _ => format!("{line}\n"),
        })
        .collect();
    std::fs::write(folder.join("tiny.toml"), text).unwrap();
}

#[test]
fn a_device_that_no_model_fits_is_named_with_its_memory() {
    let folder = tempfile::tempdir().unwrap();
    write_tiny_platform(folder.path());
    for args in [&["--platform", "tiny.toml"][..], &["evaluate", "--platform", "tiny.toml"]] {
        let run = train(folder.path(), &[args, &["--models", "10", "--quiet"]].concat());
        assert_eq!(run.code, 2, "{}", run.stderr);
        for part in ["none of 10", "0.010 GiB", "`tiny`", "usable_gib"] {
            assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
        }
    }
}

#[test]
fn a_missing_file_is_named_once_with_one_reason() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), include_str!("data/measured_small.csv")).unwrap();
    for args in [
        &["--platform", "gone.toml"][..],
        &["evaluate", "--platform", "gone.toml"],
        &["--platform", "x", "--measurements", "gone.csv"],
        &["choose", "--measurements", "gone.csv", "--qoe", "5"],
        &["--platform", "orin", "--models", "10", "--thermal", "gone.csv"],
        &["--platform", "orin", "--models", "10", "--thermal", "gone.json"],
    ] {
        let run = train(folder.path(), args);
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        let error = run.stderr.lines().find(|l| l.starts_with("error: ")).unwrap();
        for part in ["gone.", "(os error 2)"] {
            assert_eq!(error.matches(part).count(), 1, "{args:?}: {error}");
        }
    }
}

/// Mixtures are trained on when asked for, and told apart in the report; the crate predicts them.
#[test]
fn mixtures_of_experts_are_trained_on_besides() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(folder.path(), &[&SMALL[..], &["--moe-models", "10"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let out = folder.path().join("out/h_phone");
    let record = Record::read(&out.join("report.json")).unwrap();
    assert_eq!((record.data.train_models, record.data.test_models), (32, 8));
    let note = record.notes.iter().find(|n| n.contains("2 are mixtures of experts"));
    assert!(note.is_some_and(|n| n.contains("on the dense ones")), "{:?}", record.notes);
    let bundle = Bundle::read(&out.join("bundle.enerinfer")).unwrap();
    assert!(bundle.provenance.command.contains(" --moe-models 10 "));
    assert_eq!(bundle.test_shapes.iter().filter(|s| s.experts > 1).count(), 2);
    for predictor in &bundle.predictors {
        let names: Vec<&str> = predictor.forest.features.iter().map(|f| f.name()).collect();
        let learnt_from = names.strip_suffix(&["read_params_k"]).unwrap_or(&names);
        assert!(learnt_from.ends_with(&["active_experts", "experts"]), "{names:?}");
    }
    // Dense models are held out as without mixtures.
    let dense = tempfile::tempdir().unwrap();
    assert_eq!(train(dense.path(), &SMALL).code, 0);
    // Known by all predictors to be dense models alone, though nothing is decided by it.
    let dense_only = Bundle::read(&dense.path().join("out/h_phone/bundle.enerinfer")).unwrap();
    for Predictor { domain, forest, target, .. } in &dense_only.predictors {
        assert_eq!(forest.features.last(), Some(&Feature::Experts), "{target:?}");
        assert_eq!(domain.last(), Some(&Domain { min: 1, max: 1 }), "{target:?}");
        assert!(forest.thresholds().last().unwrap().is_empty(), "{target:?}");
    }
    // So is the range of what peak throughput is divided by.
    for bundle in [&bundle, &dense_only] {
        let Predictor { domain, forest, normaliser, .. } = bundle.predictor(Target::Peak).unwrap();
        let feature = normaliser.unwrap().feature;
        let column = forest.features.iter().position(|&f| f == feature).unwrap();
        let Domain { min, max } = domain[column];
        let read: Vec<u32> =
            bundle.test_shapes.iter().map(|shape| shape.feature(feature).unwrap()).collect();
        assert!(0 < min && min < max && max < u32::MAX, "{min} to {max}");
        assert!(read.iter().any(|r| (min..=max).contains(r)), "{read:?} in {min} to {max}");
        assert!(forest.thresholds()[column].is_empty());
    }
    let dense = Record::read(&dense.path().join("out/h_phone/report.json")).unwrap();
    let names = |record: &Record| -> Vec<String> {
        let shapes = record.details.heldout_shapes.iter();
        shapes.map(|s| s.model.clone()).filter(|m| m.starts_with("synthetic")).collect()
    };
    assert_eq!(names(&dense), names(&record));
    assert!(dense.targets.iter().all(|t| !t.features.iter().any(|f| f == "experts")));
    assert!(!dense.notes.iter().any(|n| n.contains("mixtures")));
}

#[test]
fn platforms_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(folder.path(), &["--list-platforms"]);
    assert_eq!(run.code, 0);
    for part in [
        "orin: ",
        "h_phone: ",
        "1224, 1300.5 MHz",
        "204, 665.6, 2133, 3199 MHz",
        "q4_k_m",
        "% mean error to published figures",
        "simulated",
    ] {
        assert!(run.stdout.contains(part), "{part}: {}", run.stdout);
    }
}

#[test]
fn a_killed_run_resumes_to_the_bytes_of_an_undisturbed_one() {
    let whole = tempfile::tempdir().unwrap();
    assert_eq!(train(whole.path(), &SMALL).code, 0);
    let expected = files(&whole.path().join("out/h_phone"));

    // What a kill leaves: a journal that ends in the middle of a line, and nothing else.
    let killed = tempfile::tempdir().unwrap();
    let out = killed.path().join("out/h_phone");
    std::fs::create_dir_all(&out).unwrap();
    let journal = &expected["search.jsonl"];
    std::fs::write(out.join("search.jsonl"), &journal[..journal.len() * 2 / 3]).unwrap();
    let run = train(killed.path(), &[&SMALL[..], &["--resume"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    let resumed = files(&out);
    assert_eq!(resumed.len(), expected.len());
    for (name, bytes) in expected.iter().filter(|(name, _)| *name != "search.jsonl") {
        assert!(&resumed[name] == bytes, "{name} differs after --resume");
    }

    // A journal of other measurements is not mixed in.
    let other = [&SMALL[..7], &["--seed=8", "--resume"]].concat();
    let run = train(killed.path(), &other);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("other measurements"), "{}", run.stderr);
    assert!(files(&out)["report.json"] == expected["report.json"], "nothing was replaced");
}

#[test]
fn the_device_crate_is_small_or_fast_as_asked() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out/h_phone");
    let profile = |args: &[&str]| {
        let run = train(folder.path(), &[&SMALL[..], args].concat());
        assert_eq!(run.code, 0, "{}", run.stderr);
        let command = Bundle::read(&out.join("bundle.enerinfer")).unwrap().provenance.command;
        let manifest = std::fs::read_to_string(out.join("enerinfer-runtime/Cargo.toml")).unwrap();
        (command.contains("--optimise speed"), manifest.contains("opt-level = 3"))
    };
    assert_eq!(profile(&[]), (false, false));
    assert_eq!(profile(&["--resume", "--optimise", "speed"]), (true, true));
}

#[test]
fn another_point_of_the_front_is_picked_without_a_new_search() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(train(folder.path(), &SMALL).code, 0);
    let out = folder.path().join("out/h_phone");
    let journal = std::fs::read(out.join("search.jsonl")).unwrap();
    let power = || {
        let record = Record::read(&out.join("report.json")).unwrap();
        let power = |target: Target| target == Target::Power;
        let size = record.size.predictors.into_iter().find(|p| power(p.target)).unwrap();
        let target = record.targets.into_iter().find(|t| power(t.target)).unwrap();
        let points = record.details.size_points.into_iter().filter(|p| power(p.target));
        (target, size.est_bytes, points.collect::<Vec<SizePoint>>(), record.notes)
    };
    let pick = |bytes: u64| {
        let pick = format!("power={bytes}");
        train(folder.path(), &[&SMALL[..], &["--resume", "--pick", &pick]].concat())
    };
    let (_, compiled, points, _) = power();
    let shown: BTreeSet<&str> = points.iter().map(|p| p.family.as_str()).collect();
    assert_eq!(shown.into_iter().collect::<Vec<_>>(), ["boosted_trees", "random_forest"]);
    let chosen = points.iter().find(|p| p.chosen).unwrap();
    assert_eq!(chosen.compiled_bytes, compiled, "one size for one predictor");
    for point in points.iter().filter(|p| p.on_front) {
        let bytes = point.compiled_bytes;
        let run = pick(bytes);
        assert_eq!(run.code, 0, "{}", run.stderr);
        let (target, compiled, again, notes) = power();
        assert!(notes.iter().any(|n| n.contains("`power`") && n.contains(&bytes.to_string())));
        assert_eq!((&target.family, &target.params), (&point.family, &point.params));
        assert_eq!((target.cv_mape_percent, compiled), (point.cv_mape_percent, bytes));
        let chosen: Vec<_> = again.iter().filter(|p| p.chosen).map(|p| p.trial).collect();
        assert_eq!(chosen, [point.trial], "the front stays as it was printed");
        assert!(std::fs::read(out.join("search.jsonl")).unwrap() == journal, "a trial was fitted");
    }

    let report = files(&out);
    let run = pick(1);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(run.stderr.contains("the smallest predictor found"), "{}", run.stderr);
    let twice = ["--resume", "--pick", "power=1", "--pick", "power=2"];
    let run = train(folder.path(), &[&SMALL[..], &twice].concat());
    assert!(run.code == 2 && run.stderr.contains("twice"), "{}", run.stderr);
    assert!(report == files(&out), "a refused pick changes nothing");
}

#[test]
fn every_family_is_searched_when_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(
        folder.path(),
        &["--platform", "h_phone", "--models", "20", "--trials", "2", "--quiet", "--all-families"],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let record = Record::read(&folder.path().join("out/h_phone/report.json")).unwrap();
    let families = ["random_forest", "boosted_trees", "svr", "polynomial", "mlp"];
    for (design, family) in record.details.designs.iter().zip(families) {
        assert_eq!(design.family, family);
        assert!(design.monolithic_mape_percent.is_some(), "{family}");
    }
    assert_eq!(record.details.designs.len(), families.len());
    for target in &record.targets {
        assert!(["random_forest", "boosted_trees"].contains(&target.family.as_str()));
    }
}

#[test]
fn outputs_never_replace_what_is_not_theirs() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "mine").unwrap();
    let run = train(folder.path(), &[&SMALL[..], &["--out", "file"]].concat());
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("is not a folder"), "{}", run.stderr);

    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", folder.path().join("link")).unwrap();
        let run = train(folder.path(), &[&SMALL[..], &["--out", "link/out"]].concat());
        assert_eq!(run.code, 2, "{}", run.stderr);
        assert!(run.stderr.contains("--out link/out: a symbolic link leads nowhere"));
    }

    let theirs = folder.path().join("theirs/enerinfer-runtime");
    std::fs::create_dir_all(&theirs).unwrap();
    std::fs::write(theirs.join("MANIFEST.json"), "{\"a\":1}").unwrap();
    let run = train(folder.path(), &[&SMALL[..], &["--out", "theirs"]].concat());
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert_eq!(files(&folder.path().join("theirs")).len(), 1, "something was written");

    let own = folder.path().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("report.html"), "mine").unwrap();
    let run = train(folder.path(), &[&SMALL[..], &["--out", "own"]].concat());
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("report.html"), "{}", run.stderr);
    assert_eq!(files(&own)["report.html"], b"mine");

    std::fs::write(folder.path().join("measurements.csv"), include_str!("data/measured_small.csv"))
        .unwrap();
    let run = train(
        folder.path(),
        &["--platform", "x", "--measurements", "measurements.csv", "--out", ".", "--quiet"],
    );
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("overwrite its own --measurements"), "{}", run.stderr);
}

/// Even in folders that the run replaces.
#[cfg(unix)]
#[test]
fn outputs_are_the_same_wherever_the_command_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let small = ["--platform", "h_phone", "--models", "12", "--trials", "1", "--quiet"];
    let run = train(at, &[&small[..], &["--out", "o"]].concat());
    assert_eq!(run.code, 0, "{}", run.stderr);
    std::os::unix::fs::symlink("o", at.join("link")).unwrap();
    let outputs = || {
        let mut all = files(&at.join("o"));
        // The journal keeps times.
        all.remove("search.jsonl");
        all
    };
    let expected = outputs();
    for (cwd, out) in [
        ("o/enerinfer-runtime", ".."),
        ("o/enerinfer-runtime", "../../o"),
        ("o/enerinfer-runtime/src/model", "../../.."),
        ("link/enerinfer-runtime", "../../link"),
        ("o", "."),
        ("", "new/../link"),
    ] {
        let run = train(&at.join(cwd), &[&small[..], &["--out", out]].concat());
        assert_eq!(run.code, 0, "{cwd} {out}: {}", run.stderr);
        assert!(run.stdout.contains(&format!("Report: {out}/report.html")), "{}", run.stdout);
        assert!(outputs() == expected, "{cwd} {out}");
        assert_eq!(std::fs::read_dir(at).unwrap().count(), 2, "{cwd} {out}");
    }

    std::fs::write(at.join("o/enerinfer-runtime/src/lib.rs"), "// mine").unwrap();
    for (cwd, out) in [("o/enerinfer-runtime", ".."), ("", "new/../o")] {
        let run = train(&at.join(cwd), &[&small[..], &["--out", out]].concat());
        assert_eq!(run.code, 2, "{cwd} {out}: {}", run.stderr);
        assert!(run.stderr.contains("it was edited"), "{}", run.stderr);
    }
}

/// An answer that does not arrive is a failure; a reader that has gone is none, and no panic, be it
/// of the answer or of the messages.
#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_is_a_failure_and_a_closed_pipe_is_not() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("t.csv"), include_str!("data/measured_small.csv")).unwrap();
    let evaluate = ["evaluate", "--platform", "h_phone", "--only", "table1"];
    let one_fold_short = ["--platform", "h_phone", "--models", "3"];
    for args in [
        &["--help"][..],
        &["--version"],
        &["evaluate", "--help"],
        &["--list-platforms"],
        &["choose", "--measurements", "t.csv", "--qoe", "5"],
        &evaluate,
        &one_fold_short,
        &["--platform", "oriin"],
        &["--no-such-option"],
    ] {
        let command = || {
            let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_train"));
            command.args(args).current_dir(&folder);
            command
        };
        let code = command().output().unwrap().status.code().unwrap();
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command().stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code.max(1)), "{args:?}: {said}");
        assert_eq!(said.contains("error: stdout: "), code == 0, "{args:?}: {said}");
        let closed = || std::io::pipe().unwrap().1;
        let status = command().stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), Some(code), "{args:?}");
    }
}
