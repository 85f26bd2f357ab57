//! The whole job: `train --platform NAME`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use enerinfer_artifacts::console::say;
use enerinfer_artifacts::{Target, resolve, write_atomic};
use enerinfer_codegen::{Optimise, Options, check_destination, generate_to, size_warning};
use enerinfer_datasets::{MeasurementTable, Model, WeightFormat, mixture_sampler, sampler};
use enerinfer_device::{Noise, SimulatedDevice};

use crate::cli::{Pick, TrainArgs};
use crate::journal::{Journal, run_digest};
use crate::pipeline::{self, Config, Outcome};
use crate::progress::{Mode, Progress};
use crate::seeds::Seeds;
use crate::thermal::{self, Thermal};
use crate::{Family, FeatureSet, device, thermal_file};

/// The command line or the input is at fault (exit code 2).
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);

/// Measurements, and what is known of their noise.
struct Input {
    table: MeasurementTable,
    noiseless: Option<MeasurementTable>,
    noise_percent: f64,
    /// What was measured, if it is simulated.
    device: Option<SimulatedDevice>,
}

/// Runs the whole job and returns what goes to stdout.
///
/// # Errors
/// Bad input (nothing is written then), or a failure with its reason.
pub fn run(args: &TrainArgs) -> Result<String> {
    if args.list_platforms {
        return list_platforms();
    }
    let Some(platform) = args.platform.as_deref() else {
        return Err(BadInput(format!(
            "--platform NAME is needed; simulated platforms: {}",
            enerinfer_device::names().join(", ")
        ))
        .into());
    };
    let (platform, simulates) = if device::is_file(platform) {
        if args.measurements.is_some() {
            return Err(BadInput(format!(
                "--platform {platform}: a platform file is for simulating; name the platform of \
                 --measurements"
            ))
            .into());
        }
        let device = device::named(platform, None)?;
        (device.platform().name.clone(), platform)
    } else {
        (platform.to_owned(), platform)
    };
    let platform = platform.as_str();
    if platform.is_empty()
        || !platform.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c))
        || platform.starts_with('.')
    {
        return Err(BadInput(format!(
            "--platform {platform:?}: letters, digits, `_`, `-` and `.` name a platform"
        ))
        .into());
    }
    let families = families(args);
    if !families.iter().any(|family| family.compiles()) {
        let all = Family::ALL.iter().filter(|family| family.compiles());
        return Err(BadInput(format!(
            "--families: none of them can be compiled for a device; add one that can, to compare \
             the others with: {}",
            all.map(|family| family.name()).collect::<Vec<_>>().join(" or ")
        ))
        .into());
    }
    let out = args.out.clone().unwrap_or_else(|| Path::new("out").join(platform));
    let place = check_output_folder(&out, args)?;
    if let Some(threads) = args.threads {
        // Fails only if a pool exists already, which then has the threads it has.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(threads as usize).build_global();
    }
    let progress = Progress::new(if args.quiet { Mode::Quiet } else { Mode::Auto });
    let input = match &args.measurements {
        Some(path) => imported(platform, path, &progress)?,
        None => simulated(simulates, args, &progress)?,
    };
    pipeline::check_models(input.table.models.len()).with_context(|| match &args.measurements {
        Some(path) => format!("cannot train on {}", path.display()),
        None => "cannot train".to_owned(),
    })?;
    pipeline::check_picks(&input.table, &args.pick)?;
    let thermal = thermal_model(&input, args, &progress)?;
    let journal = open_journal(&place, &input.table, args, &progress)?;
    let config = Config {
        table: &input.table,
        noiseless: input.noiseless.as_ref().map(|t| (t, input.noise_percent)),
        seed: args.seed,
        features: args.features,
        train_models: args.train_models.map(|n| n as usize),
        families: &families,
        trials: args.trials,
        journal: &journal,
        thermal: thermal.as_ref(),
        flash_budget_bytes: u64::from(args.flash_budget) << 10,
        picks: &args.pick,
        command: regenerate_command(simulates, args),
    };
    let outcome = pipeline::run(&config, &progress)?;
    let options = Options { optimise: args.optimise, ..Options::default() };
    write_outputs(&place, &input.table, &outcome, &options)?;
    if let Some(warning) = size_warning(&place.join(CRATE))? {
        say(format_args!("warning: {}: {warning}", out.join(CRATE).display()));
    }

    let mut text = enerinfer_reports::summary_table(&outcome.record);
    let _ = writeln!(text, "Report: {}", out.join("report.html").display());
    let _ = writeln!(text, "Device crate: {}", out.join(CRATE).display());
    Ok(text)
}

