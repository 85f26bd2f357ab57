//! What a GGUF file's metadata and tensors say of a model's shape.

use super::family::{self, Family};
use super::fields::{LatentAttention, MoeFields, PerLayer, ShapeFields};
use super::gguf::{Gguf, Value, narrow, wrong_type};
use super::{Reading, ShapeFault};
use crate::WeightFormat;
use crate::ggml::{TensorType, key};
use crate::shape::MAX_LAYERS;

/// Reads the shape that the metadata describe.
pub(super) fn reading(gguf: &Gguf) -> Result<Reading, ShapeFault> {
    let mut notes = Vec::new();
    let architecture = gguf.text(key::ARCHITECTURE)?.map(str::to_owned);
    let model = Model { gguf, architecture: architecture.as_deref().unwrap_or("") };
    if architecture.is_none() {
        notes.push(format!("{} is missing, so no size can be looked up", key::ARCHITECTURE));
    }
    let unsupported = not_a_model(gguf)?.or_else(|| model.unsupported());
    let fields = model.fields(unsupported.is_some(), &mut notes)?;
    let weight_format = weight_format(gguf, &mut notes)?;
    let tensors = &gguf.tensors;
    if tensors.data_end > gguf.file_bytes {
        notes.push(format!(
            "the file is cut: its tensors end at byte {}, the file at {}",
            tensors.data_end, gguf.file_bytes
        ));
    }
    let split = gguf.whole("split.count")?.filter(|n| *n > 1);
    if let Some(split) = split {
        notes.push(format!("one of {split} files; total parameters are by formula"));
    }
    let whole_model = tensors.count > 0 && split.is_none() && tensors.embedding.is_some();
    Ok(Reading {
        name: gguf.text(key::NAME)?.filter(|name| !name.is_empty()).map(str::to_owned),
        architecture,
        fields,
        weight_format,
        stored_params: whole_model.then_some(tensors.weights),
        unsupported,
        notes,
    })
}

/// What the file holds instead of a model, if so. An adapter states the architecture of the model
/// that it changes, so that alone does not tell.
fn not_a_model(gguf: &Gguf) -> Result<Option<String>, ShapeFault> {
    let adapter = gguf.text(key::ADAPTER_TYPE)?;
    let kind = match gguf.text(key::TYPE)? {
        Some("model") | None => adapter.map(|_| "adapter"),
        other => other,
    };
    Ok(kind.map(|kind| match adapter {
        Some(of) => format!("it is an {kind} ({of}), not a model: give the file of its base model"),
        None => format!("{} is {kind}, not model: give the file of the model itself", key::TYPE),
    }))
}

/// The keys of one architecture.
struct Model<'a> {
    gguf: &'a Gguf,
    architecture: &'a str,
}

