//! The closed loop: a simulated device in operation, the runtime's controllers in charge.
//!
//! The controllers are those of `enerinfer-runtime-core`, reached through its HAL and driver as on
//! a real device; nothing of them is repeated here. [`Plant`] is the device: clocks, decoding,
//! heat. [`run`] plays a [`Scenario`] under a [`Policy`] with given [`Beliefs`], and
//! [`optimum`](mod@optimum) says what full knowledge would have made of it.

mod beliefs;
pub mod exhibits;
mod fit;
mod heat;
mod ondemand;
pub mod optimum;
mod plant;
mod policy;
mod scenario;
mod session;
pub mod stress;

pub use beliefs::{Beliefs, POINTS, disturbed};
pub use fit::fit_thermal;
pub use heat::HeatSplit;
pub use ondemand::SimpleOndemand;
pub use plant::Plant;
pub use policy::Policy;
pub use scenario::{Request, Scenario, Stop, Workload};
pub use session::{Sample, Session, run};

/// What keeps a closed loop from being run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoopError {
    /// The platform has more operating points than the controllers are compiled for.
    #[error("{points} operating points; the closed loop is compiled for at most {}", POINTS)]
    TooManyPoints {
        /// Points of the platform.
        points: usize,
    },
    /// A table does not have one row per operating point.
    #[error("a table has {rows} rows for {points} operating points; it needs one per point")]
    TableLength {
        /// Rows of the table.
        rows: usize,
        /// Points of the platform.
        points: usize,
    },
    /// The simulated device was refused.
    #[error(transparent)]
    Device(#[from] enerinfer_device::DeviceError),
    /// The thermal model cannot be fitted.
    #[error(transparent)]
    Learn(#[from] enerinfer_learners::LearnError),
    /// The thermal model cannot be held by the device.
    #[error(transparent)]
    Artifact(#[from] enerinfer_artifacts::Error),
    /// The survey lacks a model.
    #[error("the survey has no model `{name}`")]
    UnknownModel {
        /// What was asked for.
        name: &'static str,
    },
}
