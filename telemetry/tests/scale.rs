//! The generator, and partitioned Parquet as other engines see it.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::collections::BTreeMap;
use std::path::Path;

use enerinfer_telemetry::fuse::{FuseOptions, fuse, infer_zone};
use enerinfer_telemetry::hydra::check::{Manifest, expected_columns};
use enerinfer_telemetry::hydra::corpus::{Corpus, Sweep, layout_files};
use enerinfer_telemetry::hydra::generate::{GenerateSpec, generate, released_configs};
use enerinfer_telemetry::hydra::unify_file;
use enerinfer_telemetry::parquet::{COLUMNS, Partition, read_table, write_partition};
use enerinfer_telemetry::tegrastats::Tegrastats;
use enerinfer_telemetry::{TextTable, Zone, phase_records, read_prompts};

fn small(files: usize) -> GenerateSpec {
    GenerateSpec {
        main_prompts: 3,
        s1_prompts: 1,
        s2_prompts: 1,
        time_scale: 0.02,
        max_files: files,
        ..GenerateSpec::RELEASED
    }
}

fn files_below(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(root).unwrap().display().to_string();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

#[test]
fn the_released_corpus_has_its_published_size() {
    let configs = released_configs(&GenerateSpec::RELEASED);
    let records: usize = configs.iter().map(|c| c.1).sum();
    let main = configs.iter().filter(|c| c.0.sweep == Sweep::Main);
    assert_eq!((configs.len(), records), (Manifest::RELEASED.files, Manifest::RELEASED.records));
    assert_eq!(main.count(), Manifest::RELEASED.main_files);
}

#[test]
fn generated_corpora_are_reproducible_and_fuse_completely() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let written = generate(a.path(), &small(usize::MAX)).unwrap();
    assert_eq!((written.files, written.records), (286, 190 * 3 + 24 + 72));
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    one_thread.install(|| generate(b.path(), &small(usize::MAX))).unwrap();
    assert!(files_below(a.path()) == files_below(b.path()));
    for (config, info) in layout_files(a.path(), "INFO_").unwrap() {
        let name = info.file_name().unwrap().to_str().unwrap().to_owned();
        let sibling = |kind: &str| info.with_file_name(name.replacen("INFO", kind, 1));
        let report =
            unify_file(config.platform, &info, &sibling("TGS"), &sibling("UNIFIED"), |_| Ok(()))
                .unwrap();
        assert_eq!(report.columns, expected_columns(config.platform, config.backend));
        assert_eq!(report.tally.refused, 0);
        assert_eq!(report.rows_without_samples, 0, "{config}");
    }
    let corpus = Corpus::load(a.path()).unwrap();
    assert_eq!((corpus.configs.len(), corpus.record_count()), (286, written.records));
}

#[test]
fn partitions_read_back_with_nulls_and_definitions() {
    let root = tempfile::tempdir().unwrap();
    generate(root.path(), &small(1)).unwrap();
    let (_, info) = layout_files(root.path(), "INFO_").unwrap().remove(0);
    let (prompts, _) = read_prompts(&TextTable::open(&info).unwrap()).unwrap();
    let name = info.file_name().unwrap().to_str().unwrap().replacen("INFO", "TGS", 1);
    let log = std::fs::read(info.with_file_name(name)).unwrap();
    let fit = infer_zone(&prompts, &mut Tegrastats::new(log.as_slice())).unwrap();
    assert_eq!(fit.zone.name(), "-04:00");
    let options = FuseOptions::new(Zone::parse("America/New_York").unwrap());
    let fused = fuse(prompts, &mut Tegrastats::new(log.as_slice()), &options).unwrap();
    let records = phase_records(&fused, &options);
    let partition = Partition {
        platform: "xavier".to_owned(),
        backend: "hf".to_owned(),
        model: "m".to_owned(),
        format: "f".to_owned(),
        sweep: "main".to_owned(),
    };
    let path = write_partition(root.path(), &partition, &records).unwrap();
    let first = std::fs::read(&path).unwrap();
    let table = read_table(&path).unwrap();
    assert_eq!(table.header, COLUMNS.map(|c| c.0));
    assert_eq!(table.rows.len(), records.len());
    let column = |n: &str| table.require(n).unwrap();
    for (row, r) in records.iter().enumerate() {
        let total = r.total.as_ref().unwrap();
        assert_eq!(table.rows[row][column("phase")], r.phase.name());
        assert_eq!(table.rows[row][column("start_ns")], r.start_ns.to_string());
        assert_eq!(table.rows[row][column("total_definition")], total.definition);
        assert_eq!(table.number(row, column("total_energy_j")), total.energy_j);
        assert_eq!(table.number(row, column("gpu_mhz")), r.mean("gpu_mhz"));
        // Xavier has no NVML: null, not 0.
        assert_eq!(table.number(row, column("nvml_gpu_load")), None);
    }
    write_partition(root.path(), &partition, &records).unwrap();
    assert!(first == std::fs::read(&path).unwrap(), "the same records give the same bytes");
}
