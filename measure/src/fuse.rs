//! `measure fuse`: timing records and a log, phase by phase.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::ValueEnum;
use enerinfer_telemetry::csv_samples::CsvOptions;
use enerinfer_telemetry::fuse::{Boundary, FuseOptions, Fused, NegativePower, fuse, infer_zone};
use enerinfer_telemetry::hydra::corpus::{Config, Sweep, layout_files};
use enerinfer_telemetry::hydra::{HydraPlatform, UnifyReport, unify_file};
use enerinfer_telemetry::parquet::{Partition, write_partition};
use enerinfer_telemetry::{
    Error, Prompt, TextTable, Zone, open_log, phase_records, read_prompts, records_csv,
};

use crate::distinct::Files;
use crate::failure::Failure;
use crate::output::{self, say};
use crate::read::Source;
use crate::values;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  measure fuse --prompts INFO_m_F16_.csv --log TGS_m_F16_.csv --out records.csv
  measure fuse --mode hydra --platform orin --prompts INFO_m_F16_.csv --log TGS_m_F16_.csv \
--out UNIFIED_m_F16_.csv
  measure fuse --mode hydra --corpus corpus/
  measure fuse --corpus corpus/ --parquet fleet/")]
pub(crate) struct Args {
    /// Per-prompt timing records (Hydra's INFO columns)
    #[arg(long, value_name = "FILE", required_unless_present = "corpus")]
    prompts: Option<PathBuf>,
    /// Telemetry log
    #[arg(long, value_name = "FILE", required_unless_present = "corpus")]
    log: Option<PathBuf>,
    /// Table to write; stdout if absent
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// `right`, or `hydra`: as the original does it, with its faults
    #[arg(long, value_enum, default_value = "right")]
    mode: Mode,
    /// Hydra platform: xavier, orin, thor (mode hydra)
    #[arg(long)]
    platform: Option<String>,
    /// Fuse every INFO/TGS pair below this folder in Hydra's layout
    #[arg(long, value_name = "DIR", conflicts_with_all = ["prompts", "log", "out"])]
    corpus: Option<PathBuf>,
    /// With --corpus: write records as partitioned Parquet below this folder
    #[arg(long, value_name = "DIR", requires = "corpus")]
    parquet: Option<PathBuf>,
    /// Time zone of local stamps; inferred from the prompts and checked if absent
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    tz: Option<String>,
    /// Where prefill ends
    #[arg(long, value_enum, default_value = "auto")]
    boundary: BoundaryArg,
    /// Longest time between samples over which power is integrated, s
    #[arg(long, default_value_t = 2.0, allow_negative_numbers = true, value_parser = values::seconds)]
    max_gap: f64,
    /// A sample describes the time up to this long before it, s
    #[arg(long, default_value_t = 0.0, allow_negative_numbers = true, value_parser = values::seconds)]
    lag: f64,
    /// Windows with fewer samples are flagged
    #[arg(long, default_value_t = 3)]
    min_samples: u64,
    /// Take negative power (calibration offsets) as 0 instead of as printed
    #[arg(long)]
    clamp_negative: bool,
    /// Also write the counts of accepted, repaired and refused lines as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    source: Source,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Mode {
    Right,
    Hydra,
}

#[derive(Clone, Copy, ValueEnum)]
enum BoundaryArg {
    /// The profiler's, unless its timers did not wait for the GPU
    Auto,
    /// The profiler's
    Prefill,
    /// The first token
    FirstToken,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    Files::default()
        .read("--prompts", args.prompts.as_deref())
        .read("--log", args.log.as_deref())
        .write("--out", args.out.as_deref())
        .write("--report", args.report.as_deref())
        .check()?;
    match (&args.corpus, &args.prompts, &args.log) {
        (Some(corpus), ..) => match (args.mode, &args.parquet) {
            (Mode::Hydra, None) => each_pair(corpus, &|config, info| {
                let unified = sibling(info, "UNIFIED_");
                unify(config.platform, info, &log_of(info), &unified).map(|r| r.rows)
            }),
            (Mode::Hydra, Some(_)) => Err(Failure::input("--mode hydra writes no Parquet")),
            (Mode::Right, Some(root)) => {
                each_pair(corpus, &|config, info| to_parquet(args, root, config, info))
            }
            (Mode::Right, None) => Err(Failure::input("--corpus needs --mode hydra or --parquet")),
        },
        (None, Some(prompts), Some(log)) => match args.mode {
            Mode::Hydra => as_hydra(args, prompts, log),
            Mode::Right => right(args, prompts, log),
        },
        _ => Err(Failure::input("give --prompts and --log")),
    }
}

fn as_hydra(args: &Args, prompts: &Path, log: &Path) -> Result<(), Failure> {
    let platform = args
        .platform
        .as_deref()
        .ok_or_else(|| Failure::input("--mode hydra needs --platform xavier, orin or thor"))?;
    let out = args.out.as_deref().ok_or_else(|| Failure::input("--mode hydra needs --out"))?;
    let report = unify(HydraPlatform::parse(platform)?, prompts, log, out)?;
    say!("wrote {}: {} rows, {} columns", out.display(), report.rows, report.columns);
    if report.rows_without_samples > 0 {
        say!(
            "warning: {} rows have no sample in their prompt: is the log in New York time?",
            report.rows_without_samples
        );
    }
    output::tally(log, &report.tally, args.report.as_deref())
}

