//! Shapes from Hugging Face configurations: faults reported for other readers, families with odd
//! names, and sizes that their makers publish.

use std::error::Error;
use std::path::{Path, PathBuf};

use enerinfer_datasets::{
    NoShape, PerLayer, ReadShape, ShapeFault, ShapeFileError, WeightFormat, describe, read_shape,
    survey,
};
use proptest::prelude::*;
use serde_json::{Value, json};

type TestResult = Result<(), Box<dyn Error>>;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/configs").join(name)
}

/// Reads a configuration given as text.
fn read(json: &str) -> Result<ReadShape, ShapeFileError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("config.json");
    std::fs::write(&path, json).expect("a writable folder");
    read_shape(&path)
}

/// A small complete configuration with some keys replaced (`null` removes one's value).
fn llama_with(changes: &[(&str, Value)]) -> String {
    let mut config = json!({
        "model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 8192,
        "vocab_size": 128_256, "tie_word_embeddings": true,
    });
    for (key, value) in changes {
        config[*key] = value.clone();
    }
    config.to_string()
}

fn has_note(read: &ReadShape, part: &str) -> bool {
    read.notes.iter().any(|note| note.contains(part))
}

#[test]
fn a_stated_head_size_wins_over_hidden_by_heads() -> TestResult {
    let qwen = read_shape(&data("qwen3_4b.json"))?;
    assert_eq!(qwen.shape.as_ref().ok(), survey::find("Qwen3-4B").map(|m| &m.shape));
    assert_eq!(qwen.architecture.as_deref(), Some("qwen3"));
    for (hidden, heads, head_dim) in [(5120, 32, 128), (2880, 64, 64), (2560, 32, 128)] {
        let read = read(&llama_with(&[
            ("hidden_size", hidden.into()),
            ("num_attention_heads", heads.into()),
            ("head_dim", head_dim.into()),
        ]))?;
        let shape = read.shape?;
        assert_eq!((shape.dims().head_dim, shape.kv_width()), (head_dim, 8 * head_dim));
    }
    // Null is as good as absent.
    let read = read(&llama_with(&[("head_dim", Value::Null)]))?;
    assert_eq!(read.shape?.dims().head_dim, 64);
    Ok(())
}

#[test]
fn zero_counts_are_errors_that_name_their_key() {
    let error = read_shape(&data("zero_heads.json")).unwrap_err();
    assert_eq!(error.key(), Some("num_attention_heads"));
    for key in [
        "hidden_size",
        "num_hidden_layers",
        "num_attention_heads",
        "num_key_value_heads",
        "intermediate_size",
        "vocab_size",
        "head_dim",
    ] {
        let error = read(&llama_with(&[(key, 0.into())])).unwrap_err();
        assert_eq!(error.key(), Some(key));
        assert!(error.to_string().contains("must be at least 1, got 0"), "{error}");
    }
}

#[test]
fn heads_that_do_not_divide_hidden_need_a_head_size() -> TestResult {
    let error = read(&llama_with(&[("num_attention_heads", 24.into())])).unwrap_err();
    assert_eq!(error.key(), Some("heads"));
    assert!(error.to_string().contains("got 24 heads for hidden 2048"), "{error}");
    let stated = [("num_attention_heads", 24.into()), ("head_dim", 64.into())];
    assert_eq!(read(&llama_with(&stated))?.shape?.dims().head_dim, 64);
    Ok(())
}

#[test]
fn values_of_wrong_types_are_errors_that_name_their_key() {
    for wrong in [json!("4096"), (-1).into(), 1.5.into(), true.into(), json!({})] {
        for key in ["hidden_size", "num_hidden_layers", "num_key_value_heads", "vocab_size"] {
            let error = read(&llama_with(&[(key, wrong.clone())])).unwrap_err();
            assert_eq!(error.key(), Some(key), "{error}");
            assert!(matches!(error.fault(), ShapeFault::Type { .. }), "{error}");
        }
    }
    let error = read(&llama_with(&[("hidden_size", (1u64 << 40).into())])).unwrap_err();
    assert_eq!(error.key(), Some("hidden_size"));
    let error = read(&llama_with(&[("tie_word_embeddings", 1.into())])).unwrap_err();
    assert_eq!(error.key(), Some("tie_word_embeddings"));
    let error = read(&llama_with(&[("text_config", json!({"hidden_size": "x"}))]));
    assert_eq!(error.unwrap_err().key(), Some("text_config.hidden_size"));
}

