//! The evaluation record (`report.json`): everything a report shows and CI gates on.
//!
//! Numbers are finite or absent (`null`), never NaN. Field order is the order of the structs, so
//! the same run gives the same bytes.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{ClockTables, Error, ForestStats, OperatingPoint, PlatformId, Target};

/// Version of the record's schema.
pub const SCHEMA_VERSION: u32 = 1;

/// One training run of one platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Version of the tool that wrote it.
    pub tool_version: String,
    /// What was trained for.
    pub platform: PlatformId,
    /// Its clocks.
    pub clocks: ClockTables,
    /// What was learnt from.
    pub data: DataSummary,
    /// Seed of the run.
    pub seed: u64,
    /// Random-search trials per target and family.
    pub trials: u32,
    /// Accuracy and choice per target, compiled targets first.
    pub targets: Vec<TargetRecord>,
    /// Accuracy of what is composed from targets, on held-out models.
    pub combined: Combined,
    /// Kendall's tau-b between predicted and measured efficiency tables.
    pub ranking: Ranking,
    /// Cost of acting on predictions, per QoE.
    pub regret: Vec<Regret>,
    /// Predicted against measured on held-out models.
    pub scatter: Vec<ScatterPoint>,
    /// Fronts of one or more held-out models.
    pub fronts: Vec<ModelFront>,
    /// Size of the compiled predictors.
    pub size: SizeRecord,
    /// What a reader should know, each a sentence (fallbacks, skipped parts).
    pub notes: Vec<String>,
}

/// The measurement table in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataSummary {
    /// BLAKE3 of the table, hex.
    pub digest: String,
    /// Rows used.
    pub rows: u32,
    /// Distinct models.
    pub models: u32,
    /// Models trained on.
    pub train_models: u32,
    /// Models held out.
    pub test_models: u32,
    /// Folds of the cross-validation.
    pub folds: u32,
    /// Whether the values come from a simulated device.
    pub simulated: bool,
    /// Relative standard deviation of the simulated noise, if simulated.
    pub noise_percent: Option<f64>,
}

/// Search result and held-out accuracy of one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// The target.
    pub target: Target,
    /// Learner family, e.g. `random_forest`.
    pub family: String,
    /// Input names.
    pub features: Vec<String>,
    /// Normalising feature, if the target was normalised.
    pub normaliser: Option<String>,
    /// Chosen hyper-parameters.
    pub params: BTreeMap<String, String>,
    /// Cross-validated MAPE of the choice, %.
    pub cv_mape_percent: f64,
    /// Standard error of it over folds, %.
    pub cv_se_percent: f64,
    /// MAPE on held-out models, %.
    pub heldout_mape_percent: f64,
    /// For a normalised target: held-out MAPE of the same family fitted on the raw target, %.
    pub raw_target_mape_percent: Option<f64>,
    /// Shape of the chosen forest.
    pub forest: Option<ForestStats>,
    /// Every trial of the search, in order.
    pub trials: Vec<Trial>,
}

/// One trial of the random search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Hyper-parameters.
    pub params: BTreeMap<String, String>,
    /// MAPE per fold, %; `null` where the fit diverged.
    pub fold_mape_percent: Vec<Option<f64>>,
    /// Their mean; `null` if any fold diverged.
    pub cv_mape_percent: Option<f64>,
    /// Estimated code size, bytes, of a forest fitted with these parameters.
    pub est_bytes: Option<u64>,
}

/// Accuracy of composed predictions on held-out models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Combined {
    /// MAPE of `peak · scale` over all operating points, %.
    pub throughput_mape_percent: f64,
    /// MAPE of power, %; `null` without power columns.
    pub power_mape_percent: Option<f64>,
    /// MAPE of efficiency, %; `null` without power columns.
    pub efficiency_mape_percent: Option<f64>,
    /// MAPE of the monolithic baseline, %, if it was trained.
    pub monolithic_mape_percent: Option<f64>,
}

