//! Tables, figures and checks against what the original makes of the same corpus.
#![allow(clippy::unwrap_used)] // a test's way to fail
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::path::{Path, PathBuf};

use enerinfer_telemetry::TextTable;
use enerinfer_telemetry::hydra::canonical::{Canonical, PHASES};
use enerinfer_telemetry::hydra::check::{
    Manifest, Outcome, check_digests, check_invariants, check_manifest, doubts, expected_columns,
    known_failures, quick_cells, read_quick_reference,
};
use enerinfer_telemetry::hydra::corpus::{Backend, Corpus};
use enerinfer_telemetry::hydra::figures::{figure_values_csv, figures};
use enerinfer_telemetry::hydra::tables::tables;
use enerinfer_telemetry::hydra::{HydraPlatform, figure_svg};

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hydra").join(path)
}

fn corpus() -> Corpus {
    Corpus::load(&data("corpus")).unwrap()
}

#[test]
fn tables_equal_the_original_byte_for_byte() {
    let corpus = corpus();
    assert_eq!((corpus.configs.len(), corpus.record_count()), (109, 420));
    let tables = tables(&corpus);
    assert_eq!(tables.len(), 4);
    for t in tables {
        let expected = |ext: &str| {
            std::fs::read_to_string(data(&format!("corpus/expected/tables/{}.{ext}", t.name)))
                .unwrap()
        };
        assert_eq!(t.to_csv(), expected("csv"));
        assert_eq!(t.to_markdown(), expected("md"));
    }
}

#[test]
fn figure_values_equal_the_original() {
    let ours = figure_values_csv(&figures(&corpus()));
    let theirs = std::fs::read_to_string(data("corpus/expected/figure_values.csv")).unwrap();
    assert_eq!(ours.lines().count(), theirs.lines().count());
    for (a, b) in ours.lines().zip(theirs.lines()) {
        let split = |s: &str| s.split([',', '|']).map(str::to_owned).collect::<Vec<_>>();
        let (a, b) = (split(a), split(b));
        assert_eq!(a.len(), b.len(), "{a:?} {b:?}");
        for (x, y) in a.iter().zip(&b) {
            let equal = match (x.parse::<f64>(), y.parse::<f64>()) {
                (Ok(x), Ok(y)) if !x.is_nan() => (x - y).abs() <= 1e-9 * y.abs(),
                _ => x == y,
            };
            assert!(equal, "{a:?} {b:?}");
        }
    }
}

#[test]
fn every_figure_has_a_picture() {
    for f in figures(&corpus()) {
        let svg = figure_svg(&f);
        assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{}", f.name);
        assert_eq!(svg.matches("<g ").count(), f.panels.len());
    }
}

#[test]
fn canonical_values_equal_the_original() {
    let mut checked = 0;
    for p in [HydraPlatform::Orin, HydraPlatform::Thor] {
        for backend in ["hf", "llamacpp"] {
            let folder = data(&format!("{p}/results_{backend}_{p}"));
            let root = tempfile::tempdir().unwrap();
            let copy = root.path().join(format!("{p}/results_{backend}_{p}"));
            std::fs::create_dir_all(&copy).unwrap();
            let mut expected = None;
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                if name.starts_with("CANONICAL_") {
                    expected = Some(TextTable::open(&path).unwrap());
                } else if name.starts_with("UNIFIED_") {
                    std::fs::copy(&path, copy.join(&name)).unwrap();
                }
            }
            let expected = expected.unwrap();
            let corpus = Corpus::load(root.path()).unwrap();
            assert_eq!(
                corpus.configs[0].columns,
                expected_columns(p, corpus.configs[0].config.backend)
            );
            for (row, record) in corpus.configs[0].records.iter().enumerate() {
                for (phase, c) in PHASES.iter().zip(&record.phases) {
                    for (name, v) in Canonical::NAMES.iter().zip(c.values()) {
                        let column = expected.require(&format!("{name}_{phase}_mean")).unwrap();
                        let text = &expected.rows[row][column];
                        let at = format!("{p} {backend} row {row} {name} {phase}: {text} {v}");
                        match text.parse::<f64>() {
                            Err(_) => assert!(text.is_empty() && v.is_nan(), "{at}"),
                            Ok(e) if e.is_infinite() => assert_eq!(e, v, "{at}"),
                            Ok(e) => assert!((e - v).abs() <= 1e-9 * e.abs(), "{at}"),
                        }
                        checked += 1;
                    }
                }
            }
        }
    }
    assert_eq!(checked, 4 * 5 * 3 * 18);
}