#[test]
fn what_is_no_configuration_is_refused() {
    for (text, part) in [
        ("", "neither GGUF nor JSON"),
        ("{\"hidden_size\": 12", "line 1 column"),
        ("[{\"tie_word_embeddings\": true}]", "top level: must be an object"),
        ("GGU", "neither GGUF nor JSON"),
        (&"[".repeat(100_000), "recursion limit"),
    ] {
        let message = read(text).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
        assert!(message.contains("config.json: "), "{message}");
    }
    let missing = read_shape(Path::new("no/such/file.gguf")).unwrap_err();
    assert!(matches!(missing.fault(), ShapeFault::Io(_)));
    assert_eq!(
        read("{}").unwrap().shape,
        Err(NoShape::Incomplete(vec![
            "layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab"
        ]))
    );
}

/// Python's `json` writes them, as in the `time_step_limit` of Mamba-2 hybrids.
#[test]
fn numbers_that_json_does_not_have_do_not_hide_the_sizes() -> TestResult {
    let plain = llama_with(&[]);
    let odd = plain.replacen(
        '{',
        r#"{"limits": [0.0, Infinity, -Infinity, NaN], "\"NaN": "a \\", "Infinity": "NaN","#,
        1,
    );
    assert_eq!(read(&odd)?.shape, read(&plain)?.shape);
    assert!(read(&odd.replace("NaN]", "nan]")).is_err());
    // In place of a size they are as good as nothing.
    let size = read(&plain.replace("8192", "NaN"))?;
    assert_eq!(size.shape, Err(NoShape::Incomplete(vec!["ffn"])));
    Ok(())
}

#[test]
fn a_null_or_absent_ffn_is_four_times_hidden_where_the_family_says_so() -> TestResult {
    let gpt2 = read_shape(&data("gpt2.json"))?;
    assert_eq!(gpt2.fields.ffn, Some(PerLayer::Same(4096)));
    assert!(has_note(&gpt2, "4 × hidden"));
    let shape = gpt2.shape?;
    assert!(!shape.dims().gated && shape.dims().tied);
    // 354.8 M published for gpt2-medium, its 1 M position embeddings and biases included.
    assert_eq!(shape.total_params() / 1_000_000, 353);
    // Elsewhere a missing size is not guessed.
    let llama = read(&llama_with(&[("intermediate_size", Value::Null)]))?;
    assert_eq!(llama.shape, Err(NoShape::Incomplete(vec!["ffn"])));
    Ok(())
}

#[test]
fn missing_and_null_kv_heads_are_as_many_as_heads() -> TestResult {
    let phi = read_shape(&data("phi_null_kv.json"))?;
    assert_eq!(phi.shape.as_ref().ok(), survey::find("Phi-2").map(|m| &m.shape));
    let absent = std::fs::read_to_string(data("phi_null_kv.json"))?
        .replace("\"num_key_value_heads\": null,", "");
    let absent = read(&absent)?;
    assert_eq!(absent.shape, phi.shape);
    assert!(has_note(&absent, "kv_heads not stated"));
    Ok(())
}

#[test]
fn nested_language_sizes_come_before_those_of_the_top_level() -> TestResult {
    let vlm = read_shape(&data("nested_text_config.json"))?;
    let shape = vlm.shape.as_ref().map_err(Clone::clone)?;
    let d = shape.dims();
    assert_eq!((d.layers, d.hidden, d.head_dim, d.ffn), (40, 3840, 256, 15360));
    assert!(d.tied, "Gemma 3 ties its embeddings unless told otherwise");
    let inner: Value = serde_json::from_str(&llama_with(&[]))?;
    for name in ["text_config", "language_config", "llm_config"] {
        let outer = json!({
            "model_type": "vlm", "hidden_size": 99, "num_hidden_layers": 9, name: inner,
        });
        assert_eq!(read(&outer.to_string())?.shape, read(&inner.to_string())?.shape);
    }
    let twice = json!({"thinker_config": {"text_config": inner}});
    assert_eq!(read(&twice.to_string())?.shape, read(&inner.to_string())?.shape);
    // What the nested part lacks is not taken from the vision sizes.
    let partial = json!({"hidden_size": 99, "text_config": {"model_type": "llama"}});
    assert!(read(&partial.to_string())?.shape.is_err());
    Ok(())
}

