//! Accuracy on mixtures of experts, apart from dense models.

use enerinfer_artifacts::exhibit::Exhibit;

use super::real_llms::{row, rows_table};
use super::{FigureError, Judged};

pub(super) fn exhibit(judged: &[Judged]) -> Result<Exhibit, FigureError> {
    let mut rows = Vec::new();
    for j in judged {
        for m in j.real.iter().filter(|m| m.is_moe()) {
            rows.extend(row(j, m)?);
        }
    }
    Ok(Exhibit {
        id: "moe".to_owned(),
        title: "Accuracy on mixtures of experts".to_owned(),
        source: "EnerInfer §4.6".to_owned(),
        caption: "The paper says that its predictors extend to mixtures of experts, and prints no \
                  figures. The synthetic models are dense: to a predictor a mixture is the dense \
                  model that reads the same weights per token. The simulated devices run the \
                  active experts of a layer as one operation, as llama.cpp does; what the router \
                  and the experts' short rows cost beyond the dense model is not predicted."
            .to_owned(),
        tables: vec![rows_table("moe_models", "Mixtures of experts that fit the device", &rows)],
        charts: Vec::new(),
    })
}
