//! What identifies the predictions of a generated crate.

use enerinfer_artifacts::Bundle;

use crate::{CodegenError, Lowered};

/// Keeps digests of pruned predictors apart from all other uses of BLAKE3.
const PRUNED: &str = "enerinfer-codegen MODEL_DIGEST of pruned predictors v1";

/// `MODEL_DIGEST`, hex. Predictors follow from the bundle alone, so it is the bundle's; unless a
/// flash budget pruned them: then the predictors that were left are part of it, by their integers
/// rather than the budget, since many budgets may leave the same.
pub(super) fn model_digest(bundle: &Bundle, lowered: &Lowered) -> Result<String, CodegenError> {
    let of_bundle = bundle.digest()?;
    if lowered.pruning.is_none() {
        return Ok(of_bundle);
    }
    let mut hasher = blake3::Hasher::new_derive_key(PRUNED);
    hasher.update(of_bundle.as_bytes());
    serde_json::to_writer(&mut hasher, &lowered.predictors).map_err(|e| {
        enerinfer_artifacts::Error::invalid(format!("cannot encode the predictors: {e}"))
    })?;
    Ok(hasher.finalize().to_hex().to_string())
}
