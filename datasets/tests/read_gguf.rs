//! Shapes from GGUF files: faults reported for other readers, and hostile files.

use std::error::Error;
use std::path::{Path, PathBuf};

use enerinfer_datasets::{
    NoShape, PerLayer, ReadShape, ShapeFault, ShapeFileError, WeightFormat, read_shape,
};
use proptest::prelude::*;

type TestResult = Result<(), Box<dyn Error>>;

const U8: u32 = 0;
const U32: u32 = 4;
const F32: u32 = 6;
const STRING: u32 = 8;
const ARRAY: u32 = 9;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/gguf").join(name)
}

fn read_bytes(bytes: &[u8]) -> Result<ReadShape, ShapeFileError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, bytes).expect("a writable folder");
    read_shape(&path)
}

/// A GGUF file under construction.
#[derive(Clone, Default)]
struct Builder {
    entries: Vec<Vec<u8>>,
    tensors: Vec<Vec<u8>>,
}

fn string(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

impl Builder {
    fn entry(mut self, key: &str, value_type: u32, value: &[u8]) -> Self {
        self.entries.push([&string(key), &value_type.to_le_bytes()[..], value].concat());
        self
    }

    fn u32(self, key: &str, value: u32) -> Self {
        self.entry(key, U32, &value.to_le_bytes())
    }

    fn text(self, key: &str, value: &str) -> Self {
        self.entry(key, STRING, &string(value))
    }

    fn u32s(self, key: &str, values: &[u32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let len = (values.len() as u64).to_le_bytes();
        self.entry(key, ARRAY, &[&U32.to_le_bytes()[..], &len, &bytes].concat())
    }

    fn tensor(mut self, name: &str, dims: &[u64], tensor_type: u32) -> Self {
        let dims_bytes: Vec<u8> = dims.iter().flat_map(|d| d.to_le_bytes()).collect();
        self.tensors.push(
            [
                &string(name)[..],
                &(dims.len() as u32).to_le_bytes(),
                &dims_bytes,
                &tensor_type.to_le_bytes(),
                &0u64.to_le_bytes(),
            ]
            .concat(),
        );
        self
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF".to_vec();
        bytes.extend(3u32.to_le_bytes());
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.entries.len() as u64).to_le_bytes());
        bytes.extend(self.entries.concat());
        bytes.extend(self.tensors.concat());
        bytes
    }

    fn read(&self) -> Result<ReadShape, ShapeFileError> {
        read_bytes(&self.bytes())
    }
}

/// A complete small model without tensors.
fn llama() -> Builder {
    Builder::default()
        .text("general.architecture", "llama")
        .u32("llama.block_count", 4)
        .u32("llama.embedding_length", 256)
        .u32("llama.attention.head_count", 8)
        .u32("llama.feed_forward_length", 512)
        .u32("llama.vocab_size", 1000)
}

fn has_note(read: &ReadShape, part: &str) -> bool {
    read.notes.iter().any(|note| note.contains(part))
}

#[test]
fn arrays_per_layer_are_read_whole() -> TestResult {
    let hybrid = read_shape(&data("head_count_kv_array.gguf"))?;
    let Some(PerLayer::Each(kv)) = &hybrid.fields.kv_heads else { panic!("no array") };
    assert_eq!(kv.len(), 88);
    assert_eq!(kv.iter().filter(|n| **n == 2).count(), 8);
    assert_eq!(hybrid.fields.kv_elements_per_token(), Some(2 * 128 * 16));
    assert!(matches!(&hybrid.shape, Err(NoShape::Unsupported(why)) if why.contains("nemotron_h")));

    let list: Vec<u32> = (0..48).map(|l| if l % 6 == 5 { 1 } else { 8 }).collect();
    let mut layered = llama();
    layered.entries.remove(1);
    let layered =
        layered.u32("llama.block_count", 48).u32s("llama.attention.head_count_kv", &list).read()?;
    assert_eq!(layered.fields.kv_heads, Some(PerLayer::Each(list.clone())));
    let sum: u64 = list.iter().map(|n| u64::from(*n)).sum();
    assert_eq!(layered.fields.kv_elements_per_token(), Some(2 * 32 * sum));
    assert!(has_note(&layered, &format!("sum {sum}")));
    let uniform = 48 * (2 * 256 * 32 * 8 + 3 * 256 * 512 + 2 * 256) + 256 + 2 * 1000 * 256;
    assert_eq!(layered.total_params, Some(uniform + 2 * 256 * 32 * sum));
    assert_eq!(layered.shape?.total_params(), uniform + 2 * 256 * 32 * sum);

    for len in [0, 3, 5] {
        let error = llama().u32s("llama.attention.head_count_kv", &vec![8; len]).read();
        assert_eq!(error.unwrap_err().key(), Some("llama.attention.head_count_kv"));
    }
    Ok(())
}