/// Fuses as the original does, except that what has no row or no sample in any row is no success.
fn unify(
    platform: HydraPlatform,
    prompts: &Path,
    log: &Path,
    out: &Path,
) -> Result<UnifyReport, Error> {
    unify_file(platform, prompts, log, out, |report| {
        if report.rows_without_samples < report.rows {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "{}: no sample of {} lies in any of its {} prompts; the log must be in New York time \
             and of this run",
            prompts.display(),
            log.display(),
            report.rows
        )))
    })
}

fn right(args: &Args, prompts: &Path, log: &Path) -> Result<(), Failure> {
    let (records, timing) = read_prompts(&TextTable::open(prompts)?)?;
    output::tally(prompts, &timing, None)?;
    require_prompts(prompts, &records)?;
    let zone = match &args.tz {
        Some(name) => Zone::parse(name)?,
        None => {
            let fit = infer_zone(&records, args.source.open(log)?.as_mut())?;
            say!(
                "zone of the log: {} (inferred; it covers {:.1} % of the prompts' time)",
                fit.zone.name(),
                100.0 * fit.covered
            );
            fit.zone
        }
    };
    let options = options(args, zone);
    let fused = fuse(records, args.source.open(log)?.as_mut(), &options)?;
    output::tally(log, &fused.tally, args.report.as_deref())?;
    require_samples(log, &fused)?;
    say!("{} samples in prompts, {} outside", fused.samples_used, fused.samples_outside);
    output::table(args.out.as_deref(), &records_csv(&phase_records(&fused, &options))?)
}

fn require_prompts(file: &Path, prompts: &[Prompt]) -> Result<(), Error> {
    match prompts.is_empty() {
        true => Err(Error::invalid("it has no prompt").in_file(file)),
        false => Ok(()),
    }
}

/// Samples that lie in no prompt are an error of the fusion itself; here, that there are none.
fn require_samples(log: &Path, fused: &Fused) -> Result<(), Error> {
    match fused.samples_used {
        0 => Err(Error::invalid("it has no sample with a time").in_file(log)),
        _ => Ok(()),
    }
}

fn options(args: &Args, zone: Zone) -> FuseOptions {
    FuseOptions {
        boundary: match args.boundary {
            BoundaryArg::Auto => Boundary::Auto,
            BoundaryArg::Prefill => Boundary::Prefill,
            BoundaryArg::FirstToken => Boundary::FirstToken,
        },
        max_gap_s: args.max_gap,
        lag_s: args.lag,
        min_samples: args.min_samples,
        negative_power: if args.clamp_negative {
            NegativePower::ClampToZero
        } else {
            NegativePower::Keep
        },
        ..FuseOptions::new(zone)
    }
}

/// Fuses one pair of a corpus into its partition; the number of prompts.
fn to_parquet(args: &Args, root: &Path, config: &Config, info: &Path) -> Result<usize, Error> {
    let (records, _) = read_prompts(&TextTable::open(info)?)?;
    require_prompts(info, &records)?;
    let open = || open_log(&log_of(info), None, &CsvOptions::default());
    let zone = match &args.tz {
        Some(name) => Zone::parse(name)?,
        None => infer_zone(&records, open()?.as_mut())?.zone,
    };
    let options = options(args, zone);
    let fused = fuse(records, open()?.as_mut(), &options)?;
    require_samples(&log_of(info), &fused)?;
    let partition = Partition {
        platform: config.platform.name().to_owned(),
        backend: config.backend.name().to_owned(),
        model: config.model.clone(),
        format: config.dtype.clone(),
        sweep: match config.sweep {
            Sweep::Main => "main".to_owned(),
            Sweep::S1 => "s1".to_owned(),
            Sweep::S2 { output } => format!("s2-{output}"),
        },
    };
    write_partition(root, &partition, &phase_records(&fused, &options))?;
    Ok(fused.prompts.len())
}

fn sibling(info: &Path, kind: &str) -> PathBuf {
    let name = info.file_name().and_then(|n| n.to_str()).unwrap_or_default();
    info.with_file_name(name.replacen("INFO_", kind, 1))
}

fn log_of(info: &Path) -> PathBuf {
    sibling(info, "TGS_")
}

/// Every INFO file with its log; one that fails does not stop the others.
fn each_pair(
    root: &Path,
    one: &(dyn Fn(&Config, &Path) -> Result<usize, Error> + Sync),
) -> Result<(), Failure> {
    let files = layout_files(root, "INFO_")?;
    if files.is_empty() {
        return Err(Failure::input(format!("{}: no INFO_*.csv in Hydra's layout", root.display())));
    }
    let results = in_threads(&files, &|(config, info)| one(config, info));
    let (mut prompts, mut failed) = (0, 0);
    for ((config, _), result) in files.iter().zip(&results) {
        match result {
            Ok(n) => prompts += n,
            Err(e) => {
                failed += 1;
                say!("{config}: {e}");
            }
        }
    }
    say!("fused {} of {} files, {prompts} prompts", files.len() - failed, files.len());
    if failed > 0 {
        return Err(Failure::Failed(format!("{failed} files could not be fused")));
    }
    Ok(())
}

/// `one` on every item, one at a time in each thread. Not rayon: Parquet is written in a thread pool
/// of its own, and a rayon thread that waits for it begins the next item on top of this one; at the
/// end a corpus lies in memory.
fn in_threads<I: Sync, T: Send>(items: &[I], one: &(dyn Fn(&I) -> T + Sync)) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..rayon::current_num_threads().min(items.len()) {
            scope.spawn(|| {
                loop {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(i) else { return };
                    let result = one(item);
                    done.lock().unwrap_or_else(|e| e.into_inner()).push((i, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(|e| e.into_inner());
    done.sort_unstable_by_key(|(i, _)| *i);
    done.into_iter().map(|(_, result)| result).collect()
}
