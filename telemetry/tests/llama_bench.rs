//! llama-bench results in every format, from builds old and new; sources in `data/README.md`.
#![allow(clippy::unwrap_used)] // a test's way to fail

use enerinfer_telemetry::llama_bench::{BenchFlag, BenchFormat, Phase, read_bench};

macro_rules! case {
    ($name:literal) => {
        read_bench(include_bytes!(concat!("data/cases/llama_bench/", $name))).unwrap()
    };
}

#[test]
fn a_wrong_deviation_is_computed_again() {
    let (rows, _) = case!("bad_stddev.json");
    assert_eq!(rows.len(), 1);
    assert!((rows[0].stddev_ns - 148894758.2).abs() < 0.1, "{}", rows[0].stddev_ns);
    assert_eq!(rows[0].flags, [BenchFlag::DeviationRecomputed]);
    assert_eq!(rows[0].phase(), Phase::Decode);
}

#[test]
fn banners_and_crash_messages_are_skipped_and_named() {
    let (rows, tally) = case!("banner_then_json.txt");
    assert_eq!((rows.len(), tally.accepted, tally.refused), (1, 1, 3));
    assert!(tally.refused_lines[2].excerpt.contains("Segmentation fault"));
}

#[test]
fn schemas_of_other_builds_are_read() {
    let (old, _) = case!("old_schema.csv");
    assert_eq!(old.len(), 1);
    assert_eq!((old[0].n_prompt, old[0].n_gen, old[0].n_depth), (512, 0, 0));
    assert_eq!(old[0].tok_per_s, 2413.34);
    assert_eq!(old[0].gpu, "GPU \"A\"");
    let (new, tally) = case!("new_schema.jsonl");
    assert_eq!((new.len(), tally.refused), (5, 0));
}

#[test]
fn a_column_that_stands_twice_is_refused() {
    for text in [
        "n_prompt,n_gen,avg_ts,n_gen\n0,32,5,64\n",
        "| model | test | t/s | t/s |\n| - | - | - | - |\n| a | tg32 | 5 | 6 |\n",
    ] {
        let error = read_bench(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("twice"), "{error}");
    }
}

#[test]
fn phases_noise_and_paths() {
    let (rows, _) = case!("new_schema.jsonl");
    let phases: Vec<_> = rows.iter().map(|r| r.phase().name()).collect();
    assert_eq!(phases, ["pp", "pp", "pg", "pp", "tg"]);
    assert!(rows[2].flags.contains(&BenchFlag::MixedPhases));
    assert!(rows[3].flags.contains(&BenchFlag::Noisy));
    assert_eq!(rows[3].n_depth, 4096);
    assert_eq!((rows[0].n_ubatch, rows[1].n_ubatch), (Some(128), Some(512)));
    // The same model under two paths.
    assert_eq!(rows[3].model, rows[4].model);
    assert_eq!(rows[4].file_name, "m-q4.gguf");
    assert!((rows[4].tok_per_s - 10.538).abs() < 1e-3);
}

#[test]
fn markdown_with_depth_mixed_tests_and_build_line() {
    let text = "\
ggml_cuda_init: found 1 CUDA devices
| model | size | params | backend | ngl | test | t/s |
| --- | ---: | ---: | --- | --: | ---: | ---: |
| llama 8B IQ4_XS - 4.25 bpw | 4.13 GiB | 8.03 B | CUDA | 99 | pp512 | 1122.08 ± 30.34 |
| llama 8B IQ4_XS - 4.25 bpw | 4.13 GiB | 8.03 B | CUDA | 99 | tg128 @ d4096 | 33.54 ± 0.90 |
| llama 8B IQ4_XS - 4.25 bpw | 4.13 GiB | 8.03 B | CUDA | 99 | pp512+tg128 | 120.00 ± 0.10 |
| llama 8B IQ4_XS - 4.25 bpw | 4.13 GiB | 8.03 B | CUDA | 99 | tg128 | 0.00 ± 0.00 |

build: 0000000 (1)
";
    let (rows, tally) = read_bench(text.as_bytes()).unwrap();
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0].model.params, 8_030_000_000);
    assert_eq!((rows[1].n_gen, rows[1].n_depth, rows[1].tok_per_s_std), (128, 4096, 0.9));
    assert_eq!(rows[2].phase(), Phase::Mixed);
    assert_eq!(tally.refusals.iter().filter(|(k, _)| k.contains("failed run")).count(), 1);
    assert_eq!(tally.refused, 3);
}

#[test]
fn sql_dump_with_quotes_inside() {
    let text = "\
CREATE TABLE IF NOT EXISTS test (
  build_commit TEXT,
  n_prompt INTEGER
);

INSERT INTO test (build_commit, gpu_info, model_type, n_prompt, n_gen, avg_ts, stddev_ts) \
VALUES ('abc', 'GPU ''A'', B', 'llama 1B', '0', '128', '10.5', '0.1');
INSERT INTO test (build_commit, n_prompt) VALUES ('abc', 'torn
";
    let (rows, tally) = read_bench(text.as_bytes()).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].gpu, "GPU 'A', B");
    assert_eq!(tally.refused, 1);
}

#[test]
fn a_cut_array_gives_what_came_before_the_cut() {
    let text = r#"[ {"n_prompt":0,"n_gen":8,"avg_ts":5.0,"stddev_ts":0.1}, {"n_prompt":0,"n_g"#;
    let (rows, tally) = read_bench(text.as_bytes()).unwrap();
    assert_eq!((rows.len(), tally.refused), (1, 1));
    assert_eq!(BenchFormat::detect("hello"), None);
    assert!(read_bench(b"hello").is_err());
}
