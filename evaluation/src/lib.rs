//! Closed loop of simulated devices and the controllers of `enerinfer-runtime`, and the figures
//! of the EnerInfer paper for them.

pub mod closed_loop;
pub mod figures;
