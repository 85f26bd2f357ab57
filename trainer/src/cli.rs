//! Command line of `train`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use enerinfer_artifacts::Target;
use enerinfer_codegen::Optimise;

use crate::{Family, FeatureSet};

/// Learn throughput and power predictors for a platform, and compile them for its firmware.
#[derive(Debug, Parser)]
#[command(
    name = "train",
    version,
    about,
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  train --platform orin                                the whole job on the simulated AGX Orin
  train --platform orin --trials 50                    a first run, in a minute
  train --platform orin --resume --pick power=20000    another point of the size-accuracy front
  train --platform myboard --measurements table.csv    on your own measurements
  train choose --measurements table.csv --qoe 5        best clocks for 5 tokens/s, no training
  train evaluate --all                                 the papers' figures for all devices
  train --list-platforms                               what can be simulated

Outputs go to out/<platform>/: measurements.csv, bundle.enerinfer, report.{json,html,md} and the
crate enerinfer-runtime/; search.jsonl keeps every trial, with its time. Exit codes: 0 done, 1 failed, 2 usage or bad input."
)]
pub struct Cli {
    /// Verb; without one, the whole job is run.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of the whole job.
    #[command(flatten)]
    pub train: TrainArgs,
}

/// Verbs beside the whole job.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Choose the most efficient operating point for a QoE from measurements, without training
    #[command(after_help = "\
Example:
  train choose --measurements table.csv --qoe 5 --model Qwen2-1.5B")]
    Choose(ChooseArgs),
    /// Write the papers' figures and tables for simulated devices, beside the published values
    #[command(after_help = "\
Examples:
  train evaluate --all                                 every device and figure, in one report
  train evaluate --platform h_phone,laptop             some devices
  train evaluate --all --only fig5,fig7                some figures; these need no training

The report goes to out/evaluation/: evaluation.{json,html,md}; search/ keeps every trial.")]
    Evaluate(EvaluateArgs),
}

/// Options of the whole job.
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// Platform to train for: a simulated one (see --list-platforms), a platform file (NAME.toml),
    /// or any name together with --measurements
    #[arg(long, value_name = "NAME")]
    pub platform: Option<String>,
    /// Weight format, where the simulated platform has several (e.g. q4_k_m)
    #[arg(long, value_name = "FORMAT", conflicts_with = "measurements")]
    pub format: Option<String>,
    /// Train on this measurement table (CSV) instead of the simulated device
    #[arg(long, value_name = "FILE")]
    pub measurements: Option<PathBuf>,
    /// Temperature traces (CSV) to fit the thermal model on, or a fitted one (JSON); formats:
    /// docs/thermal.md [default: simulated sessions, on a simulated platform]
    #[arg(long, value_name = "FILE")]
    pub thermal: Option<PathBuf>,
    /// Output folder [default: out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Random-search trials per target and family
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub trials: u32,
    /// Learner families to search [default: those that can be compiled]
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub families: Vec<Family>,
    /// Search every family, as the paper's comparison does (several times slower)
    #[arg(long, conflicts_with = "families")]
    pub all_families: bool,
    // The paper's are the default: on real measurements (datasets/measured/HOST_CPU.md) the derived
    // ones are no better.
    /// Inputs of the predictors
    #[arg(long, value_name = "SET", value_enum, default_value_t = FeatureSet::Paper)]
    pub features: FeatureSet,
    /// Train on this many models only, chosen by the seed; the held-out ones stay the same, for
    /// learning curves [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(5..))]
    pub train_models: Option<u32>,
    /// Go on with an interrupted run in the output folder; it ends with the same bytes
    #[arg(long)]
    pub resume: bool,
    /// Synthetic models to simulate
    #[arg(long, value_name = "N", default_value_t = 300, conflicts_with = "measurements", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub models: u32,
    /// Synthetic mixtures of experts to simulate besides, for predictors that know them
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "measurements", value_parser = clap::value_parser!(u32).range(0..=20_000))]
    pub moe_models: u32,
    /// Relative standard deviation of simulated measurement noise, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, allow_negative_numbers = true, conflicts_with = "measurements", value_parser = percent)]
    pub noise: f64,
    /// Flash for all predictors together, in KiB (estimated for thumbv7em); where the preferred ones
    /// need more, smaller trials or pruned forests are compiled, whichever cross-validate better
    #[arg(long, value_name = "KIB", default_value_t = 128, value_parser = clap::value_parser!(u32).range(1..=1_048_576))]
    pub flash_budget: u32,
    /// Compile for TARGET (peak, scale, power, accel_power) the most accurate predictor of at most
    /// so many compiled bytes, instead of the smallest within one standard error: a point of the
    /// report's table of size against accuracy; with --resume, no trial is scored again
    #[arg(long, value_name = "TARGET=BYTES", value_delimiter = ',', value_parser = pick)]
    pub pick: Vec<Pick>,
    /// Whether the device crate's code shall be small or fast; predictions are the same
    #[arg(long, value_name = "GOAL", value_enum, default_value_t = Optimise::Size)]
    pub optimise: Optimise,
    /// Threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// No progress on stderr
    #[arg(long)]
    pub quiet: bool,
    /// Print the platforms that can be simulated, and exit
    #[arg(long)]
    pub list_platforms: bool,
}

