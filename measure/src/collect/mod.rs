//! `measure collect`: an engine at every operating point of this device.

mod args;
mod device;
mod meter;
mod show;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use enerinfer_collect::{
    Candidate, CollectError, Collection, CommandEngine, Engine, EngineError, Journal, Options,
    Outcome, OutputForm, Plan, Repetitions, Request, Rules, TableLabels, Watch, estimate, formats,
    in_folder, measurement_table, spread_csv,
};
use enerinfer_datasets::synthesize::{GgufOptions, Vocabulary};
use enerinfer_datasets::{WeightFormat, sampler, size_sampler};
use enerinfer_linux::files::{Files as SystemFiles, System};

pub(crate) use args::Args;
use args::{EngineArgs, EngineKind, ModelArgs, RunArgs};
use device::Device;
use meter::Meter;
use show::Show;

use crate::distinct::Files;
use crate::failure::Failure;
use crate::output::{self, say};
use crate::values;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let files: Arc<dyn SystemFiles> = Arc::new(System::below(&args.root));
    let mut device = Device::find(&args.clocks, &files)?;
    let sensors = device::sensors(&args.power, &*files)?;
    let meter = Meter::read(&args.power)?;
    let mut engine = engine(&args.engine)?;
    let plan = Plan {
        models: models(&args.models)?,
        settings: device.settings.clone(),
        request: Request {
            threads: 0,
            prompt_tokens: args.runs.prompt,
            generate_tokens: args.runs.tokens,
            warm_up_tokens: args.runs.warm_up,
            timeout: args.engine.timeout,
        },
        engine: engine.name().to_owned(),
        engine_identity: engine.identity(),
        seed: args.runs.seed,
    };
    let template = args.engine.engine_command.as_deref();
    if template.is_some_and(|t| !t.contains("{threads}"))
        && plan.settings.iter().any(|s| s.threads != plan.settings[0].threads)
    {
        return Err(Failure::input(
            "--engine-command has no {threads}: every number of threads would be measured alike",
        ));
    }
    let journal_path = match &args.journal {
        Some(path) => path.clone(),
        None => PathBuf::from(format!("{}.journal", args.out.display())),
    };
    keep_files(args, &plan, &journal_path)?;
    let repetitions = repetitions(&args.runs)?;
    let settle = if device.controls_clocks() { args.clocks.settle } else { Default::default() };
    for note in &device.notes {
        say!("{note}");
    }
    say!("{}", show::cost(&plan, &estimate(&plan, repetitions.least, settle)));
    if args.dry_run {
        return Ok(());
    }

    let (mut journal, entries) = Journal::open(&journal_path, &plan.digest()).map_err(failure)?;
    let mut clocks = device.clocks(&args.clocks, &*files, &journal_path)?;
    let watch = Watch::new(Arc::clone(&files), sensors, args.power.sample_every);
    let options = Options {
        repetitions,
        rules: Rules {
            min_cpu_share: Some(args.runs.min_cpu_share).filter(|s| *s > 0.0),
            max_load: args.runs.max_load,
            max_temp_c: args.runs.max_temp_c,
        },
        time_budget: args.runs.time_budget,
        folder: args.models.folder.clone().unwrap_or_else(std::env::temp_dir),
        stop: stop_flag()?,
    };
    let mut show = Show::new(args.quiet);
    let outcome = Collection {
        plan: &plan,
        engine: &mut *engine,
        clocks: &mut clocks,
        watch: &watch,
        files: &*files,
        options: &options,
    }
    .run(&mut journal, &entries, &mut |step| show.step(step))
    .map_err(failure)?;
    drop(show);
    write(args, &plan, &outcome, meter.as_ref())
}

/// Refuses outputs that would overwrite a model, the meter's log or one another.
fn keep_files(args: &Args, plan: &Plan, journal: &Path) -> Result<(), Failure> {
    let mut models = Vec::new();
    if let Some(folder) = &args.models.models {
        let entries = std::fs::read_dir(folder)
            .map_err(|e| Failure::Failed(format!("{}: {e}", folder.display())))?;
        let is_model = |p: &PathBuf| p.extension().is_some_and(|e| e.eq_ignore_ascii_case("gguf"));
        models.extend(entries.flatten().map(|entry| entry.path()).filter(is_model));
    }
    let clocks = device::clocks_journal(journal);
    let tables: Vec<PathBuf> = tables(args, plan).into_iter().map(|(_, path)| path).collect();
    Files::default()
        .read("--models", models.iter().map(PathBuf::as_path))
        .read("--meter", args.power.meter.as_deref())
        .write("--out", tables.iter().map(PathBuf::as_path))
        .write("--spread", args.spread.as_deref())
        .write("--journal", [journal])
        .write("--journal (clocks)", [clocks.as_path()])
        .check()
}

/// The table of each weight format.
fn tables(args: &Args, plan: &Plan) -> Vec<(WeightFormat, PathBuf)> {
    let all = formats(plan);
    let path = |format: WeightFormat| match all.len() {
        1 => args.out.clone(),
        _ => with_format(&args.out, format.name()),
    };
    all.iter().map(|&format| (format, path(format))).collect()
}

fn failure(e: CollectError) -> Failure {
    match e {
        CollectError::Journal { .. }
        | CollectError::Table(_)
        | CollectError::Engine(EngineError::Start { .. } | EngineError::Threads { .. }) => {
            Failure::Input(e.to_string())
        }
        other => Failure::Failed(other.to_string()),
    }
}

