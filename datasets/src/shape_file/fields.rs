//! `ShapeFields`: what a model file states, and the uniform shape that follows from it.

use super::NoShape;
use crate::shape::{MAX_LAYERS, MAX_WIDTH};
use crate::{LlmShape, ShapeError, ShapeSpec};

/// A size that is the same in all layers, or one for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PerLayer {
    /// The same in every layer.
    Same(u32),
    /// Layer by layer, from the first.
    Each(Vec<u32>),
}

impl PerLayer {
    /// The value of layer `layer`; 0 beyond the last.
    pub fn at(&self, layer: u32) -> u32 {
        match self {
            PerLayer::Same(value) => *value,
            PerLayer::Each(values) => values.get(layer as usize).copied().unwrap_or(0),
        }
    }

    /// Sum over the first `layers` layers.
    pub fn sum(&self, layers: u32) -> u64 {
        match self {
            PerLayer::Same(value) => u64::from(*value) * u64::from(layers),
            PerLayer::Each(values) => {
                values.iter().take(layers as usize).map(|v| u64::from(*v)).sum()
            }
        }
    }

    /// Mean over the layers, rounded to the nearest whole number.
    fn mean(&self, layers: u32) -> u32 {
        match self {
            PerLayer::Same(value) => *value,
            PerLayer::Each(_) => {
                let (sum, layers) = (self.sum(layers), u64::from(layers.max(1)));
                u32::try_from((sum + layers / 2) / layers).unwrap_or(u32::MAX)
            }
        }
    }

    fn varies(&self) -> bool {
        matches!(self, PerLayer::Each(values) if values.windows(2).any(|w| w[0] != w[1]))
    }
}

/// Mixture of experts: its layers' FFNs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoeFields {
    /// Routed experts per layer.
    pub experts: u32,
    /// Routed experts active per token.
    pub active_experts: Option<u32>,
    /// Intermediate size of one routed expert.
    pub ffn: Option<u32>,
    /// Intermediate size of what is active for every token beside the routed experts; 0 if nothing.
    pub shared_ffn: u32,
    /// Layers that have a dense FFN instead.
    pub dense_layers: u32,
}

/// Multi-head latent attention (DeepSeek-V2, <https://arxiv.org/abs/2405.04434>, section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LatentAttention {
    /// Rank of the compressed queries; 0 where queries are not compressed.
    pub q_rank: u32,
    /// Rank of the compressed keys and values.
    pub kv_rank: u32,
    /// Size of a head's query and key, the rotated part included.
    pub qk_head_dim: u32,
    /// Rotated part of it.
    pub rope_dim: u32,
    /// Size of a head's value.
    pub v_head_dim: u32,
}

/// What a model file states of the shape; `None` where it states nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeFields {
    /// Transformer layers.
    pub layers: Option<u32>,
    /// Hidden size.
    pub hidden: Option<u32>,
    /// Attention heads.
    pub heads: Option<PerLayer>,
    /// Key/value heads.
    pub kv_heads: Option<PerLayer>,
    /// Head size.
    pub head_dim: Option<u32>,
    /// Intermediate size of the dense FFN.
    pub ffn: Option<PerLayer>,
    /// Vocabulary size.
    pub vocab: Option<u32>,
    /// FFN with a gate matrix.
    pub gated: bool,
    /// Input embedding shared with the LM head.
    pub tied: bool,
    /// Mixture of experts, if it is one.
    pub moe: Option<MoeFields>,
    /// Latent attention, if the model has it.
    pub latent: Option<LatentAttention>,
}

/// Weights of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Params {
    /// All of them.
    pub(super) total: u64,
    /// Those of routed experts that one token does not use.
    pub(super) idle: u64,
}

impl ShapeFields {
    /// Fills in what follows from the stated sizes by the conventions that all engines share; each
    /// assumption is added to `notes`.
    pub(super) fn complete(&mut self, notes: &mut Vec<String>) -> Result<(), ShapeError> {
        if let Some(latent) = &self.latent {
            notes.push(
                "latent attention; the shape has its heads and value size with full keys and values"
                    .to_owned(),
            );
            self.kv_heads.clone_from(&self.heads);
            self.head_dim = Some(latent.v_head_dim);
        }
        if self.kv_heads.is_none() && self.heads.is_some() {
            notes.push("kv_heads not stated: as many as heads".to_owned());
            self.kv_heads.clone_from(&self.heads);
        }
        if let (None, Some(hidden), Some(PerLayer::Same(heads @ 1..))) =
            (self.head_dim, self.hidden, &self.heads)
        {
            if !hidden.is_multiple_of(*heads) {
                return Err(ShapeError {
                    field: "heads",
                    message: format!(
                        "must divide hidden unless the head size is stated, got {heads} heads for \
                         hidden {hidden}"
                    ),
                });
            }
            let head_dim = hidden / heads;
            notes.push(format!("head size not stated: hidden / heads, {head_dim}"));
            self.head_dim = Some(head_dim);
        }
        Ok(())
    }

