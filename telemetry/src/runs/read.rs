//! Reading runs from tables of any tool.

use serde_json::{Map, Value};

use super::Run;
use crate::info::refuse_doubled;
use crate::llama_bench::{BenchFlag, BenchRow, Phase};
use crate::{Error, PhaseRecord, PromptPhase, Tally, TextTable};

/// A field of [`Run`]: names it goes by (lower case) and the factor to our unit.
type Field = (&'static [(&'static str, f64)], Slot);

/// Where a value goes.
type Slot = fn(&mut Run) -> &mut Option<f64>;

const FIELDS: [Field; 16] = [
    (
        &[
            ("accel_mhz", 1.0),
            ("gpu_mhz", 1.0),
            ("gpu_freq_mhz", 1.0),
            ("gpu_freq", 1.0),
            ("npu_mhz", 1.0),
        ],
        |r| &mut r.accel_mhz,
    ),
    (
        &[
            ("gpu_mhz_achieved", 1.0),
            ("accel_mhz_achieved", 1.0),
            ("gpu_mhz_med", 1.0),
            ("gpu_mhz_tegrastats", 1.0),
        ],
        |r| &mut r.accel_mhz_achieved,
    ),
    (
        &[
            ("mem_mhz", 1.0),
            ("emc_mhz", 1.0),
            ("emc_freq_mhz", 1.0),
            ("ddr_mhz", 1.0),
            ("dmc_mhz", 1.0),
        ],
        |r| &mut r.mem_mhz,
    ),
    (
        &[
            ("mem_mhz_achieved", 1.0),
            ("emc_mhz_achieved", 1.0),
            ("emc_mhz_med", 1.0),
            ("emc_mhz_tegrastats", 1.0),
        ],
        |r| &mut r.mem_mhz_achieved,
    ),
    (
        &[
            ("throughput_tok_per_s", 1.0),
            ("decode_tok_per_s", 1.0),
            ("decode_tok_s", 1.0),
            ("tok_per_s", 1.0),
            ("tok_s", 1.0),
            ("eval_rate_tps", 1.0),
            ("gen_tps", 1.0),
            ("generation_tokens_per_sec", 1.0),
            ("gen", 1.0),
            ("tokens_per_second", 1.0),
        ],
        |r| &mut r.decode_tok_per_s,
    ),
    (&[("sd", 1.0), ("tok_s_sd", 1.0), ("stddev_ts", 1.0)], |r| &mut r.decode_std),
    (
        &[
            ("prefill_tok_per_s", 1.0),
            ("prompt_eval_rate_tps", 1.0),
            ("prompt_tokens_per_sec", 1.0),
            ("prompt", 1.0),
        ],
        |r| &mut r.prefill_tok_per_s,
    ),
    (
        &[
            ("power_w", 1.0),
            ("power_mw", 1e-3),
            ("mean_power_w", 1.0),
            ("vdd_in_busy_w", 1.0),
            ("decode_mean_w", 1.0),
            ("avg_power_w", 1.0),
            ("power", 1.0),
        ],
        |r| &mut r.power_w,
    ),
    (
        &[
            ("accel_power_w", 1.0),
            ("gpu_power_w", 1.0),
            ("gpu_power_mw", 1e-3),
            ("cpu_gpu_cv_busy_w", 1.0),
        ],
        |r| &mut r.accel_power_w,
    ),
    (
        &[
            ("prompt_tokens", 1.0),
            ("prompt_eval_count", 1.0),
            ("input_tokens", 1.0),
            ("prefill_tokens", 1.0),
        ],
        |r| &mut r.prompt_tokens,
    ),
    (
        &[
            ("output_tokens", 1.0),
            ("eval_count", 1.0),
            ("gen_tokens", 1.0),
            ("decoded_tokens", 1.0),
        ],
        |r| &mut r.output_tokens,
    ),
    (
        &[
            ("prefill_s", 1.0),
            ("prompt_eval_duration_s", 1.0),
            ("prompt_eval_duration", 1e-9),
            ("ttft_s", 1.0),
        ],
        |r| &mut r.prefill_s,
    ),
    (&[("decode_s", 1.0), ("eval_duration_s", 1.0), ("eval_duration", 1e-9)], |r| &mut r.decode_s),
    (
        &[("total_s", 1.0), ("total_duration_s", 1.0), ("total_duration", 1e-9), ("wall_s", 1.0)],
        |r| &mut r.total_s,
    ),
    (
        &[("energy_j", 1.0), ("energy_decode_j", 1.0), ("energy_mj", 1e-3), ("energy_kj", 1e3)],
        |r| &mut r.energy_j,
    ),
    (&[("throttled_samples", 1.0), ("throttled", 1.0)], |r| &mut r.throttled),
];