/// The families asked for, each once and in a fixed order, so that the order on the command line
/// changes nothing.
fn families(args: &TrainArgs) -> Vec<Family> {
    Family::ALL
        .into_iter()
        .filter(|f| match &args.families[..] {
            [] => args.all_families || f.compiles(),
            asked => asked.contains(f),
        })
        .collect()
}

fn open_journal(
    out: &Path,
    table: &MeasurementTable,
    args: &TrainArgs,
    progress: &Progress,
) -> Result<Journal> {
    let run = run_digest(table, args.seed, args.features, args.train_models);
    let path = out.join(JOURNAL);
    if !args.resume {
        std::fs::create_dir_all(out)
            .with_context(|| format!("cannot create the output folder {}", out.display()))?;
        return Ok(Journal::start(&path, &run)?);
    }
    let journal = Journal::resume(&path, &run)?;
    progress.note(&format!("resuming: {} folds are scored already", journal.resumed()));
    Ok(journal)
}

/// The thermal model of `--thermal`, or of the simulated device.
fn thermal_model(input: &Input, args: &TrainArgs, progress: &Progress) -> Result<Option<Thermal>> {
    let seeds = Seeds::new(args.seed);
    if let Some(path) = &args.thermal {
        if !input.table.has_power() {
            return Err(BadInput(format!(
                "--thermal {}: temperatures are predicted from power, and the measurements have \
                 none; add power_w",
                path.display()
            ))
            .into());
        }
        return Ok(Some(thermal_file::read(path, seeds.thermal)?));
    }
    let Some(device) = &input.device else { return Ok(None) };
    let models = &input.table.models;
    let thermal = thermal::simulated(device, models, seeds.split, seeds.thermal)?;
    let fitted = if thermal.is_some() { "fitted" } else { "left out: it stays cool" };
    progress.note(&format!("thermal model of `{}`: {fitted}", device.platform().name));
    Ok(thermal)
}

fn imported(platform: &str, path: &Path, progress: &Progress) -> Result<Input> {
    let (table, warnings) = MeasurementTable::read(path, platform)?;
    for warning in warnings {
        say(format_args!("warning: {}: {warning}", path.display()));
    }
    check_clocks(platform, path, &table)?;
    check_values(path, &table)?;
    if table.platform.clocks.len() == 1 {
        say(format_args!(
            "warning: {}: only one operating point: predictors can be trained, but there is \
             nothing to choose between; measure at more clocks",
            path.display()
        ));
    }
    progress.note(&format!(
        "{}: {} models × {} operating points, {}",
        path.display(),
        table.models.len(),
        table.platform.clocks.len(),
        table.source
    ));
    Ok(Input { table, noiseless: None, noise_percent: 0.0, device: None })
}

/// A table that names a platform known here must use its clocks: a clock that the platform cannot
/// reach is a typing error, or another device.
fn check_clocks(platform: &str, path: &Path, table: &MeasurementTable) -> Result<()> {
    if !enerinfer_device::names().contains(&platform) {
        return Ok(());
    }
    let known = SimulatedDevice::builtin(platform, None)?.platform().clocks.clone();
    let clocks = &table.platform.clocks;
    for (column, have, possible) in [
        ("accel_mhz", &clocks.accel_khz, &known.accel_khz),
        ("mem_mhz", &clocks.mem_khz, &known.mem_khz),
    ] {
        if let Some(&clock) = have.iter().find(|c| !possible.contains(c)) {
            let mhz = |khz: u32| f64::from(khz) / 1000.0;
            let possible: Vec<String> = possible.iter().map(|&k| mhz(k).to_string()).collect();
            return Err(BadInput(format!(
                "{}: column {column}: {} MHz is not a clock of platform `{platform}` ({}); \
                 correct it, or give a device with other clocks another --platform name",
                path.display(),
                mhz(clock),
                possible.join(", ")
            ))
            .into());
        }
    }
    Ok(())
}

/// Refuses values beyond the device's 32 bits, at which predictions would be cut off.
fn check_values(path: &Path, table: &MeasurementTable) -> Result<()> {
    let most = f64::from(Target::Peak.max_value()) / Target::Peak.units_per_one();
    for row in &table.rows {
        for (column, value) in [
            ("throughput_tok_per_s", Some(row.throughput_tok_per_s)),
            ("power_w", row.power_w),
            ("accel_power_w", row.accel_power_w),
        ] {
            if let Some(value) = value.filter(|v| *v > most) {
                return Err(BadInput(format!(
                    "{}: column {column}: {value} of model {} is beyond {most}, which the device's \
                     32 bits hold; check the unit, or leave the model out",
                    path.display(),
                    table.models[row.model as usize].name.escape_debug()
                ))
                .into());
            }
        }
    }
    Ok(())
}