impl Model<'_> {
    fn key(&self, suffix: &str) -> String {
        format!("{}{suffix}", self.architecture)
    }

    fn whole(&self, suffix: &str) -> Result<Option<u32>, ShapeFault> {
        self.gguf.whole(&self.key(suffix))
    }

    /// A size that must not be zero.
    fn positive(&self, suffix: &str) -> Result<Option<u32>, ShapeFault> {
        match self.whole(suffix)? {
            Some(0) => Err(ShapeFault::value(self.key(suffix), "must be at least 1, got 0")),
            value => Ok(value),
        }
    }

    /// A size that may differ between layers; an array must have one element for each of them.
    fn per_layer(&self, suffix: &str, blocks: Option<u32>) -> Result<Option<PerLayer>, ShapeFault> {
        let key = self.key(suffix);
        let list = match self.gguf.get(&key) {
            None => return Ok(None),
            Some(Value::Whole(n)) => return Ok(Some(PerLayer::Same(narrow(&key, *n)?))),
            Some(Value::Wholes(list)) => list,
            Some(Value::Array { of, len }) if of.bytes().is_some() => {
                return Err(ShapeFault::value(
                    key,
                    format!("has {len} elements; no model has more than {MAX_LAYERS} layers"),
                ));
            }
            Some(other) => {
                return Err(wrong_type(&key, "a whole number or an array of them", other));
            }
        };
        match blocks {
            Some(blocks) if list.len() != blocks as usize => Err(ShapeFault::value(
                key,
                format!("has {} elements for {blocks} layers", list.len()),
            )),
            _ => {
                let values: Result<Vec<u32>, ShapeFault> =
                    list.iter().map(|n| narrow(&key, *n)).collect();
                Ok(Some(PerLayer::Each(values?)))
            }
        }
    }

    /// Why the model has no shape, if so.
    fn unsupported(&self) -> Option<String> {
        let family = family::unsupported(self.architecture)
            .map(|reason| format!("architecture {} is {reason}", self.architecture));
        family.or_else(|| {
            [".ssm.state_size", ".wkv.head_size", ".shortconv.l_cache"]
                .iter()
                .map(|suffix| self.key(suffix))
                .find(|key| self.gguf.get(key).is_some())
                .map(|key| format!("{key} states layers without attention"))
        })
    }

    fn fields(
        &self,
        unsupported: bool,
        notes: &mut Vec<String>,
    ) -> Result<ShapeFields, ShapeFault> {
        let tensors = &self.gguf.tensors;
        let blocks = self.positive(key::LAYERS)?;
        let layers = match self.whole(".nextn_predict_layers")? {
            Some(extra @ 1..) => {
                notes.push(format!(
                    "{extra} of {} blocks predict further tokens and are not counted as layers",
                    key::LAYERS.trim_start_matches('.')
                ));
                blocks.map(|n| n.saturating_sub(extra))
            }
            _ => blocks,
        };
        let hidden = self.positive(key::HIDDEN)?;
        let heads = self.nonzero(key::HEADS, blocks, unsupported)?;
        if heads.is_none() {
            notes.push(format!("{} is missing and is not guessed", self.key(key::HEADS)));
        }
        let family = self.family(unsupported, notes);
        let ffn = self.nonzero(key::FFN, blocks, unsupported)?;
        let gated = if tensors.count > 0 {
            tensors.has_gate
                || match (tensors.ffn_up_rows, &ffn) {
                    // Gate and up in one matrix.
                    (Some(rows), Some(ffn)) => rows == 2 * u64::from(ffn.at(0)),
                    _ => false,
                }
        } else {
            family.gated
        };
        let tied = match tensors.embedding {
            Some(_) => !tensors.has_output,
            None => {
                notes.push(format!(
                    "no tensors: embeddings taken as {}, as is usual in the family",
                    if family.tied { "tied" } else { "untied" }
                ));
                family.tied
            }
        };
        Ok(ShapeFields {
            layers,
            hidden,
            heads,
            kv_heads: self.nonzero(key::KV_HEADS, blocks, unsupported)?,
            head_dim: self.head_dim(notes)?,
            moe: self.moe(ffn.as_ref(), notes)?,
            ffn,
            vocab: self.vocab(notes)?,
            gated,
            tied,
            latent: self.latent()?,
        })
    }

    /// A size that must not be zero in all layers, unless their kind is not supported anyway.
    fn nonzero(
        &self,
        suffix: &str,
        blocks: Option<u32>,
        unsupported: bool,
    ) -> Result<Option<PerLayer>, ShapeFault> {
        match self.per_layer(suffix, blocks)? {
            Some(PerLayer::Same(0)) if !unsupported => {
                Err(ShapeFault::value(self.key(suffix), "must be at least 1, got 0"))
            }
            value => Ok(value),
        }
    }

    fn family(&self, unsupported: bool, notes: &mut Vec<String>) -> Family {
        family::find(self.architecture).unwrap_or_else(|| {
            if self.gguf.tensors.count == 0 && !unsupported {
                notes.push(format!(
                    "architecture '{}' is not known; FFN taken as gated",
                    crate::table_error::shown(self.architecture)
                ));
            }
            Family::UNKNOWN
        })
    }

    fn head_dim(&self, notes: &mut Vec<String>) -> Result<Option<u32>, ShapeFault> {
        let key = self.positive(key::KEY_LENGTH)?;
        let others = [
            ("values", self.positive(key::VALUE_LENGTH)?),
            ("sliding-window layers", self.whole(".attention.key_length_swa")?),
        ];
        for (what, other) in others {
            if let (Some(key), Some(other)) = (key, other)
                && key != other
            {
                notes.push(format!("heads of {what} have size {other}; the shape uses {key}"));
            }
        }
        Ok(key)
    }

    fn latent(&self) -> Result<Option<LatentAttention>, ShapeFault> {
        let Some(kv_rank @ 1..) = self.whole(".attention.kv_lora_rank")? else {
            return Ok(None);
        };
        // Newer files state the sizes of the compressed form under the plain names.
        let of_head = |mla: &str, plain: &str| -> Result<Option<u32>, ShapeFault> {
            Ok(match self.positive(mla)? {
                None => self.positive(plain)?,
                stated => stated,
            })
        };
        let key = of_head(".attention.key_length_mla", key::KEY_LENGTH)?;
        let value = of_head(".attention.value_length_mla", key::VALUE_LENGTH)?;
        Ok(match (key, value, self.positive(key::ROPE_DIM)?) {
            (Some(qk_head_dim), Some(v_head_dim), Some(rope_dim)) => Some(LatentAttention {
                q_rank: self.whole(".attention.q_lora_rank")?.unwrap_or(0),
                kv_rank,
                qk_head_dim,
                rope_dim,
                v_head_dim,
            }),
            _ => None,
        })
    }

    fn moe(
        &self,
        ffn: Option<&PerLayer>,
        notes: &mut Vec<String>,
    ) -> Result<Option<MoeFields>, ShapeFault> {
        let Some(experts @ 2..) = self.whole(key::EXPERTS)? else { return Ok(None) };
        let expert_ffn = match self.positive(".expert_feed_forward_length")? {
            None => match ffn {
                Some(PerLayer::Same(ffn)) => Some(*ffn),
                _ => None,
            },
            stated => stated,
        };
        let shared_ffn = match self.whole(".expert_shared_feed_forward_length")? {
            Some(width @ 1..) => width,
            _ => self
                .whole(".expert_shared_count")?
                .unwrap_or(0)
                .saturating_mul(expert_ffn.unwrap_or(0)),
        };
        if self.whole(".interleave_moe_layer_step")?.is_some_and(|step| step > 1) {
            notes.push("dense layers between those with experts are not told apart".to_owned());
        }
        Ok(Some(MoeFields {
            experts,
            active_experts: self.positive(key::ACTIVE_EXPERTS)?,
            ffn: expert_ffn,
            shared_ffn,
            dense_layers: self.whole(".leading_dense_block_count")?.unwrap_or(0),
        }))
    }

    /// Rows of the embedding, else the key, else the tokens.
    fn vocab(&self, notes: &mut Vec<String>) -> Result<Option<u32>, ShapeFault> {
        let rows = match self.gguf.tensors.embedding {
            Some((_, rows)) => Some(narrow("token_embd.weight", rows)?),
            None => None,
        };
        let stated = self.positive(key::VOCAB)?;
        let tokens = match self.gguf.strings_len(key::TOKENS)? {
            Some(0) | None => None,
            Some(len) => Some(narrow(key::TOKENS, len)?),
        };
        let Some(vocab) = rows.or(stated).or(tokens) else { return Ok(None) };
        for (what, other) in [(self.key(key::VOCAB), stated), (key::TOKENS.to_owned(), tokens)] {
            if let Some(other) = other.filter(|n| *n != vocab) {
                notes.push(format!("{what} says {other}; the vocabulary used is {vocab}"));
            }
        }
        if rows.is_none() && stated.is_none() {
            notes.push(format!("vocabulary counted from {}", key::TOKENS));
        }
        Ok(Some(vocab))
    }
}

