//! The command as its users meet it: outputs, exit codes, messages.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use enerinfer_datasets::read_shape;
use enerinfer_datasets::synthesize::Manifest;

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../telemetry/tests/data").join(path)
}

fn measure(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_measure")).args(args).output().unwrap()
}

/// stdout of a command that must succeed.
fn ok(args: &[&str]) -> String {
    let out = measure(args);
    let stderr = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{args:?}: {stderr}");
    String::from_utf8(out.stdout).unwrap()
}

/// stderr of a command that must fail with `code`.
fn fails(code: i32, args: &[&str]) -> String {
    let out = measure(args);
    assert_eq!(out.status.code(), Some(code), "{args:?}");
    String::from_utf8(out.stderr).unwrap()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn every_verb_has_help_with_an_example() {
    for verb in [
        "read",
        "fuse",
        "import",
        "fit-length",
        "simulate",
        "calibrate",
        "synthesize",
        "shape",
        "hydra",
    ] {
        assert!(ok(&[verb, "--help"]).contains("measure "), "{verb}");
        assert!(ok(&[verb, "--help"]).contains("Example"), "{verb}");
    }
    fails(2, &["no-such-verb"]);
}

#[test]
fn logs_of_every_format_are_read() {
    for log in [
        "cases/tegrastats/thor_jp7_nosudo.log",
        "cases/tegrastats/tx2_jp4.log",
        "cases/nvml/smi_units.csv",
        "cases/nvml/energy_counter_wrap.csv",
        "cases/nvml/nominal_interval.json",
    ] {
        let table = ok(&["read", text(&data(log)), "--tz", "UTC"]);
        assert!(table.starts_with("line,time_utc_ns,time_printed_ns,"), "{log}");
        assert!(table.lines().count() > 2, "{log}");
        assert!(!table.contains("inf") && !table.contains("NaN"), "{log}");
    }
    fails(2, &["read", text(&data("cases/tegrastats/tx2_jp4.log")), "--tz", "Boston"]);
    fails(1, &["read", "no-such-file"]);
}

#[test]
fn fusion_infers_the_zone_and_mode_hydra_equals_the_original() {
    let folder = data("hydra/orin/results_llamacpp_orin");
    let (info, log) =
        (folder.join("INFO_Qwen2.5-1.5B_Q4_K_M_.csv"), folder.join("TGS_Qwen2.5-1.5B_Q4_K_M_.csv"));
    let pair = ["fuse", "--prompts", text(&info), "--log", text(&log)];
    let records = ok(&pair);
    assert_eq!(records.lines().count(), 1 + 3 * 5);
    assert!(records.contains("sum:VDD_GPU_SOC+VDD_CPU_CV+VIN_SYS_5V0"));
    let out = measure(&pair);
    assert!(String::from_utf8_lossy(&out.stderr).contains("zone of the log: -04:00 (inferred"));
    // The zone that is right in winter only.
    let wrong = fails(2, &[&pair[..], &["--tz", "-05:00"]].concat());
    assert!(wrong.contains("none of the") && wrong.contains("zone (-05:00)"), "{wrong}");
    let target = tempfile::tempdir().unwrap();
    let unified = target.path().join("UNIFIED.csv");
    let hydra = ["--mode", "hydra", "--platform", "orin", "--out", text(&unified)];
    ok(&[&pair[..], &hydra].concat());
    let expected = std::fs::read(folder.join("UNIFIED_Qwen2.5-1.5B_Q4_K_M_.csv")).unwrap();
    assert!(std::fs::read(&unified).unwrap() == expected);
}

#[test]
fn imported_and_simulated_tables_read_back() {
    let target = tempfile::tempdir().unwrap();
    let table = target.path().join("m.csv");
    let shapes = target.path().join("shapes.csv");
    std::fs::write(
        &shapes,
        "model,layers,hidden,heads,kv_heads,ffn,vocab,tied\n\
         qwen2.5-1.5b-q4_k_m,28,1536,12,2,8960,151936,true\n",
    )
    .unwrap();
    let sweep = data("published/orin_nano_qwen15b_emc_decode.csv");
    let import = ["import", text(&sweep), "--platform", "orin-nano", "--format", "q4_k_m"];
    assert!(fails(2, &import).contains("shape of model `qwen2.5-1.5b-q4_k_m`"));
    ok(&[&import[..], &["--shapes", text(&shapes), "--out", text(&table)]].concat());
    let (read, _) = enerinfer_datasets::MeasurementTable::read(&table, "orin-nano").unwrap();
    assert_eq!((read.models.len(), read.rows.len()), (1, 4));
    // A manifest of `synthesize` serves too, with the kind of FFN and the parameters that it states.
    std::fs::write(
        &shapes,
        "model,layers,hidden,heads,kv_heads,head_dim,ffn,vocab,ffn_kind,tied,experts,\
         active_experts,total_params,format,file,bytes,seed\n\
         qwen2.5-1.5b-q4_k_m,28,1536,12,2,128,8960,151936,plain,true,1,1,1200000000,q4_0,a,1,1\n\
         qwen2.5-1.5b-q4_k_m,28,1536,12,2,128,8960,151936,plain,true,1,1,1200000000,q8_0,b,2,1\n",
    )
    .unwrap();
    ok(&[&import[..], &["--shapes", text(&shapes), "--out", text(&table)]].concat());
    let (read, _) = enerinfer_datasets::MeasurementTable::read(&table, "orin-nano").unwrap();
    let shape = read.models[0].shape;
    assert_eq!((shape.dims().gated, shape.total_params()), (false, 1_200_000_000));
    ok(&["simulate", "--platform", "orin", "--models", "5", "--out", text(&table)]);
    let (read, _) = enerinfer_datasets::MeasurementTable::read(&table, "orin").unwrap();
    assert!(!read.models.is_empty());
    fails(2, &["simulate", "--platform", "no-such-device"]);
    fails(2, &[&import[..4], &["--format", "q9"]].concat());
}

#[test]
fn hydra_tables_equal_and_an_incomplete_corpus_does_not_pass() {
    let corpus = data("hydra/corpus");
    let target = tempfile::tempdir().unwrap();
    ok(&["hydra", "tables", text(&corpus), "--out", text(target.path())]);
    for entry in std::fs::read_dir(corpus.join("expected/tables")).unwrap() {
        let expected = entry.unwrap().path();
        let ours = target.path().join(expected.file_name().unwrap());
        assert_eq!(std::fs::read(ours).unwrap(), std::fs::read(&expected).unwrap());
    }
    ok(&["hydra", "figures", text(&corpus), "--out", text(target.path())]);
    assert!(target.path().join("fig7.svg").exists());
    let out = measure(&["hydra", "check", text(&corpus)]);
    assert_eq!(out.status.code(), Some(1));
    let checks = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(checks.contains("FAIL     UNIFIED files: 109 of 286"), "{checks}");
    assert!(checks.contains("SKIPPED  SHA-256"), "{checks}");
    assert_eq!(checks.lines().filter(|l| l.starts_with("PASS")).count(), 9, "{checks}");
    fails(2, &["hydra", "tables", text(target.path())]);
}

#[test]
fn a_corpus_becomes_partitioned_parquet() {
    let target = tempfile::tempdir().unwrap();
    let (corpus, fleet) = (target.path().join("corpus"), target.path().join("fleet"));
    let size = ["--prompts", "2", "--time-scale", "0.02", "--files", "2"];
    ok(&[&["hydra", "generate", text(&corpus)], &size[..]].concat());
    ok(&["fuse", "--corpus", text(&corpus), "--parquet", text(&fleet)]);
    let file = fleet.join(
        "platform=xavier/backend=hf/model=Llama-3.2-1B/format=torch.bfloat16/sweep=main/part-0.parquet",
    );
    let table = enerinfer_telemetry::parquet::read_table(&file).unwrap();
    assert_eq!(table.rows.len(), 2 * 3);
}

#[test]
fn a_length_sweep_gives_prefill_and_decode_apart() {
    let target = tempfile::tempdir().unwrap();
    let runs = target.path().join("runs.csv");
    let header = "model,accel_mhz,mem_mhz,prompt_tokens,prefill_s,output_tokens,decode_s\n";
    let mut table = header.to_owned();
    // Two operating points with a line each: taken together they would be no line.
    for (mhz, factor) in [(300, 2.0), (600, 1.0)] {
        for n in [100.0, 200.0, 400.0] {
            let (prefill, decode) = (0.5 + factor * 0.001 * n, 0.25 + factor * 0.125 * n);
            table.push_str(&format!("m,{mhz},2000,{n},{prefill},{n},{decode}\n"));
        }
    }
    std::fs::write(&runs, &table).unwrap();
    let fits = ok(&["fit-length", text(&runs)]);
    let rows: Vec<Vec<&str>> = fits.lines().skip(1).map(|l| l.split(',').collect()).collect();
    let expected = [
        ("300", "prefill", 0.5, 0.002),
        ("300", "decode", 0.25, 0.25),
        ("600", "prefill", 0.5, 0.001),
        ("600", "decode", 0.25, 0.125),
    ];
    assert_eq!(rows.len(), expected.len(), "{fits}");
    for (row, (mhz, phase, base, slope)) in rows.iter().zip(expected) {
        assert_eq!((row[1], row[3], row[7]), (mhz, phase, "3"));
        assert!((row[4].parse::<f64>().unwrap() - base).abs() < 1e-9, "{fits}");
        assert!((row[5].parse::<f64>().unwrap() - slope).abs() < 1e-9, "{fits}");
    }
    // One length says nothing about the others.
    std::fs::write(&runs, format!("{header}{}", "m,300,2000,100,1,100,2\n".repeat(4))).unwrap();
    assert!(fails(2, &["fit-length", text(&runs)]).contains("not fitted: m at 300/2000 MHz"));
    fails(1, &["fit-length", "no-such-file"]);
}

#[test]
fn refused_lines_are_named_with_their_reason_up_to_a_bound() {
    let target = tempfile::tempdir().unwrap();
    let log = target.path().join("damaged.log");
    let good = std::fs::read_to_string(data("cases/tegrastats/tx2_jp4.log")).unwrap();
    let first = good.lines().next().unwrap();
    std::fs::write(&log, format!("{first}\n{}", "damage\n".repeat(150))).unwrap();
    let report = target.path().join("report.json");
    let out = measure(&["read", text(&log), "--tz", "UTC", "--report", text(&report)]);
    assert!(out.status.success());
    let said = String::from_utf8(out.stderr).unwrap();
    assert!(said.contains("1 accepted") && said.contains("150 refused"), "{said}");
    let json = std::fs::read_to_string(&report).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let reasons = json["refusals"].as_object().unwrap();
    assert_eq!(reasons.values().filter_map(|n| n.as_u64()).sum::<u64>(), 150, "{json}");
    let reason = reasons.keys().next().unwrap();
    assert!(said.contains(&format!("{:>8}  {reason}", 150)), "{said}");
    for line in 2..=101 {
        assert!(said.contains(&format!("  line {line}: {reason}: \"damage\"")), "{line}: {said}");
    }
    assert!(!said.contains("line 102:") && said.contains("… and 50 more"), "{said}");
}

/// Says loudly when it is skipped; `telemetry/checks/duckdb.sh` installs DuckDB and is the proof.
#[test]
fn another_engine_reads_the_partitions() {
    let python = std::env::var("ENERINFER_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let found = Command::new(&python).args(["-c", "import duckdb"]).output();
    if !found.is_ok_and(|o| o.status.success()) {
        eprintln!("SKIPPED: {python} has no duckdb: run telemetry/checks/duckdb.sh");
        return;
    }
    let target = tempfile::tempdir().unwrap();
    let [corpus, fleet, csv] = ["corpus", "fleet", "csv"].map(|n| target.path().join(n));
    let size = ["--prompts", "2", "--time-scale", "0.02", "--files", "2"];
    ok(&[&["hydra", "generate", text(&corpus)], &size[..]].concat());
    ok(&["fuse", "--corpus", text(&corpus), "--parquet", text(&fleet)]);
    std::fs::create_dir(&csv).unwrap();
    let infos = enerinfer_telemetry::hydra::corpus::layout_files(&corpus, "INFO_").unwrap();
    for (i, (_, info)) in infos.iter().enumerate() {
        let name = info.file_name().unwrap().to_str().unwrap();
        let log = info.with_file_name(name.replacen("INFO_", "TGS_", 1));
        let out = csv.join(format!("{i}.csv"));
        ok(&["fuse", "--prompts", text(info), "--log", text(&log), "--out", text(&out)]);
    }
    let script = data("../../checks/duckdb_reads.py");
    let compared = Command::new(&python).arg(script).args([&fleet, &csv]).output().unwrap();
    let said = String::from_utf8_lossy(&compared.stderr);
    assert!(compared.status.success(), "{said}");
}

#[test]
fn a_file_that_is_not_there_fails_alike_in_every_verb() {
    let no = "no-such-file";
    for args in [
        &["read", no][..],
        &["fuse", "--prompts", no, "--log", no],
        &["import", no, "--platform", "orin", "--format", "f16"],
        &["fit-length", no],
        &["shape", no],
        &["hydra", "quality", no],
    ] {
        assert!(fails(1, args).contains(no), "{args:?}");
    }
}

#[test]
fn untrained_models_are_written_listed_and_read_back() {
    let target = tempfile::tempdir().unwrap();
    let folder = target.path().join("models");
    // The smallest of the survey, so that the test writes megabytes.
    let small = ["--platform", "host_cpu", "--min-params", "30e6", "--max-params", "90e6"];
    let args = |out: &Path, rest: &[&str]| -> Vec<String> {
        let all = ["synthesize", "--count", "2", "--out", text(out)];
        all.iter().chain(&small).chain(rest).map(|s| (*s).to_owned()).collect()
    };
    let run = |out: &Path, rest: &[&str]| {
        let args = args(out, rest);
        measure(&args.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let stderr = |out: &Output| String::from_utf8_lossy(&out.stderr).into_owned();

    let written = run(&folder, &["--format", "q4_0,q8_0,q4_0"]);
    assert!(written.status.success(), "{}", stderr(&written));
    let manifest = Manifest::read(&folder).unwrap();
    assert_eq!(manifest.entries.len(), 4, "a format that is named twice is one");
    for entry in &manifest.entries {
        let path = folder.join(&entry.file);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), entry.bytes);
        assert_eq!(read_shape(&path).unwrap().shape.unwrap(), entry.model.shape);
    }
    // Again: nothing to do. Another set: refused, and nothing is replaced.
    let before = std::fs::read(folder.join(&manifest.entries[0].file)).unwrap();
    assert!(stderr(&run(&folder, &["--format", "q4_0,q8_0"])).contains("4 files were there"));
    let other = run(&folder, &["--format", "q4_0,q8_0", "--seed", "2"]);
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("lists other models"), "{}", stderr(&other));
    // A file that was cut is written again, to the same bytes.
    std::fs::write(folder.join(&manifest.entries[0].file), b"cut").unwrap();
    assert!(stderr(&run(&folder, &["--format", "q4_0,q8_0"])).contains("3 files were there"));
    assert!(before == std::fs::read(folder.join(&manifest.entries[0].file)).unwrap());

    // One at a time: the command sees each file, and none stays.
    let single = target.path().join("single");
    let seen = run(&single, &["--format", "q4_0", "--one-at-a-time", "wc -c < \"$1\""]);
    assert!(seen.status.success(), "{}", stderr(&seen));
    let lengths: Vec<u64> =
        String::from_utf8_lossy(&seen.stdout).lines().map(|l| l.trim().parse().unwrap()).collect();
    let manifest = Manifest::read(&single).unwrap();
    assert_eq!(lengths, manifest.entries.iter().map(|e| e.bytes).collect::<Vec<_>>());
    assert!(manifest.entries.iter().all(|e| !single.join(&e.file).exists()));
    // A command that fails ends the walk and keeps its file.
    let single = target.path().join("failing");
    let failed = run(&single, &["--format", "q4_0", "--one-at-a-time", "false"]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(single.join(&manifest.entries[0].file).exists());

    let hugging_face = target.path().join("hf");
    assert!(run(&hugging_face, &["--hf"]).status.success());
    for entry in &Manifest::read(&hugging_face).unwrap().entries {
        let read = read_shape(&hugging_face.join(&entry.file)).unwrap();
        assert_eq!(read.shape.unwrap(), entry.model.shape);
    }

    for (rest, says) in [
        (&[][..], "give --format"),
        (&["--format", "q4_0", "--seed", "x"][..], "invalid value"),
        (&["--format", "iq1"][..], "known formats"),
    ] {
        let out = run(&target.path().join("none"), rest);
        assert_eq!(out.status.code(), Some(2), "{rest:?}");
        assert!(stderr(&out).contains(says), "{}", stderr(&out));
    }
    let all = ["synthesize", "--platform", "orin", "--count", "20000", "--out"];
    // No test machine has the petabytes that these need.
    let refused = fails(1, &[&all[..], &[text(&target.path().join("all"))]].concat());
    assert!(refused.contains("files need") && refused.contains("the first "), "{refused}");
    assert!(!target.path().join("all").exists());
}

#[test]
fn calibration_writes_a_platform_file_that_is_as_good_as_the_committed_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("board_gpu.toml");
    let refine = ["calibrate", "--platform", "board_gpu", "--refine"];
    assert_eq!(ok(&[&refine[..], &["--out", text(&file)]].concat()), "");
    let written = std::fs::read_to_string(&file).unwrap();
    let committed = enerinfer_device::calibrate::platform_file("board_gpu").unwrap();
    let sources = |file: &str| file.matches("source = ").count();
    assert_eq!(sources(&written), sources(committed), "comments and sources are kept");
    assert!(written.starts_with("# Simulated Orange Pi 5 Pro"), "{written}");
    enerinfer_device::SimulatedDevice::from_toml(&written, "board_gpu", None).unwrap();

    let printed = ok(&refine);
    let first = printed.lines().next().unwrap();
    let value = first.rsplit(" = ").next().unwrap();
    assert!(written.contains(&format!("value = {value}")), "{first} is not in {written}");
}

#[test]
fn calibration_needs_one_thing_to_do_and_a_platform_it_knows() {
    for (args, part) in [
        (&[][..], "--platform"),
        (&["--platform", "orrin"], "did you mean `orin`"),
        (&["--platform", "orin", "--thermal"], "cannot be used with"),
        (&["--thermal", "--refine"], "cannot be used with"),
    ] {
        let message = fails(2, &[&["calibrate"], args].concat());
        assert!(message.contains(part), "{args:?}: {message}");
    }
}

#[test]
fn a_walk_goes_on_where_it_was_stopped_and_keeps_what_was_there() {
    let target = tempfile::tempdir().unwrap();
    let models = target.path().join("models");
    let walk = |out: &Path, rest: &[&str]| {
        let all = ["synthesize", "--platform", "host_cpu", "--format", "q4_0", "--count", "2"];
        let sizes = ["--min-params", "30M", "--max-params", "0.09B", "--out", text(out)];
        measure(&[&all[..], &sizes, rest].concat())
    };
    // The second file fails at first: the first is seen once.
    let seen = target.path().join("seen");
    let command = format!("basename \"$1\" >> '{0}'; test $(wc -l < '{0}') != 2", text(&seen));
    let at_a_time = ["--one-at-a-time", &command];
    assert_eq!(walk(&models, &at_a_time).status.code(), Some(1));
    let files: Vec<String> =
        Manifest::read(&models).unwrap().entries.iter().map(|e| e.file.clone()).collect();
    assert!(!models.join(&files[0]).exists() && models.join(&files[1]).exists());
    assert!(walk(&models, &at_a_time).status.success());
    assert!(walk(&models, &at_a_time).status.success());
    let lines = std::fs::read_to_string(&seen).unwrap();
    assert_eq!(lines.lines().collect::<Vec<_>>(), [&files[0], &files[1], &files[1]]);
    assert!(files.iter().all(|f| !models.join(f).exists()));
    // A new manifest has nothing done.
    std::fs::remove_file(models.join(Manifest::FILE)).unwrap();
    assert!(walk(&models, &at_a_time).status.success());
    assert_eq!(std::fs::read_to_string(&seen).unwrap().lines().count(), 5);

    let kept = target.path().join("kept");
    assert!(walk(&kept, &[]).status.success());
    assert!(walk(&kept, &["--one-at-a-time", "true"]).status.success());
    assert!(files.iter().all(|f| kept.join(f).exists()));
}

#[test]
fn a_range_without_shapes_is_said_to_have_none() {
    let target = tempfile::tempdir().unwrap();
    let all = ["synthesize", "--platform", "p", "--format", "q8_0", "--count", "1", "--out"];
    let run = |low: &str, high: &str| {
        let sizes = [text(target.path()), "--min-params", low, "--max-params", high];
        fails(2, &[&all[..], &sizes].concat())
    };
    for (low, high) in [("30e6", "60e6"), ("1M", "2M"), ("100B", "1000B")] {
        let said = run(low, high);
        assert!(said.contains("no shape has") && said.contains("survey"), "{said}");
        assert!(!said.contains("ask for fewer"), "{said}");
    }
    assert!(run("many", "1B").contains("30M, 1.5B or 30e6"));
    assert!(run("1B", "30M").contains("above --max-params"));
}

#[test]
fn help_is_free_of_the_source_codes_line_breaks() {
    for verb in ["read", "fuse", "import", "fit-length", "simulate", "calibrate", "synthesize"] {
        assert!(!ok(&[verb, "--help"]).contains("\\ "), "{verb}");
    }
}

/// Exit code 0 with an empty table would pass for a result.
#[test]
fn what_finds_nothing_fails_and_names_what_was_searched() {
    let target = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        let path = target.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let out = target.path().join("out.csv");
    let log = write("other.log", "a line\nof another program\n");
    let csv = write("header.csv", "timestamp,total_mw\n");
    for rest in [
        &["read", text(&log), "--format", "tegrastats"][..],
        &["read", text(&csv), "--columns", "time=timestamp:s,total_mw=total_mw:mW"],
        &["read", text(&write("empty.log", "")), "--format", "tegrastats"],
    ] {
        let said = fails(2, &[rest, &["--tz", "UTC", "--out", text(&out)]].concat());
        assert!(said.contains(rest[1]) && said.contains("is a sample"), "{said}");
    }

    let folder = data("hydra/orin/results_llamacpp_orin");
    let info = folder.join("INFO_Qwen2.5-1.5B_Q4_K_M_.csv");
    let samples = folder.join("TGS_Qwen2.5-1.5B_Q4_K_M_.csv");
    let header = std::fs::read_to_string(&info).unwrap().lines().next().unwrap().to_owned();
    let no_prompt = write("INFO.csv", &format!("{header}\n"));
    // A log of the right form and of another day.
    let late = write("TGS_late.csv", &{
        let lines = std::fs::read_to_string(&samples).unwrap();
        lines.lines().take(9).map(|l| l.replacen("-2025 ", "-2026 ", 1) + "\n").collect::<String>()
    });
    let right = ["--tz", "-04:00", "--format", "tegrastats"];
    let hydra = ["--mode", "hydra", "--platform", "orin"];
    for (prompts, log, how, culprit) in [
        (&no_prompt, &samples, right, &no_prompt),
        (&info, &log, right, &log),
        (&no_prompt, &samples, hydra, &no_prompt),
        (&info, &log, hydra, &log),
        (&info, &late, hydra, &info),
    ] {
        let pair = ["fuse", "--prompts", text(prompts), "--log", text(log), "--out", text(&out)];
        let said = fails(2, &[&pair[..], &how].concat());
        assert!(said.contains(text(culprit)), "{said}");
    }
    let said = fails(2, &["fuse", "--mode", "hydra", "--corpus", text(target.path())]);
    assert!(said.contains(text(target.path())), "{said}");
    assert!(!out.exists());
}

/// Every verb that writes, refused for every reason that it finds before its work is done.
#[test]
fn what_is_refused_leaves_no_file_or_folder() {
    let target = tempfile::tempdir().unwrap();
    let names = || -> BTreeSet<_> {
        std::fs::read_dir(target.path()).unwrap().map(|e| e.unwrap().file_name()).collect()
    };
    for (name, content) in [
        ("bad", "a line\nof another program\n"),
        ("header.csv", "model,accel_mhz,mem_mhz,tok_s\n"),
        ("runs.csv", "model,accel_mhz,mem_mhz,tok_s\nno-such-model,300,2000,5\n"),
    ] {
        std::fs::write(target.path().join(name), content).unwrap();
    }
    for folder in ["empty", "root"] {
        std::fs::create_dir(target.path().join(folder)).unwrap();
    }
    let info = data("hydra/orin/results_llamacpp_orin/INFO_Qwen2.5-1.5B_Q4_K_M_.csv");
    let log = data("cases/tegrastats/tx2_jp4.log");
    let (info, log) = (text(&info), text(&log));
    let import = ["--platform", "orin", "--format", "q4_k_m"];
    let collect = ["--platform", "p", "--root", "root", "--engine-command", "true {model}"];
    let pattern = ["--pattern", "(?<tok_per_s>.)"];
    let collect = &[&collect[..], &pattern].concat()[..];
    for (verb, more) in [
        (&["read", "bad"][..], &["--tz", "UTC"][..]),
        (&["read", "bad", "--format", "tegrastats"], &["--tz", "UTC"]),
        (&["read", log], &["--tz", "Atlantis"]),
        (&["fuse", "--prompts", "bad", "--log", log], &[]),
        (&["fuse", "--prompts", info, "--log", "bad"], &["--tz", "UTC"]),
        (&["fuse", "--prompts", info, "--log", log], &["--tz", "UTC"]),
        (&["fuse", "--prompts", info, "--log", log], &["--mode", "hydra"]),
        (&["fuse", "--prompts", info, "--log", log], &["--mode", "hydra", "--platform", "orin"]),
        (&["fuse", "--corpus", "empty"], &["--parquet", "new"]),
        (&["import", "bad"], &import),
        (&["import", "header.csv"], &import),
        (&["import", "runs.csv"], &import),
        (&["fit-length", "bad"], &[]),
        (&["fit-length", "header.csv"], &[]),
        (&["simulate", "--platform", "atlantis"], &[]),
        (&["simulate", "--platform", "orin", "--format", "iq1"], &[]),
        (&["calibrate", "--platform", "atlantis"], &[]),
        (&["synthesize", "--platform", "p"], &[]),
        (&["synthesize", "--platform", "orin"], &["--min-params", "2B", "--max-params", "1B"]),
        (&["synthesize", "--platform", "orin"], &["--count", "20000"]),
        (&["collect", "--models", "empty"], collect),
        (&["collect", "--models", "gone"], collect),
        (&["collect", "--synthesize", "0"], collect),
        (&["collect", "--synthesize", "1", "--only", "none"], collect),
        (&["collect", "--synthesize", "1", "--threads", "1,2"], collect),
        (&["collect", "--synthesize", "1", "--max-repetitions", "1"], collect),
        (&["collect", "--synthesize", "1", "--accelerator", "none"], collect),
        (&["hydra", "tables", "empty"], &[]),
        (&["hydra", "tables", "gone"], &[]),
        (&["hydra", "figures", "empty"], &[]),
        (&["hydra", "figures", "gone"], &[]),
    ] {
        let before = names();
        let mut command = Command::new(env!("CARGO_BIN_EXE_measure"));
        let out = command.current_dir(&target).args(verb).args(more).args(["--out", "new/out"]);
        let out = out.output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success() && !said.contains("panicked"), "{verb:?} {more:?}: {said}");
        assert_eq!(names(), before, "{verb:?} {more:?}: {said}");
        println!("{verb:?} {more:?}: {said}");
    }
}

