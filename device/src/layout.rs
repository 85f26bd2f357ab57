//! Bits per stored weight of each operator.

use enerinfer_datasets::{GemvOp, LlmShape, WeightFormat};

/// Bits per weight of an operator's matrix, scales included.
///
/// Q4_K_M is a mixture (llama.cpp, `llama_tensor_get_type`): the LM head is Q6_K (6.5625 bits),
/// half of the value and FFN-down matrices are Q6_K and the rest Q4_K (4.5 bits). So models with
/// a large vocabulary read more bytes per weight than the format's mean says.
pub(crate) fn bits_per_weight(format: WeightFormat, op: GemvOp) -> f64 {
    const Q4_K: f64 = 4.5;
    const Q6_K: f64 = 6.5625;
    match (format, op) {
        (WeightFormat::Q4KM, GemvOp::LmHead) => Q6_K,
        (WeightFormat::Q4KM, GemvOp::Value | GemvOp::Down) => (Q4_K + Q6_K) / 2.0,
        (WeightFormat::Q4KM, _) => Q4_K,
        _ => format.millibits_per_weight() as f64 / 1000.0,
    }
}

/// Bytes of weights that one token reads.
pub(crate) fn bytes_per_token(format: WeightFormat, shape: &LlmShape) -> f64 {
    let bytes = shape.gemvs().into_iter().map(|gemv| {
        let weights = f64::from(gemv.outputs) * f64::from(gemv.inputs) * f64::from(gemv.count);
        weights * bits_per_weight(format, gemv.op) / 8.0
    });
    bytes.sum()
}
