//! The feature schema: every input of a predictor is a whole number with a fixed meaning.
//!
//! Whole numbers let the device compare integers only (`design` decision: no FPU, no rounding
//! order, the same bits everywhere). Codes are stable: they are stored in bundles.

use serde::{Deserialize, Serialize};

/// One input of a predictor. All values are unsigned 32-bit integers in the stated unit.
///
/// The first six and [`Feature::TotalParamsK`] are the paper's structural inputs (EnerInfer §3
/// "Key hyperparameters", §4.2 "Input"); the clocks follow; the rest are derived from the shape
/// by whole-number formulas that the device repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Feature {
    /// Number of transformer layers.
    Layers,
    /// Hidden (embedding) size.
    Hidden,
    /// Number of attention heads.
    Heads,
    /// Number of key/value heads.
    KvHeads,
    /// Intermediate (FFN) size, of all active experts together: a mixture of experts is to a
    /// predictor the dense model that does the same work per token.
    Ffn,
    /// Vocabulary size.
    Vocab,
    /// Total parameters in thousands, rounded half up; of experts, only as many as are active.
    TotalParamsK,
    /// Accelerator (NPU/GPU) clock in kHz.
    AccelKhz,
    /// Memory clock in kHz.
    MemKhz,
    /// Weights read per decoded token, in thousands (active experts; an untied input embedding is
    /// not read).
    ReadParamsK,
    /// Weights of the LM head (`vocab · hidden`), in thousands.
    LmHeadParamsK,
    /// FFN weights read per token over all layers, in thousands.
    FfnParamsK,
    /// Attention weights (q, k, v, o) over all layers, in thousands.
    AttnParamsK,
    /// Width of the key/value projection (`kv_heads · head_dim`).
    KvWidth,
    /// Width of the query projection (`heads · head_dim`).
    QWidth,
    /// Number of experts (1 for a dense model).
    Experts,
    /// Experts active per token (1 for a dense model).
    ActiveExperts,
    /// Size of one attention head.
    HeadDim,
}

impl Feature {
    /// The six hyper-parameters and total parameters: the paper's inputs of `peak`.
    pub const PAPER_SHAPE: [Feature; 7] = [
        Feature::Layers,
        Feature::Hidden,
        Feature::Heads,
        Feature::KvHeads,
        Feature::Ffn,
        Feature::Vocab,
        Feature::TotalParamsK,
    ];

    /// Both clocks, appended to the shape features for everything that depends on the operating
    /// point.
    pub const CLOCKS: [Feature; 2] = [Feature::AccelKhz, Feature::MemKhz];

    /// Every feature, in the order of the codes.
    pub const ALL: [Feature; 18] = [
        Feature::Layers,
        Feature::Hidden,
        Feature::Heads,
        Feature::KvHeads,
        Feature::Ffn,
        Feature::Vocab,
        Feature::TotalParamsK,
        Feature::AccelKhz,
        Feature::MemKhz,
        Feature::ReadParamsK,
        Feature::LmHeadParamsK,
        Feature::FfnParamsK,
        Feature::AttnParamsK,
        Feature::KvWidth,
        Feature::QWidth,
        Feature::Experts,
        Feature::ActiveExperts,
        Feature::HeadDim,
    ];

    /// The feature of a [`Feature::name`].
    pub fn from_name(name: &str) -> Option<Feature> {
        Feature::ALL.into_iter().find(|feature| feature.name() == name)
    }

    /// Stable snake-case name, used in records, file headers and generated code.
    pub fn name(self) -> &'static str {
        match self {
            Feature::Layers => "layers",
            Feature::Hidden => "hidden",
            Feature::Heads => "heads",
            Feature::KvHeads => "kv_heads",
            Feature::Ffn => "ffn",
            Feature::Vocab => "vocab",
            Feature::TotalParamsK => "total_params_k",
            Feature::AccelKhz => "accel_khz",
            Feature::MemKhz => "mem_khz",
            Feature::ReadParamsK => "read_params_k",
            Feature::LmHeadParamsK => "lm_head_params_k",
            Feature::FfnParamsK => "ffn_params_k",
            Feature::AttnParamsK => "attn_params_k",
            Feature::KvWidth => "kv_width",
            Feature::QWidth => "q_width",
            Feature::Experts => "experts",
            Feature::ActiveExperts => "active_experts",
            Feature::HeadDim => "head_dim",
        }
    }

    /// Whether the value changes with the operating point rather than with the shape.
    pub fn is_clock(self) -> bool {
        matches!(self, Feature::AccelKhz | Feature::MemKhz)
    }
}

