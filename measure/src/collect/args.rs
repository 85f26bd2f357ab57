//! Options of `measure collect`.

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use enerinfer_datasets::WeightFormat;

use crate::values;

#[derive(clap::Args)]
#[command(after_help = "Examples:
  measure collect --platform board --models models/ --engine-command \
'llama-bench -m {model} -t {threads} -p {prompt} -n {tokens} -r 1 -o json' --pattern llama-bench \
--threads 4 --out board.csv
  measure collect --platform host_cpu --engine llama-cpp --synthesize 120 --params 30M..1B \
--format q4_0 --threads 1,2 --out host_cpu.csv --time-budget 5m
  measure collect … --dry-run          what it will cost

Placeholders of --engine-command: {model} {threads} {prompt} {tokens}. Groups of --pattern: \
tok_per_s, ms_per_token, prefill_ms, prefill_tok_per_s, ttft_ms, tokenize_ms, detokenize_ms, \
power_w; or the word llama-bench for its JSON.

The journal (OUT.journal unless named) has every run. After a crash, a power cut or a spent \
budget the same command goes on where it was.")]
pub(crate) struct Args {
    /// Platform name
    #[arg(long)]
    pub(super) platform: String,
    #[command(flatten)]
    pub(super) engine: EngineArgs,
    #[command(flatten)]
    pub(super) models: ModelArgs,
    #[command(flatten)]
    pub(super) clocks: ClockArgs,
    #[command(flatten)]
    pub(super) runs: RunArgs,
    #[command(flatten)]
    pub(super) power: PowerArgs,
    /// Table to write; several weight formats go to OUT-FORMAT.csv each
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
    /// Also write the spread of each cell's runs
    #[arg(long, value_name = "FILE")]
    pub(super) spread: Option<PathBuf>,
    /// Journal [default: OUT.journal]
    #[arg(long, value_name = "FILE")]
    pub(super) journal: Option<PathBuf>,
    /// How it was measured, for the source column
    #[arg(long, default_value = "collect")]
    pub(super) how: String,
    /// Say what it will cost, and end
    #[arg(long)]
    pub(super) dry_run: bool,
    /// No progress
    #[arg(long)]
    pub(super) quiet: bool,
    /// Folder that stands for `/`, e.g. in a container
    #[arg(long, default_value = "/")]
    pub(super) root: PathBuf,
}

#[derive(clap::Args)]
pub(super) struct EngineArgs {
    /// An engine in this program (if it was built with it)
    #[arg(long, value_enum, required_unless_present = "engine_command")]
    pub(super) engine: Option<EngineKind>,
    /// Template of a command that runs a model once
    #[arg(long, value_name = "TEMPLATE", conflicts_with = "engine", requires = "pattern")]
    pub(super) engine_command: Option<String>,
    /// How its output tells the speed; several may be given
    #[arg(long, value_name = "REGEX")]
    pub(super) pattern: Vec<String>,
    /// Its name in the table
    #[arg(long, value_name = "NAME", default_value = "command", requires = "engine_command")]
    pub(super) engine_name: String,
    /// Longest time of a run
    #[arg(long, value_name = "TIME", default_value = "10m", value_parser = values::duration)]
    pub(super) timeout: Duration,
}

#[derive(Clone, Copy, ValueEnum)]
pub(super) enum EngineKind {
    /// llama.cpp (feature engine-llama-cpp)
    LlamaCpp,
    /// candle, in pure Rust (feature engine-candle). Takes its threads from RAYON_NUM_THREADS
    Candle,
}

#[derive(clap::Args)]
pub(super) struct ModelArgs {
    /// Folder of GGUF files to measure
    #[arg(long, value_name = "DIR", required_unless_present = "synthesize")]
    pub(super) models: Option<PathBuf>,
    /// Measure this many synthetic models: written, measured, removed, one at a time
    #[arg(long, value_name = "N", conflicts_with = "models")]
    pub(super) synthesize: Option<usize>,
    /// Their sizes, even on a logarithmic scale (e.g. 30M..1B); as the survey's if absent
    #[arg(long, value_name = "RANGE", requires = "synthesize", value_parser = params)]
    pub(super) params: Option<RangeInclusive<u64>>,
    /// Their weight formats
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "q4_0", value_parser = values::format)]
    pub(super) format: Vec<WeightFormat>,
    /// Give them a vocabulary, so that tokenisation is timed too
    #[arg(long, requires = "synthesize")]
    pub(super) vocabulary: bool,
    /// Seed of the shapes
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) shape_seed: u64,
    /// Where they are written [default: the system's temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(super) folder: Option<PathBuf>,
    /// Of all models, only those of these names
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) only: Vec<String>,
}

