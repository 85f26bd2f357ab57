//! `train choose` on the published Figure 4 must give the paper's Table 2.
#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use common::train;

/// EnerInfer Figure 4 (arXiv 2606.23001): Qwen2-1.5B, Q4, high-end phone; efficiency as printed,
/// power = throughput / efficiency, rounded to 0.1 mW.
const FIGURE_4: &str = include_str!("../../datasets/measured/fig4_qwen2_1.5b_by_level.csv");

fn choose(qoe: &str) -> common::Run {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fig4.csv"), FIGURE_4).unwrap();
    train(folder.path(), &["choose", "--measurements", "fig4.csv", "--qoe", qoe])
}

#[test]
fn qoe_5_is_table_2() {
    let run = choose("5");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout
            .starts_with("(mem 1, npu 0), 5.59 tokens/s, 18.51 tokens/J, +62 % over default\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn qoe_10_is_table_2() {
    let run = choose("10");
    assert!(
        run.stdout
            .starts_with("(mem 6, npu 1), 10.09 tokens/s, 17.10 tokens/J, +50 % over default\n"),
        "{}",
        run.stdout
    );
}

#[test]
fn an_unreachable_qoe_is_answered_by_the_fastest_and_said() {
    let run = choose("17");
    assert!(run.stdout.starts_with("(mem 8, npu 4), 16.75 tokens/s"), "{}", run.stdout);
    assert!(run.stdout.contains("no operating point is faster than 17 tokens/s"));
}

#[test]
fn a_qoe_must_be_a_number_of_tokens_per_second() {
    for qoe in ["fast", "-1", "nan", "inf", "1e300", "1000000.5"] {
        let qoe = format!("--qoe={qoe}");
        let folder = tempfile::tempdir().unwrap();
        let run = train(folder.path(), &["choose", "--measurements", "x.csv", &qoe]);
        assert_eq!(run.code, 2);
        assert!(run.stderr.contains("tokens/s"), "{}", run.stderr);
    }
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let run = train(folder.path(), &["choose", "--measurements", "nowhere.csv", "--qoe", "5"]);
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("nowhere.csv"), "{}", run.stderr);
    assert_eq!(run.stderr.matches("os error").count(), 1, "{}", run.stderr);
}
