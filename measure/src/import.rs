//! `measure import`: benchmark results to a measurement table.

use std::path::{Path, PathBuf};

use enerinfer_datasets::{WeightFormat, read_models, survey};
use enerinfer_telemetry::llama_bench::{BenchFormat, read_bench};
use enerinfer_telemetry::parquet::read_table;
use enerinfer_telemetry::runs::{
    GateOptions, Run, TableSpec, gate, measurement_table, read_runs, runs_of_bench, runs_of_table,
};
use enerinfer_telemetry::{Error, Tally};

use crate::distinct::Files;
use crate::failure::Failure;
use crate::output::{self, say};
use crate::values;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  measure import sweep.csv --platform orin-nano --format q4_k_m --how 'clock sweep' --out m.csv
  measure import bench.json --accel-mhz 1300 --mem-mhz 3199 --platform orin --format q4_k_m \
--shapes shapes.csv --out m.csv

Results: CSV or Parquet of any tool, ollama JSON lines, llama-bench in each of its formats. Shapes: columns \
model,layers,hidden,heads,ffn,vocab and optionally kv_heads,head_dim,ffn_kind,tied,experts,\
active_experts,total_params; models.csv of `measure synthesize` is one.")]
pub(crate) struct Args {
    /// Result files; with llama-bench one per operating point, unless it is the only point
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// Platform name
    #[arg(long)]
    platform: String,
    /// Weight format, e.g. q4_k_m
    #[arg(long, value_parser = values::format)]
    format: WeightFormat,
    /// Inference engine
    #[arg(long, default_value = "llama.cpp")]
    engine: String,
    /// What the power columns are of, e.g. input:VDD_IN
    #[arg(long)]
    power_domain: Option<String>,
    /// How it was measured, for the source column
    #[arg(long, default_value = "import")]
    how: String,
    /// Accelerator clock of runs that do not state one, MHz; one per file or one for all
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true, value_parser = values::mhz)]
    accel_mhz: Vec<f64>,
    /// Memory clock likewise, MHz
    #[arg(long, value_delimiter = ',', allow_negative_numbers = true, value_parser = values::mhz)]
    mem_mhz: Vec<f64>,
    /// Shapes of models that the survey does not know
    #[arg(long, value_name = "FILE")]
    shapes: Option<PathBuf>,
    /// Runs with fewer samples are flagged
    #[arg(long, default_value_t = 3)]
    min_samples: u32,
    /// Refuse flagged runs too
    #[arg(long)]
    strict: bool,
    /// Table to write; stdout if absent
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also write the gate's counts as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    Files::default()
        .read("RESULTS", args.results.iter().map(PathBuf::as_path))
        .read("--shapes", args.shapes.as_deref())
        .write("--out", args.out.as_deref())
        .write("--report", args.report.as_deref())
        .check()?;
    let mut runs = Vec::new();
    for (i, path) in args.results.iter().enumerate() {
        let clock =
            |given: &[f64]| given.get(i).or(given.first().filter(|_| given.len() == 1)).copied();
        let (found, tally) = read_file(path, clock(&args.accel_mhz), clock(&args.mem_mhz))
            .map_err(|e| e.in_file(path))?;
        output::tally(path, &tally, None)?;
        runs.extend(found);
    }
    let mut gated =
        gate(runs, &GateOptions { min_samples: args.min_samples, ..GateOptions::default() });
    if args.strict {
        gated.runs.retain(|(_, flags)| flags.is_empty());
    }
    output::tally(Path::new("quality gate"), &gated.tally, args.report.as_deref())?;
    let shapes = args.shapes.as_deref().map(read_models).transpose();
    let shapes = shapes.map_err(|e| Failure::input(e.to_string()))?.unwrap_or_default();
    let shape = |name: &str| {
        let given = shapes.iter().find(|m| m.name == name).map(|m| m.shape);
        given.or_else(|| survey::find(name).map(|m| m.shape))
    };
    let spec = TableSpec {
        platform: args.platform.clone(),
        engine: args.engine.clone(),
        format: args.format,
        power_domain: args.power_domain.clone(),
        how: args.how.clone(),
    };
    let table = measurement_table(&gated, &spec, &shape)?;
    say!("{} models at {} operating points", table.models.len(), table.platform.clocks.len());
    output::table(args.out.as_deref(), table.to_csv().as_bytes())
}

fn read_file(
    path: &Path,
    accel_mhz: Option<f64>,
    mem_mhz: Option<f64>,
) -> Result<(Vec<Run>, Tally), Error> {
    if path.extension().is_some_and(|e| e == "parquet") {
        let (mut runs, tally) = runs_of_table(&read_table(path)?)?;
        fill_clocks(&mut runs, accel_mhz, mem_mhz);
        return Ok((runs, tally));
    }
    let bytes = std::fs::read(path).map_err(|e| Error::io(path, e))?;
    if BenchFormat::detect(&String::from_utf8_lossy(&bytes)).is_some() {
        let (rows, mut tally) = read_bench(&bytes)?;
        let (runs, left_out) = runs_of_bench(&rows, accel_mhz, mem_mhz);
        tally.accepted -= left_out.refused;
        tally.merge(&Tally { accepted: 0, repaired: 0, ..left_out });
        return Ok((runs, tally));
    }
    let (mut runs, tally) = read_runs(&bytes)?;
    fill_clocks(&mut runs, accel_mhz, mem_mhz);
    Ok((runs, tally))
}

fn fill_clocks(runs: &mut [Run], accel_mhz: Option<f64>, mem_mhz: Option<f64>) {
    for r in runs {
        r.accel_mhz = r.accel_mhz.or(accel_mhz);
        r.mem_mhz = r.mem_mhz.or(mem_mhz);
    }
}
