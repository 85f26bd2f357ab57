//! `measure fit-length`: a length sweep to one time model of prefill and one of decode.

use std::collections::BTreeMap;
use std::path::PathBuf;

use enerinfer_telemetry::Error;
use enerinfer_telemetry::runs::{GateOptions, Run, fit_length, gate, read_runs};

use crate::distinct::Files;
use crate::failure::Failure;
use crate::output::{self, say};

#[derive(clap::Args)]
#[command(after_help = "Example:\n  measure fit-length runs.csv --out lengths.csv

Runs: CSV of any tool or ollama JSON lines, with tokens and times (or throughput) per phase, e.g.
  model,accel_mhz,mem_mhz,prompt_tokens,prefill_s,output_tokens,decode_s

Fitted per model and operating point: prefill time over prompt tokens, decode time over generated
tokens, seconds = base_s + per_token_s * tokens. A phase with fewer than three runs or one length
only is not fitted, and named.")]
pub(crate) struct Args {
    /// The runs
    runs: PathBuf,
    /// Table to write; stdout if absent
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// Model and clocks as printed: one line of time over length holds at one operating point only.
type Group = (String, String, String);
type Points = Vec<(f64, f64)>;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    Files::default()
        .read("RUNS", [args.runs.as_path()])
        .write("--out", args.out.as_deref())
        .check()?;
    let bytes = std::fs::read(&args.runs).map_err(|e| Error::io(&args.runs, e))?;
    let (runs, read) = read_runs(&bytes).map_err(|e| e.in_file(&args.runs))?;
    output::tally(&args.runs, &read, None)?;
    let gated = gate(runs, &GateOptions::default());
    output::tally("quality gate".as_ref(), &gated.tally, None)?;
    let mut groups: BTreeMap<Group, [Points; 2]> = BTreeMap::new();
    for (run, _) in &gated.runs {
        let clock = |mhz: Option<f64>| mhz.map(|m| m.to_string()).unwrap_or_default();
        let key = (run.model.clone(), clock(run.accel_mhz), clock(run.mem_mhz));
        let points = groups.entry(key).or_default();
        points[0].extend(prefill(run));
        points[1].extend(decode(run));
    }
    let mut table = "model,accel_mhz,mem_mhz,phase,base_s,per_token_s,r2,points\n".to_owned();
    let mut fitted = 0;
    for ((model, accel, mem), phases) in &groups {
        for (phase, points) in ["prefill", "decode"].iter().zip(phases) {
            if let Some(m) = fit_length(points) {
                fitted += 1;
                let name = model.replace('"', "\"\"");
                table.push_str(&format!(
                    "\"{name}\",{accel},{mem},{phase},{},{},{},{}\n",
                    m.base_s, m.per_token_s, m.r2, m.points
                ));
            } else {
                say!(
                    "not fitted: {model} at {accel}/{mem} MHz, {phase}: {} runs; three runs of \
                     more than one length are needed",
                    points.len()
                );
            }
        }
    }
    if fitted == 0 {
        return Err(Failure::input(format!("{}: nothing can be fitted", args.runs.display())));
    }
    output::table(args.out.as_deref(), table.as_bytes())
}

/// Prompt tokens and prefill time. The gate has taken the throughput of prefill away where its time
/// is not one of prefill (cached prompt, copied column), so the time follows from it.
fn prefill(run: &Run) -> Option<(f64, f64)> {
    point(run.prompt_tokens?, run.prefill_tok_per_s?)
}

/// Generated tokens and decode time.
fn decode(run: &Run) -> Option<(f64, f64)> {
    point(run.output_tokens?, run.decode_tok_per_s?)
}

fn point(tokens: f64, tok_per_s: f64) -> Option<(f64, f64)> {
    (tokens > 0.0 && tok_per_s > 0.0).then(|| (tokens, tokens / tok_per_s))
}
