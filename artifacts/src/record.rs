//! The evaluation record (`report.json`): everything a report shows and CI gates on.
//!
//! Numbers are finite or absent (`null`), never NaN. Field order is the order of the structs, so
//! the same run gives the same bytes.
//!
//! Its JSON Schema is derived from these types (feature `schema`) and committed with the reports
//! crate. A field added later is optional, so that stored records of this version stay readable;
//! anything else is a new [`SCHEMA_VERSION`].

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::compiled_code::CompiledCode;
use crate::{ClockTables, Error, ForestStats, OperatingPoint, PlatformId, ShapeDims, Target};

/// Version of the record's schema.
pub const SCHEMA_VERSION: u32 = 1;

/// Largest record file that is read, bytes.
pub const MAX_RECORD: u64 = 256 << 20;

/// One training run of one platform.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// Version of the tool that wrote it.
    pub tool_version: String,
    /// [`Bundle::digest`](crate::Bundle::digest) of the bundle that was written with it; `null` in
    /// records from before it was kept.
    #[serde(default)]
    pub model_digest: Option<String>,
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
    /// What only some runs look into.
    #[serde(default)]
    pub details: Details,
}

/// What only some runs look into; everything here may be empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Details {
    /// Shapes of held-out models, in any order.
    pub heldout_shapes: Vec<HeldoutShape>,
    /// Best of every learner family that was searched, per target.
    pub families: Vec<FamilyScore>,
    /// How much each input matters, per target.
    pub importances: Vec<Importance>,
    /// Accuracy of the thermal model.
    pub thermal: Option<ThermalAccuracy>,
    /// Sessions of controllers on a simulated device.
    pub closed_loop: Vec<ClosedLoopRun>,
    /// What predicting `peak · scale` instead of throughput directly buys, per family.
    pub designs: Vec<DesignScore>,
    /// The paper's inputs against the derived ones, per target.
    pub feature_sets: Vec<FeatureSetScore>,
    /// What accuracy a size buys, per target and family, smallest first.
    pub size_points: Vec<SizePoint>,
    /// What the bundle's predictors cost as compiled code, if that was measured.
    pub compiled_code: Option<CompiledCode>,
}

/// A trial that no smaller one of its family equals, fitted on all training rows and compiled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizePoint {
    /// The target.
    pub target: Target,
    /// Learner family.
    pub family: String,
    /// Number of the trial within the family's search of the target, from 1.
    pub trial: u32,
    /// Hyper-parameters.
    pub params: BTreeMap<String, String>,
    /// Cross-validated MAPE, %.
    pub cv_mape_percent: f64,
    /// Size as estimated from the folds' fits, bytes.
    pub est_bytes: u64,
    /// Size of the compiled predictor, estimated for thumbv7em like [`PredictorSize::est_bytes`]:
    /// what `train --pick` compares.
    pub compiled_bytes: u64,
    /// Whether no other point of any family is at most as large and as accurate.
    pub on_front: bool,
    /// Whether it is the predictor of the bundle.
    pub chosen: bool,
}

/// Held-out throughput MAPE of one family in both designs (EnerInfer §4.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DesignScore {
    /// Learner family.
    pub family: String,
    /// `peak · scale`, each by the family's best trial, %.
    pub disaggregated_mape_percent: Option<f64>,
    /// Throughput directly, by the family's best trial, %.
    pub monolithic_mape_percent: Option<f64>,
    /// What the paper publishes for the family (model selection on its own data), %.
    pub published_mape_percent: Option<f64>,
}

/// One target learnt from two sets of inputs with the same hyper-parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FeatureSetScore {
    /// The target.
    pub target: Target,
    /// Learner family.
    pub family: String,
    /// Cross-validated MAPE from the paper's inputs, %.
    pub paper_cv_mape_percent: Option<f64>,
    /// Cross-validated MAPE from the derived inputs, %.
    pub derived_cv_mape_percent: Option<f64>,
}

/// Shape of a held-out model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldoutShape {
    /// Model name, as in [`Ranking::per_model`].
    pub model: String,
    /// Its dimensions.
    pub dims: ShapeDims,
}