fn simulated(platform: &str, args: &TrainArgs, progress: &Progress) -> Result<Input> {
    let format = match args.format.as_deref() {
        None => None,
        Some(name) => Some(WeightFormat::parse(name).ok_or_else(|| {
            let known: Vec<&str> = WeightFormat::ALL.iter().map(|f| f.name()).collect();
            BadInput(format!("unknown weight format {name:?}; known: {}", known.join(", ")))
        })?),
    };
    let device = device::named(platform, format)?;
    let seeds = Seeds::new(args.seed);
    let mut sampled = sampler::sample(args.models as usize, seeds.shapes)?;
    if args.moe_models > 0 {
        sampled.extend(mixture_sampler::sample(args.moe_models as usize, seeds.shapes)?);
    }
    let models: Vec<Model> = device::fitting(&device, &sampled)?;
    let skipped = sampled.len() - models.len();
    if skipped > 0 {
        progress.note(&format!("{skipped} models do not fit the device's memory: skipped"));
    }
    let relative_sd = args.noise / 100.0;
    let table = device.measure(&models, Noise { relative_sd }, seeds.noise);
    let noiseless = device.measure(&models, Noise { relative_sd: 0.0 }, seeds.noise);
    progress.note(&format!(
        "{} models × {} operating points, SIMULATED on `{}` with {} % noise",
        models.len(),
        table.platform.clocks.len(),
        table.platform.name,
        args.noise
    ));
    Ok(Input { table, noiseless: Some(noiseless), noise_percent: args.noise, device: Some(device) })
}

/// A word as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-/".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The command that gives the same outputs. Input files stand in it under fixed names: what a user
/// calls them says nothing about what is in them, and may not change an output.
fn regenerate_command(platform: &str, args: &TrainArgs) -> String {
    let mut command = format!("train --platform {}", quoted(&device::shown(platform)));
    if args.measurements.is_some() {
        // As the copy in the output folder is called.
        command.push_str(" --measurements measurements.csv");
    } else {
        if let Some(format) = &args.format {
            let _ = write!(command, " --format {format}");
        }
        let _ = write!(command, " --models {}", args.models);
        if args.moe_models > 0 {
            let _ = write!(command, " --moe-models {}", args.moe_models);
        }
        let _ = write!(command, " --noise {}", args.noise);
    }
    let _ = write!(
        command,
        " --seed {} --trials {} --flash-budget {}",
        args.seed, args.trials, args.flash_budget
    );
    if args.optimise == Optimise::Speed {
        command.push_str(" --optimise speed");
    }
    for Pick { target, bytes } in &args.pick {
        let _ = write!(command, " --pick {}={bytes}", target.name());
    }
    if args.thermal.is_some() {
        command.push_str(" --thermal FILE");
    }
    if args.features != FeatureSet::Paper {
        let _ = write!(command, " --features derived");
    }
    if let Some(n) = args.train_models {
        let _ = write!(command, " --train-models {n}");
    }
    if args.all_families {
        let _ = write!(command, " --all-families");
    } else if !args.families.is_empty() {
        let names: Vec<&str> = families(args).into_iter().map(Family::name).collect();
        let _ = write!(command, " --families {}", names.join(","));
    }
    command
}

/// Files of the output folder beside the crate; the report comes last, so that a folder whose
/// report is new is new altogether.
const FILES: [&str; 5] =
    ["measurements.csv", "bundle.enerinfer", "report.json", "report.md", "report.html"];
/// The generated crate's folder.
const CRATE: &str = "enerinfer-runtime";
/// Every trial as it is scored.
const JOURNAL: &str = "search.jsonl";
/// Where outputs are written until all of them are complete.
const STAGING: &str = ".partial";

