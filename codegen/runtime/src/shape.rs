//! The shape of a language model: the inputs of the predictors.

use crate::coverage::Feature;

/// Hyper-parameters of a decoder-only transformer, as found in its `config.json` or GGUF header.
///
/// ```
/// use enerinfer_runtime::Shape;
/// // Qwen2-1.5B: 28 layers, hidden 1536, 12 heads, 2 key/value heads, FFN 8960.
/// let shape = Shape::new(28, 1536, 12, 2, 8960, 151_936).tied_embeddings();
/// assert_eq!(shape.total_params() / 1_000_000, 1543);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    layers: u32,
    hidden: u32,
    heads: u32,
    kv_heads: u32,
    head_dim: u32,
    ffn: u32,
    vocab: u32,
    gated: bool,
    tied: bool,
    experts: u32,
    active_experts: u32,
    /// Overrides the formula.
    total_params: Option<u64>,
}

impl Shape {
    /// A dense model with gated FFN (gate, up and down matrices), separate input embedding and LM
    /// head, and head size `hidden / heads`. The `with_…` methods say otherwise.
    pub const fn new(
        layers: u32,
        hidden: u32,
        heads: u32,
        kv_heads: u32,
        ffn: u32,
        vocab: u32,
    ) -> Self {
        let head_dim = match hidden.checked_div(heads) {
            Some(size) => size,
            None => 0,
        };
        Shape {
            layers,
            hidden,
            heads,
            kv_heads,
            head_dim,
            ffn,
            vocab,
            gated: true,
            tied: false,
            experts: 1,
            active_experts: 1,
            total_params: None,
        }
    }

    /// Sets the size of one attention head where it is not `hidden / heads`.
    pub const fn with_head_dim(mut self, head_dim: u32) -> Self {
        self.head_dim = head_dim;
        self
    }

    /// Sets the number of parameters as published; without it a formula counts matrices,
    /// embeddings and norms.
    pub const fn with_total_params(mut self, total_params: u64) -> Self {
        self.total_params = Some(total_params);
        self
    }

    /// The FFN has two matrices (up, down) instead of three.
    pub const fn plain_ffn(mut self) -> Self {
        self.gated = false;
        self
    }

    /// The input embedding is shared with the LM head.
    pub const fn tied_embeddings(mut self) -> Self {
        self.tied = true;
        self
    }

    /// A mixture of `experts` experts per layer, `active` of which run per token.
    pub const fn with_experts(mut self, experts: u32, active: u32) -> Self {
        self.experts = experts;
        self.active_experts = active;
        self
    }

    /// Total parameters: as given, else by formula.
    pub fn total_params(&self) -> u64 {
        match self.total_params {
            Some(given) => given,
            None => {
                let head = self.lm_head_params();
                let embeddings = if self.tied { head } else { mul(2, head) };
                let norms = mul(2 * u64::from(self.layers) + 1, u64::from(self.hidden));
                self.attn_params()
                    .saturating_add(self.ffn_params(self.experts))
                    .saturating_add(embeddings)
                    .saturating_add(norms)
            }
        }
    }

    /// Total parameters without the experts that are not active for a token.
    fn used_params(&self) -> u64 {
        let read = self.ffn_params(self.active_experts);
        let unused = self.ffn_params(self.experts).saturating_sub(read);
        self.total_params().saturating_sub(unused)
    }

    /// Attention weights of all layers: q, k, v and output projections.
    fn attn_params(&self) -> u64 {
        let heads = u64::from(self.heads) + u64::from(self.kv_heads);
        let width = mul(mul(2, heads), u64::from(self.head_dim));
        mul(mul(u64::from(self.layers), u64::from(self.hidden)), width)
    }

    /// FFN weights of `experts` experts over all layers, with the router when there is one.
    fn ffn_params(&self, experts: u32) -> u64 {
        let hidden = u64::from(self.hidden);
        let matrices = if self.gated { 3 } else { 2 };
        let weights = mul(mul(mul(matrices, hidden), u64::from(self.ffn)), u64::from(experts));
        let router = if self.experts > 1 { mul(hidden, u64::from(self.experts)) } else { 0 };
        mul(u64::from(self.layers), weights.saturating_add(router))
    }

    /// Weights of the LM head.
    fn lm_head_params(&self) -> u64 {
        mul(u64::from(self.vocab), u64::from(self.hidden))
    }

    /// Weights read per decoded token: attention, active FFN, LM head, one embedding row.
    fn read_params(&self) -> u64 {
        self.attn_params()
            .saturating_add(self.ffn_params(self.active_experts))
            .saturating_add(self.lm_head_params())
            .saturating_add(u64::from(self.hidden))
    }

    /// The value of a feature. Values beyond 32 bits saturate.
    pub fn feature(&self, feature: Feature) -> u32 {
        match feature {
            Feature::Layers => self.layers,
            Feature::Hidden => self.hidden,
            Feature::Heads => self.heads,
            Feature::KvHeads => self.kv_heads,
            Feature::Ffn => self.ffn.saturating_mul(self.active_experts),
            Feature::Vocab => self.vocab,
            Feature::TotalParamsK => thousands(self.used_params()),
            Feature::ReadParamsK => thousands(self.read_params()),
            Feature::LmHeadParamsK => thousands(self.lm_head_params()),
            Feature::FfnParamsK => thousands(self.ffn_params(self.active_experts)),
            Feature::AttnParamsK => thousands(self.attn_params()),
            Feature::KvWidth => self.kv_heads.saturating_mul(self.head_dim),
            Feature::QWidth => self.heads.saturating_mul(self.head_dim),
            Feature::Experts => self.experts,
            Feature::ActiveExperts => self.active_experts,
            Feature::HeadDim => self.head_dim,
        }
    }
}

/// Saturating product; a function of its own because it is long on 32-bit cores.
#[inline(never)]
fn mul(a: u64, b: u64) -> u64 {
    a.saturating_mul(b)
}

/// Thousands, rounded half up, saturating.
fn thousands(n: u64) -> u32 {
    let thousands = n.saturating_add(500) / 1000;
    if thousands > u64::from(u32::MAX) {
        u32::MAX
    } else {
        thousands as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extremes_saturate() {
        let m = u32::MAX;
        let shape = Shape::new(m, m, m, m, m, m).with_head_dim(m).with_experts(m, m);
        assert_eq!(shape.total_params(), u64::MAX);
        assert_eq!(shape.feature(Feature::ReadParamsK), m);
        assert_eq!(shape.feature(Feature::QWidth), m);
        assert_eq!(Shape::new(0, 0, 0, 0, 0, 0).total_params(), 0);
    }

    #[test]
    fn mixture_of_experts_reads_only_active_experts() {
        let dense = Shape::new(32, 4096, 32, 8, 14336, 32000);
        let moe = dense.with_experts(8, 2);
        // Mixtral 8x7B: 46.7 B in total, 12.9 B per token (mistral.ai, December 2023).
        assert_eq!(moe.total_params() / 100_000_000, 467);
        assert_eq!(moe.read_params() / 100_000_000, 127);
        // To a predictor it is the dense model of both active experts.
        let same_work = Shape::new(32, 4096, 32, 8, 2 * 14336, 32000);
        assert_eq!(moe.feature(Feature::Ffn), same_work.feature(Feature::Ffn));
        let router = moe.used_params() - same_work.total_params();
        assert_eq!(router, 32 * 4096 * 8);
    }
}