/// The format by `general.file_type`, else the type of most weights.
fn weight_format(gguf: &Gguf, notes: &mut Vec<String>) -> Result<Option<WeightFormat>, ShapeFault> {
    // Codes of llama.cpp's `llama_ftype`, without its "guessed" bit.
    match gguf.whole(key::FILE_TYPE)?.map(|code| code & !1024) {
        Some(1) => return Ok(Some(WeightFormat::F16)),
        Some(2) => return Ok(Some(WeightFormat::Q4_0)),
        Some(7) => return Ok(Some(WeightFormat::Q8_0)),
        Some(15) => return Ok(Some(WeightFormat::Q4KM)),
        Some(18) => return Ok(Some(WeightFormat::Q6K)),
        Some(32) => {
            notes.push("weights are BF16; their format is taken as f16, of the same size".into());
            return Ok(Some(WeightFormat::F16));
        }
        Some(code) => {
            notes.push(format!("{} {code} is none of the formats known here", key::FILE_TYPE));
            return Ok(None);
        }
        None => {}
    }
    let most = gguf.tensors.by_type.iter().max_by_key(|(_, weights)| **weights);
    let format = match most.map(|(tensor_type, _)| tensor_type) {
        Some(TensorType::F16 | TensorType::Bf16) => WeightFormat::F16,
        Some(TensorType::Q8_0) => WeightFormat::Q8_0,
        Some(TensorType::Q6K) => WeightFormat::Q6K,
        Some(TensorType::Q4K) => WeightFormat::Q4KM,
        Some(TensorType::Q4_0) => WeightFormat::Q4_0,
        Some(TensorType::F32 | TensorType::Q5_0) | None => return Ok(None),
    };
    notes.push(format!("weight format {format} by the type of most weights"));
    Ok(Some(format))
}
