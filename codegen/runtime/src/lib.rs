//! Device side of EnerInfer: predicts, for a language model's shape, the decode throughput and
//! power of every operating point, and picks the most energy-efficient one for a wanted speed.
//!
//! `no_std`, no dependency, no allocation, no floating point, no panic, no `unsafe`.
//!
//! - [`Shape`] describes the language model; [`Predictor::tables`] turns it into [`Tables`];
//! - [`Front`] keeps the operating points worth choosing and chooses one;
//! - [`coordinator`] runs the energy-aware and the thermal-aware controller, [`driver`] on a platform
//!   of [`hal`] traits;
//! - [`model`] holds what was trained: clock tables, digests, the compiled forests.
//!
//! ```
//! use enerinfer_runtime::{Front, MicroTokPerS, Predictor, Shape};
//!
//! // Qwen2-1.5B: 28 layers, hidden 1536, 12 heads, 2 key/value heads, FFN 8960.
//! let shape = Shape::new(28, 1536, 12, 2, 8960, 151_936).tied_embeddings();
//! let prediction = Predictor::tables(&shape); // once, when the model is loaded
//! let front = Front::new(&prediction.tables);
//! let choice = front.choose(MicroTokPerS::from_tok_per_s(5));
//! assert!(front.entries().get(choice).is_some());
//! ```
#![no_std]
#![forbid(unsafe_code)]

pub mod attainable;
pub mod coordinator;
pub mod coverage;
pub mod driver;
pub mod energy;
pub mod feedback;
pub mod front;
pub mod grid;
pub mod hal;
/// What was trained: generated files.
pub mod model;
pub mod predictor;
pub mod qoe;
pub mod rank;
pub mod sensor;
pub mod shape;
pub mod tables;
pub mod temperature;
pub mod thermal;
pub mod thermal_model;
pub mod time;
pub mod units;
pub mod votes;
pub mod window;

pub use coverage::{Coverage, Feature};
pub use front::{Front, FrontEntry};
pub use predictor::{PointPrediction, Prediction, Predictor};
pub use shape::Shape;
pub use tables::Tables;
pub use units::{MicroTokPerS, MicroWatt};