#[test]
fn tied_embeddings_count_once_and_their_product_still_runs() -> TestResult {
    let tied = read(&llama_with(&[("tie_word_embeddings", true.into())]))?;
    let untied = read(&llama_with(&[("tie_word_embeddings", false.into())]))?;
    let missing = read(&llama_with(&[("tie_word_embeddings", Value::Null)]))?;
    assert_eq!(missing.shape, untied.shape, "Llama's own default");
    assert!(has_note(&missing, "tie_word_embeddings not stated: false"));
    assert!(!has_note(&tied, "tie_word_embeddings"));
    let (tied, untied) = (tied.shape?, untied.shape?);
    assert_eq!(untied.total_params() - tied.total_params(), 128_256 * 2048);
    assert_eq!(tied.gemvs(), untied.gemvs());
    Ok(())
}

#[test]
fn experts_have_many_names_and_their_weights_count() -> TestResult {
    let mixtral = read_shape(&data("mixtral.json"))?;
    let d = *mixtral.shape.as_ref().map_err(Clone::clone)?.dims();
    assert_eq!((d.experts, d.active_experts, d.ffn), (8, 2, 14336));
    // Published: 46.7 B, of which a token uses 12.9 B (arXiv 2401.04088).
    let tenths = |n: Option<u64>| n.map(|n| (n + 50_000_000) / 100_000_000);
    assert_eq!(
        (tenths(mixtral.total_params), tenths(mixtral.active_params)),
        (Some(467), Some(129))
    );
    let text = std::fs::read_to_string(data("mixtral.json"))?;
    for alias in ["n_routed_experts", "num_experts", "moe_num_experts"] {
        let renamed = read(&text.replace("num_local_experts", alias))?;
        assert_eq!(renamed.shape, mixtral.shape, "{alias}");
    }
    let own_size = read(&text.replace(
        "\"num_local_experts\"",
        "\"moe_intermediate_size\": 1024, \"num_local_experts\"",
    ))?;
    assert_eq!(own_size.shape?.dims().ffn, 1024);
    for dense in ["0", "1", "null"] {
        let dense = read(
            &text.replace("\"num_local_experts\": 8", &format!("\"num_local_experts\": {dense}")),
        )?;
        assert_eq!(dense.shape?.dims().experts, 1);
    }
    let unstated = read(&text.replace("num_experts_per_tok", "unknown"))?;
    assert_eq!(unstated.shape, Err(NoShape::Incomplete(vec!["active_experts"])));
    Ok(())
}