const SAMPLES: [&str; 6] = ["samples", "n", "n_samples", "n_busy", "sample_count", "n_prompts"];

/// Reads runs from a delimited table or from JSON lines (ollama's API).
///
/// # Errors
/// Neither form is recognised, there is no column of throughput, tokens or durations, or one stands
/// twice.
pub fn read_runs(bytes: &[u8]) -> Result<(Vec<Run>, Tally), Error> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    match bytes.trim_ascii_start().first() {
        Some(b'{') => Ok(json_lines(bytes)),
        Some(_) => table(bytes),
        None => Err(Error::invalid("the file is empty: no runs")),
    }
}

fn json_lines(bytes: &[u8]) -> (Vec<Run>, Tally) {
    let (mut runs, mut tally) = (Vec::new(), Tally::default());
    for (i, line) in bytes.split(|&b| b == b'\n').enumerate() {
        let number = i as u64 + 1;
        if line.trim_ascii().is_empty() {
            continue;
        }
        match serde_json::from_slice::<Map<String, Value>>(line) {
            Ok(cells) => {
                let mut run = Run { line: number, ..Run::default() };
                for (key, value) in &cells {
                    match value {
                        Value::Number(n) => set(&mut run, key, n.as_f64()),
                        Value::String(s) if key == "model" => s.clone_into(&mut run.model),
                        _ => {}
                    }
                }
                tally.accept(&[]);
                runs.push(run);
            }
            Err(_) => tally.refuse(number, "not a JSON object (torn line)", line),
        }
    }
    (runs, tally)
}

fn table(bytes: &[u8]) -> Result<(Vec<Run>, Tally), Error> {
    let first = bytes.split(|&b| b == b'\n').next().unwrap_or_default();
    let count = |d: u8| first.iter().filter(|&&b| b == d).count();
    let delimiter = [b',', b'|', b';', b'\t'].into_iter().max_by_key(|&d| (count(d), d == b','));
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter.unwrap_or(b','))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let header: Vec<String> = reader
        .headers()
        .map_err(|e| Error::invalid(format!("cannot read the header: {e}")))?
        .iter()
        .map(str::to_ascii_lowercase)
        .collect();
    let mut tally = Tally::default();
    check_header(&header, &mut tally)?;
    let mut runs = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|e| Error::invalid(e.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        if record.len() != header.len() {
            let text = record.iter().collect::<Vec<_>>().join(",");
            tally.refuse(line, "number of fields differs from the header", text.as_bytes());
            continue;
        }
        tally.accept(&[]);
        runs.push(run_of(line, header.iter().map(String::as_str).zip(&record)));
    }
    Ok((runs, tally))
}

/// Runs of a table that was read from another form, e.g. Parquet.
///
/// # Errors
/// No column is known, or one stands twice.
pub fn runs_of_table(table: &TextTable) -> Result<(Vec<Run>, Tally), Error> {
    let header: Vec<String> = table.header.iter().map(|h| h.to_ascii_lowercase()).collect();
    let mut tally = Tally::default();
    check_header(&header, &mut tally)?;
    let mut runs = Vec::new();
    for (row, cells) in table.rows.iter().enumerate() {
        tally.accept(&[]);
        let cells = header.iter().map(String::as_str).zip(cells.iter().map(String::as_str));
        runs.push(run_of(row as u64 + 1, cells));
    }
    Ok((runs, tally))
}

fn check_header(header: &[String], tally: &mut Tally) -> Result<(), Error> {
    if !header.iter().any(|h| field(h).is_some()) {
        return Err(Error::invalid(format!(
            "no column of `{}` is known as clock, throughput, power, tokens or duration",
            header.join(", ")
        )));
    }
    // What is not used may stand there as often as it likes.
    refuse_doubled(1, header.iter().map(|h| if quantity(h).is_some() { h.as_str() } else { "" }))?;
    for (i, h) in header.iter().enumerate() {
        match quantity(h) {
            None => tally.warn(format!("column `{h}` is not used")),
            told => {
                if let Some(other) = header[..i].iter().rfind(|o| quantity(o) == told) {
                    tally.warn(format!("columns `{other}` and `{h}` tell the same: `{h}` counts"));
                }
            }
        }
    }
    Ok(())
}

