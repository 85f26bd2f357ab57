//! Forest compiler: passes over the forest IR, Rust emitter and packager of the device crate.
