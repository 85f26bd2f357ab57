//! Reader of a GGUF file's metadata and tensor descriptions, for versions 2 and 3.
//!
//! The file is not trusted: no length is believed before the file is known to be that long, and
//! only the keys that a shape needs are kept, so memory is bounded by constants and time by the
//! length of the file. Tensor data are never read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufReader, Read, Seek};

use super::ShapeFault;
use crate::ggml::{MAGIC, MAX_DIMS, TensorType, ValueType, aligned, key};
use crate::shape::MAX_LAYERS;
use crate::table_error::shown;

/// Longest key or tensor name, in bytes (the format's own limit for keys).
const MAX_NAME: u64 = 65_535;

/// Longest string value that is kept, in bytes.
const MAX_TEXT: u64 = 65_536;

/// Most values that are kept. A real file has at most a few dozen of interest.
const MAX_KEPT: usize = 512;

/// Deepest nesting of arrays that is skipped.
const MAX_NESTING: u32 = 8;

/// Bytes of the smallest metadata entry (empty key, one byte) and tensor description (no dimension).
const MIN_ENTRY: u64 = 8 + 4 + 1;
const MIN_TENSOR: u64 = 8 + 4 + 4 + 8;

/// Keys without an architecture prefix that are kept.
const GENERAL_KEYS: [&str; 8] = [
    key::ARCHITECTURE,
    key::TYPE,
    key::ADAPTER_TYPE,
    key::NAME,
    key::FILE_TYPE,
    key::TOKENS,
    "general.alignment",
    "split.count",
];

/// Keys that are kept for any architecture, as the architecture may be stated after them.
const SHAPE_KEYS: [&str; 25] = [
    key::LAYERS,
    key::HIDDEN,
    key::FFN,
    key::HEADS,
    key::KV_HEADS,
    key::KEY_LENGTH,
    key::VALUE_LENGTH,
    key::ROPE_DIM,
    key::VOCAB,
    key::EXPERTS,
    key::ACTIVE_EXPERTS,
    ".attention.key_length_mla",
    ".attention.value_length_mla",
    ".attention.key_length_swa",
    ".attention.q_lora_rank",
    ".attention.kv_lora_rank",
    ".expert_feed_forward_length",
    ".expert_shared_count",
    ".expert_shared_feed_forward_length",
    ".leading_dense_block_count",
    ".interleave_moe_layer_step",
    ".nextn_predict_layers",
    ".ssm.state_size",
    ".wkv.head_size",
    ".shortconv.l_cache",
];

/// A metadata value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Whole(u64),
    Text(String),
    /// Whole numbers, all of them.
    Wholes(Vec<u64>),
    /// An array whose elements are not kept.
    Array {
        of: ValueType,
        len: u64,
    },
    /// What no key of interest may be, with the words for it.
    Other(String),
}

impl Value {
    /// Words for an error message.
    fn described(&self) -> String {
        match self {
            Value::Whole(n) => format!("the number {n}"),
            Value::Text(text) => format!("the string '{}'", shown(text)),
            Value::Wholes(list) => format!("an array of {} numbers", list.len()),
            Value::Array { of, len } => format!("an array of {len} elements, each {}", of.name()),
            Value::Other(words) => words.clone(),
        }
    }
}

/// What the tensor descriptions say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tensors {
    pub(super) count: u64,
    /// Weights of all tensors but rotary tables, which are not weights.
    pub(super) weights: u64,
    /// Dimensions of `token_embd.weight`: hidden size, vocabulary.
    pub(super) embedding: Option<(u64, u64)>,
    /// Rows of the first `ffn_up` weight.
    pub(super) ffn_up_rows: Option<u64>,
    pub(super) has_output: bool,
    pub(super) has_gate: bool,
    /// Weights by type, of known types.
    pub(super) by_type: BTreeMap<TensorType, u64>,
    /// End of the data in the file, as far as types are known; 0 without data.
    pub(super) data_end: u64,
}

/// Metadata and tensor descriptions of a file.
#[derive(Debug)]
pub(super) struct Gguf {
    values: BTreeMap<String, Value>,
    pub(super) tensors: Tensors,
    pub(super) file_bytes: u64,
}