    /// Keys and values that one token adds to the cache: `2 · head size · Σ kv heads` over the
    /// layers. `None` if a part is not stated.
    pub fn kv_elements_per_token(&self) -> Option<u64> {
        let head_dim = u64::from(self.head_dim?);
        Some((2 * head_dim).saturating_mul(self.kv_heads.as_ref()?.sum(self.layers?)))
    }

    /// What a shape needs and the file does not state.
    fn missing(&self) -> Vec<&'static str> {
        let mut missing: Vec<&'static str> = [
            ("layers", self.layers.is_some()),
            ("hidden", self.hidden.is_some()),
            ("heads", self.heads.is_some()),
            ("kv_heads", self.kv_heads.is_some()),
            ("head_dim", self.head_dim.is_some()),
            ("ffn", self.expert_ffn().is_some()),
            ("vocab", self.vocab.is_some()),
        ]
        .into_iter()
        .filter_map(|(name, stated)| (!stated).then_some(name))
        .collect();
        if self.moe.as_ref().is_some_and(|moe| moe.active_experts.is_none()) {
            missing.push("active_experts");
        }
        missing
    }

    /// Intermediate size of one expert, or of the dense FFN (mean over the layers).
    fn expert_ffn(&self) -> Option<u32> {
        match &self.moe {
            Some(moe) => moe.ffn,
            None => self.ffn.as_ref().map(|ffn| ffn.mean(self.layers.unwrap_or(1))),
        }
    }

    /// Weights by formula, layer by layer; biases and family extras are not counted.
    pub(super) fn params(&self) -> Option<Params> {
        let (layers, hidden, head_dim) = (self.layers?, self.hidden?, self.head_dim?);
        let (heads, kv_heads) = (self.heads.as_ref()?, self.kv_heads.as_ref()?);
        // Each factor is below 2^32, and layers are few: 128 bits hold every product and sum.
        let h = u128::from(hidden);
        let matrices = if self.gated { 3 } else { 2 } * h;
        let dense_layers = match &self.moe {
            Some(moe) => moe.dense_layers,
            None => layers,
        };
        let mut total = 0u128;
        let mut idle = 0u128;
        for layer in 0..layers {
            let (q, kv) = (u128::from(heads.at(layer)), u128::from(kv_heads.at(layer)));
            total += match &self.latent {
                Some(latent) => latent.params(h, q),
                None => 2 * h * u128::from(head_dim) * (q + kv),
            };
            // Dense layers come first in the families that have both.
            if layer < dense_layers {
                total += matrices * u128::from(self.ffn.as_ref()?.at(layer));
            } else if let Some(moe) = &self.moe {
                let expert = matrices * u128::from(moe.ffn?);
                let experts = u128::from(moe.experts);
                total += expert * experts + matrices * u128::from(moe.shared_ffn) + h * experts;
                idle += expert * u128::from(moe.experts.saturating_sub(moe.active_experts?));
            }
            total += 2 * h;
        }
        total += h + u128::from(self.vocab?) * h * if self.tied { 1 } else { 2 };
        let clamp = |n: u128| u64::try_from(n).unwrap_or(u64::MAX);
        Some(Params { total: clamp(total), idle: clamp(idle) })
    }

    /// The uniform shape nearest to the fields. `stored_params` is the count of weights in the file,
    /// if it has them. What is lost is added to `notes`.
    pub(super) fn to_shape(
        &self,
        stored_params: Option<u64>,
        notes: &mut Vec<String>,
    ) -> Result<Result<LlmShape, NoShape>, ShapeError> {
        // Before anything walks the layers.
        if let Some(layers) = self.layers.filter(|n| *n > MAX_LAYERS) {
            return Err(ShapeError {
                field: "layers",
                message: format!("must be from 1 to {MAX_LAYERS}, got {layers}"),
            });
        }
        let missing = self.missing();
        let (
            Some(layers),
            Some(hidden),
            Some(heads),
            Some(kv_heads),
            Some(head_dim),
            Some(ffn),
            Some(vocab),
            true,
        ) = (
            self.layers,
            self.hidden,
            &self.heads,
            &self.kv_heads,
            self.head_dim,
            self.expert_ffn(),
            self.vocab,
            missing.is_empty(),
        )
        else {
            return Ok(Err(NoShape::Incomplete(missing)));
        };
        let without_attention =
            (0..layers).filter(|l| heads.at(*l) == 0 || kv_heads.at(*l) == 0).count();
        if without_attention == layers as usize {
            return Err(ShapeError {
                field: "heads",
                message: "must be at least 1 in some layer, got 0 in all".to_owned(),
            });
        }
        if without_attention > 0 {
            return Ok(Err(NoShape::Unsupported(format!(
                "{without_attention} of {layers} layers have no attention"
            ))));
        }
        let uniform_heads = heads.mean(layers);
        // Where kv heads are the same in all layers, they must obey the rule by themselves.
        let uniform_kv = if kv_heads.varies() || heads.varies() {
            nearest_divisor(uniform_heads, kv_heads.mean(layers))
        } else {
            kv_heads.at(0)
        };
        for (name, list, used) in
            [("heads", heads, uniform_heads), ("kv_heads", kv_heads, uniform_kv)]
        {
            if list.varies() {
                notes.push(format!(
                    "{name} differs between layers (sum {}); the shape uses {used} in each",
                    list.sum(layers)
                ));
            }
        }
        if self.moe.is_none() && self.ffn.as_ref().is_some_and(PerLayer::varies) {
            notes.push(format!("ffn differs between layers; the shape uses its mean, {ffn}"));
        }
        let (experts, active) = self.uniform_experts(ffn, notes);
        let mut spec = ShapeSpec {
            layers,
            hidden,
            heads: uniform_heads,
            kv_heads: uniform_kv,
            head_dim: Some(head_dim),
            ffn,
            vocab,
            gated: Some(self.gated),
            tied: Some(self.tied),
            experts: Some(experts),
            active_experts: Some(active),
            total_params: stored_params.or(self.params().map(|p| p.total)),
        };
        match LlmShape::new(spec) {
            // The uniform shape is too far from a layered model's weights to carry their count.
            Err(error) if error.field == "total_params" => {
                notes.push(format!(
                    "the shape's total parameters are by formula, not the model's ({})",
                    error.message
                ));
                spec.total_params = None;
                LlmShape::new(spec).map(Ok)
            }
            result => result.map(Ok),
        }
    }

    /// Experts and active experts, shared ones counted as further experts that are always active.
    fn uniform_experts(&self, ffn: u32, notes: &mut Vec<String>) -> (u32, u32) {
        let Some(moe) = &self.moe else { return (1, 1) };
        let shared = match moe.shared_ffn {
            0 => 0,
            width => {
                ((u64::from(width) + u64::from(ffn) / 2) / u64::from(ffn.max(1))).max(1) as u32
            }
        };
        if shared > 0 {
            notes.push(format!(
                "a shared expert of intermediate size {} counts as {shared} more experts that are \
                 always active",
                moe.shared_ffn
            ));
        }
        if moe.dense_layers > 0 {
            notes.push(format!(
                "{} layers have a dense FFN; the shape treats all layers as mixtures of experts",
                moe.dense_layers
            ));
        }
        let active = moe.active_experts.unwrap_or(1);
        (moe.experts.saturating_add(shared), active.saturating_add(shared))
    }
}

