//! Per-prompt timing records with a meaning: Hydra's INFO columns of both backends, and tables
//! with the same quantities under other names.

use crate::time::parse_stamp;
use crate::{Error, Stamp, Tally, TextTable, TimeUnit};

/// llama.cpp's own counters for a prompt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EngineCounters {
    /// Prompt evaluation, ms.
    pub prompt_eval_ms: f64,
    /// Token generation, ms.
    pub eval_ms: f64,
    /// Prompt tokens evaluated.
    pub n_prompt_eval: f64,
    /// Tokens generated with a forward pass.
    pub n_eval: f64,
}

/// Timing of one prompt. Durations in seconds; variances in s² (population).
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// Row of the table, from 1.
    pub row: usize,
    /// Start, UTC ns.
    pub start_ns: i64,
    /// End, UTC ns.
    pub end_ns: i64,
    /// Model name; empty if not stated.
    pub model: String,
    /// Tokenisation.
    pub tokenization_s: f64,
    /// Forward pass over the prompt, as the profiler saw it.
    pub prefill_s: f64,
    /// Time to first token.
    pub ttft_s: Option<f64>,
    /// Mean time of generating a token.
    pub generation_s: Option<f64>,
    /// Its variance.
    pub generation_var: Option<f64>,
    /// Mean time of turning a token into text.
    pub detokenization_s: Option<f64>,
    /// Its variance.
    pub detokenization_var: Option<f64>,
    /// Mean inter-token latency.
    pub itl_s: Option<f64>,
    /// Its variance.
    pub itl_var: Option<f64>,
    /// End-to-end latency.
    pub end_to_end_s: Option<f64>,
    /// Generation of all tokens.
    pub total_generation_s: Option<f64>,
    /// Prompt tokens.
    pub input_tokens: Option<f64>,
    /// Generated tokens.
    pub output_tokens: Option<f64>,
    /// llama.cpp's counters.
    pub counters: Option<EngineCounters>,
}

impl Prompt {
    /// End of prefill by the profiler's own timer: tokenisation + prefill after the start.
    pub fn prefill_end_ns(&self) -> i64 {
        self.start_ns + ((self.tokenization_s + self.prefill_s) * 1e9) as i64
    }

    /// Instant of the first token, if stated.
    pub fn first_token_ns(&self) -> Option<i64> {
        self.ttft_s.map(|t| self.start_ns + (t * 1e9) as i64)
    }

    /// Decode throughput without the first token, which needs no forward pass: 1 / ITL.
    pub fn decode_tok_per_s(&self) -> Option<f64> {
        self.itl_s.filter(|t| *t > 0.0).map(|t| 1.0 / t)
    }

    /// Prefill throughput, tokens/s: prompt tokens over `seconds`.
    pub fn prefill_tok_per_s(&self, seconds: f64) -> Option<f64> {
        self.input_tokens.filter(|n| *n > 0.0 && seconds > 0.0).map(|n| n / seconds)
    }
}

const IDENTITY: &str = "INFO identity broken: time to first token below tokenisation + prefill";
const SHORT_E2E: &str = "INFO identity broken: end-to-end latency below the sum of its stages";

/// Reads timing records; a row that cannot be used is refused by number, the others stay.
///
/// # Errors
/// A required column is missing: start and end time, prefill time.
pub fn read_prompts(table: &TextTable) -> Result<(Vec<Prompt>, Tally), Error> {
    let columns = Columns::from_names(|name| table.column(name))
        .map_err(|e| Error::invalid(format!("{e}; there are {}", table.header.join(", "))))?;
    let mut tally = Tally::default();
    let mut prompts = Vec::new();
    for row in 0..table.rows.len() {
        match columns.prompt_from(row + 1, &|c| table.rows[row][c].as_bytes()) {
            Ok((prompt, repairs)) => {
                tally.accept(&repairs);
                prompts.push(prompt);
            }
            Err(reason) => {
                let line = row as u64 + 2;
                tally.refuse(line, reason, table.rows[row].join(",").as_bytes());
            }
        }
    }
    Ok((prompts, tally))
}

/// Where the quantities stand in a table.
#[derive(Clone, Debug)]
pub(crate) struct Columns {
    start: usize,
    end: usize,
    prefill: usize,
    model: Option<usize>,
    optional: Vec<Option<usize>>,
}

const TOKENIZATION: usize = 0;
const TTFT: usize = 1;
const GENERATION: usize = 2;
const DETOKENIZATION: usize = 4;
const ITL: usize = 6;
const E2E: usize = 8;
const TOTAL: usize = 9;
const INPUT: usize = 10;
const OUTPUT: usize = 11;
const COUNTERS: usize = 12;

