//! What a Hugging Face `config.json` says of a model's shape, whatever its family calls things.

use serde_json::{Map, Value};

use super::family::{self, Family};
use super::fields::{LatentAttention, MoeFields, PerLayer, ShapeFields};
use super::{Reading, ShapeFault};
use crate::WeightFormat;
use crate::shape::MAX_LAYERS;
use crate::table_error::shown;

/// Where multimodal models keep the sizes of their language model; the top level may then hold
/// those of another part.
const NESTED: [&str; 4] = ["text_config", "language_config", "llm_config", "thinker_config"];

/// Deepest nesting that is followed.
const MAX_NESTING: usize = 4;

/// Names of each size over the families, the usual one first.
mod names {
    pub(super) const LAYERS: &[&str] =
        &["num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_transformer_layers"];
    pub(super) const HIDDEN: &[&str] =
        &["hidden_size", "n_embd", "d_model", "n_embed", "model_dim", "dim"];
    pub(super) const HEADS: &[&str] = &[
        "num_attention_heads",
        "n_head",
        "n_heads",
        "num_heads",
        "num_query_heads",
        "attention_heads",
    ];
    pub(super) const KV_HEADS: &[&str] = &[
        "num_key_value_heads",
        "n_kv_heads",
        "num_kv_heads",
        "n_head_kv",
        "num_key_value_heads_per_layer",
        "attn_config.kv_n_heads",
    ];
    pub(super) const HEAD_DIM: &[&str] = &["head_dim", "kv_channels"];
    pub(super) const FFN: &[&str] = &[
        "intermediate_size",
        "n_inner",
        "ffn_dim",
        "ffn_hidden_size",
        "d_ff",
        "hidden_dim",
        "ffn_config.ffn_hidden_size",
    ];
    pub(super) const VOCAB: &[&str] = &["padded_vocab_size", "vocab_size", "n_vocab"];
    pub(super) const EXPERTS: &[&str] = &[
        "num_local_experts",
        "n_routed_experts",
        "num_experts",
        "moe_num_experts",
        "moe.num_experts",
        "ffn_config.moe_num_experts",
    ];
    pub(super) const ACTIVE_EXPERTS: &[&str] = &[
        "num_experts_per_tok",
        "num_experts_per_token",
        "experts_per_token",
        "moe_top_k",
        "moe_topk",
        "moe_k",
        "top_k_experts",
        "moe.num_experts_per_tok",
        "ffn_config.moe_top_k",
    ];
    pub(super) const EXPERT_FFN: &[&str] = &["moe_intermediate_size", "moe_ffn_hidden_size"];
    pub(super) const SHARED_EXPERTS: &[&str] =
        &["n_shared_experts", "num_shared_experts", "num_shared_expert", "moe_num_shared_experts"];
    pub(super) const SHARED_FFN: &[&str] =
        &["shared_expert_intermediate_size", "shared_intermediate_size"];
}

/// Reads the shape that a configuration describes.
pub(super) fn reading(bytes: &[u8]) -> Result<Reading, ShapeFault> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let json: Value = serde_json::from_slice(bytes)
        .or_else(|error| {
            // Python writes numbers that JSON does not have; no size is one.
            std::str::from_utf8(bytes)
                .ok()
                .and_then(|text| serde_json::from_str(&non_finite_as_null(text)).ok())
                .ok_or(error)
        })
        .map_err(|e| ShapeFault::Format(format!("is neither GGUF nor JSON: {e}")))?;
    let Value::Object(top) = &json else {
        return Err(ShapeFault::Type {
            key: "top level".to_owned(),
            expected: "an object with the model's sizes",
            found: kind(&json),
        });
    };
    let mut notes = Vec::new();
    let config = Config { object: top, path: String::new() }.language_model()?;
    let top = Config { object: top, path: String::new() };
    if !config.path.is_empty() {
        notes.push(format!("sizes of the language model from {}", config.path));
    }
    let model_type = match config.text("model_type")? {
        None => top.text("model_type")?,
        stated => stated,
    };
    let unsupported = config.unsupported(model_type)?;
    let fields = config.fields(&top, model_type, &mut notes)?;
    let weight_format = config.weight_format(&top, &mut notes)?;
    Ok(Reading {
        name: top
            .text("_name_or_path")?
            .and_then(|name| name.rsplit(['/', '\\']).find(|part| !part.is_empty()))
            .map(str::to_owned),
        architecture: model_type.map(str::to_owned),
        fields,
        weight_format,
        stored_params: None,
        unsupported,
        notes,
    })
}

