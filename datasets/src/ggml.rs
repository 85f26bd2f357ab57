//! Constants of the GGUF format, shared by its reader and its writer.
//!
//! Source: ggml's `docs/gguf.md`, and `ggml.h` for tensor types and block sizes.

/// First four bytes of a file.
pub(crate) const MAGIC: [u8; 4] = *b"GGUF";

/// Alignment of tensor data unless `general.alignment` says otherwise, in bytes.
pub(crate) const ALIGNMENT: u64 = 32;

/// Most dimensions of a tensor.
pub(crate) const MAX_DIMS: u32 = 4;

/// Metadata keys that reader and writer share; those with a leading dot follow the architecture.
pub(crate) mod key {
    pub(crate) const ARCHITECTURE: &str = "general.architecture";
    pub(crate) const NAME: &str = "general.name";
    /// What the file holds: `model`, `adapter`, `mmproj`, …; a model where it is missing.
    pub(crate) const TYPE: &str = "general.type";
    pub(crate) const ADAPTER_TYPE: &str = "adapter.type";
    pub(crate) const FILE_TYPE: &str = "general.file_type";
    pub(crate) const TOKENS: &str = "tokenizer.ggml.tokens";
    pub(crate) const LAYERS: &str = ".block_count";
    pub(crate) const HIDDEN: &str = ".embedding_length";
    pub(crate) const FFN: &str = ".feed_forward_length";
    pub(crate) const HEADS: &str = ".attention.head_count";
    pub(crate) const KV_HEADS: &str = ".attention.head_count_kv";
    pub(crate) const KEY_LENGTH: &str = ".attention.key_length";
    pub(crate) const VALUE_LENGTH: &str = ".attention.value_length";
    pub(crate) const ROPE_DIM: &str = ".rope.dimension_count";
    pub(crate) const VOCAB: &str = ".vocab_size";
    pub(crate) const EXPERTS: &str = ".expert_count";
    pub(crate) const ACTIVE_EXPERTS: &str = ".expert_used_count";
}

/// Type of a metadata value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

impl ValueType {
    /// All types, in the order of their codes.
    const ALL: [ValueType; 13] = [
        ValueType::U8,
        ValueType::I8,
        ValueType::U16,
        ValueType::I16,
        ValueType::U32,
        ValueType::I32,
        ValueType::F32,
        ValueType::Bool,
        ValueType::String,
        ValueType::Array,
        ValueType::U64,
        ValueType::I64,
        ValueType::F64,
    ];

    pub(crate) fn from_code(code: u32) -> Option<Self> {
        ValueType::ALL.get(code as usize).copied()
    }

    pub(crate) fn code(self) -> u32 {
        self as u32
    }

    /// Bytes of one value; `None` for strings and arrays.
    pub(crate) fn bytes(self) -> Option<u64> {
        match self {
            ValueType::U8 | ValueType::I8 | ValueType::Bool => Some(1),
            ValueType::U16 | ValueType::I16 => Some(2),
            ValueType::U32 | ValueType::I32 | ValueType::F32 => Some(4),
            ValueType::U64 | ValueType::I64 | ValueType::F64 => Some(8),
            ValueType::String | ValueType::Array => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            ValueType::U8 => "an 8-bit number",
            ValueType::I8 => "a signed 8-bit number",
            ValueType::U16 => "a 16-bit number",
            ValueType::I16 => "a signed 16-bit number",
            ValueType::U32 => "a 32-bit number",
            ValueType::I32 => "a signed 32-bit number",
            ValueType::F32 | ValueType::F64 => "a floating-point number",
            ValueType::Bool => "a truth value",
            ValueType::String => "a string",
            ValueType::Array => "an array",
            ValueType::U64 => "a 64-bit number",
            ValueType::I64 => "a signed 64-bit number",
        }
    }
}

/// Type of a tensor: how blocks of weights are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TensorType {
    F32,
    F16,
    Q4_0,
    Q5_0,
    Q8_0,
    Q4K,
    Q6K,
    Bf16,
}

impl TensorType {
    /// The types that are known here.
    pub(crate) const ALL: [TensorType; 8] = [
        TensorType::F32,
        TensorType::F16,
        TensorType::Q4_0,
        TensorType::Q5_0,
        TensorType::Q8_0,
        TensorType::Q4K,
        TensorType::Q6K,
        TensorType::Bf16,
    ];

    pub(crate) fn code(self) -> u32 {
        match self {
            TensorType::F32 => 0,
            TensorType::F16 => 1,
            TensorType::Q4_0 => 2,
            TensorType::Q5_0 => 6,
            TensorType::Q8_0 => 8,
            TensorType::Q4K => 12,
            TensorType::Q6K => 14,
            TensorType::Bf16 => 30,
        }
    }

    pub(crate) fn from_code(code: u32) -> Option<Self> {
        TensorType::ALL.into_iter().find(|t| t.code() == code)
    }

    /// Weights of a block.
    pub(crate) fn block_weights(self) -> u64 {
        match self {
            TensorType::F32 | TensorType::F16 | TensorType::Bf16 => 1,
            TensorType::Q4_0 | TensorType::Q5_0 | TensorType::Q8_0 => 32,
            TensorType::Q4K | TensorType::Q6K => 256,
        }
    }

    /// Bytes of a block.
    pub(crate) fn block_bytes(self) -> u64 {
        match self {
            TensorType::F32 => 4,
            TensorType::F16 | TensorType::Bf16 => 2,
            TensorType::Q4_0 => 18,
            TensorType::Q5_0 => 22,
            TensorType::Q8_0 => 34,
            TensorType::Q4K => 144,
            TensorType::Q6K => 210,
        }
    }
}

/// `n` rounded up to a multiple of `alignment`; `None` on overflow.
pub(crate) fn aligned(n: u64, alignment: u64) -> Option<u64> {
    n.checked_next_multiple_of(alignment)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_lead_back_to_their_types() {
        for (code, value_type) in ValueType::ALL.into_iter().enumerate() {
            assert_eq!(ValueType::from_code(code as u32), Some(value_type));
            assert_eq!(value_type.code(), code as u32);
        }
        assert_eq!(ValueType::from_code(13), None);
        for tensor_type in TensorType::ALL {
            assert_eq!(TensorType::from_code(tensor_type.code()), Some(tensor_type));
        }
    }
}