/// Sizes of public configurations, and the parameters their makers publish (billions: total, and
/// active where the count is of the same kind as ours).
#[test]
fn published_sizes_follow_from_public_configurations() -> TestResult {
    let cases = [
        (
            "Falcon-7B",
            r#"{"model_type":"falcon","hidden_size":4544,"num_hidden_layers":32,
            "num_attention_heads":71,"num_kv_heads":71,"multi_query":true,
            "new_decoder_architecture":false,"vocab_size":65024}"#,
            6.92,
            None,
        ),
        (
            "ChatGLM3-6B",
            r#"{"model_type":"chatglm","num_layers":28,"hidden_size":4096,"ffn_hidden_size":13696,
            "num_attention_heads":32,"kv_channels":128,"multi_query_attention":true,
            "multi_query_group_num":2,"padded_vocab_size":65024}"#,
            6.24,
            None,
        ),
        (
            "MPT-7B",
            r#"{"model_type":"mpt","d_model":4096,"n_heads":32,"n_layers":32,"expansion_ratio":4,
            "vocab_size":50432}"#,
            6.65,
            None,
        ),
        (
            "BLOOM-560M",
            r#"{"model_type":"bloom","n_embed":1024,"n_layer":24,"num_attention_heads":16,
            "vocab_size":250880}"#,
            0.559,
            None,
        ),
        (
            "OPT-1.3B",
            r#"{"model_type":"opt","hidden_size":2048,"ffn_dim":8192,"num_hidden_layers":24,
            "num_attention_heads":32,"vocab_size":50272}"#,
            1.316,
            None,
        ),
        (
            "Qwen-7B",
            r#"{"model_type":"qwen","hidden_size":4096,"intermediate_size":22016,"kv_channels":128,
            "num_attention_heads":32,"num_hidden_layers":32,"vocab_size":151936,
            "tie_word_embeddings":false}"#,
            7.72,
            None,
        ),
        (
            "DBRX",
            r#"{"model_type":"dbrx","d_model":6144,"n_heads":48,"n_layers":40,"vocab_size":100352,
            "attn_config":{"kv_n_heads":8},
            "ffn_config":{"ffn_hidden_size":10752,"moe_num_experts":16,"moe_top_k":4}}"#,
            132.0,
            Some(36.0),
        ),
        (
            "DeepSeek-V2-Lite",
            r#"{"model_type":"deepseek_v2","hidden_size":2048,"num_hidden_layers":27,
            "num_attention_heads":16,"num_key_value_heads":16,"q_lora_rank":null,
            "kv_lora_rank":512,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,
            "intermediate_size":10944,"moe_intermediate_size":1408,"n_routed_experts":64,
            "n_shared_experts":2,"num_experts_per_tok":6,"first_k_dense_replace":1,
            "moe_layer_freq":1,"vocab_size":102400,"tie_word_embeddings":false}"#,
            15.7,
            None,
        ),
        (
            "Llama 4 Maverick",
            r#"{"model_type":"llama4","text_config":{"model_type":"llama4_text",
            "hidden_size":5120,"num_hidden_layers":48,"num_attention_heads":40,
            "num_key_value_heads":8,"head_dim":128,"intermediate_size":8192,
            "intermediate_size_mlp":16384,"num_local_experts":128,"num_experts_per_tok":1,
            "interleave_moe_layer_step":2,"vocab_size":202048}}"#,
            400.0,
            Some(17.0),
        ),
        (
            "Mixtral-8x7B (params.json)",
            r#"{"dim":4096,"n_layers":32,"head_dim":128,"hidden_dim":14336,"n_heads":32,
            "n_kv_heads":8,"vocab_size":32000,"tie_word_embeddings":false,
            "moe":{"num_experts_per_tok":2,"num_experts":8}}"#,
            46.7,
            Some(12.9),
        ),
        (
            "GPT-OSS-20B",
            r#"{"model_type":"gpt_oss","hidden_size":2880,"num_hidden_layers":24,
            "num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,
            "intermediate_size":2880,"num_local_experts":32,"num_experts_per_tok":4,
            "vocab_size":201088}"#,
            20.9,
            None,
        ),
        (
            "OpenELM-270M",
            r#"{"model_type":"openelm","model_dim":1280,"head_dim":64,"num_transformer_layers":16,
            "num_query_heads":[12,12,12,12,12,16,16,16,16,16,16,16,20,20,20,20],
            "num_kv_heads":[3,3,3,3,3,4,4,4,4,4,4,4,5,5,5,5],"ffn_dim_divisor":256,
            "ffn_multipliers":[0.5,0.73,0.97,1.2,1.43,1.67,1.9,2.13,2.37,2.6,2.83,3.07,3.3,3.53,
            3.77,4.0],"vocab_size":32000}"#,
            0.2715,
            None,
        ),
    ];
    for (name, json, total, active) in cases {
        let read = read(json)?;
        read.shape.as_ref().map_err(|e| format!("{name}: {e}"))?;
        let near = |got: Option<u64>, published: f64| {
            got.is_some_and(|n| (n as f64 / 1e9 / published - 1.0).abs() < 0.02)
        };
        assert!(near(read.total_params, total), "{name}: {:?} of {total}", read.total_params);
        if let Some(active) = active {
            assert!(near(read.active_params, active), "{name}: {:?}", read.active_params);
        }
    }
    Ok(())
}

#[test]
fn shared_experts_count_as_the_survey_counts_them() -> TestResult {
    let read = read(
        r#"{"model_type":"qwen2_moe","hidden_size":2048,"num_hidden_layers":24,
        "num_attention_heads":16,"num_key_value_heads":16,"intermediate_size":5632,
        "moe_intermediate_size":1408,"shared_expert_intermediate_size":5632,"num_experts":60,
        "num_experts_per_tok":4,"decoder_sparse_step":1,"vocab_size":151936,
        "tie_word_embeddings":false,"torch_dtype":"bfloat16"}"#,
    )?;
    let surveyed = survey::find("Qwen1.5-MoE-A2.7B").ok_or("not in the survey")?.shape;
    let shape = read.shape.as_ref().map_err(Clone::clone)?;
    assert_eq!(
        (shape.dims().experts, shape.dims().active_experts, shape.dims().ffn),
        (surveyed.dims().experts, surveyed.dims().active_experts, surveyed.dims().ffn)
    );
    assert_eq!(read.weight_format, Some(WeightFormat::F16));
    assert!(has_note(&read, "counts as 4 more experts"));
    Ok(())
}