/// Every option of every verb that takes a number with a point.
#[test]
fn numbers_out_of_their_range_are_refused_by_every_option() {
    let collect = ["collect", "--platform", "p", "--synthesize", "1", "--out", "x", "--dry-run"];
    let command = ["--engine-command", "true {model}", "--pattern", "(?<tok_per_s>.)"];
    let collect = [&collect[..], &command].concat();
    let fuse = ["fuse", "--prompts", "none", "--log", "none"];
    let import = ["import", "none", "--platform", "p", "--format", "f16"];
    let simulate = ["simulate", "--platform", "orin", "--models", "1"];
    let generate = ["hydra", "generate", "none"];
    for (verb, option, out_of_range) in [
        (&collect[..], "--ci-percent", &["-1", "101"][..]),
        (&collect, "--min-cpu-share", &["-0.1", "2"]),
        (&collect, "--max-load", &["-1"]),
        (&collect, "--max-temp-c", &["-300", "1e4"]),
        (&collect, "--accel-mhz", &["0", "1e6"]),
        (&collect, "--mem-mhz", &["0", "1e6"]),
        (&fuse, "--max-gap", &["-1", "1e9"]),
        (&fuse, "--lag", &["-1", "1e9"]),
        (&import, "--accel-mhz", &["0", "-5", "1e6"]),
        (&import, "--mem-mhz", &["0", "-5", "1e6"]),
        (&simulate, "--noise-percent", &["-1", "51"]),
        (&generate, "--time-scale", &["0", "-1", "1e9"]),
    ] {
        for bad in ["nan", "inf", "-inf", "1e999", "", "many"].iter().chain(out_of_range) {
            let said = fails(2, &[verb, &[&format!("{option}={bad}")]].concat());
            assert!(
                said.contains(option) && said.contains("invalid value"),
                "{option} {bad}: {said}"
            );
        }
    }
    assert!(!Path::new("none").exists() && !Path::new("x").exists());
}

