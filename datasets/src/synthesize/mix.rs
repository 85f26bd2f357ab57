//! Which tensor type each tensor of a format has.

use super::tensors::{Role, Tensor};
use crate::WeightFormat;
use crate::ggml::TensorType;

/// The type of a tensor in a model of `layers` layers.
///
/// Matrices have the format's own type throughout, without llama.cpp's habit of keeping the LM
/// head of small formats in Q6_K: what is measured as `q4_0` is then 4.5 bits per weight. Q4_K_M is
/// a mixture by definition, and follows `llama_tensor_get_type` of llama.cpp's
/// `llama-quant.cpp`: Q6_K for the LM head and, in half of the layers, for `attn_v` and `ffn_down`
/// (its exceptions for 70 B models and for eight experts are left out). Rows that are no multiple of
/// a type's block fall back as there. Norms and expert routers stay F32.
pub(super) fn tensor_type(
    format: WeightFormat,
    tensor: &Tensor,
    layers: u32,
    tied: bool,
) -> TensorType {
    if tensor.is_norm() || tensor.role == Role::Router {
        return TensorType::F32;
    }
    let wanted = match format {
        WeightFormat::F16 => TensorType::F16,
        WeightFormat::Q8_0 => TensorType::Q8_0,
        WeightFormat::Q6K => TensorType::Q6K,
        WeightFormat::Q4_0 => TensorType::Q4_0,
        WeightFormat::Q4KM => match (tensor.role, tensor.layer) {
            (Role::LmHead, _) => TensorType::Q6K,
            (Role::Embedding, _) if tied => TensorType::Q6K,
            (Role::Value | Role::Down, Some(layer)) if more_bits(layer, layers) => TensorType::Q6K,
            _ => TensorType::Q4K,
        },
    };
    let fits = |t: TensorType| u64::from(tensor.inputs).is_multiple_of(t.block_weights());
    let fallback = match wanted {
        TensorType::Q4K => TensorType::Q5_0,
        TensorType::Q6K => TensorType::Q8_0,
        other => other,
    };
    [wanted, fallback].into_iter().find(|t| fits(*t)).unwrap_or(TensorType::F16)
}

/// llama.cpp's `use_more_bits`: the first and last eighth of the layers, and every third between.
fn more_bits(layer: u32, layers: u32) -> bool {
    let eighth = layers / 8;
    layer < eighth || layer >= 7 * layers / 8 || (layer - eighth) % 3 == 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthesize::tensors::of_shape;

    fn share(format: WeightFormat, name: &str) -> Vec<(TensorType, u64)> {
        let Some(model) = crate::survey::find(name) else { panic!("{name}") };
        let d = model.shape.dims();
        let mut sums = std::collections::BTreeMap::new();
        for tensor in of_shape(d) {
            let t = tensor_type(format, &tensor, d.layers, d.tied);
            *sums.entry(t).or_default() += tensor.weights();
        }
        sums.into_iter().collect()
    }

    #[test]
    fn q4_k_m_has_the_published_bits_per_weight() {
        // llama.cpp's `tools/quantize/README.md`: Llama-3.1-8B in Q4_K_M has 4.8944 bits per
        // weight.
        let parts = share(WeightFormat::Q4KM, "Llama-3.1-8B");
        let bits: u64 =
            parts.iter().map(|(t, n)| n / t.block_weights() * t.block_bytes() * 8).sum();
        let weights: u64 = parts.iter().map(|(_, n)| n).sum();
        let bits_per_weight = bits as f64 / weights as f64;
        assert!((bits_per_weight - 4.8944).abs() < 0.001, "{bits_per_weight}");
    }

    #[test]
    fn rows_that_do_not_fit_a_block_fall_back() {
        // Width 896 is a multiple of 32 and not of 256, its FFN of 4864 is.
        let parts = share(WeightFormat::Q4KM, "Qwen2-0.5B");
        let types: Vec<TensorType> = parts.iter().map(|(t, _)| *t).collect();
        assert_eq!(
            types,
            [TensorType::F32, TensorType::Q5_0, TensorType::Q8_0, TensorType::Q4K, TensorType::Q6K]
        );
        let narrow = Tensor {
            role: Role::Query,
            layer: Some(0),
            inputs: 48,
            outputs: Some(48),
            experts: None,
        };
        for format in WeightFormat::ALL {
            assert_eq!(tensor_type(format, &narrow, 1, false), TensorType::F16);
        }
    }
}