#[test]
fn a_number_in_place_of_an_array_holds_for_all_layers() -> TestResult {
    let read = read_shape(&data("head_count_kv_scalar.gguf"))?;
    assert_eq!(read.fields.kv_heads, Some(PerLayer::Same(1)));
    assert_eq!(read.fields.kv_elements_per_token(), Some(2 * (1536 / 8) * 30));
    assert_eq!(read.shape, Err(NoShape::Incomplete(vec!["ffn", "vocab"])));
    for (value_type, bytes) in
        [(U8, &[2u8][..]), (2, &[2, 0]), (5, &[2, 0, 0, 0]), (10, &[2, 0, 0, 0, 0, 0, 0, 0])]
    {
        let read = llama().entry("llama.attention.head_count_kv", value_type, bytes).read()?;
        assert_eq!(read.shape?.dims().kv_heads, 2, "any type of whole number");
    }
    Ok(())
}

#[test]
fn missing_keys_are_named_and_not_guessed() -> TestResult {
    let read = read_shape(&data("missing_keys.gguf"))?;
    assert_eq!(read.fields.heads, None);
    assert_eq!(read.fields.vocab, Some(5));
    assert!(has_note(&read, "llama.attention.head_count is missing"));
    assert!(has_note(&read, "tokenizer.ggml.tokens"));
    assert_eq!(read.shape, Err(NoShape::Incomplete(vec!["heads", "kv_heads", "head_dim", "ffn"])));
    for (index, name) in [(1, "layers"), (2, "hidden"), (4, "ffn"), (5, "vocab")] {
        let mut without = llama();
        without.entries.remove(index);
        let Err(NoShape::Incomplete(missing)) = without.read()?.shape else { panic!("{name}") };
        assert!(missing.contains(&name), "{missing:?}");
    }
    // Without an architecture no key can be found.
    let mut nameless = llama();
    nameless.entries.remove(0);
    let nameless = nameless.read()?;
    assert!(nameless.shape.is_err() && has_note(&nameless, "general.architecture is missing"));
    Ok(())
}

#[test]
fn the_vocabulary_is_that_of_the_embedding() -> TestResult {
    let read = llama().tensor("token_embd.weight", &[256, 1024], 0).read()?;
    assert_eq!(read.fields.vocab, Some(1024));
    assert!(has_note(&read, "llama.vocab_size says 1000"));
    assert!(read.fields.tied, "no output.weight");
    let untied = llama()
        .tensor("token_embd.weight", &[256, 1024], 0)
        .tensor("output.weight", &[256, 1024], 0)
        .read()?;
    assert!(!untied.fields.tied);
    assert!(has_note(&untied, "the file is cut"), "its data are missing");
    assert!(!has_note(&llama().read()?, "the file is cut"), "it has no data to miss");
    Ok(())
}

#[test]
fn experts_are_read_with_the_prefix_of_the_architecture() -> TestResult {
    let read = read_shape(&data("moe.gguf"))?;
    let moe = read.fields.moe.as_ref().ok_or("dense")?;
    assert_eq!((moe.experts, moe.active_experts, moe.ffn), (8, Some(2), Some(14336)));
    // Another architecture's key does not count.
    assert!(llama().u32("qwen2moe.expert_count", 8).read()?.fields.moe.is_none());
    assert!(llama().u32("llama.expert_count", 0).read()?.fields.moe.is_none());
    let moe = llama()
        .u32("llama.expert_count", 8)
        .u32("llama.expert_used_count", 2)
        .u32("llama.expert_feed_forward_length", 128)
        .read()?;
    let d = *moe.shape.as_ref().map_err(Clone::clone)?.dims();
    assert_eq!((d.experts, d.active_experts, d.ffn), (8, 2, 128));
    assert_eq!(
        moe.total_params.zip(moe.active_params).map(|(total, active)| total - active),
        Some(4 * 6 * 3 * 256 * 128)
    );
    Ok(())
}

