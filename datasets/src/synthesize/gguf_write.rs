//! GGUF version 3 files of untrained models.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use enerinfer_artifacts::ShapeDims;

use super::mix::tensor_type;
use super::output::write_large;
use super::pattern::Patterns;
use super::tensors::{Role, Tensor, of_shape};
use super::{SynthesizeError, file_stem};
use crate::ggml::{ALIGNMENT, MAGIC, TensorType, ValueType, aligned, key};
use crate::{Model, WeightFormat};

/// Most layers and experts that llama.cpp loads (`LLAMA_MAX_LAYERS`, `LLAMA_MAX_EXPERTS`).
const MAX_LAYERS: u32 = 512;
const MAX_EXPERTS: u32 = 512;

/// Control tokens of the dummy vocabulary; 256 byte tokens follow them.
const CONTROL_TOKENS: [(&str, u32); 3] = [("<unk>", 2), ("<s>", 3), ("</s>", 3)];
const BYTE_TOKENS: u32 = 256;
const FIRST_NORMAL_TOKEN: u32 = CONTROL_TOKENS.len() as u32 + BYTE_TOKENS;

/// Token types of llama.cpp (`llama_token_type`) beside those of [`CONTROL_TOKENS`].
const NORMAL_TOKEN: u32 = 1;
const BYTE_TOKEN: u32 = 6;

/// The tokenizer that a file carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Vocabulary {
    /// None: engines decode by token ids. Smallest, and enough to measure speed.
    #[default]
    Absent,
    /// Control tokens, one token for each byte, and made-up words up to the vocabulary size:
    /// any text can be tokenized. Needs a vocabulary of at least 259.
    Dummy,
}

/// How a file is made, beside shape and format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GgufOptions {
    /// Tokenizer.
    pub vocabulary: Vocabulary,
    /// Context length that the file states, in tokens.
    pub context_tokens: u32,
    /// Seed of the weights.
    pub seed: u64,
}

impl Default for GgufOptions {
    fn default() -> Self {
        GgufOptions { vocabulary: Vocabulary::Absent, context_tokens: 4096, seed: 1 }
    }
}

/// An untrained model, ready to be written.
///
/// Gated models have the architecture `llama`, plain ones `arcee`: the same but for the FFN, which
/// is up, squared ReLU, down. Keys and tensors are those that llama.cpp requires.
#[derive(Clone, Debug)]
pub struct GgufModel {
    name: String,
    dims: ShapeDims,
    format: WeightFormat,
    options: GgufOptions,
    tensors: Vec<(Tensor, TensorType)>,
    head_bytes: u64,
    file_bytes: u64,
}

impl GgufModel {
    /// Lays out the file of a model.
    ///
    /// # Errors
    /// If no engine would load it: more than 512 layers or experts, an odd head size (rotary
    /// embeddings need pairs), experts without a gate, a vocabulary too small for its tokenizer.
    pub fn new(
        model: &Model,
        format: WeightFormat,
        options: GgufOptions,
    ) -> Result<Self, SynthesizeError> {
        let dims = *model.shape.dims();
        if let Some(reason) = refusal(&dims, options) {
            return Err(SynthesizeError::Unsupported { model: model.name.clone(), reason });
        }
        let tensors = of_shape(&dims)
            .into_iter()
            .map(|tensor| (tensor, tensor_type(format, &tensor, dims.layers, dims.tied)))
            .collect();
        let mut gguf = GgufModel {
            name: model.name.clone(),
            dims,
            format,
            options,
            tensors,
            head_bytes: 0,
            file_bytes: 0,
        };
        gguf.head_bytes = gguf.count_head_bytes();
        gguf.file_bytes = padded(gguf.head_bytes)
            + gguf.tensors.iter().map(|t| padded(data_bytes(t))).sum::<u64>();
        Ok(gguf)
    }

    /// `<model>-<format>.gguf`, with `_` for what is no letter, digit, `.`, `_` or `-`.
    pub fn file_name(&self) -> String {
        format!("{}-{}.gguf", file_stem(&self.name), self.format)
    }

