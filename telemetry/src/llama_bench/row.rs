//! One benchmark row, from any format and any build's schema.

use serde_json::{Map, Value};

use crate::Moments;

/// What a row measures. Rows of different phases are never compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Phase {
    /// Prompt processing (`pp`).
    Prefill,
    /// Token generation (`tg`).
    Decode,
    /// Both in one time (`pg`): of no use as a target.
    Mixed,
}

impl Phase {
    /// llama-bench's abbreviation.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Prefill => "pp",
            Phase::Decode => "tg",
            Phase::Mixed => "pg",
        }
    }
}

/// What identifies a model across machines: not its path.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelKey {
    /// e.g. `llama 1B Q4_K - Medium`.
    pub model_type: String,
    /// Bytes; 0 if not stated.
    pub size_bytes: u64,
    /// Parameters; 0 if not stated.
    pub params: u64,
}

/// A doubt about a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BenchFlag {
    /// The stated standard deviation is not that of the samples (a known fault of the tool:
    /// ggml-org/llama.cpp#22300); it was computed again.
    DeviationRecomputed,
    /// Samples and stated average differ; the stated values are used.
    SamplesDisagree,
    /// Standard deviation above 20 % of the mean (cold runs, throttling).
    Noisy,
    /// Prefill and decode in one time.
    MixedPhases,
}

impl BenchFlag {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            BenchFlag::DeviationRecomputed => "deviation_recomputed",
            BenchFlag::SamplesDisagree => "samples_disagree",
            BenchFlag::Noisy => "noisy",
            BenchFlag::MixedPhases => "mixed_phases",
        }
    }
}

/// One test of llama-bench.
#[derive(Clone, Debug, PartialEq)]
pub struct BenchRow {
    /// The model, path left out.
    pub model: ModelKey,
    /// File name without folders, for people.
    pub file_name: String,
    /// Backends, e.g. `CUDA`.
    pub backend: String,
    /// GPU, if stated.
    pub gpu: String,
    /// Prompt tokens.
    pub n_prompt: u32,
    /// Generated tokens.
    pub n_gen: u32,
    /// Tokens in the cache before the test.
    pub n_depth: u32,
    /// Threads, if stated.
    pub n_threads: Option<u32>,
    /// Micro-batch, if stated.
    pub n_ubatch: Option<u32>,
    /// Layers on the GPU, if stated.
    pub n_gpu_layers: Option<i32>,
    /// Throughput, tokens/s.
    pub tok_per_s: f64,
    /// Its sample standard deviation, tokens/s; NaN if not known.
    pub tok_per_s_std: f64,
    /// Sample standard deviation of the time of a test, ns; NaN if not known.
    pub stddev_ns: f64,
    /// Repetitions; 0 if not stated.
    pub samples: u32,
    /// Doubts.
    pub flags: Vec<BenchFlag>,
}

impl BenchRow {
    /// Which phase the row measures.
    pub fn phase(&self) -> Phase {
        match (self.n_prompt, self.n_gen) {
            (_, 0) => Phase::Prefill,
            (0, _) => Phase::Decode,
            _ => Phase::Mixed,
        }
    }