/// Checks before any work that the outputs can go where they are to go, and that no input is
/// among what they replace. Gives the resolved folder: replacing the crate in which the user stands
/// moves what relative paths lead to.
fn check_output_folder(out: &Path, args: &TrainArgs) -> Result<PathBuf> {
    let bad = |message: String| Err(BadInput(message).into());
    if out.symlink_metadata().is_ok() && !out.is_dir() {
        return bad(format!("--out {}: is not a folder; choose another", out.display()));
    }
    let place = resolve(out).map_err(|e| BadInput(format!("--out {e}")))?;
    // `new/../old` becomes a path to `old` once `new` exists.
    let out = if place.exists() && !out.exists() { &place } else { out };
    for name in FILES {
        if out.join(name).is_dir() {
            return bad(format!(
                "{}: is a folder, and would be replaced by a file; choose another --out",
                out.join(name).display()
            ));
        }
    }
    if let Some(input) = &args.measurements
        && let (Ok(input), Ok(output)) =
            (input.canonicalize(), out.join("measurements.csv").canonicalize())
        && input == output
    {
        return bad(format!(
            "--out {}: the run would overwrite its own --measurements; choose another folder",
            out.display()
        ));
    }
    // Every run starts with its journal: without one, the files are somebody's own.
    if let Some(name) = FILES.iter().find(|name| out.join(name).exists())
        && !out.join(JOURNAL).exists()
    {
        return bad(format!(
            "{}: is not of an earlier run (the folder has no {JOURNAL}) and would be replaced; \
             move it away, or choose another --out",
            out.join(name).display()
        ));
    }
    check_destination(&out.join(CRATE))?;
    Ok(place)
}

/// Writes everything to a staging folder and then renames it into place: a failure while writing
/// leaves the old outputs as they were.
fn write_outputs(
    out: &Path,
    table: &MeasurementTable,
    outcome: &Outcome,
    options: &Options,
) -> Result<()> {
    let staging = out.join(STAGING);
    let io = |what: &'static str, path: &Path| format!("cannot {what} {}", path.display());
    let clear = || -> Result<()> {
        match std::fs::remove_dir_all(&staging) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Err(e).with_context(|| io("remove", &staging))
            }
            _ => Ok(()),
        }
    };
    // An interrupted run may have left one.
    clear()?;
    std::fs::create_dir(&staging).with_context(|| io("create", &staging))?;
    let staged = stage(&staging, table, outcome, options);
    if staged.is_err() {
        clear()?;
    }
    staged?;

    let old_crate = staging.join("replaced");
    if out.join(CRATE).exists() {
        std::fs::rename(out.join(CRATE), &old_crate).with_context(|| io("move", &old_crate))?;
    }
    for name in [CRATE].into_iter().chain(FILES) {
        let to = out.join(name);
        std::fs::rename(staging.join(name), &to).with_context(|| io("write", &to))?;
    }
    clear()
}

fn stage(
    folder: &Path,
    table: &MeasurementTable,
    outcome: &Outcome,
    options: &Options,
) -> Result<()> {
    let path = |name: &str| -> PathBuf { folder.join(name) };
    let record = &outcome.record;
    table.write(&path("measurements.csv"))?;
    write_atomic(&path("bundle.enerinfer"), &outcome.bundle.to_bytes()?)?;
    generate_to(&outcome.bundle, options, &path(CRATE))?;
    write_atomic(&path("report.json"), record.to_json()?.as_bytes())?;
    write_atomic(&path("report.md"), enerinfer_reports::markdown(record).as_bytes())?;
    write_atomic(&path("report.html"), enerinfer_reports::html(record).as_bytes())?;
    Ok(())
}

/// Platforms that can be simulated, with their clocks, formats and how close they come.
fn list_platforms() -> Result<String> {
    let mut out = String::new();
    for name in enerinfer_device::names() {
        let formats = SimulatedDevice::formats(name)?;
        let device = SimulatedDevice::builtin(name, None)?;
        let p = device.platform();
        let formats: Vec<&str> = formats.iter().map(|f| f.name()).collect();
        let _ = writeln!(out, "{name}: {}; {}", p.description, p.engine);
        let _ = writeln!(out, "    formats      {} (default {})", formats.join(", "), p.format);
        for (domain, khz) in [("accelerator", &p.clocks.accel_khz), ("memory", &p.clocks.mem_khz)] {
            let mhz: Vec<String> =
                khz.iter().map(|&k| (f64::from(k) / 1000.0).to_string()).collect();
            let _ = writeln!(out, "    {domain:<12} {} MHz", mhz.join(", "));
        }
        let error = enerinfer_device::published::mean_error_percent(name)?;
        let _ = writeln!(out, "    calibration  {error:.1} % mean error to published figures");
    }
    out.push_str("All of these are simulated; --measurements trains on real ones.\n");
    Ok(out)
}
