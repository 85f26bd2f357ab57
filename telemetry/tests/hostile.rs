//! Cut, damaged and arbitrary input: every reader accounts for every line and none panics.
#![allow(clippy::unwrap_used)] // a test's way to fail

use enerinfer_telemetry::csv_samples::{CsvOptions, CsvSamples};
use enerinfer_telemetry::hydra::{HydraParser, HydraPlatform, ParsedLine};
use enerinfer_telemetry::json_samples::JsonSamples;
use enerinfer_telemetry::llama_bench::read_bench;
use enerinfer_telemetry::runs::{GateOptions, gate, read_runs};
use enerinfer_telemetry::tegrastats::Tegrastats;
use enerinfer_telemetry::{Row, SampleReader, TextTable, parse_stamp, read_prompts};
use proptest::prelude::*;

const LOGS: [&[u8]; 4] = [
    include_bytes!("data/cases/tegrastats/orin_agx_jp6_hydra.log"),
    include_bytes!("data/cases/tegrastats/thor_jp7_sudo_nvml.log"),
    include_bytes!("data/cases/tegrastats/tx2_jp4.log"),
    include_bytes!("data/cases/tegrastats/xavier_agx_jp4_jp5.log"),
];

/// Feeds `bytes` to every reader.
fn read_all(bytes: &[u8]) {
    let mut log = Tegrastats::new(bytes);
    let mut row = Row::default();
    while log.read(&mut row).unwrap() {
        assert_eq!(row.values.len(), log.channels().len());
        assert!(row.values.iter().all(|v| !v.is_infinite()));
    }
    assert_eq!(log.tally().lines(), bytes.split_inclusive(|&b| b == b'\n').count() as u64);
    for p in HydraPlatform::ALL {
        let mut parser = HydraParser::new(p).unwrap();
        let mut parsed = ParsedLine::default();
        for line in bytes.split(|&b| b == b'\n') {
            let _ = parser.parse(line, &mut parsed);
        }
    }
    if let Ok(mut csv) = CsvSamples::new(bytes, &CsvOptions::default()) {
        while let Ok(true) = csv.read(&mut row) {}
    }
    if let Ok(mut json) = JsonSamples::new(bytes) {
        while json.read(&mut row).unwrap() {}
    }
    let _ = read_bench(bytes);
    if let Ok((runs, _)) = read_runs(bytes) {
        gate(runs, &GateOptions::default());
    }
    if let Ok(table) = TextTable::read(bytes) {
        let _ = read_prompts(&table);
    }
    let _ = parse_stamp(bytes, None);
}

#[test]
fn logs_cut_at_every_byte() {
    for log in LOGS {
        for end in 0..log.len() {
            read_all(&log[..end]);
        }
    }
}

#[test]
fn results_cut_at_every_byte() {
    let files: [&[u8]; 5] = [
        include_bytes!("data/cases/llama_bench/bad_stddev.json"),
        include_bytes!("data/cases/llama_bench/old_schema.csv"),
        include_bytes!("data/cases/nvml/nominal_interval.json"),
        include_bytes!("data/cases/nvml/smi_units.csv"),
        include_bytes!("data/cases/csv/ollama_cached.jsonl"),
    ];
    for file in files {
        for end in 0..file.len() {
            read_all(&file[..end]);
        }
    }
}

proptest! {
    #[test]
    fn damaged_logs(
        log in 0..LOGS.len(),
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let mut bytes = LOGS[log].to_vec();
        for (at, value) in hits {
            let i = at.index(bytes.len());
            bytes[i] = value;
        }
        read_all(&bytes);
    }

    #[test]
    fn arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        read_all(&bytes);
    }
}
