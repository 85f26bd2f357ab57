//! `train evaluate`: every figure with its source, the same for any number of threads, and how it
//! ends on bad input.
#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use common::train;
use enerinfer_artifacts::exhibit::{Column, Evaluation, Exhibit, Provenance, Values};
use enerinfer_evaluation::figures::Topic;

/// Minutes of simulation; the closed loop and the thermal fit have tests of their own.
const ELSEWHERE: [Topic; 8] = [
    Topic::Fig11,
    Topic::Fig14,
    Topic::Optimum,
    Topic::Robustness,
    Topic::Interference,
    Topic::Workloads,
    Topic::Fig15,
    Topic::Table2Loop,
];

const SMALL: [&str; 7] = ["evaluate", "--models", "30", "--trials", "2", "--quiet", "--seed=7"];

fn column<'a>(exhibit: &'a Exhibit, table: &str, name: &str, of: Provenance) -> &'a Column {
    let table = exhibit.tables.iter().find(|t| t.id == table).unwrap();
    let is = |c: &&Column| c.name == name && c.provenance == Some(of);
    table.columns.iter().find(is).unwrap()
}

fn numbers(column: &Column) -> &[Option<f64>] {
    match &column.values {
        Values::Numbers { values, .. } => values,
        Values::Text(_) => &[],
    }
}

#[test]
fn every_exhibit_is_there_with_its_source_for_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let topics: Vec<&str> =
        Topic::ALL.into_iter().filter(|t| !ELSEWHERE.contains(t)).map(Topic::name).collect();
    let only = topics.join(",");
    let run = |threads: &str| {
        let args = ["--platform", "h_phone", "--threads", threads, "--only", &only];
        train(folder.path(), &[&SMALL[..], &args].concat())
    };
    let one = run("1");
    assert_eq!(one.code, 0, "{}", one.stderr);
    assert_eq!(one.stderr, "", "--quiet");
    assert!(one.stdout.lines().all(|l| l.chars().count() <= 100), "{}", one.stdout);
    let out = folder.path().join("out/evaluation");
    let evaluation = Evaluation::read(&out.join("evaluation.json")).unwrap();
    let ids: Vec<&str> = evaluation.exhibits.iter().map(|e| &*e.id).collect();
    assert_eq!(ids, topics);
    let page = std::fs::read_to_string(out.join("evaluation.html")).unwrap();
    let markdown = std::fs::read_to_string(out.join("evaluation.md")).unwrap();
    for e in &evaluation.exhibits {
        assert!(e.source.contains("EnerInfer"), "{}: {}", e.id, e.source);
        assert!(page.contains(&format!("<section id=\"{}\">", e.id)), "{}", e.id);
        assert!(markdown.contains(&*e.title.replace('\'', "\\'")), "{}", e.title);
        assert!(!e.provenances().contains(&Provenance::Measured), "{} was measured?", e.id);
        for table in &e.tables {
            assert!(table.columns.iter().all(|c| !c.values.is_empty()), "{} is empty", table.id);
        }
    }

    // Another number of threads, and a folder that holds an evaluation already.
    let before = std::fs::read(out.join("evaluation.json")).unwrap();
    let two = run("2");
    assert_eq!(two.code, 0, "{}", two.stderr);
    assert!(before == std::fs::read(out.join("evaluation.json")).unwrap(), "threads change values");
}

#[test]
fn shapes_that_do_not_fit_are_skipped_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(
        folder.path(),
        &[&SMALL[..], &["--platform", "laptop,board", "--only", "fig12,moe"]].concat(),
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    let path = folder.path().join("out/evaluation/evaluation.json");
    let evaluation = Evaluation::read(&path).unwrap();
    let fig12 = &evaluation.exhibits[0];
    let counts = numbers(column(fig12, "fig12_summary", "Count", Provenance::Simulated));
    let skipped = numbers(column(fig12, "fig12_summary", "Skipped", Provenance::Simulated));
    // Per device: the paper's LLMs, those of the synthetic models' sizes, all.
    assert_eq!(counts.len(), 6);
    assert_eq!(counts[0], Some(3.0));
    assert!(skipped[2] > Some(0.0), "{skipped:?}");
    assert!(counts[2] > counts[1] && counts[1] > Some(100.0), "{counts:?}");
    assert!(evaluation.notes.iter().any(|n| n.contains("laptop") && n.contains("skipped")));
    let page =
        std::fs::read_to_string(folder.path().join("out/evaluation/evaluation.html")).unwrap();
    assert!(page.contains("Predictors come from a random search of 2 trials"));
    // Two kinds of predictors on four kinds of models, each with a value; dense ones first.
    let moe = &evaluation.exhibits[1];
    for (trained, mixtures_too) in [("dense only", false), ("with mixtures", true)] {
        let name = format!("Throughput MAPE, {trained}");
        let errors = numbers(column(moe, "moe_summary", &name, Provenance::Simulated));
        assert_eq!(errors.len(), 8, "{name}");
        assert!(errors.iter().all(Option::is_some), "{name}: {errors:?}");
        let table = if mixtures_too { "moe_models" } else { "moe_models_dense" };
        let rows = numbers(column(moe, table, "Throughput MAPE", Provenance::Simulated));
        assert!(!rows.is_empty() && rows.iter().all(Option::is_some), "{table}");
    }
}

#[test]
fn figures_of_devices_need_no_training() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(folder.path(), &["evaluate", "--all", "--only", "table1,fig7", "--quiet"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let out = folder.path().join("out/evaluation");
    let evaluation = Evaluation::read(&out.join("evaluation.json")).unwrap();
    let ids: Vec<&str> = evaluation.exhibits.iter().map(|e| &*e.id).collect();
    assert_eq!(ids, ["fig7", "table1"], "in the order of the report");
    assert!(!out.join("search").exists());
    assert_eq!(evaluation.trials, 0);
    let page = std::fs::read_to_string(out.join("evaluation.html")).unwrap();
    assert!(!page.contains("Predictors come from"), "none were searched for");
    let published = column(&evaluation.exhibits[0], "fig7_slow", "Smallest", Provenance::Published);
    let values: Vec<f64> = numbers(published).iter().flatten().copied().collect();
    assert_eq!(values, [0.6], "published for the laptop only");
}

#[test]
fn bad_input_is_refused_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    for (args, part) in [
        (&["--platform", "h-phone"][..], "did you mean `h_phone`"),
        (&["--all", "--only", "fig4,fig99"], "known: goals, devices, fig2"),
        (&[], "--platform"),
        (&["--all", "--platform", "orin"], "--platform"),
        (&["--all", "--trials", "0"], "--trials"),
        (&["--platform", "h_phone", "--models", "3"], "6 are needed"),
    ] {
        let run = train(folder.path(), &[&["evaluate"], args].concat());
        assert_eq!(run.code, 2, "{args:?}: {}", run.stderr);
        assert!(run.stderr.contains(part), "{args:?}: {}", run.stderr);
    }
    assert!(!folder.path().join("out").exists());

    std::fs::write(folder.path().join("evaluation.html"), "mine").unwrap();
    let run = train(folder.path(), &["evaluate", "--all", "--only", "fig2", "--out", "."]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(run.stderr.contains("earlier evaluation"), "{}", run.stderr);
    assert_eq!(std::fs::read(folder.path().join("evaluation.html")).unwrap(), b"mine");
}