impl Gguf {
    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.values.get(key)
    }

    /// A whole number; `None` without the key.
    pub(super) fn whole(&self, key: &str) -> Result<Option<u32>, ShapeFault> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Whole(n)) => narrow(key, *n).map(Some),
            Some(other) => Err(wrong_type(key, "a whole number", other)),
        }
    }

    /// A string; `None` without the key.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, ShapeFault> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(key, "a string", other)),
        }
    }

    /// Elements of an array of strings; `None` without the key.
    pub(super) fn strings_len(&self, key: &str) -> Result<Option<u64>, ShapeFault> {
        match self.get(key) {
            None => Ok(None),
            Some(Value::Array { of: ValueType::String, len }) => Ok(Some(*len)),
            Some(other) => Err(wrong_type(key, "an array of strings", other)),
        }
    }
}

pub(super) fn wrong_type(key: &str, expected: &'static str, found: &Value) -> ShapeFault {
    ShapeFault::Type { key: key.to_owned(), expected, found: found.described() }
}

/// A size of a model as 32 bits.
pub(super) fn narrow(key: &str, n: u64) -> Result<u32, ShapeFault> {
    u32::try_from(n).map_err(|_| ShapeFault::value(key, format!("must be below 2^32, got {n}")))
}

/// Reads metadata and tensor descriptions.
pub(super) fn read(file: File, file_bytes: u64) -> Result<Gguf, ShapeFault> {
    let mut source = Source { input: BufReader::new(file), at: 0, len: file_bytes };
    let magic: [u8; 4] = source.bytes("magic")?;
    if magic != MAGIC {
        return Err(ShapeFault::Format("does not begin with 'GGUF'".to_owned()));
    }
    match source.u32("version")? {
        2 | 3 => {}
        1 => {
            return Err(ShapeFault::Format(
                "GGUF version 1 is not read; convert the model again".to_owned(),
            ));
        }
        version if matches!(version.swap_bytes(), 1..=3) => {
            return Err(ShapeFault::Format("big-endian GGUF is not read".to_owned()));
        }
        version => {
            return Err(ShapeFault::Format(format!(
                "GGUF version {version} is not known; versions 2 and 3 are read"
            )));
        }
    }
    let tensor_count = source.u64("tensor count")?;
    let entry_count = source.u64("metadata count")?;
    source.need("metadata count", entry_count.saturating_mul(MIN_ENTRY))?;
    let mut values = BTreeMap::new();
    for _ in 0..entry_count {
        let name = source.text("metadata key", MAX_NAME)?;
        let value_type = source.value_type(&name)?;
        if !is_kept(&name) {
            source.skip_value(&name, value_type, 0)?;
            continue;
        }
        let value = source.value(&name, value_type)?;
        if values.len() == MAX_KEPT {
            return Err(ShapeFault::value(name, "too many keys like this; no model has them"));
        }
        if values.insert(name.clone(), value).is_some() {
            return Err(ShapeFault::value(name, "stands twice"));
        }
    }
    let mut gguf = Gguf { values, tensors: Tensors::default(), file_bytes };
    let alignment = match gguf.whole("general.alignment")? {
        None => crate::ggml::ALIGNMENT,
        Some(0) => return Err(ShapeFault::value("general.alignment", "must be at least 1, got 0")),
        Some(n) => u64::from(n),
    };
    gguf.tensors = source.tensors(tensor_count, alignment)?;
    Ok(gguf)
}

/// Whether a shape may need the key.
fn is_kept(name: &str) -> bool {
    GENERAL_KEYS.contains(&name)
        || name.find('.').is_some_and(|dot| SHAPE_KEYS.contains(&&name[dot..]))
}

/// The file, with its position and length.
struct Source<R> {
    input: BufReader<R>,
    at: u64,
    len: u64,
}

impl<R: Read + Seek> Source<R> {
    /// That `n` more bytes are there.
    fn need(&self, key: &str, n: u64) -> Result<(), ShapeFault> {
        let left = self.len.saturating_sub(self.at);
        if n > left {
            return Err(ShapeFault::Cut { key: shown(key), offset: self.at, needed: n, left });
        }
        Ok(())
    }