#[test]
fn hybrids_and_encoders_are_refused_by_name() -> TestResult {
    let cases: [(&[(&str, Value)], &str); 5] = [
        (&[("model_type", "jamba".into())], "jamba"),
        (&[("model_type", "xlm-roberta".into())], "xlm-roberta"),
        (&[("is_encoder_decoder", true.into())], "is_encoder_decoder"),
        (&[("mamba_d_state", 128.into())], "mamba_d_state"),
        (&[("layer_types", json!(["full_attention", "linear_attention"]))], "linear_attention"),
    ];
    for (changes, part) in cases {
        let read = read(&llama_with(changes))?;
        let Err(NoShape::Unsupported(reason)) = &read.shape else {
            panic!("{part}: {:?}", read.shape)
        };
        assert!(reason.contains(part), "{reason}");
    }
    let sliding = json!(["sliding_attention", "full_attention"]);
    assert!(read(&llama_with(&[("layer_types", sliding)]))?.shape.is_ok());
    Ok(())
}

#[test]
fn lists_must_have_one_element_for_each_layer() -> TestResult {
    let list: Vec<u32> = (0..16).map(|l| if l == 15 { 1 } else { 8 }).collect();
    let all = read(&llama_with(&[("num_key_value_heads", list.clone().into())]))?;
    assert_eq!(all.fields.kv_elements_per_token(), Some(2 * 64 * (15 * 8 + 1)));
    assert_eq!(all.fields.kv_heads, Some(PerLayer::Each(list.clone())));
    let error = read(&llama_with(&[("num_key_value_heads", list[1..].to_vec().into())]));
    assert_eq!(error.unwrap_err().key(), Some("num_key_value_heads"));
    Ok(())
}

#[test]
fn the_description_says_what_is_known_and_what_was_assumed() -> TestResult {
    let text = describe(&read_shape(&data("mixtral.json"))?);
    for part in ["experts           2 of 8", "46.70 B", "12.88 B", "note: expert ffn not stated"] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    let folder = tempfile::tempdir()?;
    let model = folder.path().join("My-Model");
    std::fs::create_dir(&model)?;
    std::fs::write(model.join("config.json"), "\u{feff}{\"_name_or_path\": \"\"}")?;
    let text = describe(&read_shape(&model)?);
    assert!(text.contains("name              My-Model"), "{text}");
    assert!(text.contains("none: the file does not state layers, hidden"), "{text}");
    Ok(())
}

/// Any JSON value that a configuration could hold in place of a size.
fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (0u32..64).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-z]{0,6}".prop_map(Value::from),
        prop::collection::vec(0u32..300, 0..20).prop_map(Value::from),
        (1u32..5000).prop_map(|size| json!({"hidden_size": size, "num_experts": size})),
    ]
}

proptest! {
    /// Whatever stands in a configuration, reading ends with a value or an error.
    #[test]
    fn odd_values_never_panic(
        changes in prop::collection::vec(
            (
                prop::sample::select(&[
                    "hidden_size", "num_hidden_layers", "num_attention_heads", "head_dim",
                    "num_key_value_heads", "intermediate_size", "vocab_size", "num_experts",
                    "num_experts_per_tok", "moe_intermediate_size", "n_shared_experts",
                    "first_k_dense_replace", "moe_layer_freq", "decoder_sparse_step",
                    "mlp_only_layers", "ffn_multipliers", "ffn_dim_divisor", "expansion_ratio",
                    "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
                    "multi_query", "layer_types", "text_config", "model_type", "n_inner",
                ][..]),
                values(),
            ),
            1..6,
        ),
    ) {
        if let Ok(read) = read(&llama_with(&changes)) {
            prop_assert!(!describe(&read).is_empty());
        }
    }
}