#[test]
fn quick_cells_equal_the_original() {
    let corpus = corpus();
    for p in HydraPlatform::ALL {
        let text =
            std::fs::read_to_string(data(&format!("corpus/expected/ae_quick_{p}.txt"))).unwrap();
        for (backend, dtype, cell) in quick_cells(&corpus, p) {
            let key = format!("{}/{dtype}", backend.name());
            let printed: Vec<String> = text
                .lines()
                .filter(|l| l.starts_with(&key))
                .map(|l| {
                    let words: Vec<&str> = l.split_whitespace().collect();
                    // The value stands before the reference and the deviation.
                    let at = words.iter().position(|w| w.parse::<f64>().is_ok()).unwrap();
                    words[at].to_owned()
                })
                .collect();
            if dtype == "F16" {
                assert!(printed.is_empty());
                continue;
            }
            let ours = [cell.power_w, cell.itl_ms, cell.mj_per_token, cell.tok_per_s]
                .map(|v| format!("{v:.1}"));
            assert_eq!(printed, ours, "{p} {key}");
        }
        let invariants = check_invariants(p, &quick_cells(&corpus, p));
        assert!(invariants.iter().all(|c| c.outcome == Outcome::Pass), "{invariants:?}");
    }
}

#[test]
fn all_nine_invariants_hold_for_the_published_values() {
    let table =
        TextTable::read(&include_bytes!("data/published/ae_quick_reference.csv")[..]).unwrap();
    let reference = read_quick_reference(&table).unwrap();
    assert_eq!(reference.len(), 12);
    for p in HydraPlatform::ALL {
        let cells: Vec<_> = reference
            .iter()
            .filter(|((platform, ..), _)| platform == p.name())
            .map(|((_, b, d), c)| {
                let backend = if b == "hf" { Backend::Hf } else { Backend::LlamaCpp };
                (backend, d.as_str(), *c)
            })
            .collect();
        assert!(check_invariants(p, &cells).iter().all(|c| c.outcome == Outcome::Pass));
        // A missing format is skipped, and that is no pass.
        let some = check_invariants(p, &cells[..1]);
        assert!(some.iter().any(|c| c.outcome == Outcome::Skipped));
    }
}

#[test]
fn an_incomplete_corpus_is_told_from_the_released_one() {
    let checks = check_manifest(&corpus(), Manifest::RELEASED);
    assert!(checks.iter().all(|c| c.outcome == Outcome::Fail), "{checks:#?}");
    let ours = Manifest { files: 109, main_files: 45, records: 420, sensitivity_records: 240 };
    let checks = check_manifest(&corpus(), ours);
    assert!(checks[..4].iter().all(|c| c.outcome == Outcome::Pass), "{checks:#?}");
    let failures: Vec<String> = known_failures().iter().map(|c| c.model.clone()).collect();
    assert_eq!(
        failures,
        ["Llama-3.1-8B", "Ministral-8B", "gemma-7B", "granite-3.3-8B", "moxin-7B"]
    );
}

#[test]
fn digests_are_checked_or_skipped_never_assumed() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(check_digests(folder.path()).unwrap().outcome, Outcome::Skipped);
    std::fs::write(folder.path().join("a"), "abc").unwrap();
    // SHA-256 of "abc", FIPS 180-2 example.
    let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    let sums = folder.path().join("SHA256SUMS");
    std::fs::write(&sums, format!("{sum}  a\n")).unwrap();
    assert_eq!(check_digests(folder.path()).unwrap().outcome, Outcome::Pass);
    std::fs::write(folder.path().join("a"), "abd").unwrap();
    assert_eq!(check_digests(folder.path()).unwrap().outcome, Outcome::Fail);
    std::fs::write(&sums, format!("{sum}  b\n")).unwrap();
    assert_eq!(check_digests(folder.path()).unwrap().outcome, Outcome::Fail);
}

#[test]
fn unsynchronised_files_are_named() {
    let found = doubts(&corpus());
    let unreliable = |b: Backend| {
        found.iter().filter(|(c, d)| c.backend == b && d.contains("unreliable")).count()
    };
    assert!(unreliable(Backend::Hf) > 0);
    assert_eq!(unreliable(Backend::LlamaCpp), 0);
}
