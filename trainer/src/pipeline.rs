//! The pipeline: a measurement table in, a bundle and its evaluation record out.

use enerinfer_artifacts::record::{
    DataSummary, Details, HeldoutShape, PredictorSize, Record, SCHEMA_VERSION, SizeRecord,
    TargetRecord,
};
use enerinfer_artifacts::{
    Accuracy, Bundle, Domain, Feature, IntPredictor, PlatformId, Predictor, Provenance, Target,
};
use enerinfer_codegen::{Lowered, Options, lower};
use enerinfer_datasets::{MeasurementTable, Source};
use enerinfer_hyperparam::{GroupedKFold, split_by_model};

use crate::TrainError;
use crate::evaluate::{HeldOut, target_mape_percent};
use crate::predicted::Predictors;
use crate::progress::Progress;
use crate::samples::{Samples, median_normaliser, paper_features, samples};
use crate::search::{Settings, TargetSearch, choose_together};
use crate::seeds::Seeds;

/// Folds of the cross-validation (EnerInfer §4.2).
pub const FOLDS: usize = 5;
/// Share of models that is held out (EnerInfer §4.2).
pub const TEST_FRACTION: f64 = 0.2;
/// Fewest models: one is held out, and each fold has one.
const MIN_MODELS: usize = FOLDS + 1;
/// Held-out models whose predictions become the generated crate's test vectors.
const TEST_SHAPES: usize = 8;

/// What a run is to do.
pub struct Config<'a> {
    /// Measurements of one platform.
    pub table: &'a MeasurementTable,
    /// The same without simulated noise, and the noise in percent.
    pub noiseless: Option<(&'a MeasurementTable, f64)>,
    /// Seed of the run.
    pub seed: u64,
    /// Random-search trials per target.
    pub trials: u32,
    /// Flash for all predictors, bytes.
    pub flash_budget_bytes: u64,
    /// Command that regenerates the outputs, with relative paths.
    pub command: String,
}

/// What a run gives.
pub struct Outcome {
    /// The artifact.
    pub bundle: Bundle,
    /// Its evaluation.
    pub record: Record,
}

/// Checks that a table has enough models to hold some out and cross-validate on the rest.
///
/// # Errors
/// With both numbers if not.
pub fn check_models(table: &MeasurementTable) -> Result<(), TrainError> {
    let models = table.models.len();
    if models < MIN_MODELS {
        return Err(TrainError::TooFewModels { models, needed: MIN_MODELS, folds: FOLDS });
    }
    Ok(())
}

/// Splits, searches, chooses, refits, compiles and evaluates.
///
/// # Errors
/// Too few models, no usable trial, or a flash budget that nothing fits.
pub fn run(config: &Config<'_>, progress: &Progress) -> Result<Outcome, TrainError> {
    let table = config.table;
    check_models(table)?;
    let seeds = Seeds::new(config.seed);
    let split = split_by_model(table.models.len(), TEST_FRACTION, seeds.split)?;
    let train = table.subset(&indices(&split.train));
    let test = table.subset(&indices(&split.test));
    let folds = GroupedKFold::new(train.models.len(), FOLDS, seeds.folds)?;

    let settings = Settings {
        trials: config.trials,
        budget_bytes: config.flash_budget_bytes,
        trial_seed: seeds.trials,
        fit_seed: seeds.fit,
    };
    let searches = search_all(&train, &folds, settings, progress)?;
    let chosen = choose_together(&searches, config.flash_budget_bytes)?;

    let predictors: Vec<Predictor> = searches
        .iter()
        .zip(&chosen)
        .map(|(search, &trial)| Ok(predictor(search, search.refit(trial, seeds.fit)?)))
        .collect::<Result<_, TrainError>>()?;
    let mut bundle = Bundle {
        platform: PlatformId {
            name: table.platform.name.clone(),
            engine: table.platform.engine.clone(),
            weight_format: table.platform.format.to_string(),
            power_domain: table.platform.power_domain.clone(),
            source: table.source.to_string(),
        },
        clocks: table.platform.clocks.clone(),
        predictors,
        thermal: None,
        accuracy: Vec::new(),
        test_shapes: test.models.iter().take(TEST_SHAPES).map(|m| *m.shape.dims()).collect(),
        provenance: Provenance {
            data_digest: table.digest(),
            seed: config.seed,
            command: config.command.clone(),
        },
    };
    // What is judged is what the device computes: integer predictors, after every pass.
    let lowered = lower(&bundle, &Options::default())?;
    let int = Predictors(&lowered.predictors);

    let noiseless = config.noiseless.map(|(t, _)| t.subset(&indices(&split.test)));
    let held_out = HeldOut::new(int, &test, noiseless.as_ref())?;
    let combined = held_out.combined()?;
    let ranking = held_out.ranking()?;
    let mut targets = Vec::new();
    for (search, &trial) in searches.iter().zip(&chosen) {
        targets.push(target_record(search, trial, int, &train, &test, seeds.fit)?);
    }
    bundle.accuracy = accuracy(&targets, &combined);

    let mut notes = Vec::new();
    for search in &searches {
        if search.candidates() < config.trials as usize {
            notes.push(format!(
                "`{}`: the search space has only {} different trials within the flash budget.",
                search.target.name(),
                search.candidates()
            ));
        }
    }
    if !table.has_power() {
        notes.push(
            "The table has no power: only throughput is predicted, and the device chooses the \
             slowest sufficient operating point."
                .to_owned(),
        );
    } else if !table.has_accel_power() {
        notes.push("The table has no accelerator power: it is not predicted.".to_owned());
    }

    let record = Record {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        platform: bundle.platform.clone(),
        clocks: bundle.clocks.clone(),
        data: DataSummary {
            digest: bundle.provenance.data_digest.clone(),
            rows: table.rows.len() as u32,
            models: table.models.len() as u32,
            train_models: train.models.len() as u32,
            test_models: test.models.len() as u32,
            folds: FOLDS as u32,
            simulated: matches!(table.source, Source::Simulated(_)),
            noise_percent: config.noiseless.map(|(_, percent)| percent),
        },
        seed: config.seed,
        trials: config.trials,
        targets,
        regret: held_out.regret()?,
        scatter: held_out.scatter(&test),
        fronts: held_out.median_front(&ranking, &test),
        combined,
        ranking,
        size: size_record(&lowered, config.flash_budget_bytes),
        notes,
        details: Details {
            heldout_shapes: test
                .models
                .iter()
                .map(|m| HeldoutShape { model: m.name.clone(), dims: *m.shape.dims() })
                .collect(),
            ..Details::default()
        },
    };
    Ok(Outcome { bundle, record })
}

