//! The measurements of a real CPU that the repository holds, and learning curves on them.
#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::path::Path;

use common::train;
use enerinfer_artifacts::record::Record;
use enerinfer_datasets::{MeasurementTable, Source, WeightFormat};

const TABLES: [(&str, WeightFormat); 2] =
    [("host_cpu.csv", WeightFormat::Q4_0), ("host_cpu_q8_0.csv", WeightFormat::Q8_0)];

#[test]
fn both_tables_are_complete_and_of_the_same_models() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/measured");
    let tables = TABLES.map(|(name, format)| {
        let (table, _) = MeasurementTable::read(&folder.join(name), "host_cpu").unwrap();
        assert_eq!(table.platform.format, format);
        assert!(matches!(table.source, Source::Measured(_)));
        assert!(table.rows.iter().all(|r| r.samples >= 5));
        table
    });
    assert_eq!(tables[0].models, tables[1].models);
    assert_eq!((tables[0].models.len(), tables[0].rows.len()), (125, 250));
}

#[test]
fn fewer_training_models_leave_the_held_out_ones_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/measured/host_cpu.csv");
    let record = |out: &str, more: &[&str]| -> Record {
        let mut args = vec!["--platform", "host_cpu", "--trials", "3", "--quiet", "--out", out];
        args.extend(["--measurements", table.to_str().unwrap()]);
        args.extend(more);
        let run = train(dir.path(), &args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(!run.stdout.contains("SIMULATED"), "{}", run.stdout);
        Record::read(&dir.path().join(out).join("report.json")).unwrap()
    };
    let (all, few) = (record("all", &[]), record("few", &["--train-models", "20"]));
    assert_eq!((all.data.train_models, few.data.train_models), (100, 20));
    let names = |r: &Record| -> Vec<String> {
        r.details.heldout_shapes.iter().map(|s| s.model.clone()).collect()
    };
    assert_eq!(names(&all), names(&few));
    assert!(!few.data.simulated);
}