/// What a column tells, as a number that is equal for all its names.
fn quantity(name: &str) -> Option<usize> {
    if is_model(name) {
        return Some(FIELDS.len());
    }
    if SAMPLES.contains(&name) {
        return Some(FIELDS.len() + 1);
    }
    FIELDS.iter().position(|(names, _)| names.iter().any(|(n, _)| *n == name))
}

fn run_of<'a>(line: u64, cells: impl Iterator<Item = (&'a str, &'a str)>) -> Run {
    let mut run = Run { line, ..Run::default() };
    for (h, cell) in cells {
        if is_model(h) {
            cell.clone_into(&mut run.model);
        } else {
            // Some tools repeat the name in the cell: `gen=20.7`.
            let value = cell.rsplit_once('=').map_or(cell, |(_, v)| v);
            set(&mut run, h, crate::text::float(value.trim().as_bytes()));
        }
    }
    run
}

fn is_model(header: &str) -> bool {
    matches!(header, "model" | "model_name")
}

fn field(name: &str) -> Option<(f64, Slot)> {
    FIELDS.iter().find_map(|(names, get)| {
        names.iter().find(|(n, _)| *n == name).map(|(_, scale)| (*scale, *get))
    })
}

fn set(run: &mut Run, name: &str, value: Option<f64>) {
    let Some(value) = value else { return };
    if SAMPLES.contains(&name) {
        run.samples = (value >= 0.0 && value <= f64::from(u32::MAX)).then_some(value as u32);
    } else if let Some((scale, get)) = field(name) {
        *get(run) = Some(value * scale);
        if name == "vdd_in_busy_w" {
            run.power_definition = Some("input:VDD_IN".to_owned());
        }
    }
}

/// Runs of llama-bench rows, all at the same clocks. Prefill rows give prefill throughput, rows of
/// mixed phases are left out by name.
pub fn runs_of_bench(
    rows: &[BenchRow],
    accel_mhz: Option<f64>,
    mem_mhz: Option<f64>,
) -> (Vec<Run>, Tally) {
    let (mut runs, mut tally) = (Vec::new(), Tally::default());
    for (i, row) in rows.iter().enumerate() {
        let line = i as u64 + 1;
        let mut run = Run {
            line,
            model: row.model.model_type.clone(),
            accel_mhz,
            mem_mhz,
            samples: Some(row.samples),
            ..Run::default()
        };
        match row.phase() {
            Phase::Decode => {
                run.decode_tok_per_s = Some(row.tok_per_s);
                run.decode_std = Some(row.tok_per_s_std).filter(|s| !s.is_nan());
                run.prompt_tokens = Some(f64::from(row.n_depth));
                run.output_tokens = Some(f64::from(row.n_gen));
            }
            Phase::Prefill => {
                run.prefill_tok_per_s = Some(row.tok_per_s);
                run.prompt_tokens = Some(f64::from(row.n_prompt));
            }
            Phase::Mixed => {
                let text = format!("{} pg{},{}", row.model.model_type, row.n_prompt, row.n_gen);
                tally.refuse(line, BenchFlag::MixedPhases.name(), text.as_bytes());
                continue;
            }
        }
        tally.accept(&[]);
        runs.push(run);
    }
    (runs, tally)
}

/// Runs of fused records: one per prompt, from its decode phase, at the clocks that were set.
pub fn runs_of_records(
    records: &[PhaseRecord],
    accel_mhz: Option<f64>,
    mem_mhz: Option<f64>,
) -> Vec<Run> {
    let decode = records.iter().filter(|r| r.phase == PromptPhase::Decode);
    decode
        .map(|r| Run {
            line: r.prompt as u64,
            model: r.model.clone(),
            accel_mhz: accel_mhz.or(r.mean("gpu_mhz")),
            accel_mhz_achieved: r.mean("gpu_mhz"),
            mem_mhz: mem_mhz.or(r.mean("emc_mhz")),
            mem_mhz_achieved: r.mean("emc_mhz"),
            decode_tok_per_s: r.tok_per_s,
            power_w: r.total.as_ref().and_then(|p| p.mean_w),
            power_definition: r.total.as_ref().map(|p| p.definition.clone()),
            accel_power_w: r.accelerator.as_ref().and_then(|p| p.mean_w),
            output_tokens: r.tokens,
            decode_s: Some((r.end_ns - r.start_ns) as f64 / 1e9),
            energy_j: r.total.as_ref().and_then(|p| p.energy_j.filter(|_| p.covered > 0.9)),
            samples: Some(u32::try_from(r.samples).unwrap_or(u32::MAX)),
            ..Run::default()
        })
        .collect()
}
