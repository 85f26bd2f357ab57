//! `train evaluate`: the papers' figures and tables for simulated devices, in one report.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use enerinfer_artifacts::exhibit::{EVALUATION_VERSION, Evaluation, Exhibit};
use enerinfer_artifacts::record::ThermalAccuracy;
use enerinfer_artifacts::{Bundle, write_atomic};
use enerinfer_codegen::{Options, lower};
use enerinfer_datasets::{
    LlmShape, MeasurementTable, Model, independent, mixture_sampler, sampler, survey,
};
use enerinfer_device::{Noise, SimulatedDevice};
use enerinfer_evaluation::figures::{
    self, Inputs, Judged, JudgedModel, Tables, Topic, WithMixtures,
};

use crate::cli::EvaluateArgs;
use crate::job::BadInput;
use crate::journal::{Journal, run_digest};
use crate::pipeline::{self, Config, Outcome};
use crate::predicted::{ModelTables, Predictors, measured_tables};
use crate::progress::{Mode, Progress};
use crate::samples::FeatureSet;
use crate::seeds::Seeds;
use crate::split::{is_mixture, split_models};
use crate::{Family, TrainError, device, thermal};

/// Real LLMs below this size are judged (EnerInfer Figure 3: "the top LLMs up to 7 B").
const LARGEST_LLM: u64 = 7_000_000_000;
/// Flash of all predictors of a platform, bytes: the default of the whole job.
const FLASH_BUDGET_BYTES: u64 = 128 << 10;
/// Shapes drawn as the paper drew them.
const INDEPENDENT: usize = 300;

/// The report's files; JSON last, so that a folder whose record is new is new altogether.
const FILES: [&str; 3] = ["evaluation.html", "evaluation.md", "evaluation.json"];
/// Journals of the searches, one per platform.
const SEARCH: &str = "search";

/// Evaluates and returns what goes to stdout.
///
/// # Errors
/// Bad input (nothing is written then), or a failure with its reason.
pub fn run(args: &EvaluateArgs) -> Result<String> {
    let topics = topics(&args.only)?;
    let devices = devices(args)?;
    let out = args.out.clone().unwrap_or_else(|| Path::new("out").join("evaluation"));
    check_output_folder(&out)?;
    if let Some(threads) = args.threads {
        // Fails only if a pool exists already, which then has the threads it has.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build_global();
    }
    let progress = Progress::new(if args.quiet { Mode::Quiet } else { Mode::Auto });
    let seeds = Seeds::new(args.seed);
    let synthetic = sampler::sample(args.models as usize, seeds.shapes)?;
    let mut notes = Vec::new();
    let mut judged = Vec::new();
    if topics.iter().any(|t| t.needs_predictors()) {
        // Every device before the first of them is searched for, and before anything is written.
        for device in &devices {
            let models = device::fitting(device, &synthetic)?.len();
            pipeline::check_models(models)
                .with_context(|| format!("cannot train on {}", device.platform().name))?;
        }
        std::fs::create_dir_all(out.join(SEARCH))
            .with_context(|| format!("cannot create the output folder {}", out.display()))?;
        let mixtures = match topics.contains(&Topic::Moe) && args.moe_models > 0 {
            true => mixture_sampler::sample(args.moe_models as usize, seeds.shapes)?,
            false => Vec::new(),
        };
        let training = Training { args, seeds, out: &out, progress: &progress };
        for device in &devices {
            judged.push(judge(device, &synthetic, &mixtures, &training, &mut notes)?);
        }
    }
    let mut thermal = Vec::new();
    if topics.contains(&Topic::Fig11) {
        for device in &devices {
            thermal.extend(thermal_accuracy(device, &synthetic, seeds, &progress)?);
        }
    }
    let shapes: Vec<LlmShape> = synthetic.iter().map(|m| m.shape).collect();
    let independent = independent::sample(INDEPENDENT, seeds.shapes);
    let inputs = Inputs {
        devices: &devices,
        synthetic: &shapes,
        independent: &independent,
        judged: &judged,
        thermal: &thermal,
    };
    let mut exhibits: Vec<Exhibit> = Vec::new();
    for &topic in &topics {
        progress.note(&format!("computing {}", topic.name()));
        exhibits.push(figures::exhibit(topic, &inputs)?);
    }
    let evaluation = Evaluation {
        schema_version: EVALUATION_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        command: regenerate_command(args, &topics),
        seed: args.seed,
        trials: if judged.is_empty() { 0 } else { args.trials },
        exhibits,
        notes,
    };
    write_outputs(&out, &evaluation)?;
    let mut text = enerinfer_reports::exhibits_summary(&evaluation);
    let _ = writeln!(text, "Report: {}", out.join(FILES[0]).display());
    Ok(text)
}

/// The topics asked for, each once and in the order of a report; all of them by default.
fn topics(only: &[String]) -> Result<Vec<Topic>> {
    if only.is_empty() {
        return Ok(Topic::ALL.to_vec());
    }
    let mut asked = Vec::new();
    for name in only {
        asked.push(Topic::from_name(name).ok_or_else(|| {
            let known: Vec<&str> = Topic::ALL.iter().map(|t| t.name()).collect();
            BadInput(format!("--only {name:?}: unknown; known: {}", known.join(", ")))
        })?);
    }
    Ok(Topic::ALL.into_iter().filter(|t| asked.contains(t)).collect())
}

