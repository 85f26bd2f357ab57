//! Benchmark runs, and how they become a measurement table.
//!
//! A run is one model at one operating point. Runs come from CSV tables of any tool, from ollama's
//! JSON lines, from llama-bench rows, or from fused records; the gate ([`gate`]) refuses what
//! cannot be used and flags what is doubtful, each with its reason.

mod gate;
mod lengths;
mod read;
mod table;

pub use gate::{GateOptions, Gated, RunFlag, gate};
pub use lengths::{LengthModel, fit_length};
pub use read::{read_runs, runs_of_bench, runs_of_records, runs_of_table};
pub use table::{TableSpec, measurement_table};

/// One benchmark run. Absent values are `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// Line of its file, from 1.
    pub line: u64,
    /// Model name.
    pub model: String,
    /// Accelerator clock that was set, MHz.
    pub accel_mhz: Option<f64>,
    /// Accelerator clock that was seen while running, MHz.
    pub accel_mhz_achieved: Option<f64>,
    /// Memory clock that was set, MHz.
    pub mem_mhz: Option<f64>,
    /// Memory clock that was seen while running, MHz.
    pub mem_mhz_achieved: Option<f64>,
    /// Decode throughput, tokens/s.
    pub decode_tok_per_s: Option<f64>,
    /// Its sample standard deviation.
    pub decode_std: Option<f64>,
    /// Prefill throughput, tokens/s.
    pub prefill_tok_per_s: Option<f64>,
    /// Power, W.
    pub power_w: Option<f64>,
    /// What the power is of.
    pub power_definition: Option<String>,
    /// Accelerator power, W.
    pub accel_power_w: Option<f64>,
    /// Prompt tokens.
    pub prompt_tokens: Option<f64>,
    /// Generated tokens.
    pub output_tokens: Option<f64>,
    /// Time of prefill, s.
    pub prefill_s: Option<f64>,
    /// Time of decode, s.
    pub decode_s: Option<f64>,
    /// Time of everything, s.
    pub total_s: Option<f64>,
    /// Energy as stated, J.
    pub energy_j: Option<f64>,
    /// Samples or repetitions behind the values.
    pub samples: Option<u32>,
    /// Samples taken while the device throttled.
    pub throttled: Option<f64>,
}
