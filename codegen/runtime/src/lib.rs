//! Hand-written part of the device crate `enerinfer-runtime`: integer units, predicted tables,
//! the Pareto front and the controllers. `no_std`, no dependency, no allocation, no float, no panic.
#![no_std]
#![forbid(unsafe_code)]

pub mod front;
pub mod tables;
pub mod units;