/// The text with `NaN` and infinities outside of strings replaced by null.
fn non_finite_as_null(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Parts between quotes are strings in turn; a quote after an odd run of backslashes ends none.
    let mut in_string = false;
    let mut part_start = 0;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if c == '"' && !escaped {
            push_part(&mut out, &text[part_start..at], in_string);
            in_string = !in_string;
            part_start = at;
        }
        escaped = in_string && c == '\\' && !escaped;
    }
    push_part(&mut out, &text[part_start..], in_string);
    out
}

fn push_part(out: &mut String, part: &str, in_string: bool) {
    if in_string {
        out.push_str(part);
    } else {
        out.push_str(
            &part.replace("-Infinity", "null").replace("Infinity", "null").replace("NaN", "null"),
        );
    }
}

/// A JSON value in words.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("{value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string '{}'", shown(text)),
        Value::Array(list) => format!("a list of {} elements", list.len()),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// An object of the configuration and where it lies.
struct Config<'a> {
    object: &'a Map<String, Value>,
    path: String,
}

impl<'a> Config<'a> {
    /// The innermost object that holds a language model's sizes.
    fn language_model(self) -> Result<Config<'a>, ShapeFault> {
        let mut config = self;
        for _ in 0..MAX_NESTING {
            let Some(name) = NESTED.into_iter().find(|name| config.value(name).is_some()) else {
                break;
            };
            let path = config.key(name);
            match config.value(name) {
                Some(Value::Object(object)) => config = Config { object, path },
                Some(other) => {
                    return Err(ShapeFault::Type {
                        key: path,
                        expected: "an object",
                        found: kind(other),
                    });
                }
                None => break,
            }
        }
        Ok(config)
    }

    /// The full name of a key, for messages.
    fn key(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    /// The value of a key (`a.b` looks into the object `a`); null is as good as absent.
    fn value(&self, name: &str) -> Option<&'a Value> {
        let value = match name.split_once('.') {
            Some((outer, inner)) => self.object.get(outer)?.get(inner)?,
            None => self.object.get(name)?,
        };
        (!value.is_null()).then_some(value)
    }

    fn text(&self, name: &str) -> Result<Option<&'a str>, ShapeFault> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_type(name, "a string", other)),
        }
    }

    fn flag(&self, name: &str) -> Result<Option<bool>, ShapeFault> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(self.wrong_type(name, "true or false", other)),
        }
    }

    fn wrong_type(&self, name: &str, expected: &'static str, found: &Value) -> ShapeFault {
        ShapeFault::Type { key: self.key(name), expected, found: kind(found) }
    }

    fn number(&self, name: &str, value: &Value) -> Result<u32, ShapeFault> {
        match value.as_u64() {
            Some(n) => u32::try_from(n).map_err(|_| {
                ShapeFault::value(self.key(name), format!("must be below 2^32, got {n}"))
            }),
            None => Err(self.wrong_type(name, "a whole number", value)),
        }
    }

    /// The first of the names that has a value.
    fn first(&self, names: &[&'static str]) -> Option<(&'static str, &'a Value)> {
        names.iter().find_map(|name| Some((*name, self.value(name)?)))
    }

    /// A size that may be zero, as 0 turns a feature off.
    fn whole(&self, names: &[&'static str]) -> Result<Option<u32>, ShapeFault> {
        match self.first(names) {
            None => Ok(None),
            // A list of equal numbers, as some families repeat a size for each layer.
            Some((name, Value::Array(list))) => {
                let values: Result<Vec<u32>, ShapeFault> =
                    list.iter().map(|value| self.number(name, value)).collect();
                let values = values?;
                match values.split_first() {
                    Some((first, rest)) if rest.iter().all(|v| v == first) => Ok(Some(*first)),
                    _ => Err(ShapeFault::value(
                        self.key(name),
                        "must be the same in all layers to be read",
                    )),
                }
            }
            Some((name, value)) => self.number(name, value).map(Some),
        }
    }

    /// A size that no model has as zero.
    fn positive(&self, names: &[&'static str]) -> Result<Option<u32>, ShapeFault> {
        match (self.whole(names)?, self.first(names)) {
            (Some(0), Some((name, _))) => {
                Err(ShapeFault::value(self.key(name), "must be at least 1, got 0"))
            }
            (value, _) => Ok(value),
        }
    }

    /// A size that may differ between layers; a list must have one element for each of them.
    fn per_layer(
        &self,
        names: &[&'static str],
        layers: Option<u32>,
    ) -> Result<Option<PerLayer>, ShapeFault> {
        let Some((name, Value::Array(list))) = self.first(names) else {
            return Ok(self.positive(names)?.map(PerLayer::Same));
        };
        let expected = layers.unwrap_or(MAX_LAYERS) as usize;
        if list.len() > expected || (layers.is_some() && list.len() != expected) {
            return Err(ShapeFault::value(
                self.key(name),
                format!("has {} elements for {expected} layers", list.len()),
            ));
        }
        let values: Result<Vec<u32>, ShapeFault> =
            // A layer without the part has null in its place.
            list.iter()
                .map(|value| if value.is_null() { Ok(0) } else { self.number(name, value) })
                .collect();
        Ok(Some(PerLayer::Each(values?)))
    }

    /// Why the model has no shape, if so.
    fn unsupported(&self, model_type: Option<&str>) -> Result<Option<String>, ShapeFault> {
        if self.flag("is_encoder_decoder")? == Some(true) {
            return Ok(Some("is_encoder_decoder is true".to_owned()));
        }
        // A model type that can be either says by its layers what it is.
        if let Some(Value::Array(kinds)) = self.value("layer_types") {
            return Ok(kinds
                .iter()
                .filter_map(Value::as_str)
                .find(|kind| kind.contains("linear") || !kind.contains("attention"))
                .map(|kind| format!("layer_types holds '{}'", shown(kind))));
        }
        if let Some(reason) = model_type.and_then(family::unsupported) {
            return Ok(Some(format!("model type {} is {reason}", model_type.unwrap_or_default())));
        }
        let state_space = ["mamba_d_state", "mamba_d_conv", "ssm_state_size", "ssm_cfg"];
        Ok(state_space
            .into_iter()
            .find(|name| self.value(name).is_some())
            .map(|name| format!("{} states layers without attention", self.key(name))))
    }

    fn fields(
        &self,
        top: &Config<'_>,
        model_type: Option<&str>,
        notes: &mut Vec<String>,
    ) -> Result<ShapeFields, ShapeFault> {
        let known = model_type.and_then(family::find);
        let family = known.unwrap_or_else(|| {
            notes.push(format!(
                "model type '{}' is not known; FFN taken as gated",
                shown(model_type.unwrap_or(""))
            ));
            Family::UNKNOWN
        });
        if self.whole(&["hidden_size_per_layer_input"])?.is_some_and(|size| size > 0) {
            notes.push("embeddings of each layer are not counted among the parameters".to_owned());
        }
        let layers = self.positive(names::LAYERS)?;
        let hidden = self.positive(names::HIDDEN)?;
        let ffn = self.ffn(model_type, hidden, layers, family, notes)?;
        Ok(ShapeFields {
            layers,
            hidden,
            heads: self.per_layer(names::HEADS, layers)?,
            kv_heads: self.kv_heads(layers)?,
            head_dim: self.head_dim(family, notes)?,
            moe: self.moe(model_type, layers, ffn.as_ref(), notes)?,
            ffn: match self.positive(&["intermediate_size_mlp"])? {
                // Llama 4: the plain name is that of the experts.
                Some(dense) => Some(PerLayer::Same(dense)),
                None => ffn,
            },
            vocab: match self.positive(names::VOCAB)? {
                None => top.positive(names::VOCAB)?,
                stated => stated,
            },
            gated: family.gated,
            tied: self.tied(top, known, notes)?,
            latent: self.latent()?,
        })
    }

    fn kv_heads(&self, layers: Option<u32>) -> Result<Option<PerLayer>, ShapeFault> {
        // Falcon: one head unless the newer decoder is on, whatever num_kv_heads says.
        if self.flag("multi_query")? == Some(true)
            && self.flag("new_decoder_architecture")? != Some(true)
        {
            return Ok(Some(PerLayer::Same(1)));
        }
        // ChatGLM.
        if self.flag("multi_query_attention")? == Some(true) {
            return Ok(self.positive(&["multi_query_group_num"])?.map(PerLayer::Same));
        }
        self.per_layer(names::KV_HEADS, layers)
    }

    fn head_dim(&self, family: Family, notes: &mut Vec<String>) -> Result<Option<u32>, ShapeFault> {
        let stated = self.positive(names::HEAD_DIM)?;
        Ok(match (stated, family.head_dim) {
            (None, Some(default)) => {
                notes.push(format!("head size not stated: {default}, the family's default"));
                Some(default)
            }
            _ => stated,
        })
    }

    fn ffn(
        &self,
        model_type: Option<&str>,
        hidden: Option<u32>,
        layers: Option<u32>,
        family: Family,
        notes: &mut Vec<String>,
    ) -> Result<Option<PerLayer>, ShapeFault> {
        if let Some(stated) = self.per_layer(names::FFN, layers)? {
            return Ok(Some(match stated {
                // The first Qwen states both halves of its gated FFN as one.
                PerLayer::Same(both) if model_type == Some("qwen") => PerLayer::Same(both / 2),
                other => other,
            }));
        }
        let Some(hidden) = hidden else { return Ok(None) };
        if let Some(ratio) = self.positive(&["expansion_ratio"])? {
            return Ok(Some(PerLayer::Same(hidden.saturating_mul(ratio))));
        }
        if let Some(widths) = self.widths_by_multiplier(hidden, layers)? {
            return Ok(Some(widths));
        }
        // Present but null: the modelling code of these families multiplies by four.
        if family.ffn_is_4_hidden || self.object.contains_key("n_inner") {
            notes.push("ffn not stated: 4 × hidden".to_owned());
            return Ok(Some(PerLayer::Same(hidden.saturating_mul(4))));
        }
        Ok(None)
    }

    /// OpenELM: a multiplier of the hidden size for each layer, rounded to a multiple
    /// (`make_divisible` of its modelling code).
    fn widths_by_multiplier(
        &self,
        hidden: u32,
        layers: Option<u32>,
    ) -> Result<Option<PerLayer>, ShapeFault> {
        const KEY: &str = "ffn_multipliers";
        let Some(Value::Array(list)) = self.value(KEY) else { return Ok(None) };
        if layers.is_some_and(|layers| list.len() != layers as usize) {
            return Err(ShapeFault::value(
                self.key(KEY),
                format!("has {} elements for {} layers", list.len(), layers.unwrap_or(0)),
            ));
        }
        let unit = f64::from(self.positive(&["ffn_dim_divisor"])?.unwrap_or(1));
        let widths: Result<Vec<u32>, ShapeFault> = list
            .iter()
            .map(|value| match value.as_f64() {
                Some(multiplier) if multiplier > 0.0 && multiplier <= 64.0 => {
                    let exact = multiplier * f64::from(hidden);
                    let rounded = (exact / unit + 0.5).floor().max(1.0) * unit;
                    Ok(if rounded < 0.9 * exact { rounded + unit } else { rounded } as u32)
                }
                _ => Err(self.wrong_type(KEY, "multipliers above 0, at most 64", value)),
            })
            .collect();
        Ok(Some(PerLayer::Each(widths?)))
    }

    fn tied(
        &self,
        top: &Config<'_>,
        family: Option<Family>,
        notes: &mut Vec<String>,
    ) -> Result<bool, ShapeFault> {
        const KEY: &str = "tie_word_embeddings";
        for config in [self, top] {
            if let Some(tied) = config.flag(KEY)? {
                return Ok(tied);
            }
        }
        let tied = family.unwrap_or(Family::UNKNOWN).tied;
        notes.push(format!(
            "{KEY} not stated: {tied}, the default of {}",
            if family.is_some() { "the family" } else { "the base configuration class" }
        ));
        Ok(tied)
    }

    fn latent(&self) -> Result<Option<LatentAttention>, ShapeFault> {
        let Some(kv_rank) = self.positive(&["kv_lora_rank"])? else { return Ok(None) };
        let (Some(nope), Some(rope_dim), Some(v_head_dim)) = (
            self.positive(&["qk_nope_head_dim"])?,
            self.positive(&["qk_rope_head_dim"])?,
            self.positive(&["v_head_dim"])?,
        ) else {
            return Ok(None);
        };
        Ok(Some(LatentAttention {
            q_rank: self.whole(&["q_lora_rank"])?.unwrap_or(0),
            kv_rank,
            qk_head_dim: nope.saturating_add(rope_dim),
            rope_dim,
            v_head_dim,
        }))
    }

    fn moe(
        &self,
        model_type: Option<&str>,
        layers: Option<u32>,
        ffn: Option<&PerLayer>,
        notes: &mut Vec<String>,
    ) -> Result<Option<MoeFields>, ShapeFault> {
        let Some(experts @ 2..) = self.whole(names::EXPERTS)? else { return Ok(None) };
        if self.flag("enable_moe_block")? == Some(false) {
            return Ok(None);
        }
        let expert_ffn = match self.positive(names::EXPERT_FFN)? {
            None => match ffn {
                Some(PerLayer::Same(ffn)) => {
                    notes.push("expert ffn not stated: as the dense one".to_owned());
                    Some(*ffn)
                }
                _ => None,
            },
            stated => stated,
        };
        let shared_ffn = match self.whole(names::SHARED_FFN)? {
            Some(width @ 1..) => width,
            _ if model_type.is_some_and(|name| name.starts_with("llama4")) => {
                expert_ffn.unwrap_or(0)
            }
            _ => self
                .whole(names::SHARED_EXPERTS)?
                .unwrap_or(0)
                .saturating_mul(expert_ffn.unwrap_or(0)),
        };
        Ok(Some(MoeFields {
            experts,
            active_experts: self.positive(names::ACTIVE_EXPERTS)?,
            ffn: expert_ffn,
            shared_ffn,
            dense_layers: self.dense_layers(layers)?,
        }))
    }

    /// Layers of a mixture of experts that have a dense FFN.
    fn dense_layers(&self, layers: Option<u32>) -> Result<u32, ShapeFault> {
        let Some(layers) = layers.filter(|n| *n <= MAX_LAYERS) else { return Ok(0) };
        // Newer configurations name each layer's FFN.
        if let Some(Value::Array(kinds)) = self.value("mlp_layer_types") {
            let dense = kinds.iter().filter(|kind| kind.as_str() == Some("dense")).count();
            return Ok(u32::try_from(dense).unwrap_or(u32::MAX).min(layers));
        }
        // DeepSeek: a list of flags, or a period after the first layers.
        if let Some(Value::Array(flags)) = self.value("moe_layer_freq") {
            let dense = flags.iter().filter(|flag| flag.as_u64() == Some(0)).count();
            return Ok(u32::try_from(dense).unwrap_or(u32::MAX).min(layers));
        }
        let first = self
            .whole(&["first_k_dense_replace", "moe_layer_start_index"])?
            .unwrap_or(0)
            .min(layers);
        let period = self.whole(&["moe_layer_freq"])?.unwrap_or(1).max(1);
        // Qwen and Llama 4: the last layer of each step has experts.
        let step = self
            .whole(&["decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"])?
            .unwrap_or(1)
            .max(1);
        let only_dense: Vec<u64> = match self.value("mlp_only_layers") {
            Some(Value::Array(list)) => list.iter().filter_map(Value::as_u64).collect(),
            _ => Vec::new(),
        };
        let has_experts = |layer: u32| {
            layer >= first
                && layer.is_multiple_of(period)
                && (layer + 1).is_multiple_of(step)
                && !only_dense.contains(&u64::from(layer))
        };
        Ok((0..layers).filter(|layer| !has_experts(*layer)).count() as u32)
    }

    /// The format by the stated number type.
    fn weight_format(
        &self,
        top: &Config<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Option<WeightFormat>, ShapeFault> {
        if top.value("quantization_config").is_some() {
            notes.push("quantization_config: the weight format is not told by it".to_owned());
            return Ok(None);
        }
        for config in [self, top] {
            for key in ["dtype", "torch_dtype"] {
                match config.text(key)? {
                    Some("float16" | "bfloat16") => return Ok(Some(WeightFormat::F16)),
                    Some(_) => return Ok(None),
                    None => {}
                }
            }
        }
        Ok(None)
    }
}
