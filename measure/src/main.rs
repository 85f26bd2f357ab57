//! `measure`: measurement tables from simulated devices, logs, Hydra's corpus and this device.

mod calibrate;
mod collect;
mod distinct;
mod failure;
mod fit_length;
mod fuse;
mod hydra;
mod import;
mod output;
mod read;
mod shape;
mod simulate;
mod synthesize;
mod values;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use enerinfer_artifacts::console;

use failure::Failure;
use output::say;

const EXAMPLES: &str = "\
Examples:
  measure read tegrastats.log --tz America/New_York --out samples.csv
  measure fuse --prompts INFO_m_F16_.csv --log TGS_m_F16_.csv
  measure import sweep.csv --platform orin-nano --format q4_k_m --out measurements.csv
  measure fit-length runs.csv --out lengths.csv
  measure simulate --platform orin --out measurements.csv
  measure calibrate --platform orin
  measure synthesize --platform orin --count 300 --out models/
  measure collect --platform board --models models/ --engine llama-cpp --out board.csv
  measure shape model.gguf
  measure hydra check corpus/

Exit codes: 0 done, 1 failed or a check did not pass, 2 usage or bad input.";

#[derive(Parser)]
#[command(name = "measure", version, about = "Makes measurement tables", after_help = EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Reads a telemetry log of any format into one table of samples
    Read(read::Args),
    /// Fuses per-prompt timing with a telemetry log, phase by phase
    Fuse(fuse::Args),
    /// Makes a measurement table of benchmark results
    Import(import::Args),
    /// Fits time over length, prefill and decode apart
    FitLength(fit_length::Args),
    /// Makes a measurement table of a simulated device
    Simulate(simulate::Args),
    /// Fits a simulated device to published figures
    Calibrate(calibrate::Args),
    /// Writes untrained models of sampled shapes, for engines to run
    Synthesize(synthesize::Args),
    /// Measures models on this device: an engine at every operating point
    Collect(Box<collect::Args>),
    /// Reads the shape of a model from a GGUF file or a config.json
    Shape(shape::Args),
    /// Hydra's corpus: tables, figures, checks
    #[command(subcommand)]
    Hydra(hydra::Verb),
}

fn main() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => run(cli.verb),
        // --help and --version are such "errors", and may be lost like any other output.
        Err(e) if !e.use_stderr() => console::delivered(e.print()).map_err(Into::into),
        Err(e) => e.exit(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(f) => {
            say!("measure: {f}");
            f.exit_code()
        }
    }
}

fn run(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Read(a) => read::run(&a),
        Verb::Fuse(a) => fuse::run(&a),
        Verb::Import(a) => import::run(&a),
        Verb::FitLength(a) => fit_length::run(&a),
        Verb::Simulate(a) => simulate::run(&a),
        Verb::Calibrate(a) => calibrate::run(&a),
        Verb::Synthesize(a) => synthesize::run(&a),
        Verb::Collect(a) => collect::run(&a),
        Verb::Shape(a) => shape::run(&a),
        Verb::Hydra(v) => hydra::run(&v),
    }
}
