//! Device logs to phase-fused records, and records to measurement tables.
//!
//! - Readers stream logs line by line and account for every line in a [`Tally`]: [`tegrastats`] of
//!   every Jetson, [`csv_samples`] (nvidia-smi, INA3221/hwmon, any table), [`json_samples`];
//!   [`open_log`] recognises the format. [`llama_bench`] and [`runs`] read benchmark results.
//! - [`fuse`] attributes samples to the phases of prompts; [`phase_records`] gives them canonical
//!   columns in which every power says what it is of; [`parquet`] writes them for a fleet.
//! - [`sync`] finds profilers that did not wait for the GPU.
//! - [`hydra`] reproduces the Hydra artifact (arXiv 2608.25053): its fusion byte for byte, its
//!   tables, figures and checks.
//! - [`runs`] passes results through a quality gate into a measurement table.
//!
//! ```
//! use enerinfer_telemetry::fuse::{FuseOptions, fuse, infer_zone};
//! use enerinfer_telemetry::tegrastats::Tegrastats;
//! use enerinfer_telemetry::{PromptPhase, TextTable, phase_records, read_prompts};
//!
//! let info = "start_time,end_time,tokenization_time,prefill_time\n\
//!             1749996000000000000,1749996002000000000,0.0,0.5\n";
//! // Local time, as tegrastats prints it.
//! let log: String = (0..5)
//!     .map(|s| format!("06-15-2025 10:00:0{s} RAM 1/2MB (lfb 1x4MB) VDD_IN 4000mW/4000mW \
//!                       VDD_CPU_GPU_CV 1000mW/1000mW\n"))
//!     .collect();
//! let (prompts, _) = read_prompts(&TextTable::read(info.as_bytes())?)?;
//! let zone = infer_zone(&prompts, &mut Tegrastats::new(log.as_bytes()))?.zone;
//! assert_eq!(zone.name(), "-04:00");
//! let options = FuseOptions::new(zone);
//! let fused = fuse(prompts, &mut Tegrastats::new(log.as_bytes()), &options)?;
//! let records = phase_records(&fused, &options);
//! let decode = records.iter().find(|r| r.phase == PromptPhase::Decode).ok_or("none")?;
//! let total = decode.total.as_ref().ok_or("none")?;
//! assert_eq!((total.definition.as_str(), total.energy_j), ("input:VDD_IN", Some(6.0)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