/// Best trial of one learner family for one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FamilyScore {
    /// The target.
    pub target: Target,
    /// Learner family, e.g. `svr`.
    pub family: String,
    /// Trials spent.
    pub trials: u32,
    /// Whether trials were cut short by successive halving.
    pub successive_halving: bool,
    /// Cross-validated MAPE of its best, %.
    pub cv_mape_percent: Option<f64>,
    /// MAPE of its best on held-out models, %.
    pub heldout_mape_percent: Option<f64>,
    /// Estimated code size of its best, bytes; `null` for families that are not compiled.
    pub est_bytes: Option<u64>,
}

/// Importance of one input for one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Importance {
    /// The target.
    pub target: Target,
    /// Input name.
    pub feature: String,
    /// Share of the total, 0 to 1; zero for every input if nothing was split.
    pub share: f64,
}

/// Accuracy of the thermal model on held-out segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThermalAccuracy {
    /// Segments tested on.
    pub segments: u32,
    /// Mean absolute error over all times ahead, °C.
    pub mae_c: f64,
    /// Coefficient of determination.
    pub r2: Option<f64>,
    /// Error by time ahead, nearest first.
    pub by_horizon: Vec<HorizonError>,
    /// Where the temperatures come from: `simulated:<device>` or `file:<name>`.
    #[serde(default)]
    pub source: String,
    /// What the segments have apart from those fitted on, e.g. `models and ambient temperatures`.
    #[serde(default)]
    pub held_out: String,
    /// Segments fitted on.
    #[serde(default)]
    pub training_segments: u32,
    /// Predictions within 0.5 °C, the margin of EnerInfer Figure 11, %.
    #[serde(default)]
    pub within_half_c_percent: Option<f64>,
    /// Mean absolute error of the paper's additive form on the same segments, °C.
    #[serde(default)]
    pub additive_mae_c: Option<f64>,
    /// Coefficient of determination of the paper's additive form.
    #[serde(default)]
    pub additive_r2: Option<f64>,
    /// A sample of predictions (EnerInfer Figure 11).
    #[serde(default)]
    pub scatter: Vec<ThermalPoint>,
}

/// One predicted temperature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ThermalPoint {
    /// Time ahead, s.
    pub ahead_s: f64,
    /// What was read at that time, °C.
    pub true_c: f64,
    /// What was predicted for it, °C.
    pub predicted_c: f64,
}

/// Error of the thermal model for one time ahead.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HorizonError {
    /// Time ahead, s.
    pub ahead_s: f64,
    /// Mean absolute error, °C.
    pub mae_c: f64,
    /// Mean absolute error of the paper's additive form, °C.
    #[serde(default)]
    pub additive_mae_c: Option<f64>,
}

/// One session of one policy on a simulated device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClosedLoopRun {
    /// Model name.
    pub model: String,
    /// Policy, e.g. `default`, `ener`, `optimum`.
    pub policy: String,
    /// Throughput asked for, tok/s; `null` without QoE.
    pub qoe_tok_per_s: Option<f64>,
    /// Length of the session, s.
    pub duration_s: f64,
    /// Tokens decoded.
    pub tokens: u64,
    /// Energy of accelerator and memory, J.
    pub energy_j: f64,
    /// Share of one-second windows that met the QoE, %.
    pub qoe_met_percent: Option<f64>,
    /// Highest shell temperature, °C.
    pub max_shell_c: Option<f64>,
}

/// The measurement table in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Models of each fold: no model is in two.
    #[serde(default)]
    pub models_per_fold: Vec<u32>,
    /// Whether the values come from a simulated device.
    pub simulated: bool,
    /// Relative standard deviation of the simulated noise, if simulated.
    pub noise_percent: Option<f64>,
}

/// Search result and held-out accuracy of one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// Hyper-parameters.
    pub params: BTreeMap<String, String>,
    /// MAPE per fold, %; `null` where the fit diverged.
    pub fold_mape_percent: Vec<Option<f64>>,
    /// Their mean; `null` if any fold diverged.
    pub cv_mape_percent: Option<f64>,
    /// Size of a forest fitted with these parameters, estimated from the first fold's, bytes.
    pub est_bytes: Option<u64>,
}

