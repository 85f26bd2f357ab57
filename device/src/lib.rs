//! Simulated devices held to published measurements.
//!
//! A simulated device stands in for hardware that nobody who downloads the product has. Each is
//! one data file, `platforms/<name>.toml`, in which every parameter says where it comes from:
//! a published table, a data sheet, our fit ([`calibrate`]) or an assumption. `CALIBRATION.md`
//! reports how close the simulation comes to each published figure, and where it does not.
//!
//! ```
//! use enerinfer_datasets::{LlmShape, ShapeSpec};
//! use enerinfer_device::SimulatedDevice;
//!
//! let device = SimulatedDevice::builtin("h_phone", None)?;
//! let qwen2_1_5b = LlmShape::new(ShapeSpec {
//!     layers: 28, hidden: 1536, heads: 12, kv_heads: 2, ffn: 8960, vocab: 151_936,
//!     tied: Some(true), ..ShapeSpec::default()
//! })?;
//! let decode = device.decode(&qwen2_1_5b, device.platform().clocks.highest());
//! assert!((decode.throughput_tok_per_s - 16.75).abs() < 0.84, "published: 16.75 tokens/s");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builtin;
pub mod calibrate;
mod error;
pub mod interference;
mod layout;
mod model;
mod noise;
mod parameters;
mod policy;
pub mod published;
mod simulated;
pub mod thermal;
mod traces;

pub use builtin::names;
pub use error::DeviceError;
pub use model::Decode;
pub use noise::Noise;
pub use policy::Policy;
pub use simulated::SimulatedDevice;