/// The devices asked for, in their default format.
fn devices(args: &EvaluateArgs) -> Result<Vec<SimulatedDevice>> {
    let mut devices: Vec<SimulatedDevice> = Vec::new();
    if args.all {
        for name in enerinfer_device::names() {
            devices.push(SimulatedDevice::builtin(name, None)?);
        }
    }
    for name in &args.platform {
        let device = device::named(name, None)?;
        if devices.iter().any(|d| d.platform().name == device.platform().name) {
            let name = &device.platform().name;
            return Err(BadInput(format!("--platform: `{name}` is named twice")).into());
        }
        devices.push(device);
    }
    Ok(devices)
}

/// Accuracy of a device's thermal model; none if the device does not get warm enough.
fn thermal_accuracy(
    device: &SimulatedDevice,
    synthetic: &[Model],
    seeds: Seeds,
    progress: &Progress,
) -> Result<Option<(SimulatedDevice, ThermalAccuracy)>> {
    progress.note(&format!("thermal model of {}", device.platform().name));
    let models = device::fitting(device, synthetic)?;
    let found = thermal::simulated(device, &models, seeds.split, seeds.thermal)?;
    Ok(found.and_then(|t| t.accuracy).map(|a| (device.clone(), a)))
}

/// What predictors are trained on, and what has to be known for it.
struct Training<'a> {
    args: &'a EvaluateArgs,
    seeds: Seeds,
    out: &'a Path,
    progress: &'a Progress,
}

/// Predictors of a device, and the measurements that they were trained and held out on.
struct Trained {
    outcome: Outcome,
    table: MeasurementTable,
    noiseless: MeasurementTable,
    held_out: Vec<usize>,
}

impl Training<'_> {
    /// Trains predictors on models of a device; the journal of their search gets a name.
    fn run(&self, device: &SimulatedDevice, models: &[Model], journal: &str) -> Result<Trained> {
        let Training { args, seeds, out, progress } = self;
        let name = &device.platform().name;
        let (table, noiseless) = self.measure(device, models, seeds.noise);
        let families: Vec<Family> = Family::ALL.into_iter().filter(|f| f.compiles()).collect();
        let journal = open_journal(&out.join(SEARCH), journal, &table, args)?;
        progress.note(&format!(
            "{name}: {} models × {} operating points, SIMULATED with {} % noise",
            models.len(),
            table.platform.clocks.len(),
            args.noise
        ));
        let config = Config {
            table: &table,
            noiseless: Some((&noiseless, args.noise)),
            seed: args.seed,
            features: args.features,
            families: &families,
            trials: args.trials,
            journal: &journal,
            flash_budget_bytes: FLASH_BUDGET_BYTES,
            picks: &[],
            train_models: None,
            thermal: None,
            command: String::new(),
        };
        let outcome = pipeline::run(&config, progress)?;
        let test = split_models(models, seeds.split)?.test;
        let held_out = test.iter().map(|&m| m as usize).collect();
        Ok(Trained { outcome, table, noiseless, held_out })
    }

    /// Measurements with and without noise.
    fn measure(
        &self,
        device: &SimulatedDevice,
        models: &[Model],
        seed: u64,
    ) -> (MeasurementTable, MeasurementTable) {
        let with = |relative_sd| device.measure(models, Noise { relative_sd }, seed);
        (with(self.args.noise / 100.0), with(0.0))
    }
}

/// Trains predictors for a device and predicts models that they have not seen. `mixtures` are
/// trained on besides, by other predictors.
fn judge(
    device: &SimulatedDevice,
    synthetic: &[Model],
    mixtures: &[Model],
    training: &Training<'_>,
    notes: &mut Vec<String>,
) -> Result<Judged> {
    let name = &device.platform().name;
    let models = device::fitting(device, synthetic)?;
    let skipped = synthetic.len() - models.len();
    if skipped > 0 {
        let note = format!(
            "{name}: {skipped} of {} synthetic models do not fit the device's memory and are \
             skipped.",
            synthetic.len()
        );
        training.progress.note(&note);
        notes.push(note);
    }
    let dense = training.run(device, &models, name)?;
    let (real, unfit): (Vec<Model>, Vec<Model>) = survey::all()
        .iter()
        .filter(|m| m.shape.total_params() < LARGEST_LLM)
        .map(|m| Model { name: m.name.clone(), shape: m.shape })
        .partition(|m| device.fits(&m.shape));
    let (noisy, exact) = training.measure(device, &real, training.seeds.real_noise);
    let real = |trained: &Trained| judged_models(&trained.outcome.bundle, &noisy, &exact);

    let mixtures: Vec<Model> = mixtures.iter().filter(|m| device.fits(&m.shape)).cloned().collect();
    let with_mixtures = if mixtures.is_empty() {
        None
    } else {
        let both = [&models[..], &mixtures].concat();
        let trained = training.run(device, &both, &format!("{name}-mixtures"))?;
        let (of_mixtures, of_dense): (Vec<usize>, Vec<usize>) =
            trained.held_out.iter().partition(|&&m| is_mixture(&both[m]));
        let held_out = |by: &Trained, which: &[usize]| {
            let (noisy, exact) = (trained.table.subset(which), trained.noiseless.subset(which));
            judged_models(&by.outcome.bundle, &noisy, &exact)
        };
        Some(WithMixtures {
            models: mixtures.len() as u32,
            held_out: held_out(&trained, &of_dense)?,
            held_out_mixtures: held_out(&trained, &of_mixtures)?,
            held_out_mixtures_by_dense: held_out(&dense, &of_mixtures)?,
            real: real(&trained)?,
        })
    };
    Ok(Judged {
        held_out: judged_models(
            &dense.outcome.bundle,
            &dense.table.subset(&dense.held_out),
            &dense.noiseless.subset(&dense.held_out),
        )?,
        real: real(&dense)?,
        device: device.clone(),
        skipped: unfit.len() as u32,
        monolithic_mape_percent: dense.outcome.record.combined.monolithic_mape_percent,
        with_mixtures,
    })
}