/// Every verb that reads a table: of two columns of one name, neither is taken.
#[test]
fn a_column_that_stands_twice_is_refused_by_name() {
    let target = tempfile::tempdir().unwrap();
    let pair = data("hydra/orin/results_llamacpp_orin");
    let info = std::fs::read_to_string(pair.join("INFO_Qwen2.5-1.5B_Q4_K_M_.csv")).unwrap();
    let log = pair.join("TGS_Qwen2.5-1.5B_Q4_K_M_.csv");
    let unified = "orin/results_llamacpp_orin/UNIFIED_Qwen2.5-1.5B_Q4_K_M_.csv";
    let record = std::fs::read_to_string(data("hydra/corpus").join(unified)).unwrap();
    let reference = std::fs::read_to_string(data("published/ae_quick_reference.csv")).unwrap();
    let runs = "model,accel_mhz,mem_mhz,tok_s\nm,300,2000,5\n";
    let rows = "n_prompt,n_gen,avg_ts\n0,32,5\n";
    let samples = "t_s,total_mw\n0,5\n1,6\n";
    let quality = "model,format,ppl,winogrande,hellaswag\nm,F16,8,60,70\n";
    let import = ["--platform", "p", "--format", "f16"];
    let fuse = ["--log", text(&log)];
    let hydra = ["--mode", "hydra", "--platform", "orin", "--out", "none"];
    let mapped = ["--columns", "time=t_s:s,total_mw=total_mw:mW"];
    let corpus = data("hydra/corpus");
    for (name, content, column, before, after) in [
        ("runs.csv", runs, "tok_s", &["import"][..], &import[..]),
        ("runs.csv", runs, "tok_s", &["fit-length"], &[]),
        ("bench.csv", rows, "n_gen", &["import"], &import),
        ("samples.csv", samples, "total_mw", &["read"], &[]),
        ("samples.csv", samples, "t_s", &["read"], &[]),
        ("samples.csv", samples, "total_mw", &["read"], &mapped),
        ("INFO.csv", &info, "start_time", &["fuse", "--prompts"], &fuse),
        ("INFO.csv", &info, "start_time", &["fuse", "--prompts"], &[&fuse[..], &hydra].concat()),
        ("quality.csv", quality, "ppl", &["hydra", "quality"], &[]),
        (
            "quick.csv",
            &reference,
            "platform",
            &["hydra", "check", text(&corpus), "--reference"],
            &[],
        ),
        (unified, &record, "start_time", &["hydra", "tables"], &[]),
        (unified, &record, "start_time", &["hydra", "figures"], &[]),
    ] {
        let path = target.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let header: Vec<&str> = content.lines().next().unwrap().split(',').collect();
        let (first, second) =
            (header.iter().position(|c| *c == column).unwrap() + 1, header.len() + 1);
        let added = |(row, line)| {
            if row == 0 { format!("{line},{column}\n") } else { format!("{line},0\n") }
        };
        std::fs::write(&path, content.lines().enumerate().map(added).collect::<String>()).unwrap();
        let read = if name == unified { target.path() } else { &path };
        let said = fails(2, &[before, &[text(read)], after].concat());
        let place = format!(
            "row 1: the header names column `{column}` twice (columns {first} and {second})"
        );
        assert!(said.contains(text(&path)) && said.contains(&place), "{before:?} {name}: {said}");
    }
}

