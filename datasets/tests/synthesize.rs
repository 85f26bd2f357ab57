//! Untrained models: what is written is what our reader reads, to the byte and every time.

use std::error::Error;
use std::path::Path;

use enerinfer_datasets::synthesize::{
    GgufModel, GgufOptions, HuggingFaceModel, SynthesizeError, Vocabulary, gguf_files,
};
use enerinfer_datasets::{LlmShape, Model, ShapeSpec, WeightFormat, read_shape, sampler};
use proptest::prelude::*;
use serde_json::Value;

type TestResult = Result<(), Box<dyn Error>>;

fn small() -> ShapeSpec {
    ShapeSpec {
        layers: 2,
        hidden: 64,
        heads: 4,
        kv_heads: 2,
        head_dim: None,
        ffn: 128,
        vocab: 300,
        ..ShapeSpec::default()
    }
}

fn model(spec: ShapeSpec) -> Result<Model, Box<dyn Error>> {
    Ok(Model { name: "toy".to_owned(), shape: LlmShape::new(spec)? })
}

fn bytes(
    model: &Model,
    format: WeightFormat,
    options: GgufOptions,
) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    GgufModel::new(model, format, options)?.write_to(&mut bytes)?;
    Ok(bytes)
}

/// Small shapes of all kinds that a GGUF file can hold.
fn shapes() -> impl Strategy<Value = ShapeSpec> {
    (
        (1u32..4, 1u32..9, 1u32..5, 1u32..4, 1u32..20),
        (1u32..40, 1u32..600, any::<bool>(), any::<bool>(), 1u32..6, any::<prop::sample::Index>()),
    )
        .prop_map(|((layers, hidden, kv_heads, group, half_head), rest)| {
            let (ffn, vocab, gated, tied, experts, active) = rest;
            let experts = if gated { experts } else { 1 };
            ShapeSpec {
                layers,
                hidden: 16 * hidden,
                heads: kv_heads * group,
                kv_heads,
                head_dim: Some(2 * half_head),
                ffn: 8 * ffn,
                vocab,
                gated: Some(gated),
                tied: Some(tied),
                experts: Some(experts),
                active_experts: Some(active.index(experts as usize) as u32 + 1),
                total_params: None,
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_written_model_is_read_as_the_same_shape(
        spec in shapes(),
        format in prop::sample::select(&WeightFormat::ALL[..]),
    ) {
        let shape = LlmShape::new(spec).unwrap();
        let model = Model { name: "a model".to_owned(), shape };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.gguf");
        let gguf = GgufModel::new(&model, format, GgufOptions::default()).unwrap();
        gguf.write(&path).unwrap();
        prop_assert_eq!(std::fs::metadata(&path).unwrap().len(), gguf.file_bytes());
        let read = read_shape(&path).unwrap();
        prop_assert_eq!(read.shape, Ok(shape));
        prop_assert_eq!(read.total_params, Some(shape.total_params()));
        prop_assert_eq!(read.name, "a model");
        prop_assert_eq!(read.weight_format, Some(format));
        prop_assert!(!read.notes.iter().any(|note| note.contains("cut")), "{:?}", read.notes);
        if spec.experts == Some(1) {
            let hugging_face = HuggingFaceModel::new(&model, 1).unwrap();
            hugging_face.write(folder.path()).unwrap();
            let weights = std::fs::metadata(folder.path().join("model.safetensors")).unwrap().len();
            prop_assert_eq!(weights, hugging_face.weights_bytes());
            prop_assert_eq!(read_shape(folder.path()).unwrap().shape, Ok(shape));
        }
    }
}

#[test]
fn the_same_arguments_give_the_same_bytes() -> TestResult {
    let model = model(small())?;
    for format in WeightFormat::ALL {
        let options = GgufOptions::default();
        let once = bytes(&model, format, options)?;
        assert_eq!(once, bytes(&model, format, options)?);
        assert_ne!(once, bytes(&model, format, GgufOptions { seed: 2, ..options })?, "{format}");
    }
    Ok(())
}

/// Names of files and models are not written into each other, and nothing else is left behind.
#[test]
fn files_are_written_one_at_a_time() -> TestResult {
    let folder = tempfile::tempdir()?;
    let files = |folder: &Path| std::fs::read_dir(folder).map(Iterator::count);
    let odd_name = Model { name: "a/b: ü".to_owned(), ..model(small())? };
    let odd_head = model(ShapeSpec { head_dim: Some(7), ..small() })?;
    let models = [model(small())?, odd_head, odd_name];
    let mut written =
        gguf_files(&models, WeightFormat::Q8_0, GgufOptions::default(), folder.path());
    assert_eq!(files(folder.path())?, 0, "nothing before the first step");
    let first = written.next().ok_or("ended")??;
    assert_eq!(first.path, folder.path().join("toy-q8_0.gguf"));
    assert_eq!(std::fs::metadata(&first.path)?.len(), first.bytes);
    assert_eq!(files(folder.path())?, 1);
    let refused = written.next().ok_or("ended")?.unwrap_err();
    assert!(matches!(refused, SynthesizeError::Unsupported { .. }), "{refused}");
    let third = written.next().ok_or("ended")??;
    assert_eq!(third.path, folder.path().join("a_b___-q8_0.gguf"));
    assert!(written.next().is_none());
    Ok(())
}

#[test]
fn what_engines_do_not_load_is_refused_with_its_value() -> TestResult {
    let dummy = GgufOptions { vocabulary: Vocabulary::Dummy, ..GgufOptions::default() };
    let cases = [
        (ShapeSpec { layers: 513, ..small() }, "512 layers to be loaded, got 513"),
        (ShapeSpec { experts: Some(513), ..small() }, "512 experts to be loaded, got 513"),
        (ShapeSpec { head_dim: Some(15), ..small() }, "got 15"),
        (ShapeSpec { experts: Some(2), gated: Some(false), ..small() }, "gated"),
        (ShapeSpec { vocab: 258, ..small() }, "at least 259"),
    ];
    for (spec, part) in cases {
        let error = GgufModel::new(&model(spec)?, WeightFormat::F16, dummy).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    let experts = model(ShapeSpec { experts: Some(4), ..small() })?;
    assert!(HuggingFaceModel::new(&experts, 1).is_err());
    Ok(())
}

#[test]
fn the_dummy_vocabulary_has_a_token_for_each_id() -> TestResult {
    let dummy = GgufOptions { vocabulary: Vocabulary::Dummy, ..GgufOptions::default() };
    let model = model(small())?;
    let gguf = bytes(&model, WeightFormat::Q4_0, dummy)?;
    let holds = |part: &[u8]| gguf.windows(part.len()).any(|window| window == part);
    for part in ["<unk>", "</s>", "<0x00>", "<0xFF>", "t259", "t299", "tokenizer.ggml.token_type"] {
        assert!(holds(part.as_bytes()), "{part}");
    }
    assert!(!holds(b"t300"));
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("toy.gguf");
    std::fs::write(&path, &gguf)?;
    let read = read_shape(&path)?;
    assert_eq!(read.shape, Ok(model.shape));
    assert!(read.notes.is_empty(), "{:?}", read.notes);
    Ok(())
}

/// Sizes follow from the format's bits per weight: nothing is stored twice or left out.
#[test]
fn files_of_sampled_shapes_are_as_large_as_their_weights() -> TestResult {
    for model in sampler::sample(40, 3)? {
        if model.shape.dims().head_dim % 2 == 1 {
            continue;
        }
        let weights = model.shape.dims().formula_total_params();
        for format in [WeightFormat::F16, WeightFormat::Q8_0, WeightFormat::Q4_0] {
            let gguf = GgufModel::new(&model, format, GgufOptions::default())?;
            let ratio = gguf.file_bytes() as f64 / format.bytes_for(weights) as f64;
            assert!((1.0..1.01).contains(&ratio), "{}: {format} {ratio}", model.name);
        }
    }
    Ok(())
}

#[test]
fn safetensors_have_gapless_tensors_of_their_shape() -> TestResult {
    let model = model(ShapeSpec { tied: Some(true), ..small() })?;
    let hugging_face = HuggingFaceModel::new(&model, 1)?;
    let mut bytes = Vec::new();
    hugging_face.write_weights_to(&mut bytes)?;
    let (len, rest) = bytes.split_first_chunk::<8>().ok_or("short")?;
    let len = u64::from_le_bytes(*len) as usize;
    assert_eq!(len % 8, 0);
    let Value::Object(header) = serde_json::from_slice(&rest[..len])? else { panic!("no object") };
    let mut spans = Vec::new();
    for (name, tensor) in header.iter().filter(|(name, _)| *name != "__metadata__") {
        let numbers = |key: &str| -> Vec<u64> {
            tensor[key].as_array().into_iter().flatten().filter_map(Value::as_u64).collect()
        };
        let (offsets, shape) = (numbers("data_offsets"), numbers("shape"));
        assert_eq!(offsets[1] - offsets[0], 2 * shape.iter().product::<u64>(), "{name}");
        spans.push((offsets[0], offsets[1]));
    }
    spans.sort_unstable();
    assert_eq!(spans[0].0, 0);
    assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0));
    assert_eq!(spans.last().map(|span| span.1), Some((rest.len() - len) as u64));
    assert_eq!(header["model.embed_tokens.weight"]["shape"], serde_json::json!([300, 64]));
    assert!(!header.contains_key("lm_head.weight"), "tied");
    Ok(())
}