#[test]
fn formats_follow_the_file_type() -> TestResult {
    for (code, format) in [
        (1, Some(WeightFormat::F16)),
        (2, Some(WeightFormat::Q4_0)),
        (7, Some(WeightFormat::Q8_0)),
        (15, Some(WeightFormat::Q4KM)),
        (18, Some(WeightFormat::Q6K)),
        (32, Some(WeightFormat::F16)),
        (10, None),
    ] {
        assert_eq!(llama().u32("general.file_type", code).read()?.weight_format, format);
    }
    assert_eq!(llama().read()?.weight_format, None);
    let by_tensors = llama().tensor("token_embd.weight", &[256, 1000], 8).read()?;
    assert_eq!(by_tensors.weight_format, Some(WeightFormat::Q8_0));
    Ok(())
}

#[test]
fn values_of_wrong_types_are_errors_that_name_their_key() {
    let f32_one = 1f32.to_le_bytes();
    let floats = [&F32.to_le_bytes()[..], &1u64.to_le_bytes(), &f32_one].concat();
    let strings = [&STRING.to_le_bytes()[..], &1u64.to_le_bytes(), &string("x")].concat();
    let minus_one = (-1i32).to_le_bytes();
    let huge = u64::MAX.to_le_bytes();
    let cases: [(&str, u32, &[u8]); 11] = [
        ("general.file_type", STRING, &string("Q4_0")),
        ("general.architecture", U32, &[1, 0, 0, 0]),
        ("general.name", F32, &f32_one),
        ("general.alignment", U32, &[0; 4]),
        ("llama.attention.head_count_kv", F32, &f32_one),
        ("llama.attention.head_count_kv", 5, &minus_one),
        ("llama.attention.head_count_kv", 10, &huge),
        ("llama.attention.head_count_kv", 7, &[1]),
        ("llama.attention.head_count_kv", ARRAY, &strings),
        ("llama.expert_count", ARRAY, &strings),
        ("tokenizer.ggml.tokens", ARRAY, &floats),
    ];
    for (key, value_type, value) in cases {
        let mut file = llama();
        if key == "general.architecture" {
            file.entries.remove(0);
        }
        let error = file.entry(key, value_type, value).read().unwrap_err();
        // An element of an array is named with its index.
        assert!(error.key().is_some_and(|k| k.starts_with(key)), "{key}: {error}");
    }
    let error = llama().entry("general.url", 77, &[]).read().unwrap_err();
    assert_eq!(error.key(), Some("general.url"));
    let error = llama().u32("llama.block_count", 5).read().unwrap_err();
    assert!(error.to_string().contains("llama.block_count: stands twice"), "{error}");
}

#[test]
fn zero_counts_are_errors_that_name_their_key() {
    for index in 1..=5 {
        let mut file = llama();
        let mut entry = file.entries.remove(index);
        let value = entry.len() - 4;
        entry[value..].fill(0);
        file.entries.push(entry);
        let error = file.read().unwrap_err();
        assert!(error.key().is_some_and(|key| key.starts_with("llama.")), "{error}");
        assert!(error.to_string().contains("must be at least 1, got 0"), "{error}");
    }
    let error = llama().u32s("llama.attention.head_count_kv", &[0; 4]).read().unwrap_err();
    assert!(matches!(error.fault(), ShapeFault::Shape(_)), "{error}");
}

/// Lengths are checked against the file before anything is allocated or walked: with any of these
/// believed, the test would end for want of memory or time.
#[test]
fn lengths_beyond_the_file_are_cut_errors() {
    let cut = |error: ShapeFileError, key: &str| {
        assert!(matches!(error.fault(), ShapeFault::Cut { .. }), "{error}");
        assert_eq!(error.key(), Some(key), "{error}");
    };
    cut(read_shape(&data("huge_array.gguf")).unwrap_err(), "tokenizer.ggml.tokens");
    for len in [1u64 << 60, u64::MAX, 1 << 33] {
        let len = len.to_le_bytes();
        for of in [U8, U32, STRING, ARRAY] {
            let array = [&of.to_le_bytes()[..], &len].concat();
            for key in ["tokenizer.ggml.scores", "llama.attention.head_count_kv"] {
                cut(llama().entry(key, ARRAY, &array).read().unwrap_err(), key);
            }
        }
        cut(llama().entry("general.name", STRING, &len).read().unwrap_err(), "general.name");
        cut(llama().entry("general.url", STRING, &len).read().unwrap_err(), "general.url");
        let mut file = llama();
        file.entries.push(len.to_vec());
        cut(file.read().unwrap_err(), "metadata key");
        for (at, key) in [(8, "tensor count"), (16, "metadata count")] {
            let mut bytes = llama().bytes();
            bytes[at..at + 8].copy_from_slice(&len);
            cut(read_bytes(&bytes).unwrap_err(), key);
        }
    }
    let dims = llama().tensor("token_embd.weight", &[u64::MAX, 2, 1, 1], 0).read().unwrap_err();
    assert_eq!(dims.key(), Some("token_embd.weight"));
    let dims = llama().tensor("token_embd.weight", &[1; 5], 0).read().unwrap_err();
    assert_eq!(dims.key(), Some("token_embd.weight"));
    // Deep nesting neither recurses without end nor passes.
    let mut nested = vec![];
    for _ in 0..20_000 {
        nested.extend(ARRAY.to_le_bytes());
        nested.extend(1u64.to_le_bytes());
    }
    nested.extend([0; 64]);
    let error = llama().entry("general.tags", ARRAY, &nested).read().unwrap_err();
    assert!(error.to_string().contains("general.tags: arrays nest deeper"), "{error}");
}

