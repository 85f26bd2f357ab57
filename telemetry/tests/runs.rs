//! Benchmark runs and the data-quality gate on users' tables; sources in `data/README.md`.
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::collections::BTreeSet;

use enerinfer_datasets::{WeightFormat, survey};
use enerinfer_telemetry::TextTable;
use enerinfer_telemetry::runs::{
    GateOptions, Gated, Run, RunFlag, TableSpec, gate, measurement_table, read_runs, runs_of_bench,
    runs_of_table,
};

fn gated(bytes: &[u8]) -> Gated {
    let (runs, _) = read_runs(bytes).unwrap();
    gate(runs, &GateOptions::default())
}

fn refusals(g: &Gated) -> Vec<(u64, &str)> {
    g.tally.refused_lines.iter().map(|r| (r.line, r.reason.as_str())).collect()
}

#[test]
fn mixed_units_and_copied_columns() {
    let g = gated(include_bytes!("data/cases/csv/ollama_mixed_units.csv"));
    assert_eq!(g.runs.len(), 1);
    assert!(g.runs[0].1.contains(&RunFlag::CopiedColumns));
    assert_eq!(g.runs[0].0.prefill_tok_per_s, None);
    assert_eq!(g.tally.refused, 1);
    assert!(refusals(&g)[0].1.contains("longer than the whole run"));
}

#[test]
fn a_cached_prompt_has_no_prefill_throughput() {
    let g = gated(include_bytes!("data/cases/csv/ollama_cached.jsonl"));
    assert_eq!(g.runs.len(), 2);
    let prefill = g.runs[0].0.prefill_tok_per_s.unwrap();
    assert!((prefill - 11.0 / 0.275489).abs() < 1e-6);
    assert_eq!(g.runs[1].0.prefill_tok_per_s, None);
    assert!(g.runs[1].1.contains(&RunFlag::CachedPrompt));
    assert!((g.runs[1].0.decode_tok_per_s.unwrap() - 39.0 / 0.59).abs() < 1e-9);
}

#[test]
fn status_ok_with_zero_throughput_is_a_failed_run() {
    let g = gated(include_bytes!("data/cases/csv/status_ok_zero.csv"));
    assert_eq!((g.runs.len(), g.runs[0].0.decode_tok_per_s), (1, Some(20.7)));
    assert_eq!(refusals(&g), [(3, "throughput is zero: a failed run")]);
}

#[test]
fn tokens_over_wall_time_are_no_decode_throughput() {
    let g = gated(include_bytes!("data/cases/csv/e2e_tps.csv"));
    assert_eq!((g.runs.len(), g.tally.refused), (0, 3));
    assert!(refusals(&g)[0].1.starts_with("end-to-end throughput"));
}

#[test]
fn byte_order_mark_and_crlf() {
    let g = gated(include_bytes!("data/cases/csv/bom_crlf.csv"));
    let r = &g.runs[1].0;
    assert_eq!((r.model.as_str(), r.accel_mhz, r.mem_mhz), ("m1", Some(1300.0), Some(3199.0)));
    assert_eq!((r.decode_tok_per_s, r.power_w), (Some(17.2), Some(42.0)));
}

/// Names differ by case only, or are two of one quantity's; files of every delimiter.
#[test]
fn a_column_that_stands_twice_is_refused_and_two_of_one_quantity_are_told() {
    let columns = ["model", "accel_mhz", "tok_s", "power_w", "samples", "eval_duration"];
    for delimiter in [",", "|", ";", "\t"] {
        for doubled in columns {
            let upper = doubled.to_uppercase();
            let header = [&columns[..], &[upper.as_str()]].concat().join(delimiter);
            let row = ["m", "300", "5", "4", "3", "1", "2"].join(delimiter);
            let error = read_runs(format!("{header}\n{row}\n").as_bytes()).unwrap_err();
            assert!(error.to_string().contains(&format!("`{doubled}` twice")), "{error}");
        }
    }
    let table = TextTable {
        header: ["tok_s", "Tok_s"].map(str::to_owned).to_vec(),
        rows: vec![vec!["1".to_owned(), "2".to_owned()]],
    };
    assert!(runs_of_table(&table).unwrap_err().to_string().contains("`tok_s` twice"));

    // What is not used may stand as often as it likes.
    let (runs, tally) = read_runs(b"model,tok_s,note,note,gen_tps\nm,5,a,b,6\n").unwrap();
    assert_eq!(runs[0].decode_tok_per_s, Some(6.0));
    let told = "columns `tok_s` and `gen_tps` tell the same: `gen_tps` counts";
    assert!(tally.warnings.iter().any(|w| w == told), "{:?}", tally.warnings);
}

fn run(line: u64, accel_mhz: f64, rate: f64) -> Run {
    Run {
        line,
        model: "qwen2-1.5b".to_owned(),
        accel_mhz: Some(accel_mhz),
        mem_mhz: Some(2000.0),
        decode_tok_per_s: Some(rate),
        samples: Some(10),
        ..Run::default()
    }
}