#[derive(clap::Args)]
pub(super) struct ClockArgs {
    /// Threads of the engine. Several are operating points of their own: clocks are then left
    /// alone, and accel_mhz is the number of threads
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) threads: Vec<u32>,
    /// Leave clocks alone: one operating point
    #[arg(long)]
    pub(super) no_clocks: bool,
    /// Accelerator by its devfreq name; found if absent
    #[arg(long, value_name = "NAME", conflicts_with = "cpu_policy")]
    pub(super) accelerator: Option<String>,
    /// A CPU cluster as the accelerator, e.g. policy4
    #[arg(long, value_name = "POLICY")]
    pub(super) cpu_policy: Option<String>,
    /// Accelerator clocks, MHz; all of the device's if absent
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::mhz_as_khz)]
    pub(super) accel_mhz: Vec<u32>,
    /// Memory clocks, MHz; all of the device's if absent
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = values::mhz_as_khz)]
    pub(super) mem_mhz: Vec<u32>,
    /// Time that clocks take to settle
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::duration)]
    pub(super) settle: Duration,
}

#[derive(clap::Args)]
pub(super) struct RunArgs {
    /// Prompt length in tokens, or one of Hydra's: ifeval (50), ruler-1k, ruler-3k, ruler-5k
    #[arg(long, value_name = "LENGTH", default_value = "64", value_parser = prompt)]
    pub(super) prompt: u32,
    /// Tokens to decode
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(super) tokens: u32,
    /// Tokens to decode before, untimed
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=10_000))]
    pub(super) warm_up: u32,
    /// Fewest runs of each model at each operating point
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) repetitions: u32,
    /// Most runs; between the two, until the confidence interval is narrow [default: twice --repetitions]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) max_repetitions: Option<u32>,
    /// Half-width of the 95 % confidence interval that is narrow enough, % of the mean
    #[arg(long, value_name = "PERCENT", default_value_t = 3.0, allow_negative_numbers = true, value_parser = values::percent)]
    pub(super) ci_percent: f64,
    /// Discard runs whose decode phase got less CPU time than this share of threads × wall time;
    /// 0 keeps them. For engines in this program
    #[arg(long, value_name = "SHARE", default_value_t = 0.9, allow_negative_numbers = true, value_parser = values::share)]
    pub(super) min_cpu_share: f64,
    /// Discard runs that begin at a higher load average
    #[arg(long, value_name = "LOAD", allow_negative_numbers = true, value_parser = values::number(0.0..=1e6))]
    pub(super) max_load: Option<f64>,
    /// Discard runs that get hotter
    #[arg(long, value_name = "CELSIUS", allow_negative_numbers = true, value_parser = values::celsius)]
    pub(super) max_temp_c: Option<f64>,
    /// Begin no run later than this; the same command then goes on another time
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub(super) time_budget: Option<Duration>,
    /// Seed of the order
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
}

#[derive(clap::Args)]
pub(super) struct PowerArgs {
    /// Sensors whose sum is power_w, e.g. ina3221/VDD_IN
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) power: Vec<String>,
    /// Sensors whose sum is accel_power_w
    #[arg(long, value_name = "LIST", value_delimiter = ',', requires = "power")]
    pub(super) accel_power: Vec<String>,
    /// Log of an external meter: power_w by time. Its clock and ours must agree
    #[arg(long, value_name = "FILE", conflicts_with_all = ["power", "accel_power"])]
    pub(super) meter: Option<PathBuf>,
    /// Its power channel, where it has several
    #[arg(long, value_name = "NAME", requires = "meter")]
    pub(super) meter_channel: Option<String>,
    /// Time zone of its stamps
    #[arg(long, value_name = "ZONE", default_value = "UTC", allow_hyphen_values = true)]
    pub(super) meter_tz: String,
    /// What the columns of its CSV are: `channel=column[:unit],…; time=column[:s|ms|us|ns]`
    #[arg(long, value_name = "MAP", requires = "meter")]
    pub(super) meter_columns: Option<String>,
    /// What power_w is of
    #[arg(long, value_name = "NAME", default_value = "accel+mem")]
    pub(super) power_domain: String,
    /// Time between samples
    #[arg(long, value_name = "TIME", default_value = "100ms", value_parser = values::duration)]
    pub(super) sample_every: Duration,
}

fn prompt(text: &str) -> Result<u32, String> {
    match text {
        // Hydra's second sweep takes IFEval prompts of 40 to 60 tokens, its first RULER's.
        "ifeval" => Ok(50),
        "ruler-1k" => Ok(1000),
        "ruler-3k" => Ok(3000),
        "ruler-5k" => Ok(5000),
        number => match number.parse() {
            Ok(n) if n <= 131_072 => Ok(n),
            _ => Err("a number of tokens, ifeval, ruler-1k, ruler-3k or ruler-5k".to_owned()),
        },
    }
}

fn params(text: &str) -> Result<RangeInclusive<u64>, String> {
    let known = 1_000_000..=1_000_000_000_000;
    let one = |text: &str| values::param_count(text).ok().filter(|n| known.contains(n));
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    match (one(low), one(high)) {
        (Some(low), Some(high)) if low <= high => Ok(low..=high),
        _ => Err("a range such as 30M..1B is needed".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_and_lengths_are_read() {
        assert_eq!(params("30M..1B"), Ok(30_000_000..=1_000_000_000));
        assert_eq!(prompt("ifeval"), Ok(50));
        for bad in ["1B..30M", "x..y", "", "30..40"] {
            assert!(params(bad).is_err(), "{bad}");
        }
        assert!(prompt("long").is_err());
    }
}