/// Integer dimensions of a model, from which every shape feature follows.
///
/// This is plain data: the checked type is `LlmShape` of the datasets crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShapeDims {
    /// Transformer layers.
    pub layers: u32,
    /// Hidden size.
    pub hidden: u32,
    /// Attention heads.
    pub heads: u32,
    /// Key/value heads.
    pub kv_heads: u32,
    /// Size of one attention head.
    pub head_dim: u32,
    /// Intermediate size of one expert.
    pub ffn: u32,
    /// Vocabulary size.
    pub vocab: u32,
    /// Gated FFN (gate, up, down: three matrices) rather than plain (up, down: two).
    pub gated: bool,
    /// Input embedding shared with the LM head.
    pub tied: bool,
    /// Experts per layer (1 = dense).
    pub experts: u32,
    /// Experts active per token (1 = dense).
    pub active_experts: u32,
    /// Total parameters.
    pub total_params: u64,
}

/// Thousands, rounded half up, saturating at `u32::MAX`.
fn thousands(n: u64) -> u32 {
    u32::try_from((n.saturating_add(500)) / 1000).unwrap_or(u32::MAX)
}

impl ShapeDims {
    /// Attention weights of all layers: q, k, v and output projections.
    ///
    /// Like all counts here it saturates, so that no shape, however absurd, can overflow.
    pub fn attn_params(&self) -> u64 {
        let heads = u64::from(self.heads) + u64::from(self.kv_heads);
        u64::from(self.layers)
            .saturating_mul(u64::from(self.hidden))
            .saturating_mul((2 * heads).saturating_mul(u64::from(self.head_dim)))
    }

    /// FFN weights of `experts` experts over all layers (the router included when there is one).
    fn ffn_params_of(&self, experts: u32) -> u64 {
        let matrices = if self.gated { 3 } else { 2 };
        let h = u64::from(self.hidden);
        let router = if self.experts > 1 { h * u64::from(self.experts) } else { 0 };
        (matrices * h)
            .saturating_mul(u64::from(self.ffn))
            .saturating_mul(u64::from(experts))
            .saturating_add(router)
            .saturating_mul(u64::from(self.layers))
    }

    /// FFN weights read per decoded token.
    pub fn ffn_read_params(&self) -> u64 {
        self.ffn_params_of(self.active_experts)
    }

    /// Weights of the LM head.
    pub fn lm_head_params(&self) -> u64 {
        u64::from(self.vocab) * u64::from(self.hidden)
    }

    /// Weights read per decoded token: attention, active FFN, LM head; one embedding row.
    pub fn read_params(&self) -> u64 {
        self.attn_params()
            .saturating_add(self.ffn_read_params())
            .saturating_add(self.lm_head_params())
            .saturating_add(u64::from(self.hidden))
    }

    /// Total parameters by formula: matrices, embeddings (once when tied), two norms per layer
    /// and the final norm. Biases and family extras are not counted.
    pub fn formula_total_params(&self) -> u64 {
        let h = u64::from(self.hidden);
        self.attn_params()
            .saturating_add(self.ffn_params_of(self.experts))
            .saturating_add(self.lm_head_params().saturating_mul(if self.tied { 1 } else { 2 }))
            .saturating_add((2 * u64::from(self.layers) + 1).saturating_mul(h))
    }

    /// Total parameters without the experts that are not active for a token.
    fn used_params(&self) -> u64 {
        let unused = self.ffn_params_of(self.experts).saturating_sub(self.ffn_read_params());
        self.total_params.saturating_sub(unused)
    }

    /// The value of a shape feature; `None` for the clocks.
    pub fn feature(&self, feature: Feature) -> Option<u32> {
        Some(match feature {
            Feature::Layers => self.layers,
            Feature::Hidden => self.hidden,
            Feature::Heads => self.heads,
            Feature::KvHeads => self.kv_heads,
            Feature::Ffn => self.ffn.saturating_mul(self.active_experts),
            Feature::Vocab => self.vocab,
            Feature::TotalParamsK => thousands(self.used_params()),
            Feature::ReadParamsK => thousands(self.read_params()),
            Feature::LmHeadParamsK => thousands(self.lm_head_params()),
            Feature::FfnParamsK => thousands(self.ffn_read_params()),
            Feature::AttnParamsK => thousands(self.attn_params()),
            Feature::KvWidth => self.kv_heads.saturating_mul(self.head_dim),
            Feature::QWidth => self.heads.saturating_mul(self.head_dim),
            Feature::Experts => self.experts,
            Feature::ActiveExperts => self.active_experts,
            Feature::HeadDim => self.head_dim,
            Feature::AccelKhz | Feature::MemKhz => return None,
        })
    }
}
