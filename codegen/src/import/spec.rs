//! A bundle from forests that were trained elsewhere, by a JSON file:
//!
//! ```json
//! {"platform": {"name": "board", "engine": "llama.cpp", "weight_format": "q4_k_m",
//!               "power_domain": "accel+mem", "source": "measured:board"},
//!  "clocks": {"accel_khz": [306000, 612000], "mem_khz": [204000, 2133000]},
//!  "predictors": [
//!    {"target": "peak", "format": "sklearn", "file": "peak.json"},
//!    {"target": "scale", "format": "lightgbm", "file": "scale.txt",
//!     "domain": {"layers": [4, 80]}}]}
//! ```
//!
//! Files are relative to the JSON file. Targets are in tokens/s, W, or 1 for `scale`. Features
//! without a `domain` are never reported as outside the training range.

use std::collections::BTreeMap;
use std::path::Path;

use enerinfer_artifacts::{
    Bundle, ClockTables, Domain, PlatformId, Predictor, Provenance, Target, digest,
};
use serde::Deserialize;

use super::{ImportError, from_lightgbm, from_sklearn};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Spec {
    platform: PlatformId,
    clocks: ClockTables,
    predictors: Vec<PredictorSpec>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PredictorSpec {
    target: Target,
    format: Format,
    file: String,
    #[serde(default)]
    domain: BTreeMap<String, (u32, u32)>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    Sklearn,
    Lightgbm,
}

/// Reads the JSON file and the forests that it names.
pub fn import_bundle(path: &Path) -> Result<Bundle, ImportError> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|e| enerinfer_artifacts::Error::io(path, e))
    };
    let text = read(path)?;
    let spec: Spec = serde_json::from_str(&text).map_err(|e| ImportError::Format {
        format: "forest import",
        reason: format!("{}: {e}", path.display()),
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    // What the predictors were made from, as far as it is known here.
    let mut sources = text.clone();
    let mut predictors = Vec::with_capacity(spec.predictors.len());
    for p in spec.predictors {
        let text = read(&folder.join(&p.file))?;
        let forest = match p.format {
            Format::Sklearn => from_sklearn(&text)?,
            Format::Lightgbm => from_lightgbm(&text)?,
        };
        sources.push_str(&digest(text.as_bytes()));
        let domain = forest
            .features
            .iter()
            .map(|f| {
                let (min, max) = p.domain.get(f.name()).copied().unwrap_or((0, u32::MAX));
                Domain { min, max }
            })
            .collect();
        predictors.push(Predictor { target: p.target, normaliser: None, domain, forest });
    }
    predictors.sort_by_key(|p| p.target);
    let bundle = Bundle {
        platform: spec.platform,
        clocks: spec.clocks,
        predictors,
        thermal: None,
        accuracy: Vec::new(),
        test_shapes: Vec::new(),
        provenance: Provenance {
            data_digest: digest(sources.as_bytes()),
            seed: 0,
            command: "# trained elsewhere and imported".to_owned(),
        },
    };
    bundle.validate()?;
    Ok(bundle)
}