#[test]
fn a_file_cut_anywhere_is_an_error() -> TestResult {
    let whole = std::fs::read(data("missing_keys.gguf"))?;
    for len in 0..whole.len() {
        let error = read_bytes(&whole[..len]).unwrap_err();
        assert!(
            matches!(error.fault(), ShapeFault::Cut { .. } | ShapeFault::Format(_)),
            "{len}: {error}"
        );
    }
    Ok(())
}

#[test]
fn other_versions_and_byte_orders_are_refused_by_name() -> TestResult {
    let mut bytes = llama().bytes();
    bytes[4..8].copy_from_slice(&2u32.to_le_bytes());
    assert!(read_bytes(&bytes)?.shape.is_ok());
    for (version, part) in [
        (1u32.to_le_bytes(), "version 1 is not read"),
        (3u32.to_be_bytes(), "big-endian"),
        (9u32.to_le_bytes(), "version 9 is not known"),
    ] {
        bytes[4..8].copy_from_slice(&version);
        let message = read_bytes(&bytes).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    Ok(())
}

#[test]
fn models_without_attention_in_every_layer_are_refused_by_name() -> TestResult {
    let state_space = llama().u32("llama.ssm.state_size", 16).read()?;
    assert!(matches!(&state_space.shape, Err(NoShape::Unsupported(why)) if why.contains("ssm")));
    // The zeros that such files state for heads are no errors then.
    let mut recurrent = llama().text("general.architecture", "mamba");
    recurrent.entries.remove(0);
    let recurrent = recurrent.u32("mamba.attention.head_count", 0).read()?;
    assert!(matches!(&recurrent.shape, Err(NoShape::Unsupported(why)) if why.contains("mamba")));
    let gaps = llama().u32s("llama.attention.head_count_kv", &[8, 0, 8, 8]).read()?;
    assert!(matches!(&gaps.shape, Err(NoShape::Unsupported(why)) if why.contains("1 of 4")));
    Ok(())
}

#[test]
fn files_that_hold_no_model_are_refused_by_name() -> TestResult {
    let adapter = Builder::default()
        .text("general.architecture", "llama")
        .text("general.type", "adapter")
        .text("adapter.type", "lora")
        .tensor("blk.0.attn_q.weight.lora_a", &[2048, 8], 1)
        .tensor("blk.0.attn_q.weight.lora_b", &[8, 2048], 1);
    // Older ones state the adapter only; some come with sizes of the model that they change.
    let old = llama().text("adapter.type", "lora");
    let vision = llama().text("general.type", "mmproj");
    for (file, name) in [(adapter, "adapter (lora)"), (old, "adapter (lora)"), (vision, "mmproj")] {
        let read = file.read()?;
        let refused = matches!(&read.shape, Err(NoShape::Unsupported(why)) if why.contains(name));
        assert!(refused, "{name}: {:?}", read.shape);
    }
    assert!(llama().text("general.type", "model").read()?.shape.is_ok());
    Ok(())
}

proptest! {
    /// Whatever bytes are changed, reading ends with a value or an error.
    #[test]
    fn damaged_files_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut bytes = llama()
            .u32s("llama.attention.head_count_kv", &[8, 4, 2, 1])
            .text("general.name", "damaged")
            .tensor("token_embd.weight", &[256, 1000], 8)
            .bytes();
        for (at, value) in &changes {
            let at = at.index(bytes.len() - 4) + 4;
            bytes[at] = *value;
        }
        let _ = read_bytes(&bytes);
    }
}
