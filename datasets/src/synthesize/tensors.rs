//! The tensors of a Llama-like model, in the order in which they are written.

use enerinfer_artifacts::ShapeDims;

/// What a tensor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Embedding,
    AttnNorm,
    Query,
    Key,
    Value,
    AttnOutput,
    FfnNorm,
    Router,
    Gate,
    Up,
    Down,
    FinalNorm,
    LmHead,
}

/// One tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tensor {
    pub(super) role: Role,
    /// Layer; `None` outside the layers.
    pub(super) layer: Option<u32>,
    /// Inputs of the matrix (contiguous in memory), or length of a vector.
    pub(super) inputs: u32,
    /// Outputs; `None` for a vector.
    pub(super) outputs: Option<u32>,
    /// Matrices of a stack of experts; `None` for a single one.
    pub(super) experts: Option<u32>,
}

impl Tensor {
    /// Number of weights.
    pub(super) fn weights(&self) -> u64 {
        // At most 2^20 · 2^24 · 2^12 for a checked shape.
        u64::from(self.inputs)
            * u64::from(self.outputs.unwrap_or(1))
            * u64::from(self.experts.unwrap_or(1))
    }

    /// Dimensions, innermost first.
    pub(super) fn dims(&self) -> impl Iterator<Item = u32> + use<> {
        [Some(self.inputs), self.outputs, self.experts].into_iter().flatten()
    }

    pub(super) fn is_norm(&self) -> bool {
        matches!(self.role, Role::AttnNorm | Role::FfnNorm | Role::FinalNorm)
    }
}

/// All tensors of a shape.
pub(super) fn of_shape(d: &ShapeDims) -> Vec<Tensor> {
    let (q, kv) = (d.heads * d.head_dim, d.kv_heads * d.head_dim);
    let experts = (d.experts > 1).then_some(d.experts);
    let single =
        |role, layer, inputs, outputs| Tensor { role, layer, inputs, outputs, experts: None };
    let mut tensors = vec![single(Role::Embedding, None, d.hidden, Some(d.vocab))];
    for layer in (0..d.layers).map(Some) {
        tensors.extend([
            single(Role::AttnNorm, layer, d.hidden, None),
            single(Role::Query, layer, d.hidden, Some(q)),
            single(Role::Key, layer, d.hidden, Some(kv)),
            single(Role::Value, layer, d.hidden, Some(kv)),
            single(Role::AttnOutput, layer, q, Some(d.hidden)),
            single(Role::FfnNorm, layer, d.hidden, None),
        ]);
        tensors.extend(experts.map(|n| single(Role::Router, layer, d.hidden, Some(n))));
        let ffn =
            |role, inputs, outputs| Tensor { role, layer, inputs, outputs: Some(outputs), experts };
        tensors.extend(d.gated.then(|| ffn(Role::Gate, d.hidden, d.ffn)));
        tensors.extend([ffn(Role::Up, d.hidden, d.ffn), ffn(Role::Down, d.ffn, d.hidden)]);
    }
    tensors.push(single(Role::FinalNorm, None, d.hidden, None));
    if !d.tied {
        tensors.push(single(Role::LmHead, None, d.hidden, Some(d.vocab)));
    }
    tensors
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tensors are the formula, matrix by matrix.
    #[test]
    fn weights_add_up_to_the_formula_for_the_whole_survey() {
        for model in crate::survey::all() {
            let d = model.shape.dims();
            let sum: u64 = of_shape(d).iter().map(Tensor::weights).sum();
            assert_eq!(sum, d.formula_total_params(), "{}", model.name);
        }
    }
}
