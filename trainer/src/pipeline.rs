//! The pipeline: a measurement table in, a bundle and its evaluation record out.

use std::collections::BTreeMap;

use enerinfer_artifacts::record::{
    BudgetCut, DataSummary, Details, FeatureSetScore, HeldoutShape, Importance, PredictorSize,
    Record, SCHEMA_VERSION, SizeRecord, TargetRecord,
};
use enerinfer_artifacts::{
    Accuracy, Bundle, Domain, Feature, IntPredictor, PlatformId, Predictor, Provenance, ShapeDims,
    Target,
};
use enerinfer_codegen::{Lowered, Options, lower};
use enerinfer_datasets::{MeasurementTable, Source};
use enerinfer_hyperparam::{GroupedKFold, Trial, mape_percent};
use enerinfer_learners::Model;
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::TrainError;
use crate::budget::{self, Selected};
use crate::cli::Pick;
use crate::compare::Finals;
use crate::evaluate::{HeldOut, target_mape_percent};
use crate::journal::Journal;
use crate::predicted::Predictors;
use crate::progress::Progress;
use crate::samples::{FeatureSet, MIXTURE_FEATURES, Samples, median_normaliser, samples};
use crate::search::{Family, FamilySearch, Settings, TargetData, compiled};
use crate::seeds::Seeds;
use crate::select::Choice;
use crate::size_front;
use crate::split::{is_mixture, split_models};
use crate::thermal::{self, Thermal};

/// Folds of the cross-validation (EnerInfer §4.2).
pub const FOLDS: usize = 5;
/// Fewest models: one is held out, and each fold has one.
const MIN_MODELS: usize = FOLDS + 1;
/// Held-out models, of dense ones and of mixtures, whose predictions become the generated crate's
/// test vectors.
const TEST_SHAPES: usize = 8;