/// The models of a table beside what the compiled predictors say of them.
fn judged_models(
    bundle: &Bundle,
    measured: &MeasurementTable,
    noiseless: &MeasurementTable,
) -> Result<Vec<JudgedModel>> {
    let lowered = lower(bundle, &Options::default())?;
    let predictors = Predictors(&lowered.predictors);
    let tables = |t: ModelTables| -> Result<Tables, TrainError> {
        let power_w = t.power_w.ok_or(TrainError::MissingPredictor)?;
        Ok(Tables { tok_per_s: t.tok_per_s, power_w })
    };
    let mut out = Vec::new();
    for (m, model) in measured.models.iter().enumerate() {
        let predicted = predictors
            .tables(&measured.platform, model.shape.dims())
            .ok_or(TrainError::MissingPredictor)?;
        out.push(JudgedModel {
            name: model.name.clone(),
            shape: model.shape,
            measured: tables(measured_tables(measured, m))?,
            noiseless: tables(measured_tables(noiseless, m))?,
            predicted: tables(predicted)?,
        });
    }
    Ok(out)
}

/// The journal of one platform's search. With `--resume`, platforms that were not reached have
/// none yet.
fn open_journal(
    folder: &Path,
    platform: &str,
    table: &MeasurementTable,
    args: &EvaluateArgs,
) -> Result<Journal> {
    let path = folder.join(format!("{platform}.jsonl"));
    let run = run_digest(table, args.seed, args.features, None);
    Ok(if args.resume && path.exists() {
        Journal::resume(&path, &run)?
    } else {
        Journal::start(&path, &run)?
    })
}

/// The command that gives the same evaluation.
fn regenerate_command(args: &EvaluateArgs, topics: &[Topic]) -> String {
    let mut command = "train evaluate".to_owned();
    if args.all {
        command.push_str(" --all");
    } else {
        let names: Vec<String> = args.platform.iter().map(|p| device::shown(p)).collect();
        let _ = write!(command, " --platform {}", names.join(","));
    }
    if topics.len() < Topic::ALL.len() {
        let names: Vec<&str> = topics.iter().map(|t| t.name()).collect();
        let _ = write!(command, " --only {}", names.join(","));
    }
    let _ = write!(
        command,
        " --trials {} --models {} --moe-models {} --noise {} --seed {}",
        args.trials, args.models, args.moe_models, args.noise, args.seed
    );
    if args.features == FeatureSet::Derived {
        command.push_str(" --features derived");
    }
    command
}

/// Checks before any work that the outputs replace nothing but an earlier evaluation.
fn check_output_folder(out: &Path) -> Result<()> {
    let bad = |message: String| Err(BadInput(message).into());
    if out.symlink_metadata().is_ok() && !out.is_dir() {
        return bad(format!("--out {}: is not a folder; choose another", out.display()));
    }
    let present: Vec<PathBuf> =
        FILES.iter().map(|name| out.join(name)).filter(|p| p.symlink_metadata().is_ok()).collect();
    if let Some(first) = present.first()
        && Evaluation::read(&out.join("evaluation.json")).is_err()
    {
        return bad(format!(
            "{}: is not of an earlier evaluation and would be replaced; move it away, or choose \
             another --out",
            first.display()
        ));
    }
    Ok(())
}

/// Writes the report's files.
fn write_outputs(out: &Path, evaluation: &Evaluation) -> Result<()> {
    std::fs::create_dir_all(out)
        .with_context(|| format!("cannot create the output folder {}", out.display()))?;
    let texts = [
        enerinfer_reports::exhibits_html(evaluation),
        enerinfer_reports::exhibits_markdown(evaluation),
        evaluation.to_json()?,
    ];
    for (name, text) in FILES.iter().zip(&texts) {
        write_atomic(&out.join(name), text.as_bytes())?;
    }
    Ok(())
}