/// Distribution of tau-b over held-out models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ranking {
    /// One entry per held-out model.
    pub per_model: Vec<ModelTau>,
    /// Mean over models where it is defined.
    pub mean_tau_b: Option<f64>,
    /// Median likewise.
    pub median_tau_b: Option<f64>,
    /// 10th percentile likewise.
    pub p10_tau_b: Option<f64>,
    /// Mean against the noiseless table (simulated data only).
    pub mean_tau_b_noiseless: Option<f64>,
}

/// Tau-b of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelTau {
    /// Model name.
    pub model: String,
    /// Tau-b in [-1, 1]; `null` if undefined.
    pub kendall_tau_b: Option<f64>,
    /// Why it is undefined.
    pub reason: Option<String>,
    /// Against the noiseless table, simulated data only.
    pub kendall_tau_b_noiseless: Option<f64>,
}

/// Regret for one QoE over held-out models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Regret {
    /// Throughput asked for, tok/s.
    pub qoe_tok_per_s: f64,
    /// Mean efficiency lost against the measured best, %.
    pub mean_percent: Option<f64>,
    /// Worst, %.
    pub worst_percent: Option<f64>,
    /// Models for which some operating point meets the QoE.
    pub reachable_models: u32,
    /// Of these, models whose chosen point misses it (before feedback).
    pub violations: u32,
}

/// One held-out row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScatterPoint {
    /// Index into `ranking.per_model`.
    pub model: u32,
    /// Operating point.
    pub point: OperatingPoint,
    /// Measured throughput, tok/s.
    pub measured_tok_per_s: f64,
    /// Predicted throughput, tok/s.
    pub predicted_tok_per_s: f64,
    /// Measured power, W.
    pub measured_w: Option<f64>,
    /// Predicted power, W.
    pub predicted_w: Option<f64>,
}

/// All operating points of one model, measured and predicted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelFront {
    /// Model name.
    pub model: String,
    /// Points in index order.
    pub points: Vec<FrontPoint>,
}

/// One operating point of a [`ModelFront`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrontPoint {
    /// Operating point.
    pub point: OperatingPoint,
    /// Measured throughput, tok/s.
    pub measured_tok_per_s: f64,
    /// Measured efficiency, tok/J.
    pub measured_tok_per_j: f64,
    /// Predicted throughput, tok/s.
    pub predicted_tok_per_s: f64,
    /// Predicted efficiency, tok/J.
    pub predicted_tok_per_j: f64,
    /// On the measured front.
    pub on_measured_front: bool,
    /// On the predicted front.
    pub on_predicted_front: bool,
}

/// Size of the compiled predictors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeRecord {
    /// Flash budget for all predictors, bytes.
    pub budget_bytes: u64,
    /// Estimate for all predictors on thumbv7em, bytes.
    pub est_bytes: u64,
    /// Per predictor.
    pub predictors: Vec<PredictorSize>,
}

/// Size of one compiled predictor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictorSize {
    /// The target.
    pub target: Target,
    /// After all passes.
    pub forest: ForestStats,
    /// Estimate for thumbv7em, bytes.
    pub est_bytes: u64,
    /// Largest possible error by quantised leaves, in units of the target.
    pub quantisation_error: f64,
}

impl Record {
    /// Pretty JSON with a final newline.
    pub fn to_json(&self) -> Result<String, Error> {
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::invalid(format!("cannot encode the record: {e}")))?;
        text.push('\n');
        Ok(text)
    }

    /// Parses a record; another schema version is refused by number.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        #[derive(Deserialize)]
        struct Version {
            schema_version: u32,
        }
        let version: Version = serde_json::from_str(text)
            .map_err(|e| Error::invalid(format!("not an evaluation record: {e}")))?;
        if version.schema_version != SCHEMA_VERSION {
            return Err(Error::invalid(format!(
                "record schema {}; this tool reads schema {SCHEMA_VERSION}",
                version.schema_version
            )));
        }
        serde_json::from_str(text)
            .map_err(|e| Error::invalid(format!("not an evaluation record: {e}")))
    }

    /// Reads a record file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io(path, e))?;
        Self::from_json(&text).map_err(|e| Error::invalid(format!("{}: {e}", path.display())))
    }
}