/// What a run is to do.
pub struct Config<'a> {
    /// Measurements of one platform.
    pub table: &'a MeasurementTable,
    /// The same without simulated noise, and the noise in percent.
    pub noiseless: Option<(&'a MeasurementTable, f64)>,
    /// Seed of the run.
    pub seed: u64,
    /// Inputs of the predictors.
    pub features: FeatureSet,
    /// Models to train on, of those that are not held out; all if absent.
    pub train_models: Option<usize>,
    /// Learner families to search.
    pub families: &'a [Family],
    /// Random-search trials per target and family.
    pub trials: u32,
    /// Where trials are written down as they finish.
    pub journal: &'a Journal,
    /// Thermal model, if there is one.
    pub thermal: Option<&'a Thermal>,
    /// Flash for all predictors, bytes.
    pub flash_budget_bytes: u64,
    /// Targets whose predictor the user limits to a number of bytes.
    pub picks: &'a [Pick],
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

/// Checks that models are enough to hold some out and cross-validate on the rest.
///
/// # Errors
/// With both numbers if not.
pub fn check_models(models: usize) -> Result<(), TrainError> {
    if models < MIN_MODELS {
        return Err(TrainError::TooFewModels { models, needed: MIN_MODELS, folds: FOLDS });
    }
    Ok(())
}

/// Checks that every picked target is measured, and picked once.
///
/// # Errors
/// With the target if not.
pub fn check_picks(table: &MeasurementTable, picks: &[Pick]) -> Result<(), TrainError> {
    for (i, Pick { target, .. }) in picks.iter().enumerate() {
        let name = target.name();
        if !targets_of(table).any(|t| t == *target) {
            return Err(TrainError::PickedUnmeasured { target: name });
        }
        if picks[..i].iter().any(|p| p.target == *target) {
            return Err(TrainError::PickedTwice { target: name });
        }
    }
    Ok(())
}

/// Splits, searches, chooses, refits, compiles and evaluates.
///
/// # Errors
/// Too few models, no usable trial, or a flash budget that nothing fits.
pub fn run(config: &Config<'_>, progress: &Progress) -> Result<Outcome, TrainError> {
    let table = config.table;
    check_models(table.models.len())?;
    check_picks(table, config.picks)?;
    let seeds = Seeds::new(config.seed);
    let split = split_models(&table.models, seeds.split)?;
    let train = table.subset(&training_models(&split.train, config.train_models, seeds.split));
    let test = table.subset(&indices(&split.test));
    let folds = GroupedKFold::new(train.models.len(), FOLDS, seeds.folds)?;

    let settings = Settings {
        trials: config.trials as usize,
        trial_seed: seeds.trials,
        fit_seed: seeds.fit,
        journal: config.journal,
    };
    let searched = search_all(config, &train, &folds, settings, progress)?;

    let mut bundle = Bundle {
        platform: PlatformId {
            name: table.platform.name.clone(),
            engine: table.platform.engine.clone(),
            weight_format: table.platform.format.to_string(),
            power_domain: table.platform.power_domain.clone(),
            source: table.source.to_string(),
        },
        clocks: table.platform.clocks.clone(),
        predictors: Vec::new(),
        thermal: config.thermal.map(|t| t.model.clone()),
        accuracy: Vec::new(),
        test_shapes: test_shapes(&test),
        provenance: Provenance {
            data_digest: table.digest(),
            seed: config.seed,
            command: config.command.clone(),
        },
    };
    let points = compiled_targets(&searched)
        .map(|s| size_front::points(s, &bundle, config.flash_budget_bytes, seeds.fit, progress))
        .collect::<Result<Vec<_>, _>>()?;
    let Selected { choices: selected, predictors, scores, cuts } =
        budget::select(&searched, &points, config, &folds, &bundle, seeds.fit)?;
    bundle.predictors = predictors;
    // What is judged is what the device computes: integer predictors, after every pass.
    let lowered = lower(&bundle, &Options::default())?;
    let int = Predictors(&lowered.predictors);

    let noiseless = config.noiseless.map(|(t, _)| t.subset(&indices(&split.test)));
    let held_out = HeldOut::new(int, &test, noiseless.as_ref())?;
    let mut combined = held_out.combined()?;
    let ranking = held_out.ranking()?;
    let finals = Finals::new(&searched, &test, seeds.fit, progress)?;
    combined.monolithic_mape_percent = finals.monolithic_mape_percent();
    let mut targets = Vec::new();
    for ((s, &choice), score) in searched.iter().zip(&selected).zip(&scores) {
        targets.push(target_record(s, choice, score, int, &train, &test, seeds.fit)?);
    }
    bundle.accuracy = accuracy(&targets, &combined);

    let mut notes = Vec::new();
    for s in &searched {
        for family in s.families.iter().filter(|f| f.candidates.len() < settings.trials) {
            notes.push(format!(
                "`{}`, {}: the search space has only {} different trials.",
                s.data.target.name(),
                family.name,
                family.candidates.len()
            ));
        }
    }
    if let Some(cut) = cuts.first() {
        notes.push(format!(
            "Over the flash budget, so {} (report: size).",
            if cut.pruned_is_compiled {
                "forests are pruned"
            } else {
                "smaller trials are compiled"
            }
        ));
    }
    for Pick { target, bytes } in config.picks {
        notes.push(format!(
            "`{}`: picked by the user, the most accurate of at most {bytes} bytes.",
            target.name()
        ));
    }
    notes.extend(halving_notes(&searched));
    if table.platform.clocks.len() == 1 {
        notes.push(
            "The table has only one operating point: there is nothing to choose between."
                .to_owned(),
        );
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

    notes.extend(note_on_mixtures(int, &test)?);
    notes.extend(thermal::note(config.thermal));

    // Of the inputs that were learnt from.
    let importances = importances(&searched, &bundle.predictors, seeds.importance)?;
    bundle.predictors.iter_mut().for_each(|p| know_normaliser_range(p, &train));
    if !train.models.iter().any(is_mixture) {
        bundle.predictors.iter_mut().for_each(know_dense_models_only);
    }
    let record = Record {
        schema_version: SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        model_digest: Some(bundle.digest()?),
        platform: bundle.platform.clone(),
        clocks: bundle.clocks.clone(),
        data: DataSummary {
            digest: bundle.provenance.data_digest.clone(),
            rows: table.rows.len() as u32,
            models: table.models.len() as u32,
            train_models: train.models.len() as u32,
            test_models: test.models.len() as u32,
            folds: FOLDS as u32,
            models_per_fold: models_per_fold(&folds, train.models.len()),
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
        size: size_record(&lowered, config.flash_budget_bytes, cuts),
        notes,
        details: Details {
            heldout_shapes: test
                .models
                .iter()
                .map(|m| HeldoutShape { model: m.name.clone(), dims: *m.shape.dims() })
                .collect(),
            families: finals.families,
            designs: finals.designs,
            feature_sets: feature_sets(config, &searched, &selected, &train, &folds, seeds.fit)?,
            thermal: config.thermal.and_then(|t| t.accuracy.clone()),
            importances,
            size_points: compiled_targets(&searched)
                .zip(&points)
                .zip(&selected)
                .flat_map(|((s, points), &choice)| size_front::record(s, points, choice))
                .collect(),
            ..Details::default()
        },
    };
    Ok(Outcome { bundle, record })
}

/// Adds what the target was normalised by to the inputs, if it is none, with its range in training.
/// No split reads it, but predictions are divided by it, and outside the range no data say how well
/// that does.
fn know_normaliser_range(predictor: &mut Predictor, train: &MeasurementTable) {
    let Some(feature) = predictor.normaliser.map(|n| n.feature) else { return };
    let values = || train.models.iter().filter_map(|m| m.shape.dims().feature(feature));
    let (Some(min), Some(max)) = (values().min(), values().max()) else { return };
    if !predictor.forest.features.contains(&feature) {
        predictor.forest.features.push(feature);
        predictor.domain.push(Domain { min, max });
    }
}

/// Adds the number of experts to the inputs, with the one value that it had in training. Nothing
/// was to be learnt from it, so no split reads it, but by its range a device tells that a mixture
/// of experts is none of the models that were learnt from.
fn know_dense_models_only(predictor: &mut Predictor) {
    predictor.forest.features.push(Feature::Experts);
    predictor.domain.push(Domain { min: 1, max: 1 });
}

/// The models to train on, ascending; fewer are among those of more.
fn training_models(all: &[u32], count: Option<usize>, seed: u64) -> Vec<usize> {
    let mut chosen = indices(all);
    if let Some(count) = count {
        chosen.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        chosen.truncate(count);
        chosen.sort_unstable();
    }
    chosen
}

fn models_per_fold(folds: &GroupedKFold, models: usize) -> Vec<u32> {
    let groups: Vec<u32> = (0..models as u32).collect();
    (0..folds.k()).map(|fold| folds.rows(fold, &groups).1.len() as u32).collect()
}

fn indices(models: &[u32]) -> Vec<usize> {
    models.iter().map(|&m| m as usize).collect()
}

/// Shapes for the generated crate's test vectors.
fn test_shapes(test: &MeasurementTable) -> Vec<ShapeDims> {
    let of = |mixture| test.models.iter().filter(move |m| is_mixture(m) == mixture);
    let chosen = of(false).take(TEST_SHAPES).chain(of(true).take(TEST_SHAPES));
    chosen.map(|m| *m.shape.dims()).collect()
}

/// How predictions of either kind of models do, if both are held out.
fn note_on_mixtures(
    int: Predictors<'_>,
    test: &MeasurementTable,
) -> Result<Option<String>, TrainError> {
    let (mixtures, dense): (Vec<usize>, Vec<usize>) =
        (0..test.models.len()).partition(|&m| is_mixture(&test.models[m]));
    if mixtures.is_empty() || dense.is_empty() {
        return Ok(None);
    }
    let throughput = |of: &[usize]| -> Result<f64, TrainError> {
        Ok(HeldOut::new(int, &test.subset(of), None)?.combined()?.throughput_mape_percent)
    };
    Ok(Some(format!(
        "Of the held-out models {} are mixtures of experts: throughput MAPE {:.2} % on these, \
         {:.2} % on the dense ones.",
        mixtures.len(),
        throughput(&mixtures)?,
        throughput(&dense)?
    )))
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

/// Which families' trials were cut short for which targets, a sentence per family.
fn halving_notes(searched: &[Searched]) -> Vec<String> {
    let mut targets: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for s in searched {
        for family in s.families.iter().filter(|family| family.halved) {
            targets.entry(family.name).or_default().push(format!("`{}`", s.data.target.name()));
        }
    }
    let note = |(family, targets): (&str, Vec<String>)| {
        format!(
            "{family}: trials for {} ran by successive halving over rows; finalists are scored on \
             all.",
            targets.join(", ")
        )
    };
    targets.into_iter().map(note).collect()
}

/// The searches of one target.
pub(crate) struct Searched {
    pub(crate) data: TargetData,
    pub(crate) families: Vec<FamilySearch>,
}

/// Searches every compiled target, in their order, then the monolithic baseline.
fn search_all(
    config: &Config<'_>,
    train: &MeasurementTable,
    folds: &GroupedKFold,
    settings: Settings<'_>,
    progress: &Progress,
) -> Result<Vec<Searched>, TrainError> {
    let mut out = Vec::new();
    for target in targets_of(train).chain([Target::Monolithic]) {
        let data = target_data(train, target, config.features)?;
        let mut families = Vec::new();
        for &family in config.families {
            let title = format!(
                "{} {}, {} trials × {} folds",
                target.name(),
                family.name(),
                settings.trials,
                folds.k()
            );
            let step = progress.step(&title);
            let set = |done, total| step.set(done, total);
            families.push(FamilySearch::run(family, &data, folds, settings, &set)?);
        }
        out.push(Searched { data, families });
    }
    Ok(out)
}

/// Training samples of a target; `peak` is normalised by the weights read per token.
fn target_data(
    train: &MeasurementTable,
    target: Target,
    set: FeatureSet,
) -> Result<TargetData, TrainError> {
    let normaliser =
        (target == Target::Peak).then(|| median_normaliser(train, Feature::ReadParamsK));
    let mut features = set.features(target);
    // Only where there is something to learn from: one expert each says nothing.
    if train.models.iter().any(is_mixture) {
        features.extend(MIXTURE_FEATURES);
    }
    TargetData::new(target, samples(train, target, &features, normaliser))
}

/// Cross-validates every chosen trial on the other set of inputs.
fn feature_sets(
    config: &Config<'_>,
    searched: &[Searched],
    choices: &[Choice],
    train: &MeasurementTable,
    folds: &GroupedKFold,
    fit_seed: u64,
) -> Result<Vec<FeatureSetScore>, TrainError> {
    let mut out = Vec::new();
    for (s, choice) in searched.iter().zip(choices) {
        let family = &s.families[choice.family];
        let other = target_data(train, s.data.target, config.features.other())?;
        let own = family.candidates[choice.trial].trial.mean();
        let other = family.cross_validate(choice.trial, &other, folds, fit_seed)?.mean();
        let (paper, derived) = match config.features {
            FeatureSet::Paper => (own, other),
            FeatureSet::Derived => (other, own),
        };
        out.push(FeatureSetScore {
            target: s.data.target,
            family: family.name.to_owned(),
            paper_cv_mape_percent: paper,
            derived_cv_mape_percent: derived,
        });
    }
    Ok(out)
}

/// The searches of targets that are compiled.
pub(crate) fn compiled_targets(searched: &[Searched]) -> impl Iterator<Item = &Searched> {
    searched.iter().filter(|s| s.data.target != Target::Monolithic)
}

/// A fitted model as the bundle's predictor.
///
/// # Errors
/// If the model cannot be compiled.
pub(crate) fn predictor(data: &TargetData, model: Model) -> Result<Predictor, TrainError> {
    let Samples { columns, normaliser, .. } = &data.samples;
    let domain = columns
        .iter()
        .map(|column| Domain {
            min: column.iter().copied().min().unwrap_or(0),
            max: column.iter().copied().max().unwrap_or(u32::MAX),
        })
        .collect();
    let forest = compiled(model, data.target)?;
    Ok(Predictor { target: data.target, normaliser: *normaliser, domain, forest })
}

fn target_record(
    searched: &Searched,
    choice: Choice,
    score: &Trial,
    int: Predictors<'_>,
    train: &MeasurementTable,
    test: &MeasurementTable,
    fit_seed: u64,
) -> Result<TargetRecord, TrainError> {
    let Searched { data, families } = searched;
    let target = data.target;
    let family = &families[choice.family];
    let candidate = &family.candidates[choice.trial];
    let unusable = || TrainError::NoUsableTrial { target: target.name() };
    let raw_target_mape_percent = match data.samples.normaliser {
        Some(_) => Some(raw_target_mape(searched, choice, train, test, fit_seed)?),
        None => None,
    };
    Ok(TargetRecord {
        target,
        family: family.name.to_owned(),
        features: data.samples.features.iter().map(|f| f.name().to_owned()).collect(),
        normaliser: data.samples.normaliser.map(|n| n.feature.name().to_owned()),
        params: candidate.params.clone(),
        cv_mape_percent: score.mean().ok_or_else(unusable)?,
        cv_se_percent: score.standard_error().unwrap_or(0.0),
        heldout_mape_percent: target_mape_percent(int, target, test)?,
        raw_target_mape_percent,
        forest: int.get(target).map(|p| p.forest.stats()),
        trials: family.record(),
    })
}

/// Held-out MAPE of the same hyper-parameters fitted on the target as it is measured: what the
/// normaliser buys.
fn raw_target_mape(
    searched: &Searched,
    choice: Choice,
    train: &MeasurementTable,
    test: &MeasurementTable,
    fit_seed: u64,
) -> Result<f64, TrainError> {
    let target = searched.data.target;
    let features = &searched.data.samples.features;
    let raw = TargetData::new(target, samples(train, target, features, None))?;
    let model = searched.families[choice.family].refit(choice.trial, &raw, fit_seed)?;
    let held_out = TargetData::new(target, samples(test, target, features, None))?;
    Ok(mape_percent(&held_out.predict(&model)?, &held_out.samples.values)?)
}

/// Permutation importance of the compiled forests' inputs, as shares of their sum.
fn importances(
    searched: &[Searched],
    predictors: &[Predictor],
    seed: u64,
) -> Result<Vec<Importance>, TrainError> {
    let mut out = Vec::new();
    for (s, p) in searched.iter().zip(predictors) {
        let raw = s.data.importance(&p.forest, seed)?;
        // Shuffling a useless input may even help a little; that is no importance.
        let raw: Vec<f64> = raw.into_iter().map(|v| v.max(0.0)).collect();
        let total: f64 = raw.iter().sum();
        for (feature, value) in p.forest.features.iter().zip(raw) {
            out.push(Importance {
                target: p.target,
                feature: feature.name().to_owned(),
                share: if total > 0.0 { value / total } else { 0.0 },
            });
        }
    }
    Ok(out)
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

fn size_record(lowered: &Lowered, budget_bytes: u64, cuts: Vec<BudgetCut>) -> SizeRecord {
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
    let est_bytes = predictors.iter().map(|p| p.est_bytes).sum();
    SizeRecord { budget_bytes, est_bytes, predictors, cuts }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_training_models_are_among_those_of_more() {
        let all: Vec<u32> = (0..50).filter(|m| m % 5 != 0).collect();
        let of = |count| training_models(&all, count, 3);
        assert_eq!(of(None), indices(&all));
        assert_eq!(of(Some(100)), indices(&all));
        let (few, more) = (of(Some(8)), of(Some(20)));
        assert_eq!((few.len(), more.len()), (8, 20));
        assert!(few.iter().all(|m| more.contains(m)) && more.is_sorted());
        assert_ne!(few, training_models(&all, Some(8), 4));
    }
}