impl LatentAttention {
    /// Weights of one layer with `heads` heads of a model of hidden size `h`.
    fn params(&self, h: u128, heads: u128) -> u128 {
        let [q_rank, kv_rank, qk, rope, v] =
            [self.q_rank, self.kv_rank, self.qk_head_dim, self.rope_dim, self.v_head_dim]
                .map(u128::from);
        let query = if q_rank == 0 { h * heads * qk } else { q_rank * (h + heads * qk) };
        query
            + h * (kv_rank + rope)
            + kv_rank * heads * (qk.saturating_sub(rope) + v)
            + heads * v * h
    }
}

/// The divisor of `n` nearest to `wanted`; the larger of two equally near.
fn nearest_divisor(n: u32, wanted: u32) -> u32 {
    (1..=n.min(MAX_WIDTH))
        .filter(|d| n.is_multiple_of(*d))
        .min_by_key(|d| (d.abs_diff(wanted), n - d))
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn llama_7b() -> ShapeFields {
        ShapeFields {
            layers: Some(32),
            hidden: Some(4096),
            heads: Some(PerLayer::Same(32)),
            kv_heads: Some(PerLayer::Same(32)),
            head_dim: Some(128),
            ffn: Some(PerLayer::Same(11008)),
            vocab: Some(32000),
            gated: true,
            tied: false,
            moe: None,
            latent: None,
        }
    }

    #[test]
    fn uniform_fields_have_the_shape_of_the_survey() -> Result<(), Box<dyn std::error::Error>> {
        let mut notes = Vec::new();
        let shape = llama_7b().to_shape(None, &mut notes)??;
        assert_eq!(Some(shape), crate::survey::find("LLaMA-7B").map(|m| m.shape));
        assert!(notes.is_empty(), "{notes:?}");
        Ok(())
    }

    #[test]
    fn each_missing_field_is_named_and_none_is_guessed() -> Result<(), ShapeError> {
        type Remove = fn(&mut ShapeFields);
        let cases: [(&str, Remove); 7] = [
            ("layers", |f| f.layers = None),
            ("hidden", |f| f.hidden = None),
            ("heads", |f| f.heads = None),
            ("kv_heads", |f| f.kv_heads = None),
            ("head_dim", |f| f.head_dim = None),
            ("ffn", |f| f.ffn = None),
            ("vocab", |f| f.vocab = None),
        ];
        for (name, remove) in cases {
            let mut fields = llama_7b();
            remove(&mut fields);
            assert_eq!(
                fields.to_shape(None, &mut Vec::new())?,
                Err(NoShape::Incomplete(vec![name]))
            );
            assert_eq!(fields.params(), None);
        }
        Ok(())
    }

    #[test]
    fn per_layer_values_count_layer_by_layer() -> Result<(), Box<dyn std::error::Error>> {
        let mut fields = llama_7b();
        let list: Vec<u32> = (0..32).map(|l| if l % 6 == 5 { 1 } else { 8 }).collect();
        let sum: u64 = list.iter().map(|v| u64::from(*v)).sum();
        fields.kv_heads = Some(PerLayer::Each(list));
        assert_eq!(fields.kv_elements_per_token(), Some(2 * 128 * sum));
        let uniform = llama_7b().params().map(|p| p.total).ok_or("no total")?;
        let layered = fields.params().map(|p| p.total).ok_or("no total")?;
        assert_eq!(uniform - layered, 2 * 4096 * 128 * (32 * 32 - sum));

        let mut notes = Vec::new();
        let shape = fields.to_shape(None, &mut notes)??;
        assert_eq!(shape.dims().kv_heads, 8, "the divisor of 32 nearest to the mean, 6.9");
        assert_eq!(shape.total_params(), layered);
        assert!(notes[0].contains(&format!("sum {sum}")), "{notes:?}");
        Ok(())
    }

    #[test]
    fn layers_without_attention_make_a_hybrid_and_none_with_it_an_error() -> Result<(), ShapeError>
    {
        let mut fields = llama_7b();
        let mut list = vec![0; 32];
        list[7] = 8;
        fields.kv_heads = Some(PerLayer::Each(list));
        let shape = fields.to_shape(None, &mut Vec::new())?;
        assert!(matches!(shape, Err(NoShape::Unsupported(why)) if why.starts_with("31 of 32")));
        fields.kv_heads = Some(PerLayer::Each(vec![0; 32]));
        assert_eq!(fields.to_shape(None, &mut Vec::new()).map_err(|e| e.field), Err("heads"));
        Ok(())
    }

    /// Published: DeepSeek-V3 has 671 B parameters, 37 B active (arXiv 2412.19437, abstract); sizes
    /// from its section 4.2.
    #[test]
    fn latent_attention_and_shared_experts_give_deepseek_v3s_size() -> Result<(), ShapeError> {
        let fields = ShapeFields {
            layers: Some(61),
            hidden: Some(7168),
            heads: Some(PerLayer::Same(128)),
            kv_heads: Some(PerLayer::Same(128)),
            head_dim: Some(128),
            ffn: Some(PerLayer::Same(18432)),
            vocab: Some(129_280),
            gated: true,
            tied: false,
            moe: Some(MoeFields {
                experts: 256,
                active_experts: Some(8),
                ffn: Some(2048),
                shared_ffn: 2048,
                dense_layers: 3,
            }),
            latent: Some(LatentAttention {
                q_rank: 1536,
                kv_rank: 512,
                qk_head_dim: 192,
                rope_dim: 64,
                v_head_dim: 128,
            }),
        };
        let billions =
            fields.params().map(|p| (p.total / 1_000_000_000, (p.total - p.idle) / 1_000_000_000));
        assert_eq!(billions, Some((671, 37)));
        let shape = fields.to_shape(None, &mut Vec::new())?;
        assert_eq!(shape.map(|s| (s.dims().experts, s.dims().active_experts)), Ok((257, 9)));
        Ok(())
    }

    #[test]
    fn absurd_sizes_saturate() {
        let mut fields = llama_7b();
        for field in [&mut fields.hidden, &mut fields.vocab, &mut fields.head_dim] {
            *field = Some(u32::MAX);
        }
        fields.ffn = Some(PerLayer::Same(u32::MAX));
        fields.heads = Some(PerLayer::Same(u32::MAX));
        fields.kv_heads = Some(PerLayer::Same(u32::MAX));
        assert_eq!(fields.params().map(|p| p.total), Some(u64::MAX));
        assert!(fields.to_shape(None, &mut Vec::new()).is_err());
    }
}