/// Accuracy of composed predictions on held-out models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Mean efficiency lost against the best without noise, %; simulated data only. The measured
    /// best of many operating points owes part of its lead to noise, so even perfect predictions
    /// lose against it.
    #[serde(default)]
    pub mean_percent_noiseless: Option<f64>,
}

/// One held-out row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelFront {
    /// Model name.
    pub model: String,
    /// Points in index order.
    pub points: Vec<FrontPoint>,
}

/// One operating point of a [`ModelFront`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeRecord {
    /// Flash budget for all predictors, bytes.
    pub budget_bytes: u64,
    /// Estimate for all predictors on thumbv7em, bytes.
    pub est_bytes: u64,
    /// Per predictor.
    pub predictors: Vec<PredictorSize>,
    /// What the budget took, per predictor; empty if the preferred predictors are within it.
    #[serde(default)]
    pub cuts: Vec<BudgetCut>,
}

/// Two ways in which a predictor may be made small enough for the budget of all: pruning the
/// preferred trial's forest, or a smaller trial. All targets go the way whose cross-validated MAPEs
/// have the lower sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BudgetCut {
    /// The target.
    pub target: Target,
    /// The preferred trial, fitted on all training rows.
    pub preferred: CutOption,
    /// Its forest after cost-complexity pruning; the MAPE is that of the folds' fits on their
    /// held-out models, pruned at the same cost of a leaf. `null` if nothing fits.
    pub pruned: Option<CutOption>,
    /// The smaller trial; `null` if none is small enough.
    pub smaller: Option<CutOption>,
    /// Whether the pruned forest is compiled rather than the smaller trial's.
    pub pruned_is_compiled: bool,
}

/// Size and accuracy of a predictor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CutOption {
    /// Leaves of all trees, before the compiler's passes.
    pub leaves: u32,
    /// Size of the compiled predictor, estimated for thumbv7em, bytes.
    pub compiled_bytes: u64,
    /// Cross-validated MAPE, %.
    pub cv_mape_percent: f64,
}

