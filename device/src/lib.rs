//! Simulated devices held to published measurements.
