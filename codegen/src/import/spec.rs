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
//! without a `domain` are never reported as outside the training range. A `domain` may also name
//! features that the forest does not read, for what was alike in all training data: with
//! `"experts": [1, 1]` mixtures of experts are reported. Training splits inside the range that it has
//! seen: a feature that is split only outside the platform's clocks, or outside its `domain`, was
//! trained in another unit, and is refused.

use std::collections::BTreeMap;
use std::path::Path;

use enerinfer_artifacts::{
    Bundle, ClockTables, Domain, Feature, Forest, PlatformId, Predictor, Provenance, Target, digest,
};
use serde::Deserialize;

use super::{ImportError, from_lightgbm, from_sklearn, without_mark};
use crate::passes::prune::tree_ranges;

/// [`Provenance::command`] of imported bundles: no command of ours trained them.
pub(crate) const IMPORTED: &str = "# trained elsewhere and imported";

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
pub fn import_bundle(spec_path: &Path) -> Result<Bundle, ImportError> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|e| enerinfer_artifacts::Error::io(path, e))
    };
    let text = read(spec_path)?;
    let spec: Spec =
        serde_json::from_str(without_mark(&text)).map_err(|e| ImportError::Format {
            format: "forest import",
            reason: format!("{}: {e}", spec_path.display()),
        })?;
    let folder = spec_path.parent().unwrap_or(Path::new("."));
    // What the predictors were made from, as far as it is known here.
    let mut sources = text.clone();
    let mut predictors = Vec::with_capacity(spec.predictors.len());
    for p in spec.predictors {
        let path = folder.join(&p.file);
        let text = read(&path)?;
        let forest = match p.format {
            Format::Sklearn => from_sklearn(&text),
            Format::Lightgbm => from_lightgbm(&text),
        };
        let forest = forest.and_then(|forest| {
            check_units(&forest, &spec.clocks, &p.domain)?;
            check_values(&forest, p.target)?;
            Ok(forest)
        });
        let mut forest = forest.map_err(|e| ImportError::File { path, reason: Box::new(e) })?;
        sources.push_str(&digest(text.as_bytes()));
        let mut domains = p.domain;
        let mut domain: Vec<Domain> = forest
            .features
            .iter()
            .map(|f| {
                let (min, max) = domains.remove(f.name()).unwrap_or((0, u32::MAX));
                Domain { min, max }
            })
            .collect();
        // What is left is of no feature that a split reads, but says what the forest knows.
        for (name, (min, max)) in domains {
            let feature = Feature::from_name(&name).ok_or_else(|| ImportError::Format {
                format: "forest import",
                reason: format!(
                    "{}: `domain` of `{}` has `{name}`, which is no feature; features are {}",
                    spec_path.display(),
                    p.target.name(),
                    Feature::ALL.map(Feature::name).join(", ")
                ),
            })?;
            forest.features.push(feature);
            domain.push(Domain { min, max });
        }
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
            command: IMPORTED.to_owned(),
        },
    };
    bundle.validate()?;
    Ok(bundle)
}

/// Refuses forests of which the device would cut off every prediction.
fn check_values(forest: &Forest<f64>, target: Target) -> Result<(), ImportError> {
    let (lowest, highest) = tree_ranges(forest)
        .fold((forest.base, forest.base), |sum, tree| (sum.0 + tree.0, sum.1 + tree.1));
    let least = 1.0 / target.units_per_one();
    let most = f64::from(target.max_value()) * least;
    if highest >= least && lowest <= most {
        return Ok(());
    }
    Err(ImportError::Format {
        format: "forest import",
        reason: format!(
            "`{}` is predicted from {lowest} to {highest}, of which the device holds nothing: {least:e} \
             to {most}; train in tok/s or W, and `scale` as a part of the peak",
            target.name()
        ),
    })
}

/// Refuses features of which every value that the device can have goes the same way at every split.
fn check_units(
    forest: &Forest<f64>,
    clocks: &ClockTables,
    domain: &BTreeMap<String, (u32, u32)>,
) -> Result<(), ImportError> {
    for (feature, thresholds) in forest.features.iter().zip(forest.thresholds()) {
        let of_table = |table: &[u32]| Some((*table.first()?, *table.last()?));
        let (range, of) = match feature {
            Feature::AccelKhz => (of_table(&clocks.accel_khz), "the platform's clocks"),
            Feature::MemKhz => (of_table(&clocks.mem_khz), "the platform's clocks"),
            _ => (domain.get(feature.name()).copied(), "its `domain`"),
        };
        let (Some((min, max)), [lowest, ..]) = (range, &thresholds[..]) else { continue };
        let divides = |t: &u32| (min..max).contains(t);
        if min < max && !thresholds.iter().any(divides) {
            return Err(ImportError::Format {
                format: "forest import",
                reason: format!(
                    "`{}` is split only outside {of}, {min} to {max} (first at {lowest}), so that \
                     nothing depends on it: train in the schema's unit, or correct the range",
                    feature.name()
                ),
            });
        }
    }
    Ok(())
}
