//! `LlmShape`: the structural description of a decoder-only LLM, checked once.

use std::fmt;

use enerinfer_artifacts::ShapeDims;

/// What a caller knows of a model. Optional fields follow the usual conventions when absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShapeSpec {
    /// Transformer layers.
    pub layers: u32,
    /// Hidden size.
    pub hidden: u32,
    /// Attention heads.
    pub heads: u32,
    /// Key/value heads.
    pub kv_heads: u32,
    /// Head size; `hidden / heads` when absent.
    pub head_dim: Option<u32>,
    /// Intermediate size of one expert.
    pub ffn: u32,
    /// Vocabulary size.
    pub vocab: u32,
    /// Gated FFN; gated when absent.
    pub gated: Option<bool>,
    /// Tied embeddings; untied when absent.
    pub tied: Option<bool>,
    /// Experts per layer; 1 (dense) when absent.
    pub experts: Option<u32>,
    /// Experts active per token; 1 when absent.
    pub active_experts: Option<u32>,
    /// Total parameters if published; by formula when absent.
    pub total_params: Option<u64>,
}

/// The structure of an LLM: six hyper-parameters (EnerInfer §3) and what follows from them.
///
/// Every value has passed the rules of [`LlmShape::new`], so arithmetic on it cannot overflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LlmShape {
    dims: ShapeDims,
}

/// The rule that a shape breaks, with the values at fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct ShapeError {
    /// Field at fault (a column name of the measurement table).
    pub field: &'static str,
    /// The rule and the value.
    pub message: String,
}

pub(crate) const MAX_LAYERS: u32 = 1024;
pub(crate) const MAX_WIDTH: u32 = 1 << 20;
const MAX_VOCAB: u32 = 1 << 24;
pub(crate) const MAX_EXPERTS: u32 = 4096;

impl LlmShape {
    /// Checks the rules of a decoder-only transformer.
    ///
    /// # Errors
    /// The first broken rule, by field: each count positive and below its cap; heads a multiple
    /// of kv_heads; hidden a multiple of heads unless the head size is given; active experts at
    /// most experts; a published total within a factor of 2 of the formula.
    pub fn new(spec: ShapeSpec) -> Result<Self, ShapeError> {
        let fail = |field, message| Err(ShapeError { field, message });
        for (field, value, cap) in [
            ("layers", spec.layers, MAX_LAYERS),
            ("hidden", spec.hidden, MAX_WIDTH),
            ("heads", spec.heads, MAX_WIDTH),
            ("kv_heads", spec.kv_heads, MAX_WIDTH),
            ("ffn", spec.ffn, MAX_WIDTH),
            ("vocab", spec.vocab, MAX_VOCAB),
            ("head_dim", spec.head_dim.unwrap_or(1), MAX_WIDTH),
            ("experts", spec.experts.unwrap_or(1), MAX_EXPERTS),
            ("active_experts", spec.active_experts.unwrap_or(1), MAX_EXPERTS),
        ] {
            if value == 0 || value > cap {
                return fail(field, format!("must be from 1 to {cap}, got {value}"));
            }
        }
        if !spec.heads.is_multiple_of(spec.kv_heads) {
            return fail(
                "kv_heads",
                format!("must divide heads, got {} for {} heads", spec.kv_heads, spec.heads),
            );
        }
        let head_dim = match spec.head_dim {
            Some(d) => d,
            None if spec.hidden.is_multiple_of(spec.heads) => spec.hidden / spec.heads,
            None => {
                return fail(
                    "heads",
                    format!(
                        "must divide hidden unless head_dim is given, got {} heads for hidden {}",
                        spec.heads, spec.hidden
                    ),
                );
            }
        };
        if u64::from(spec.heads) * u64::from(head_dim) > u64::from(MAX_WIDTH) {
            return fail(
                "head_dim",
                format!(
                    "heads × head_dim must be at most {MAX_WIDTH}, got {} × {head_dim}",
                    spec.heads
                ),
            );
        }
        let (experts, active_experts) =
            (spec.experts.unwrap_or(1), spec.active_experts.unwrap_or(1));
        if active_experts > experts {
            return fail(
                "active_experts",
                format!("must be at most experts, got {active_experts} of {experts}"),
            );
        }
        let mut dims = ShapeDims {
            layers: spec.layers,
            hidden: spec.hidden,
            heads: spec.heads,
            kv_heads: spec.kv_heads,
            head_dim,
            ffn: spec.ffn,
            vocab: spec.vocab,
            gated: spec.gated.unwrap_or(true),
            tied: spec.tied.unwrap_or(false),
            experts,
            active_experts,
            total_params: 0,
        };
        let formula = dims.formula_total_params();
        dims.total_params = spec.total_params.unwrap_or(formula);
        if dims.total_params < formula / 2 || dims.total_params / 2 > formula {
            return fail(
                "total_params",
                format!(
                    "must be within a factor of 2 of what the other fields give ({formula}), \
                     got {}",
                    dims.total_params
                ),
            );
        }
        Ok(LlmShape { dims })
    }

    /// The dimensions as plain data.
    pub fn dims(&self) -> &ShapeDims {
        &self.dims
    }

    /// Total parameters: published if given, else by formula.
    pub fn total_params(&self) -> u64 {
        self.dims.total_params
    }