    /// Builds a row from named cells; unknown cells are ignored, of the known ones only
    /// `n_prompt`, `n_gen` and one of `avg_ts`, `avg_ns`, samples are required.
    ///
    /// # Errors
    /// Why the row cannot be used.
    pub(super) fn from_cells(cells: &Map<String, Value>) -> Result<Self, &'static str> {
        let (Some(n_prompt), Some(n_gen)) = (count(cells, "n_prompt"), count(cells, "n_gen"))
        else {
            return Err("n_prompt or n_gen is missing");
        };
        if n_prompt == 0 && n_gen == 0 {
            return Err("neither prompt nor generated tokens");
        }
        let tokens = f64::from(n_prompt) + f64::from(n_gen);
        let times = list(cells, "samples_ns");
        let mut rates = list(cells, "samples_ts");
        if rates.is_empty() {
            rates = times.iter().map(|ns| tokens / ns * 1e9).collect();
        }
        let stated_rate =
            number(cells, "avg_ts").or_else(|| number(cells, "avg_ns").map(|ns| tokens / ns * 1e9));
        let stated_std = number(cells, "stddev_ts");
        let (rate, time) = (Moments::of(rates.iter().copied()), Moments::of(times.iter().copied()));
        let mut flags = Vec::new();
        let (tok_per_s, tok_per_s_std, stddev_ns);
        match stated_rate {
            Some(stated) if !rates.is_empty() && differs(stated, rate.mean(), 0.01) => {
                flags.push(BenchFlag::SamplesDisagree);
                tok_per_s = stated;
                tok_per_s_std = stated_std.unwrap_or(f64::NAN);
                stddev_ns = number(cells, "stddev_ns").unwrap_or(f64::NAN);
            }
            _ if rates.len() > 1 => {
                tok_per_s = rate.mean();
                tok_per_s_std = rate.std();
                stddev_ns = time.std();
                let wrong = |stated: Option<f64>, ours: f64| {
                    stated.is_some_and(|s| {
                        s.is_nan() || differs(s, ours, 0.05) && (s - ours).abs() > 0.02
                    })
                };
                if wrong(stated_std, tok_per_s_std) || wrong(number(cells, "stddev_ns"), stddev_ns)
                {
                    flags.push(BenchFlag::DeviationRecomputed);
                }
            }
            Some(stated) => {
                tok_per_s = stated;
                tok_per_s_std = stated_std.unwrap_or(f64::NAN);
                stddev_ns = number(cells, "stddev_ns").unwrap_or(f64::NAN);
            }
            None if rates.len() == 1 => {
                tok_per_s = rates[0];
                tok_per_s_std = f64::NAN;
                stddev_ns = f64::NAN;
            }
            None => return Err("neither avg_ts nor avg_ns nor samples"),
        }
        if !(tok_per_s > 0.0 && tok_per_s.is_finite()) {
            return Err("throughput is zero or not finite: a failed run");
        }
        let row = BenchRow {
            model: ModelKey {
                model_type: text(cells, "model_type"),
                size_bytes: whole(cells, "model_size"),
                params: whole(cells, "model_n_params"),
            },
            file_name: text(cells, "model_filename")
                .rsplit(['/', '\\'])
                .next()
                .unwrap_or_default()
                .to_owned(),
            backend: [text(cells, "backends"), text(cells, "backend")].concat(),
            gpu: text(cells, "gpu_info"),
            n_prompt,
            n_gen,
            n_depth: count(cells, "n_depth").unwrap_or(0),
            n_threads: count(cells, "n_threads"),
            n_ubatch: count(cells, "n_ubatch"),
            n_gpu_layers: number(cells, "n_gpu_layers").map(|v| v as i32),
            tok_per_s,
            tok_per_s_std,
            stddev_ns,
            samples: rates.len() as u32,
            flags,
        };
        Ok(row.flagged())
    }

    fn flagged(mut self) -> Self {
        if self.tok_per_s_std > 0.2 * self.tok_per_s {
            self.flags.push(BenchFlag::Noisy);
        }
        if self.phase() == Phase::Mixed {
            self.flags.push(BenchFlag::MixedPhases);
        }
        self
    }
}

fn differs(a: f64, b: f64, relative: f64) -> bool {
    (a - b).abs() > relative * a.abs().max(b.abs())
}

fn text(cells: &Map<String, Value>, key: &str) -> String {
    match cells.get(key) {
        Some(Value::String(s)) => s.clone(),
        Some(Value::Number(n)) => n.to_string(),
        _ => String::new(),
    }
}

fn number(cells: &Map<String, Value>, key: &str) -> Option<f64> {
    match cells.get(key)? {
        Value::Number(n) => n.as_f64(),
        Value::String(s) => crate::text::float(s.trim().as_bytes()),
        _ => None,
    }
}

fn whole(cells: &Map<String, Value>, key: &str) -> u64 {
    // Saturating and exact below 2^53, far above any model's size.
    number(cells, key).map_or(0, |v| v as u64)
}

fn count(cells: &Map<String, Value>, key: &str) -> Option<u32> {
    let v = number(cells, key)?;
    (v >= 0.0 && v <= f64::from(u32::MAX) && v.fract() == 0.0).then_some(v as u32)
}

fn list(cells: &Map<String, Value>, key: &str) -> Vec<f64> {
    match cells.get(key) {
        Some(Value::Array(a)) => a.iter().filter_map(Value::as_f64).filter(|v| *v > 0.0).collect(),
        _ => Vec::new(),
    }
}
