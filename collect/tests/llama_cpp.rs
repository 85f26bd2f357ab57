//! llama.cpp itself on tiny models.
#![cfg(feature = "engine-llama-cpp")]
#![allow(clippy::unwrap_used)] // a test's way to fail

use std::time::Duration;

use enerinfer_collect::{Candidate, Engine as _, EngineError, LlamaCpp, Request};
use enerinfer_datasets::synthesize::{GgufOptions, Vocabulary};
use enerinfer_datasets::{LlmShape, Model, ShapeSpec, WeightFormat};

fn plain() -> ShapeSpec {
    ShapeSpec {
        layers: 2,
        hidden: 256,
        heads: 4,
        kv_heads: 2,
        ffn: 512,
        vocab: 1024,
        ..ShapeSpec::default()
    }
}

fn candidate(spec: ShapeSpec, format: WeightFormat, vocabulary: Vocabulary) -> Candidate {
    let model = Model { name: "tiny".to_owned(), shape: LlmShape::new(spec).unwrap() };
    let options = GgufOptions { vocabulary, ..GgufOptions::default() };
    Candidate::synthetic(model, format, options).unwrap()
}

/// The library starts once per process, so one test has it all.
#[test]
fn synthetic_models_are_timed_stage_by_stage() {
    let dir = tempfile::tempdir().unwrap();
    let mut engine = LlamaCpp::new().unwrap();
    let request = Request {
        threads: 1,
        prompt_tokens: 16,
        generate_tokens: 8,
        warm_up_tokens: 2,
        timeout: Duration::from_secs(300),
    };
    for format in WeightFormat::ALL {
        for vocabulary in [Vocabulary::Absent, Vocabulary::Dummy] {
            engine.unload();
            let lease = candidate(plain(), format, vocabulary).lease(dir.path()).unwrap();
            let run = engine.run(lease.path(), &request).unwrap();
            let timing = &run.timing;
            assert_eq!(timing.generation_s.len(), 8);
            assert!(timing.prefill_s.unwrap() > 0.0 && run.load_s.unwrap() > 0.0);
            let has_vocabulary = vocabulary == Vocabulary::Dummy;
            assert_eq!(timing.tokenization_s.is_some(), has_vocabulary);
            assert_eq!(timing.detokenization_s.is_some(), has_vocabulary);
            let counters = timing.counters.unwrap();
            assert_eq!((counters.n_prompt_eval, counters.n_eval), (16, 8));
            // What llama.cpp counts lies within what was timed around its calls.
            let timed_ms = 1e3 * timing.generation_s.iter().sum::<f64>();
            assert!(counters.eval_ms <= timed_ms * 1.001, "{} {timed_ms}", counters.eval_ms);
            assert!(timed_ms / 1e3 <= run.span.wall_s);
            // The model stays loaded for the next run.
            let again = engine.run(lease.path(), &Request { threads: 2, ..request.clone() });
            assert_eq!(again.unwrap().load_s, None);
        }
    }
    // Two matrices per feed-forward network instead of three; one for embedding and LM head; heads
    // that are not hidden / heads wide; rows that are no multiple of a K-quant's block.
    for (spec, format) in [
        (ShapeSpec { gated: Some(false), ..plain() }, WeightFormat::Q4_0),
        (ShapeSpec { tied: Some(true), ..plain() }, WeightFormat::Q4KM),
        (ShapeSpec { head_dim: Some(128), ..plain() }, WeightFormat::Q8_0),
        (ShapeSpec { hidden: 320, ffn: 480, ..plain() }, WeightFormat::Q4KM),
    ] {
        engine.unload();
        let lease = candidate(spec, format, Vocabulary::Dummy).lease(dir.path()).unwrap();
        let run = engine.run(lease.path(), &request).unwrap_or_else(|e| panic!("{spec:?}: {e}"));
        assert_eq!(run.timing.generation_s.len(), 8);
    }
    let lease =
        candidate(plain(), WeightFormat::Q4_0, Vocabulary::Absent).lease(dir.path()).unwrap();
    engine.unload();
    let hurried = Request { timeout: Duration::ZERO, ..request.clone() };
    assert!(matches!(engine.run(lease.path(), &hurried), Err(EngineError::Timeout { .. })));
    engine.unload();
    std::fs::write(dir.path().join("broken.gguf"), b"GGUF and no more").unwrap();
    for bad in ["broken.gguf", "none.gguf"] {
        let error = engine.run(&dir.path().join(bad), &request).unwrap_err();
        assert!(matches!(error, EngineError::Failed { .. }), "{error}");
    }
    assert!(LlamaCpp::new().is_err(), "it runs already");
}