    /// Length of the file.
    pub fn file_bytes(&self) -> u64 {
        self.file_bytes
    }

    /// Writes the file: complete under its name, or not at all.
    ///
    /// # Errors
    /// If the disk has too little space, or the system refuses to write.
    pub fn write(&self, path: &Path) -> Result<(), SynthesizeError> {
        write_large(path, self.file_bytes, |file| self.write_to(file))
    }

    /// Writes the file's bytes to `out`, in pieces of up to 1 MiB.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut head = BufWriter::new(&mut *out);
        self.write_head(&mut head)?;
        write_padding(&mut head, self.head_bytes)?;
        head.flush()?;
        drop(head);
        let mut patterns = Patterns::new(self.options.seed);
        for entry @ (tensor, tensor_type) in &self.tensors {
            let bytes = data_bytes(entry);
            patterns.of(tensor, *tensor_type).write(out, bytes)?;
            write_padding(out, bytes)?;
        }
        out.flush()
    }

    /// Everything before the tensor data.
    fn write_head(&self, out: &mut impl Write) -> io::Result<()> {
        let entries = self.entries();
        out.write_all(&MAGIC)?;
        out.write_all(&3u32.to_le_bytes())?;
        out.write_all(&(self.tensors.len() as u64).to_le_bytes())?;
        out.write_all(&(entries.len() as u64).to_le_bytes())?;
        for (key, value) in &entries {
            write_text(out, key)?;
            value.write(out)?;
        }
        let mut offset = 0u64;
        for entry @ (tensor, tensor_type) in &self.tensors {
            write_text(out, &tensor_name(tensor))?;
            out.write_all(&(tensor.dims().count() as u32).to_le_bytes())?;
            for dim in tensor.dims() {
                out.write_all(&u64::from(dim).to_le_bytes())?;
            }
            out.write_all(&tensor_type.code().to_le_bytes())?;
            out.write_all(&offset.to_le_bytes())?;
            offset += padded(data_bytes(entry));
        }
        Ok(())
    }

    /// Length of what [`GgufModel::write_head`] writes, without making its lists of tokens: a
    /// collection asks for the lengths of all its files at once.
    fn count_head_bytes(&self) -> u64 {
        let entries: u64 = self.entries().iter().map(|(key, e)| text_bytes(key) + e.bytes()).sum();
        let infos = self.tensors.iter().map(|(tensor, _)| {
            text_bytes(&tensor_name(tensor)) + 4 + 8 * tensor.dims().count() as u64 + 4 + 8
        });
        MAGIC.len() as u64 + 4 + 8 + 8 + entries + infos.sum::<u64>()
    }

    fn entries(&self) -> Vec<(String, Entry)> {
        let d = &self.dims;
        let architecture = if d.gated { "llama" } else { "arcee" };
        // Codes of llama.cpp's `llama_ftype`.
        let file_type = match self.format {
            WeightFormat::F16 => 1,
            WeightFormat::Q4_0 => 2,
            WeightFormat::Q8_0 => 7,
            WeightFormat::Q4KM => 15,
            WeightFormat::Q6K => 18,
        };
        let mut entries = vec![
            (key::ARCHITECTURE.to_owned(), Entry::Text(architecture.to_owned())),
            (key::NAME.to_owned(), Entry::Text(self.name.clone())),
            (key::FILE_TYPE.to_owned(), Entry::U32(file_type)),
            ("general.quantization_version".to_owned(), Entry::U32(2)),
        ];
        let sizes = [
            (".context_length", self.options.context_tokens),
            (key::LAYERS, d.layers),
            (key::HIDDEN, d.hidden),
            (key::FFN, d.ffn),
            (key::HEADS, d.heads),
            (key::KV_HEADS, d.kv_heads),
            (key::KEY_LENGTH, d.head_dim),
            (key::VALUE_LENGTH, d.head_dim),
            (key::ROPE_DIM, d.head_dim),
            (key::VOCAB, d.vocab),
        ];
        let experts = [(key::EXPERTS, d.experts), (key::ACTIVE_EXPERTS, d.active_experts)];
        let experts = experts.into_iter().filter(|_| d.experts > 1);
        entries.extend(
            sizes
                .into_iter()
                .chain(experts)
                .map(|(suffix, size)| (format!("{architecture}{suffix}"), Entry::U32(size))),
        );
        entries
            .push((format!("{architecture}.attention.layer_norm_rms_epsilon"), Entry::F32(1e-5)));
        let tokenizer = |name: &str, entry| (format!("tokenizer.ggml.{name}"), entry);
        match self.options.vocabulary {
            Vocabulary::Absent => {
                entries.push(tokenizer("model", Entry::Text("no_vocab".to_owned())));
            }
            Vocabulary::Dummy => entries.extend([
                tokenizer("model", Entry::Text("llama".to_owned())),
                (key::TOKENS.to_owned(), Entry::Tokens(d.vocab)),
                tokenizer("scores", Entry::Scores(d.vocab)),
                tokenizer("token_type", Entry::TokenTypes(d.vocab)),
                tokenizer("unknown_token_id", Entry::U32(0)),
                tokenizer("bos_token_id", Entry::U32(1)),
                tokenizer("eos_token_id", Entry::U32(2)),
            ]),
        }
        entries
    }
}