    fn bytes<const N: usize>(&mut self, key: &str) -> Result<[u8; N], ShapeFault> {
        self.need(key, N as u64)?;
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        self.at += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self, key: &str) -> Result<u32, ShapeFault> {
        Ok(u32::from_le_bytes(self.bytes(key)?))
    }

    fn u64(&mut self, key: &str) -> Result<u64, ShapeFault> {
        Ok(u64::from_le_bytes(self.bytes(key)?))
    }

    fn skip(&mut self, key: &str, n: u64) -> Result<(), ShapeFault> {
        self.need(key, n)?;
        // A file's length fits a signed offset.
        self.input.seek_relative(i64::try_from(n).unwrap_or(i64::MAX))?;
        self.at += n;
        Ok(())
    }

    /// A string of at most `limit` bytes; what is not UTF-8 is replaced.
    fn text(&mut self, key: &str, limit: u64) -> Result<String, ShapeFault> {
        let len = self.u64(key)?;
        self.need(key, len)?;
        if len > limit {
            return Err(ShapeFault::value(
                key,
                format!("is {len} bytes long; at most {limit} are read"),
            ));
        }
        let mut bytes = vec![0; len as usize];
        self.input.read_exact(&mut bytes)?;
        self.at += len;
        Ok(match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        })
    }

    fn value_type(&mut self, key: &str) -> Result<ValueType, ShapeFault> {
        let code = self.u32(key)?;
        ValueType::from_code(code).ok_or_else(|| ShapeFault::Type {
            key: shown(key),
            expected: "of a type of the format (0 to 12)",
            found: format!("type {code}"),
        })
    }

    /// A value of a kept key.
    fn value(&mut self, key: &str, value_type: ValueType) -> Result<Value, ShapeFault> {
        if value_type == ValueType::String {
            return Ok(Value::Text(self.text(key, MAX_TEXT)?));
        }
        if value_type != ValueType::Array {
            return self.number(key, value_type);
        }
        let (of, len) = self.array_head(key)?;
        if of.bytes().is_none() || len > u64::from(MAX_LAYERS) {
            self.skip_elements(key, of, len, 0)?;
            return Ok(Value::Array { of, len });
        }
        let mut list = Vec::with_capacity(len as usize);
        for index in 0..len {
            match self.number(&format!("{key}[{index}]"), of)? {
                Value::Whole(n) => list.push(n),
                other => {
                    return Err(wrong_type(&format!("{key}[{index}]"), "a whole number", &other));
                }
            }
        }
        Ok(Value::Wholes(list))
    }

    /// A number: whole if it can be.
    fn number(&mut self, key: &str, value_type: ValueType) -> Result<Value, ShapeFault> {
        let signed = match value_type {
            ValueType::U8 => i64::from(u8::from_le_bytes(self.bytes(key)?)),
            ValueType::I8 => i64::from(i8::from_le_bytes(self.bytes(key)?)),
            ValueType::U16 => i64::from(u16::from_le_bytes(self.bytes(key)?)),
            ValueType::I16 => i64::from(i16::from_le_bytes(self.bytes(key)?)),
            ValueType::U32 => i64::from(self.u32(key)?),
            ValueType::I32 => i64::from(i32::from_le_bytes(self.bytes(key)?)),
            ValueType::I64 => i64::from_le_bytes(self.bytes(key)?),
            ValueType::U64 => return Ok(Value::Whole(self.u64(key)?)),
            ValueType::F32
            | ValueType::F64
            | ValueType::Bool
            | ValueType::String
            | ValueType::Array => {
                self.skip_value(key, value_type, 0)?;
                return Ok(Value::Other(value_type.name().to_owned()));
            }
        };
        Ok(match u64::try_from(signed) {
            Ok(n) => Value::Whole(n),
            Err(_) => Value::Other(format!("the negative number {signed}")),
        })
    }

    /// Type and number of an array's elements, of which the file has room for at least one byte
    /// each.
    fn array_head(&mut self, key: &str) -> Result<(ValueType, u64), ShapeFault> {
        let of = self.value_type(key)?;
        let len = self.u64(key)?;
        let smallest = match of {
            ValueType::String => 8,
            ValueType::Array => 4 + 8,
            number => number.bytes().unwrap_or(1),
        };
        self.need(key, len.saturating_mul(smallest))?;
        Ok((of, len))
    }

    fn skip_value(
        &mut self,
        key: &str,
        value_type: ValueType,
        nesting: u32,
    ) -> Result<(), ShapeFault> {
        match value_type.bytes() {
            Some(bytes) => self.skip(key, bytes),
            None if value_type == ValueType::String => {
                let len = self.u64(key)?;
                self.skip(key, len)
            }
            None if nesting == MAX_NESTING => {
                Err(ShapeFault::value(key, format!("arrays nest deeper than {MAX_NESTING}")))
            }
            None => {
                let (of, len) = self.array_head(key)?;
                self.skip_elements(key, of, len, nesting + 1)
            }
        }
    }

    fn skip_elements(
        &mut self,
        key: &str,
        of: ValueType,
        len: u64,
        nesting: u32,
    ) -> Result<(), ShapeFault> {
        match of.bytes() {
            Some(bytes) => self.skip(key, len.saturating_mul(bytes)),
            None => (0..len).try_for_each(|_| self.skip_value(key, of, nesting)),
        }
    }

    fn tensors(&mut self, count: u64, alignment: u64) -> Result<Tensors, ShapeFault> {
        self.need("tensor count", count.saturating_mul(MIN_TENSOR))?;
        let mut tensors = Tensors { count, ..Tensors::default() };
        let mut data_bytes = 0u64;
        for _ in 0..count {
            let name = self.text("tensor name", MAX_NAME)?;
            let dim_count = self.u32(&name)?;
            if dim_count > MAX_DIMS {
                return Err(ShapeFault::value(
                    name,
                    format!("must have at most {MAX_DIMS} dimensions, got {dim_count}"),
                ));
            }
            let mut dims = [1u64; MAX_DIMS as usize];
            for dim in dims.iter_mut().take(dim_count as usize) {
                *dim = self.u64(&name)?;
            }
            let tensor_type = TensorType::from_code(self.u32(&name)?);
            let offset = self.u64(&name)?;
            let too_large = || ShapeFault::value(shown(&name), "is larger than any file can be");
            let weights = dims
                .iter()
                .try_fold(1u64, |product, dim| product.checked_mul(*dim))
                .ok_or_else(too_large)?;
            if let Some(tensor_type) = tensor_type {
                let bytes = weights
                    .div_ceil(tensor_type.block_weights())
                    .checked_mul(tensor_type.block_bytes())
                    .and_then(|bytes| bytes.checked_add(offset))
                    .ok_or_else(too_large)?;
                data_bytes = data_bytes.max(bytes);
                let sum = tensors.by_type.entry(tensor_type).or_default();
                *sum = sum.saturating_add(weights);
            }
            tensors.note(&name, dims, weights);
        }
        if data_bytes > 0 {
            let start = aligned(self.at, alignment).unwrap_or(u64::MAX);
            tensors.data_end = start.saturating_add(data_bytes);
        }
        Ok(tensors)
    }
}

impl Tensors {
    /// Takes one tensor into account.
    fn note(&mut self, name: &str, dims: [u64; MAX_DIMS as usize], weights: u64) {
        if !name.starts_with("rope_") {
            self.weights = self.weights.saturating_add(weights);
        }
        match name {
            "token_embd.weight" => self.embedding = Some((dims[0], dims[1])),
            "output.weight" => self.has_output = true,
            _ => {}
        }
        if name.contains(".ffn_gate.")
            || name.contains(".ffn_gate_exps.")
            || name.contains(".ffn_gate_up_exps.")
        {
            self.has_gate = true;
        }
        if self.ffn_up_rows.is_none() && name.ends_with(".ffn_up.weight") {
            self.ffn_up_rows = Some(dims[1]);
        }
    }
}