impl Columns {
    pub(crate) fn from_names(find: impl Fn(&str) -> Option<usize>) -> Result<Self, Error> {
        let any = |names: &[&str]| names.iter().find_map(|n| find(n));
        let require = |names: &[&str]| {
            any(names).ok_or_else(|| Error::invalid(format!("column `{}` is missing", names[0])))
        };
        let optional: [&[&str]; 16] = [
            &["tokenization_time"],
            &["time_to_first_token", "ttft_s", "ttft"],
            &["mean_token_generation_time"],
            &["variance_token_generation_time"],
            &["mean_token_decode_time"],
            &["variance_token_decode_time"],
            &["mean_inter_token_latency"],
            &["variance_inter_token_latency"],
            &["end_to_end_latency"],
            &["total_generation_time"],
            &["total_number_of_tokens_in_input", "input_tokens", "prompt_tokens"],
            &["output_length", "output_tokens", "gen_tokens"],
            &["llama_t_p_eval_ms"],
            &["llama_t_eval_ms"],
            &["llama_n_p_eval"],
            &["llama_n_eval"],
        ];
        Ok(Columns {
            start: require(&["start_time", "start_time_ns", "start_ns"])?,
            end: require(&["end_time", "end_time_ns", "end_ns"])?,
            prefill: require(&["prefill_time", "prefill_s"])?,
            model: any(&["model_name", "model"]),
            optional: optional.iter().map(|names| any(names)).collect(),
        })
    }

    pub(crate) fn prompt_from<'a>(
        &self,
        row: usize,
        cell: &dyn Fn(usize) -> &'a [u8],
    ) -> Result<(Prompt, Vec<&'static str>), &'static str> {
        let time = |c: usize| {
            let text = cell(c).trim_ascii();
            let whole = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
            match parse_stamp(text, whole.then_some(TimeUnit::Nanos)) {
                Some(Stamp::Utc(ns)) => Ok(ns),
                Some(_) => Err("start or end time has no zone"),
                None => Err("start or end time cannot be read"),
            }
        };
        let number = |c: usize| crate::text::float(cell(c).trim_ascii());
        let get = |i: usize| self.optional[i].and_then(number);
        let counters =
            match (get(COUNTERS), get(COUNTERS + 1), get(COUNTERS + 2), get(COUNTERS + 3)) {
                (Some(prompt_eval_ms), Some(eval_ms), Some(n_prompt_eval), Some(n_eval)) => {
                    Some(EngineCounters { prompt_eval_ms, eval_ms, n_prompt_eval, n_eval })
                }
                _ => None,
            };
        let p = Prompt {
            row,
            start_ns: time(self.start)?,
            end_ns: time(self.end)?,
            model: self
                .model
                .map_or_else(String::new, |c| String::from_utf8_lossy(cell(c)).into_owned()),
            tokenization_s: get(TOKENIZATION).unwrap_or(0.0),
            prefill_s: number(self.prefill).ok_or("prefill time is not a number")?,
            ttft_s: get(TTFT),
            generation_s: get(GENERATION),
            generation_var: get(GENERATION + 1),
            detokenization_s: get(DETOKENIZATION),
            detokenization_var: get(DETOKENIZATION + 1),
            itl_s: get(ITL),
            itl_var: get(ITL + 1),
            end_to_end_s: get(E2E),
            total_generation_s: get(TOTAL),
            input_tokens: get(INPUT),
            output_tokens: get(OUTPUT),
            counters,
        };
        check(&p).map(|repairs| (p, repairs))
    }
}

/// Refuses what cannot be, names what is odd.
fn check(p: &Prompt) -> Result<Vec<&'static str>, &'static str> {
    if p.end_ns <= p.start_ns {
        return Err("the prompt ends before it starts");
    }
    let durations = [
        Some(p.tokenization_s),
        Some(p.prefill_s),
        p.ttft_s,
        p.generation_s,
        p.detokenization_s,
        p.itl_s,
        p.end_to_end_s,
        p.total_generation_s,
    ];
    if durations.iter().flatten().any(|d| *d < 0.0) {
        return Err("a duration is negative");
    }
    // Also catches phases in another unit than the total.
    let length_s = (p.end_ns - p.start_ns) as f64 / 1e9;
    if p.prefill_end_ns() > p.end_ns {
        return Err("prefill ends after the prompt (other unit, or another run's time)");
    }
    if p.total_generation_s.is_some_and(|t| t > length_s * 1.01 + 0.01) {
        return Err("generation takes longer than the prompt (other unit?)");
    }
    let mut odd = Vec::new();
    let slack = 1e-6;
    if p.ttft_s.is_some_and(|t| t + slack < p.tokenization_s + p.prefill_s) {
        odd.push(IDENTITY);
    }
    if let (Some(e), Some(g)) = (p.end_to_end_s, p.total_generation_s)
        && e + 1e-3 < p.tokenization_s + p.prefill_s + g
    {
        odd.push(SHORT_E2E);
    }
    Ok(odd)
}