    /// Width of keys (and of values): `kv_heads · head_dim` elements per layer and token.
    pub fn kv_width(&self) -> u32 {
        self.dims.kv_heads * self.dims.head_dim
    }

    /// Bytes of weights read to decode one token in a weight format.
    pub fn read_bytes_per_token(&self, format: WeightFormat) -> u64 {
        format.bytes_for(self.dims.read_params())
    }

    /// The matrix–vector products of one decoded token (EnerInfer §3: they dominate its time).
    ///
    /// The active experts of a layer are one product of all their rows, as in llama.cpp, whose
    /// `ggml_mul_mat_id` multiplies by the matrices of all chosen experts in one operation.
    pub fn gemvs(&self) -> Vec<Gemv> {
        let d = &self.dims;
        let (q, kv) = (d.heads * d.head_dim, self.kv_width());
        // Only a shape at both limits saturates.
        let of_experts = |rows: u32| rows.saturating_mul(d.active_experts);
        let mut list = vec![
            Gemv { op: GemvOp::Query, outputs: q, inputs: d.hidden, count: d.layers },
            Gemv { op: GemvOp::Key, outputs: kv, inputs: d.hidden, count: d.layers },
            Gemv { op: GemvOp::Value, outputs: kv, inputs: d.hidden, count: d.layers },
            Gemv { op: GemvOp::Output, outputs: d.hidden, inputs: q, count: d.layers },
        ];
        if d.experts > 1 {
            list.push(Gemv {
                op: GemvOp::Router,
                outputs: d.experts,
                inputs: d.hidden,
                count: d.layers,
            });
        }
        let inward =
            |op| Gemv { op, outputs: of_experts(d.ffn), inputs: d.hidden, count: d.layers };
        if d.gated {
            list.push(inward(GemvOp::Gate));
        }
        list.push(inward(GemvOp::Up));
        list.push(Gemv {
            op: GemvOp::Down,
            outputs: of_experts(d.hidden),
            inputs: d.ffn,
            count: d.layers,
        });
        list.push(Gemv { op: GemvOp::LmHead, outputs: d.vocab, inputs: d.hidden, count: 1 });
        list
    }
}

/// Which operator of the transformer a matrix–vector product is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GemvOp {
    /// Query projection.
    Query,
    /// Key projection.
    Key,
    /// Value projection.
    Value,
    /// Attention output projection.
    Output,
    /// Expert router.
    Router,
    /// FFN gate.
    Gate,
    /// FFN up projection.
    Up,
    /// FFN down projection.
    Down,
    /// LM head.
    LmHead,
}

/// One kind of matrix–vector product and how often a token needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gemv {
    /// Operator.
    pub op: GemvOp,
    /// Rows of the matrix; of all active experts together.
    pub outputs: u32,
    /// Columns of the matrix.
    pub inputs: u32,
    /// Times per decoded token.
    pub count: u32,
}

/// How weights are stored. One predictor set is trained per format (EnerInfer §4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WeightFormat {
    /// 16-bit float, 2 bytes per weight.
    F16,
    /// GGUF Q8_0: 34 bytes per 32 weights. Also stands for plain 8-bit formats.
    Q8_0,
    /// GGUF Q6_K: 210 bytes per 256 weights.
    Q6K,
    /// GGUF Q4_K_M: Q4_K (144 bytes per 256) with part of the matrices in Q6_K; 4.85 bits per
    /// weight on average (llama.cpp's published figure for 7–8 B models).
    Q4KM,
    /// GGUF Q4_0: 18 bytes per 32 weights. Also stands for plain 4-bit formats.
    Q4_0,
}

impl WeightFormat {
    /// All formats.
    pub const ALL: [WeightFormat; 5] = [
        WeightFormat::F16,
        WeightFormat::Q8_0,
        WeightFormat::Q6K,
        WeightFormat::Q4KM,
        WeightFormat::Q4_0,
    ];

    /// Name in tables and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            WeightFormat::F16 => "f16",
            WeightFormat::Q8_0 => "q8_0",
            WeightFormat::Q6K => "q6_k",
            WeightFormat::Q4KM => "q4_k_m",
            WeightFormat::Q4_0 => "q4_0",
        }
    }

    /// Parses a name, ignoring case; `fp16`, `q8` and `q4` are accepted as the papers write them.
    pub fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "f16" | "fp16" => Some(WeightFormat::F16),
            "q8_0" | "q8" | "w8a8" => Some(WeightFormat::Q8_0),
            "q6_k" => Some(WeightFormat::Q6K),
            "q4_k_m" => Some(WeightFormat::Q4KM),
            "q4_0" | "q4" => Some(WeightFormat::Q4_0),
            _ => None,
        }
    }

    /// Bits per weight, in thousandths.
    pub fn millibits_per_weight(self) -> u64 {
        match self {
            WeightFormat::F16 => 16_000,
            WeightFormat::Q8_0 => 8_500,
            WeightFormat::Q6K => 6_563,
            WeightFormat::Q4KM => 4_850,
            WeightFormat::Q4_0 => 4_500,
        }
    }

    /// Bytes that hold `weights` weights.
    pub fn bytes_for(self, weights: u64) -> u64 {
        // Below 2^63 / 16000 weights for every checked shape; saturating for everyone else.
        weights.saturating_mul(self.millibits_per_weight()) / 8_000
    }
}

impl fmt::Display for WeightFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