#[test]
fn each_fault_is_refused_or_flagged_with_its_reason() {
    let power = |mut r: Run, w: f64| {
        r.power_w = Some(w);
        r
    };
    let runs = vec![
        power(run(1, 300.0, 5.0), 8.0),
        power(Run { accel_mhz_achieved: Some(500.0), ..run(2, 600.0, 8.0) }, 9.0),
        power(Run { throttled: Some(4.0), ..run(3, 900.0, 9.0) }, 10.0),
        power(run(4, 600.0, 8.0), 9000.0),
        power(Run { samples: Some(1), ..run(5, 600.0, 8.0) }, 9.0),
        power(Run { energy_j: Some(2.0), decode_s: Some(10.0), ..run(6, 900.0, 9.0) }, 10.0),
        power(Run { decode_std: Some(4.0), ..run(7, 900.0, 9.0) }, 10.0),
        power(Run { samples: Some(0), ..run(8, 900.0, 9.0) }, 10.0),
        power(run(9, 900.0, 1e300), 10.0),
        power(run(10, 900.0, -9.0), 10.0),
    ];
    let g = gate(runs, &GateOptions::default());
    let reasons = refusals(&g);
    assert_eq!(reasons.iter().map(|r| r.0).collect::<Vec<_>>(), [2, 3, 4, 8, 9, 10]);
    let words = [
        "differs from the one set",
        "throttled",
        "mixed units",
        "without any sample",
        "beyond what a device can have",
        "a failed run",
    ];
    for (i, word) in words.iter().enumerate() {
        assert!(reasons[i].1.contains(word), "{:?}", reasons[i]);
    }
    let flags: Vec<&BTreeSet<RunFlag>> = g.runs.iter().map(|r| &r.1).collect();
    assert!(flags[0].is_empty());
    assert_eq!(flags[1], &BTreeSet::from([RunFlag::FewSamples]));
    assert_eq!(flags[2], &BTreeSet::from([RunFlag::EnergyDisagrees]));
    assert_eq!(flags[3], &BTreeSet::from([RunFlag::Noisy]));
}

#[test]
fn throughput_that_ignores_clocks_is_flagged() {
    let g = gate(vec![run(1, 300.0, 5.0), run(2, 900.0, 5.01)], &GateOptions::default());
    assert!(g.runs.iter().all(|r| r.1.contains(&RunFlag::ConstantOverClocks)));
    let g = gate(vec![run(1, 300.0, 5.0), run(2, 900.0, 9.0)], &GateOptions::default());
    assert!(g.runs.iter().all(|r| r.1.is_empty()));
}

fn spec(power_domain: Option<&str>) -> TableSpec {
    TableSpec {
        platform: "orin-nano".to_owned(),
        engine: "llama.cpp".to_owned(),
        format: WeightFormat::Q4KM,
        power_domain: power_domain.map(str::to_owned),
        how: "test".to_owned(),
    }
}

#[test]
fn a_public_sweep_becomes_a_measurement_table() {
    // dankang21/jetson-latency-lab @0970a90 (Apache-2.0): Orin Nano, memory clocks.
    let g = gated(include_bytes!("data/published/orin_nano_qwen15b_emc_decode.csv"));
    let shape = |_: &str| survey::find("qwen2-1.5b").map(|m| m.shape);
    let table = measurement_table(&g, &spec(None), &shape).unwrap();
    assert_eq!(table.platform.clocks.accel_khz, [1_015_000]);
    assert_eq!(table.platform.clocks.mem_khz, [204_000, 665_000, 2_133_000, 3_199_000]);
    assert_eq!(table.platform.power_domain, "input:VDD_IN");
    assert_eq!(table.rows[0].throughput_tok_per_s, 5.5137);
    let wrong = measurement_table(&g, &spec(Some("sum:GPU+CPU")), &shape);
    assert!(wrong.unwrap_err().to_string().contains("input:VDD_IN"));
    let unknown = measurement_table(&g, &spec(None), &|_| None);
    assert!(unknown.unwrap_err().to_string().contains("shape of model"));
}

#[test]
fn repeated_runs_become_their_median_and_definitions_do_not_mix() {
    let runs = vec![run(1, 300.0, 5.0), run(2, 300.0, 50.0), run(3, 300.0, 6.0)];
    let g = gate(runs.clone(), &GateOptions::default());
    let shape = |n: &str| survey::find(n).map(|m| m.shape);
    let table = measurement_table(&g, &spec(None), &shape).unwrap();
    assert_eq!((table.rows[0].throughput_tok_per_s, table.rows[0].samples), (6.0, 30));
    let mut mixed = g;
    for (i, r) in mixed.runs.iter_mut().enumerate() {
        r.0.power_w = Some(5.0);
        r.0.power_definition = Some(if i == 0 { "input:VDD_IN" } else { "sum:GPU" }.to_owned());
    }
    let e = measurement_table(&mixed, &spec(None), &shape).unwrap_err().to_string();
    assert!(e.contains("not comparable"), "{e}");
}

#[test]
fn llama_bench_rows_become_runs_by_phase() {
    let (rows, _) = enerinfer_telemetry::llama_bench::read_bench(include_bytes!(
        "data/cases/llama_bench/new_schema.jsonl"
    ))
    .unwrap();
    let (runs, tally) = runs_of_bench(&rows, Some(1300.0), Some(3199.0));
    assert_eq!((runs.len(), tally.refused), (4, 1));
    assert_eq!(runs.iter().filter(|r| r.decode_tok_per_s.is_some()).count(), 1);
}
