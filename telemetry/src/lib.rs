//! Device logs to phase-fused records.

pub mod csv_samples;
mod detect;
mod error;
pub mod fuse;
pub mod hydra;
mod info;
pub mod json_samples;
mod lines;
pub mod llama_bench;
mod moments;
pub mod parquet;
mod prompts;
mod record;
pub mod runs;
mod sample;
pub mod samples_csv;
pub mod sync;
mod tally;
pub mod tegrastats;
mod text;
mod time;

pub use detect::{LogFormat, open_log};
pub use error::Error;
pub use info::TextTable;
pub use moments::Moments;
pub use prompts::{EngineCounters, Prompt, read_prompts};
pub use record::{PhaseRecord, Power, PromptPhase, phase_records, records_csv};
pub use sample::{Channel, Quantity, Row, SampleReader, channel};
pub use tally::{MAX_NAMED, RefusedLine, Tally};
pub use time::{Clock, Stamp, TimeUnit, Zone, parse_stamp};
