//! Hand-written part of the device crate `enerinfer-runtime`: integer units, predicted tables,
//! the Pareto front and the controllers. `no_std`, no dependency, no allocation, no float, no panic.
#![no_std]
#![forbid(unsafe_code)]

pub mod attainable;
pub mod coordinator;
pub mod driver;
pub mod energy;
pub mod front;
pub mod hal;
pub mod qoe;
pub mod sensor;
pub mod tables;
pub mod temperature;
pub mod thermal;
pub mod thermal_model;
pub mod time;
pub mod units;
pub mod votes;
pub mod window;
