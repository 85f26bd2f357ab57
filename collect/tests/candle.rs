//! candle itself on tiny models.
#![cfg(feature = "engine-candle")]
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::path::PathBuf;
use std::time::Duration;

use enerinfer_collect::{Candidate, Candle, Engine as _, EngineError, Lease, Request};
use enerinfer_datasets::synthesize::{GgufOptions, Vocabulary};
use enerinfer_datasets::{LlmShape, Model, ShapeSpec, WeightFormat};

fn lease(
    format: WeightFormat,
    vocabulary: Vocabulary,
    tied: bool,
    dir: &tempfile::TempDir,
) -> Lease {
    let shape = LlmShape::new(ShapeSpec {
        layers: 2,
        hidden: 64,
        heads: 4,
        kv_heads: 2,
        ffn: 128,
        vocab: 320,
        tied: Some(tied),
        ..ShapeSpec::default()
    })
    .unwrap();
    let model = Model { name: "tiny".to_owned(), shape };
    let options = GgufOptions { vocabulary, ..GgufOptions::default() };
    Candidate::synthetic(model, format, options).unwrap().lease(dir.path()).unwrap()
}

fn request() -> Request {
    Request {
        threads: Candle::threads().unwrap(),
        prompt_tokens: 5,
        generate_tokens: 3,
        warm_up_tokens: 2,
        timeout: Duration::from_secs(300),
    }
}

#[test]
fn synthetic_models_are_timed_pass_by_pass() {
    let dir = tempfile::tempdir().unwrap();
    let mut engine = Candle::new();
    for format in [WeightFormat::Q4_0, WeightFormat::Q8_0, WeightFormat::F16] {
        for (vocabulary, tied) in [(Vocabulary::Absent, false), (Vocabulary::Dummy, true)] {
            engine.unload();
            let lease = lease(format, vocabulary, tied, &dir);
            let run = engine.run(lease.path(), &request()).unwrap();
            let timing = &run.timing;
            assert_eq!(timing.generation_s.len(), 3);
            assert!(timing.prefill_s.unwrap() > 0.0 && run.load_s.unwrap() > 0.0);
            assert!(timing.generation_s.iter().sum::<f64>() <= run.span.wall_s);
            let untold = (timing.tokenization_s, timing.detokenization_s, timing.counters);
            assert_eq!(untold, (None, None, None));
            // The model stays loaded for the next run, and its cache does not.
            let again = engine.run(lease.path(), &Request { prompt_tokens: 0, ..request() });
            let again = again.unwrap();
            assert_eq!((again.load_s, again.timing.prefill_s), (None, None));
        }
    }
}

#[test]
fn what_cannot_be_run_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let lease = lease(WeightFormat::Q4_0, Vocabulary::Absent, false, &dir);
    let mut engine = Candle::new();
    let mut error = |r: Request| engine.run(lease.path(), &r).unwrap_err();

    let threads = request().threads + 1;
    let message = error(Request { threads, ..request() }).to_string();
    assert!(message.contains(&format!("RAYON_NUM_THREADS={threads}")), "{message}");
    let hurried = error(Request { timeout: Duration::ZERO, ..request() });
    assert!(matches!(hurried, EngineError::Timeout { .. }), "{hurried}");
    let long = error(Request { prompt_tokens: 4094, ..request() }).to_string();
    assert!(long.contains("at most 4096"), "{long}");

    let none = engine.run(&dir.path().join("none.gguf"), &request()).unwrap_err();
    assert!(matches!(none, EngineError::Failed { .. }), "{none}");
}

/// Damage is an error or goes unnoticed; neither panics nor ends the process.
#[test]
fn damaged_files_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let lease = lease(WeightFormat::Q4_0, Vocabulary::Absent, false, &dir);
    let bytes = std::fs::read(lease.path()).unwrap();
    let path: PathBuf = dir.path().join("damaged.gguf");
    let mut engine = Candle::new();
    let mut run = |damaged: &[u8]| {
        std::fs::write(&path, damaged).unwrap();
        engine.unload();
        engine.run(&path, &request()).map(|_| ())
    };
    assert!(run(&bytes).is_ok());
    for part in [0, 1, 10, 100, 500, 900, 999] {
        let cut = run(&bytes[..bytes.len() * part / 1000]).unwrap_err();
        assert!(matches!(cut, EngineError::Failed { .. }), "{cut}");
    }

    // Everything before the weights: sizes, types, names, dimensions, offsets.
    let last_name = b"output.weight";
    let at = bytes.windows(last_name.len()).rposition(|w| w == last_name).unwrap();
    let (mut refused, mut tried) = (0, 0);
    for i in (0..at + 40).step_by(5) {
        for value in [0x00, 0xff] {
            let mut damaged = bytes.clone();
            damaged[i] = value;
            if let Err(e) = run(&damaged) {
                assert!(matches!(e, EngineError::Failed { .. }), "byte {i}: {e}");
                refused += 1;
            }
            tried += 1;
        }
    }
    assert!(refused > tried / 4, "{refused} of {tried}: the damage did not reach the header");
}