/// A user's limit for the predictor of one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    /// The target.
    pub target: Target,
    /// Most compiled bytes, estimated for thumbv7em.
    pub bytes: u64,
}

/// Options of `train evaluate`.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("devices").required(true).args(["all", "platform"])))]
pub struct EvaluateArgs {
    /// Every built-in device, in its default weight format
    #[arg(long)]
    pub all: bool,
    /// Devices to evaluate: names (see --list-platforms), or platform files (NAME.toml)
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub platform: Vec<String>,
    /// Figures and tables to compute, by their names in the report [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Output folder [default: out/evaluation]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Random-search trials per target, family and device
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub trials: u32,
    /// Inputs of the predictors
    #[arg(long, value_name = "SET", value_enum, default_value_t = FeatureSet::Paper)]
    pub features: FeatureSet,
    /// Synthetic models to simulate
    #[arg(long, value_name = "N", default_value_t = 300, value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub models: u32,
    /// Synthetic mixtures of experts that are trained on besides, for the topic `moe` alone
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(0..=20_000))]
    pub moe_models: u32,
    /// Relative standard deviation of simulated measurement noise, percent
    #[arg(long, value_name = "PERCENT", default_value_t = 1.0, allow_negative_numbers = true, value_parser = percent)]
    pub noise: f64,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 42)]
    pub seed: u64,
    /// Go on with an interrupted run in the output folder; it ends with the same bytes
    #[arg(long)]
    pub resume: bool,
    /// Threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// No progress on stderr
    #[arg(long)]
    pub quiet: bool,
}

/// Options of `train choose`.
#[derive(Debug, Args)]
pub struct ChooseArgs {
    /// Measurement table (CSV), or a published table by level
    #[arg(long, value_name = "FILE")]
    pub measurements: PathBuf,
    /// Throughput to exceed, tokens/s
    #[arg(long, value_name = "TOK_PER_S", allow_negative_numbers = true, value_parser = qoe)]
    pub qoe: f64,
    /// Only this model of the table
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
}

fn pick(text: &str) -> Result<Pick, String> {
    let targets = Target::COMPILED;
    let rule = || {
        let names: Vec<&str> = targets.iter().map(|t| t.name()).collect();
        format!("TARGET=BYTES is needed, with TARGET one of {}", names.join(", "))
    };
    let (name, bytes) = text.split_once('=').ok_or_else(rule)?;
    let target = targets.into_iter().find(|t| t.name() == name).ok_or_else(rule)?;
    let bytes = bytes.parse().map_err(|_| rule())?;
    Ok(Pick { target, bytes })
}

fn qoe(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(v) if (0.0..=1e6).contains(&v) => Ok(v),
        _ => Err("a number of tokens/s from 0 to 1000000 is needed".to_owned()),
    }
}

fn percent(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(v) if (0.0..=50.0).contains(&v) => Ok(v),
        _ => Err("a percentage from 0 to 50 is needed".to_owned()),
    }
}