/// Size of one compiled predictor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

    /// Parses and checks a record, with or without a byte-order mark; another schema version is
    /// refused by number.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let record: Record = parse_versioned(
            text,
            SCHEMA_VERSION,
            ("an evaluation record", "the report.json of `train`"),
            |r: &Record| r.schema_version,
        )?;
        record.validate()?;
        Ok(record)
    }

    /// The record with what its bundle's predictors cost as compiled code, instead of what it knew
    /// about that.
    ///
    /// # Errors
    /// If the code is of another bundle, or the record does not say of which bundle it is.
    pub fn with_compiled_code(mut self, code: CompiledCode) -> Result<Self, Error> {
        self.details.compiled_code = Some(code);
        self.validate()?;
        Ok(self)
    }

    /// Checks what the types do not say: clock tables, indices into them and into
    /// [`Ranking::per_model`], distinct model names, whose the compiled code is. Numbers of a parsed record are finite, as
    /// JSON has no others.
    pub fn validate(&self) -> Result<(), Error> {
        self.clocks.validate()?;
        if let Some(code) = &self.details.compiled_code {
            code.validate()?;
            let Some(own) = &self.model_digest else {
                return Err(Error::invalid(
                    "the record does not say of which bundle it is, as older ones did not, so \
                     compiled code cannot be shown to be of the same: train again (the same table, \
                     seed and options give the same bundle)"
                        .to_owned(),
                ));
            };
            if *own != code.model_digest {
                return Err(Error::invalid(format!(
                    "the code was compiled from bundle {}, the record is of bundle {own}: measure \
                     the bundle that was written with the record, not pruned by a flash budget",
                    code.model_digest
                )));
            }
        }
        let models = &self.ranking.per_model;
        let mut names = std::collections::BTreeSet::new();
        if let Some(twice) = models.iter().find(|m| !names.insert(&m.model)) {
            return Err(Error::invalid(format!("model {:?} is ranked twice", twice.model)));
        }
        if let Some(row) = self.scatter.iter().find(|row| row.model as usize >= models.len()) {
            return Err(Error::invalid(format!(
                "a scatter row is of model {}, but {} models are ranked",
                row.model,
                models.len()
            )));
        }
        let c = &self.combined;
        let errors = self
            .targets
            .iter()
            .flat_map(|t| [t.cv_mape_percent, t.cv_se_percent, t.heldout_mape_percent])
            .chain([c.throughput_mape_percent])
            .chain([c.power_mape_percent, c.efficiency_mape_percent].into_iter().flatten())
            .chain(c.monolithic_mape_percent);
        for error in errors {
            if error < 0.0 {
                return Err(Error::invalid(format!("a mean absolute error of {error} %")));
            }
        }
        let taus = models.iter().flat_map(|m| [m.kendall_tau_b, m.kendall_tau_b_noiseless]);
        let r = &self.ranking;
        let means = [r.mean_tau_b, r.median_tau_b, r.p10_tau_b, r.mean_tau_b_noiseless];
        if let Some(tau) = taus.chain(means).flatten().find(|tau| !(-1.0..=1.0).contains(tau)) {
            return Err(Error::invalid(format!("a tau-b of {tau}; it lies from -1 to 1")));
        }
        if self.data.simulated != self.platform.source.starts_with("simulated:") {
            return Err(Error::invalid(format!(
                "`simulated` is {}, but the source is {:?}",
                self.data.simulated, self.platform.source
            )));
        }
        let scatter = self.scatter.iter().map(|row| row.point);
        let fronts = self.fronts.iter().flat_map(|f| f.points.iter().map(|p| p.point));
        let outside = |p: &OperatingPoint| {
            usize::from(p.mem) >= self.clocks.mem_khz.len()
                || usize::from(p.accel) >= self.clocks.accel_khz.len()
        };
        if let Some(point) = scatter.chain(fronts).find(outside) {
            return Err(Error::invalid(format!(
                "operating point (memory {}, accelerator {}) is not in the clock tables",
                point.mem, point.accel
            )));
        }
        Ok(())
    }

    /// Reads a record file.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::from_json(&read_text(path)?)
            .map_err(|e| Error::invalid(format!("{}: {e}", path.display())))
    }
}

/// Parses a JSON record of schema `version`, with or without a byte-order mark; another version
/// is refused by number. Errors say what it should be and give an example.
pub(crate) fn parse_versioned<T: serde::de::DeserializeOwned>(
    text: &str,
    version: u32,
    (what, example): (&str, &str),
    version_of: impl Fn(&T) -> u32,
) -> Result<T, Error> {
    // Some editors put the mark in front; JSON parsers refuse it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.trim_start().starts_with('{') {
        return Err(Error::invalid(format!("not {what}: expected a JSON object, as in {example}")));
    }
    #[derive(Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let invalid = |e| Error::invalid(format!("not {what}: {e}"));
    let record = serde_json::from_str::<T>(text);
    let found = match &record {
        Ok(record) => version_of(record),
        // A record of another version need not parse as this one.
        Err(_) => serde_json::from_str::<Version>(text).map_err(invalid)?.schema_version,
    };
    if found != version {
        return Err(Error::invalid(format!(
            "record schema {found}; this tool reads schema {version}"
        )));
    }
    record.map_err(invalid)
}

/// The text of a record, or of another file of people or tools, of at most [`MAX_RECORD`] bytes.
///
/// # Errors
/// If the file cannot be read, is longer, or is no UTF-8.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    // The length of the file is not asked: a device or pipe has none.
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_RECORD + 1).read_to_string(&mut text))
        .map_err(|e| Error::io(path, e))?;
    if text.len() as u64 > MAX_RECORD {
        return Err(Error::invalid(format!(
            "{}: longer than {MAX_RECORD} bytes, the most that is read of such a file",
            path.display()
        )));
    }
    Ok(text)
}