/// Every pair of an output with an input or another output, under any name of the file.
#[test]
fn no_output_replaces_an_input_or_another_output() {
    let target = tempfile::tempdir().unwrap();
    let file = |name: &str| target.path().join(name).to_str().unwrap().to_owned();
    let (input, new) = (file("input"), file("new.csv"));
    let other = file("other.csv");
    std::fs::write(&input, "mine").unwrap();
    std::fs::write(&other, "mine").unwrap();
    std::fs::create_dir(target.path().join("folder")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&input, target.path().join("link")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(target.path(), target.path().join("here")).unwrap();
    let import = ["import", &other, "--platform", "p", "--format", "f16", "--shapes"];
    let verbs: [(&str, &[&str], bool); 6] = [
        ("LOG", &["read", &input, "--tz", "UTC"], true),
        ("--prompts", &["fuse", "--log", &other, "--prompts", &input], true),
        ("--log", &["fuse", "--prompts", &other, "--log", &input], true),
        ("RESULTS", &["import", &input, "--platform", "p", "--format", "f16"], true),
        ("--shapes", &[&import[..], &[&input]].concat(), true),
        ("RUNS", &["fit-length", &input], false),
    ];
    let mut names = vec![input.clone(), file("folder/../input")];
    if cfg!(unix) {
        names.extend([file("link"), file("here/input")]);
    }
    for (option, verb, reports) in &verbs {
        let outputs: &[&str] = if *reports { &["--out", "--report"] } else { &["--out"] };
        for output in outputs {
            for name in &names {
                let said = fails(2, &[verb, &[*output, name][..]].concat());
                assert!(said.contains(output) && said.contains(option), "{verb:?}: {said}");
            }
        }
        let same = if cfg!(unix) { file("here/new.csv") } else { file("folder/../new.csv") };
        if *reports {
            let said = fails(2, &[verb, &["--out", &new, "--report", &same][..]].concat());
            assert!(said.contains("--out") && said.contains("--report"), "{said}");
        }
    }
    assert_eq!(std::fs::read(&input).unwrap(), b"mine");
    assert!(!Path::new(&new).exists());
}

/// A pipe whose reader has gone ends no command with a panic, be it stdout or stderr.
#[cfg(unix)]
#[test]
fn closed_pipes_are_no_panic() {
    let log = data("cases/tegrastats/tx2_jp4.log");
    for args in [
        &["--help"][..],
        &["read", "--help"],
        &["no-such-verb"],
        &["read", text(&log), "--tz", "UTC"],
        &["read", "no-such-file"],
        &["import", text(&log), "--platform", "p", "--format", "q4_0"],
        &["simulate", "--platform", "orin", "--models", "5"],
    ] {
        let expected = measure(args).status.code();
        let closed = || std::io::pipe().unwrap().1;
        let mut command = Command::new(env!("CARGO_BIN_EXE_measure"));
        let status = command.args(args).stdout(closed()).stderr(closed()).status().unwrap();
        assert_eq!(status.code(), expected, "{args:?}");
    }
}

/// An answer that does not arrive is a failure, be it a table, help or the version.
#[cfg(target_os = "linux")]
#[test]
fn output_that_is_lost_is_a_failure() {
    let log = data("cases/tegrastats/tx2_jp4.log");
    let corpus = data("hydra/corpus");
    for args in [
        &["--help"][..],
        &["--version"],
        &["read", "--help"],
        &["hydra", "tables", "--help"],
        &["read", text(&log), "--tz", "UTC"],
        &["simulate", "--platform", "orin", "--models", "5"],
        &["hydra", "tables", text(&corpus)],
        &["hydra", "figures", text(&corpus)],
    ] {
        ok(args);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_measure"));
        let out = command.args(args).stdout(full).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert_eq!(out.status.code(), Some(1), "{args:?}: {said}");
        assert_eq!(said.matches("os error").count(), 1, "{args:?}: {said}");
    }
}

#[test]
fn prompts_that_overlap_are_named_as_the_cause() {
    let folder = data("hydra/orin/results_llamacpp_orin");
    let (info, log) =
        (folder.join("INFO_Qwen2.5-1.5B_Q4_K_M_.csv"), folder.join("TGS_Qwen2.5-1.5B_Q4_K_M_.csv"));
    let target = tempfile::tempdir().unwrap();
    let twice = target.path().join("INFO.csv");
    let good = std::fs::read_to_string(&info).unwrap();
    let (_, rows) = good.split_once('\n').unwrap();
    std::fs::write(&twice, format!("{}\n{}", good.trim_end(), rows)).unwrap();
    let pair = ["fuse", "--prompts", text(&twice), "--log", text(&log), "--tz", "-04:00"];
    let said = fails(2, &pair);
    assert!(said.contains("overlap in time") && !said.contains("zone"), "{said}");
}