/// Why no engine would load the model, if so.
fn refusal(d: &ShapeDims, options: GgufOptions) -> Option<String> {
    if d.layers > MAX_LAYERS {
        Some(format!("must have at most {MAX_LAYERS} layers to be loaded, got {}", d.layers))
    } else if d.experts > MAX_EXPERTS {
        Some(format!("must have at most {MAX_EXPERTS} experts to be loaded, got {}", d.experts))
    } else if !d.head_dim.is_multiple_of(2) {
        Some(format!("head_dim must be even for rotary embeddings, got {}", d.head_dim))
    } else if d.experts > 1 && !d.gated {
        Some("experts must have a gated FFN to be loaded".to_owned())
    } else if options.vocabulary == Vocabulary::Dummy && d.vocab < FIRST_NORMAL_TOKEN {
        Some(format!(
            "vocab must be at least {FIRST_NORMAL_TOKEN} for the dummy vocabulary, got {}",
            d.vocab
        ))
    } else {
        None
    }
}

/// A metadata value. Token lists are made while they are written.
enum Entry {
    U32(u32),
    F32(f32),
    Text(String),
    Tokens(u32),
    Scores(u32),
    TokenTypes(u32),
}

impl Entry {
    /// Length of what [`Entry::write`] writes.
    fn bytes(&self) -> u64 {
        let array = |content: u64| 4 + 8 + content;
        4 + match self {
            Entry::U32(_) | Entry::F32(_) => 4,
            Entry::Text(text) => text_bytes(text),
            Entry::Tokens(len) => array(tokens_bytes(*len)),
            Entry::Scores(len) | Entry::TokenTypes(len) => array(4 * u64::from(*len)),
        }
    }

    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        match self {
            Entry::U32(value) => {
                out.write_all(&ValueType::U32.code().to_le_bytes())?;
                out.write_all(&value.to_le_bytes())
            }
            Entry::F32(value) => {
                out.write_all(&ValueType::F32.code().to_le_bytes())?;
                out.write_all(&value.to_le_bytes())
            }
            Entry::Text(text) => {
                out.write_all(&ValueType::String.code().to_le_bytes())?;
                write_text(out, text)
            }
            Entry::Tokens(len) => {
                write_array_head(out, ValueType::String, *len)?;
                (0..*len).try_for_each(|id| write_text(out, &token(id).0))
            }
            // As SentencePiece has them: earlier tokens are preferred.
            Entry::Scores(len) => {
                write_array_head(out, ValueType::F32, *len)?;
                (0..*len).try_for_each(|id| out.write_all(&(-(id as f32)).to_le_bytes()))
            }
            Entry::TokenTypes(len) => {
                write_array_head(out, ValueType::I32, *len)?;
                (0..*len).try_for_each(|id| out.write_all(&token(id).1.to_le_bytes()))
            }
        }
    }
}