fn indices(models: &[u32]) -> Vec<usize> {
    models.iter().map(|&m| m as usize).collect()
}

/// Targets that the table has values for.
fn targets_of(table: &MeasurementTable) -> impl Iterator<Item = Target> {
    let (power, accel) = (table.has_power(), table.has_accel_power());
    Target::COMPILED.into_iter().filter(move |t| match t {
        Target::Power => power,
        Target::AccelPower => accel,
        _ => true,
    })
}

fn search_all(
    train: &MeasurementTable,
    folds: &GroupedKFold,
    settings: Settings,
    progress: &Progress,
) -> Result<Vec<TargetSearch>, TrainError> {
    targets_of(train)
        .map(|target| {
            let normaliser =
                (target == Target::Peak).then(|| median_normaliser(train, Feature::ReadParamsK));
            let samples = samples(train, target, &paper_features(target), normaliser);
            let total = settings.trials as usize * folds.k();
            let step = progress.step(&format!("search {}", target.name()), total);
            TargetSearch::run(target, samples, folds, settings, &|done| step.set(done))
        })
        .collect()
}

fn predictor(search: &TargetSearch, forest: enerinfer_artifacts::Forest<f64>) -> Predictor {
    let Samples { columns, normaliser, .. } = &search.samples;
    let domain = columns
        .iter()
        .map(|column| Domain {
            min: column.iter().copied().min().unwrap_or(0),
            max: column.iter().copied().max().unwrap_or(u32::MAX),
        })
        .collect();
    Predictor { target: search.target, normaliser: *normaliser, domain, forest }
}

fn target_record(
    search: &TargetSearch,
    trial: usize,
    int: Predictors<'_>,
    train: &MeasurementTable,
    test: &MeasurementTable,
    fit_seed: u64,
) -> Result<TargetRecord, TrainError> {
    let target = search.target;
    let (cv_mape_percent, cv_se_percent) =
        search.cv_mape_percent(trial).ok_or(TrainError::NoUsableTrial { target: target.name() })?;
    let raw_target_mape_percent = match search.samples.normaliser {
        Some(_) => Some(raw_target_mape(search, trial, train, test, fit_seed)?),
        None => None,
    };
    Ok(TargetRecord {
        target,
        family: "random_forest".to_owned(),
        features: search.samples.features.iter().map(|f| f.name().to_owned()).collect(),
        normaliser: search.samples.normaliser.map(|n| n.feature.name().to_owned()),
        params: search.params(trial),
        cv_mape_percent,
        cv_se_percent,
        heldout_mape_percent: target_mape_percent(int, target, test)?,
        raw_target_mape_percent,
        forest: int.get(target).map(|p| p.forest.stats()),
        trials: search.record(),
    })
}

/// Held-out MAPE of the same hyper-parameters fitted on the target as it is measured: what the
/// normaliser buys.
fn raw_target_mape(
    search: &TargetSearch,
    trial: usize,
    train: &MeasurementTable,
    test: &MeasurementTable,
    fit_seed: u64,
) -> Result<f64, TrainError> {
    let features = &search.samples.features;
    let raw = samples(train, search.target, features, None);
    let forest = search.fit_other(trial, &raw, fit_seed)?;
    let held_out = samples(test, search.target, features, None);
    let predicted: Vec<f64> = (0..held_out.values.len())
        .map(|row| forest.predict(&held_out.columns.iter().map(|c| c[row]).collect::<Vec<_>>()))
        .collect();
    Ok(enerinfer_hyperparam::mape_percent(&predicted, &held_out.values)?)
}

fn accuracy(
    targets: &[TargetRecord],
    combined: &enerinfer_artifacts::record::Combined,
) -> Vec<Accuracy> {
    let mut out = vec![Accuracy {
        what: "throughput".to_owned(),
        mape_percent: combined.throughput_mape_percent,
    }];
    out.extend(targets.iter().map(|t| Accuracy {
        what: t.target.name().to_owned(),
        mape_percent: t.heldout_mape_percent,
    }));
    out
}

fn size_record(lowered: &Lowered, budget_bytes: u64) -> SizeRecord {
    let predictors: Vec<PredictorSize> = lowered
        .predictors
        .iter()
        .map(|p: &IntPredictor| PredictorSize {
            target: p.target,
            forest: p.forest.stats(),
            est_bytes: enerinfer_codegen::estimate_bytes(&p.forest),
            // Only quantising is inexact; every other step reports 0.
            quantisation_error: lowered
                .steps
                .iter()
                .filter(|s| s.target == p.target.name())
                .fold(0.0, |sum, s| sum + s.error_bound),
        })
        .collect();
    SizeRecord { budget_bytes, est_bytes: predictors.iter().map(|p| p.est_bytes).sum(), predictors }
}
