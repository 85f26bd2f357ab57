//! `measure`: measurement tables from simulated devices, logs and Hydra's corpus.
fn main() {}