/// Text and type of a token of the dummy vocabulary.
fn token(id: u32) -> (String, u32) {
    match CONTROL_TOKENS.get(id as usize) {
        Some((text, token_type)) => ((*text).to_owned(), *token_type),
        None if id < FIRST_NORMAL_TOKEN => {
            (format!("<0x{:02X}>", id - CONTROL_TOKENS.len() as u32), BYTE_TOKEN)
        }
        None => (format!("t{id}"), NORMAL_TOKEN),
    }
}

/// Length of the first `len` tokens of the dummy vocabulary as a list.
fn tokens_bytes(len: u32) -> u64 {
    let special: u64 = (0..len.min(FIRST_NORMAL_TOKEN)).map(|id| text_bytes(&token(id).0)).sum();
    let Some(normal) = len.checked_sub(FIRST_NORMAL_TOKEN) else { return special };
    special + u64::from(normal) * (8 + 1) + digits_below(len) - digits_below(FIRST_NORMAL_TOKEN)
}

/// Decimal digits of all numbers from 0 to below `n`: one each, and one more from each power of ten
/// on.
fn digits_below(n: u32) -> u64 {
    let n = u64::from(n);
    n + (1..).map(|k| 10u64.pow(k)).take_while(|p| *p < n).map(|p| n - p).sum::<u64>()
}

fn tensor_name(tensor: &Tensor) -> String {
    let of_experts = if tensor.experts.is_some() { "_exps" } else { "" };
    let name = match tensor.role {
        Role::Embedding => "token_embd",
        Role::AttnNorm => "attn_norm",
        Role::Query => "attn_q",
        Role::Key => "attn_k",
        Role::Value => "attn_v",
        Role::AttnOutput => "attn_output",
        Role::FfnNorm => "ffn_norm",
        Role::Router => "ffn_gate_inp",
        Role::Gate => "ffn_gate",
        Role::Up => "ffn_up",
        Role::Down => "ffn_down",
        Role::FinalNorm => "output_norm",
        Role::LmHead => "output",
    };
    match tensor.layer {
        Some(layer) => format!("blk.{layer}.{name}{of_experts}.weight"),
        None => format!("{name}.weight"),
    }
}

/// Bytes of a tensor's data: whole blocks, as [`tensor_type`] sees to.
fn data_bytes((tensor, tensor_type): &(Tensor, TensorType)) -> u64 {
    tensor.weights() / tensor_type.block_weights() * tensor_type.block_bytes()
}

fn padded(bytes: u64) -> u64 {
    // Far below overflow for every checked shape.
    aligned(bytes, ALIGNMENT).unwrap_or(u64::MAX)
}

fn write_padding(out: &mut impl Write, written: u64) -> io::Result<()> {
    out.write_all(&[0; ALIGNMENT as usize][..(padded(written) - written) as usize])
}

fn text_bytes(text: &str) -> u64 {
    8 + text.len() as u64
}

fn write_text(out: &mut impl Write, text: &str) -> io::Result<()> {
    out.write_all(&(text.len() as u64).to_le_bytes())?;
    out.write_all(text.as_bytes())
}

fn write_array_head(out: &mut impl Write, of: ValueType, len: u32) -> io::Result<()> {
    out.write_all(&ValueType::Array.code().to_le_bytes())?;
    out.write_all(&of.code().to_le_bytes())?;
    out.write_all(&u64::from(len).to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_lists_have_the_counted_length() -> io::Result<()> {
        for len in [1, 3, 258, 259, 260, 999, 1000, 1001, 12_345, 100_001] {
            let mut written = Vec::new();
            Entry::Tokens(len).write(&mut written)?;
            assert_eq!(Entry::Tokens(len).bytes(), written.len() as u64, "{len}");
        }
        Ok(())
    }
}
