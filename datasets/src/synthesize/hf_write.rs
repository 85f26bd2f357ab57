//! Untrained models in the layout of Hugging Face: `config.json` and `model.safetensors`, in F16.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use enerinfer_artifacts::{ShapeDims, write_atomic};
use serde_json::json;

use super::output::write_large;
use super::pattern::Patterns;
use super::tensors::{Role, Tensor, of_shape};
use super::{SynthesizeError, file_stem};
use crate::Model;
use crate::ggml::TensorType;

/// Bytes of one weight in F16.
const WEIGHT_BYTES: u64 = 2;

/// An untrained model, ready to be written as a folder.
///
/// Gated models are of type `llama`, plain ones of type `arcee`. Experts are not written: engines
/// disagree on their tensors.
#[derive(Clone, Debug)]
pub struct HuggingFaceModel {
    name: String,
    dims: ShapeDims,
    seed: u64,
    tensors: Vec<Tensor>,
    header: String,
}

impl HuggingFaceModel {
    /// Lays out the files of a model.
    ///
    /// # Errors
    /// If it has experts, or an odd head size (rotary embeddings need pairs).
    pub fn new(model: &Model, seed: u64) -> Result<Self, SynthesizeError> {
        let dims = *model.shape.dims();
        let refuse = |reason: &str| {
            Err(SynthesizeError::Unsupported {
                model: model.name.clone(),
                reason: reason.to_owned(),
            })
        };
        if dims.experts > 1 {
            return refuse("experts are not written in this layout; write GGUF");
        }
        if !dims.head_dim.is_multiple_of(2) {
            return refuse("head_dim must be even for rotary embeddings");
        }
        let tensors = of_shape(&dims);
        let header = header(&tensors);
        Ok(HuggingFaceModel { name: model.name.clone(), dims, seed, tensors, header })
    }

    /// `<model>-hf`, with `_` as in [`GgufModel::file_name`](super::GgufModel::file_name).
    pub fn folder_name(&self) -> String {
        format!("{}-hf", file_stem(&self.name))
    }

    /// Length of `model.safetensors`.
    pub fn weights_bytes(&self) -> u64 {
        let data: u64 = self.tensors.iter().map(|t| t.weights() * WEIGHT_BYTES).sum();
        8 + self.header.len() as u64 + data
    }

    /// Text of `config.json`.
    pub fn config_json(&self) -> String {
        let d = &self.dims;
        let (architecture, model_type, activation) = if d.gated {
            ("LlamaForCausalLM", "llama", "silu")
        } else {
            ("ArceeForCausalLM", "arcee", "relu2")
        };
        let config = json!({
            "architectures": [architecture],
            "attention_bias": false,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "head_dim": d.head_dim,
            "hidden_act": activation,
            "hidden_size": d.hidden,
            "intermediate_size": d.ffn,
            "max_position_embeddings": 4096,
            "mlp_bias": false,
            "model_type": model_type,
            "num_attention_heads": d.heads,
            "num_hidden_layers": d.layers,
            "num_key_value_heads": d.kv_heads,
            "rms_norm_eps": 1e-5,
            "rope_theta": 10000.0,
            "tie_word_embeddings": d.tied,
            "torch_dtype": "float16",
            "vocab_size": d.vocab,
        });
        format!("{config:#}\n")
    }

    /// Writes both files into `folder`, which must exist; the configuration last, so that a folder
    /// with one is complete.
    ///
    /// # Errors
    /// If the disk has too little space, or the system refuses to write.
    pub fn write(&self, folder: &Path) -> Result<(), SynthesizeError> {
        write_large(&folder.join("model.safetensors"), self.weights_bytes(), |file| {
            self.write_weights_to(file)
        })?;
        Ok(write_atomic(&folder.join("config.json"), self.config_json().as_bytes())?)
    }

    /// Writes the bytes of `model.safetensors` to `out`, in pieces of up to 1 MiB.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_weights_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut head = BufWriter::new(&mut *out);
        head.write_all(&(self.header.len() as u64).to_le_bytes())?;
        head.write_all(self.header.as_bytes())?;
        head.flush()?;
        drop(head);
        let mut patterns = Patterns::new(self.seed);
        for tensor in &self.tensors {
            patterns.of(tensor, TensorType::F16).write(out, tensor.weights() * WEIGHT_BYTES)?;
        }
        out.flush()
    }
}

/// The JSON header of safetensors (its README, "Format"), padded with spaces so that the data begin
/// at a multiple of 8.
fn header(tensors: &[Tensor]) -> String {
    let mut header = String::from("{\"__metadata__\":{\"format\":\"pt\"}");
    let mut at = 0u64;
    for tensor in tensors {
        let end = at + tensor.weights() * WEIGHT_BYTES;
        // Outermost first, unlike GGUF.
        let shape: Vec<u32> = tensor.outputs.into_iter().chain([tensor.inputs]).collect();
        header.push_str(&format!(
            ",\"{}\":{}",
            tensor_name(tensor),
            json!({"data_offsets": [at, end], "dtype": "F16", "shape": shape})
        ));
        at = end;
    }
    header.push('}');
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    header
}

fn tensor_name(tensor: &Tensor) -> String {
    let name = match tensor.role {
        Role::Embedding => "model.embed_tokens",
        Role::FinalNorm => "model.norm",
        Role::LmHead => "lm_head",
        Role::AttnNorm => "input_layernorm",
        Role::Query => "self_attn.q_proj",
        Role::Key => "self_attn.k_proj",
        Role::Value => "self_attn.v_proj",
        Role::AttnOutput => "self_attn.o_proj",
        Role::FfnNorm => "post_attention_layernorm",
        Role::Router => "mlp.router",
        Role::Gate => "mlp.gate_proj",
        Role::Up => "mlp.up_proj",
        Role::Down => "mlp.down_proj",
    };
    match tensor.layer {
        Some(layer) => format!("model.layers.{layer}.{name}.weight"),
        None => format!("{name}.weight"),
    }
}