fn engine(args: &EngineArgs) -> Result<Box<dyn Engine>, Failure> {
    if let Some(template) = &args.engine_command {
        let form = OutputForm::parse(&args.pattern).map_err(|e| Failure::input(e.to_string()))?;
        let engine = CommandEngine::new(args.engine_name.clone(), template, form);
        return Ok(Box::new(engine.map_err(|e| Failure::input(e.to_string()))?));
    }
    match args.engine {
        Some(EngineKind::LlamaCpp) => llama_cpp(),
        Some(EngineKind::Candle) => candle(),
        None => Err(Failure::input("give --engine or --engine-command")),
    }
}

#[cfg(feature = "engine-llama-cpp")]
fn llama_cpp() -> Result<Box<dyn Engine>, Failure> {
    let engine = enerinfer_collect::LlamaCpp::new();
    Ok(Box::new(engine.map_err(|e| Failure::Failed(e.to_string()))?))
}

#[cfg(not(feature = "engine-llama-cpp"))]
fn llama_cpp() -> Result<Box<dyn Engine>, Failure> {
    Err(built_without("llama.cpp", "engine-llama-cpp"))
}

#[cfg(feature = "engine-candle")]
fn candle() -> Result<Box<dyn Engine>, Failure> {
    Ok(Box::new(enerinfer_collect::Candle::new()))
}

#[cfg(not(feature = "engine-candle"))]
fn candle() -> Result<Box<dyn Engine>, Failure> {
    Err(built_without("candle", "engine-candle"))
}

#[cfg(not(all(feature = "engine-llama-cpp", feature = "engine-candle")))]
fn built_without(engine: &str, feature: &str) -> Failure {
    Failure::input(format!(
        "this program was built without {engine}: build it with \
         `cargo build --release -p enerinfer-measure --features {feature}`, or use \
         --engine-command"
    ))
}

fn models(args: &ModelArgs) -> Result<Vec<Candidate>, Failure> {
    let mut out = Vec::new();
    if let Some(folder) = &args.models {
        let (found, left_out) =
            in_folder(folder).map_err(|e| Failure::Failed(format!("{}: {e}", folder.display())))?;
        for l in &left_out {
            say!("{}: left out: {}", l.path.display(), l.reason);
        }
        if found.is_empty() {
            let reason = "no GGUF file that can be measured";
            return Err(Failure::input(format!("{}: {reason}", folder.display())));
        }
        out = found;
    }
    if let Some(count) = args.synthesize {
        let shapes = match &args.params {
            Some(range) => size_sampler::sample(count, range.clone(), args.shape_seed),
            None => sampler::sample(count, args.shape_seed),
        };
        let shapes = shapes.map_err(|e| Failure::input(e.to_string()))?;
        let vocabulary = if args.vocabulary { Vocabulary::Dummy } else { Vocabulary::Absent };
        let options = GgufOptions { vocabulary, ..GgufOptions::default() };
        for format in values::each_once(&args.format) {
            for model in &shapes {
                match Candidate::synthetic(model.clone(), format, options) {
                    Ok(candidate) => out.push(candidate),
                    Err(e) => say!("left out: {e}"),
                }
            }
        }
    }
    if !args.only.is_empty() {
        let known = |name: &String| out.iter().any(|c| c.model.name == *name);
        if let Some(name) = args.only.iter().find(|n| !known(n)) {
            return Err(Failure::input(format!("--only {name}: there is no such model")));
        }
        out.retain(|c| args.only.contains(&c.model.name));
    }
    if out.is_empty() {
        return Err(Failure::input(
            "there is no model to measure; give --models, or --synthesize with a --format that \
             the shapes can have",
        ));
    }
    Ok(out)
}

fn repetitions(args: &RunArgs) -> Result<Repetitions, Failure> {
    let most = args.max_repetitions.unwrap_or_else(|| args.repetitions.saturating_mul(2));
    if most < args.repetitions {
        return Err(Failure::input("--max-repetitions must not be below --repetitions"));
    }
    Ok(Repetitions { least: args.repetitions, most, ci_percent: args.ci_percent })
}

/// Ctrl-C and its like end the collection after the present run, with clocks given back.
fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 1, Arc::clone(&stop))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&stop)))
            .map_err(|e| Failure::Failed(format!("cannot listen for signals: {e}")))?;
    }
    Ok(stop)
}

/// Writes what there is, and says what is missing.
fn write(
    args: &Args,
    plan: &Plan,
    outcome: &Outcome,
    meter: Option<&Meter>,
) -> Result<(), Failure> {
    let results = &outcome.results;
    if let Some(path) = &args.spread {
        output::table(Some(path), spread_csv(plan, results).as_bytes())?;
    }
    let labels = TableLabels {
        platform: args.platform.clone(),
        power_domain: args.power.power_domain.clone(),
        how: args.how.clone(),
    };
    let power_of = |run: &enerinfer_collect::journal::Run| match meter {
        Some(meter) => {
            let span = run.engine.span;
            meter.mean_w(span.begin_unix_s, span.begin_unix_s + span.wall_s)
        }
        None => run.sampled.power_w.or(run.engine.timing.told_power_w),
    };
    let mut written = 0;
    for (format, path) in tables(args, plan) {
        let least = args.runs.repetitions;
        let table = measurement_table(plan, results, format, least, &labels, &power_of);
        let Some(table) = table.map_err(failure)? else { continue };
        output::table(Some(&path), table.to_csv().as_bytes())?;
        written += table.models.len();
    }
    output::stderr(format_args!("{}", show::summary(plan, outcome, written)));
    if outcome.complete && written == 0 {
        return Err(Failure::Failed("no model could be measured at every operating point".into()));
    }
    Ok(())
}

fn with_format(path: &Path, format: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{stem}-{format}.{extension}"))
}
