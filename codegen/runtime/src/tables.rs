//! Predicted tables of one model: a value per operating point.

use crate::units::{MicroTokPerS, MicroWatt};

/// `R`, `P` and `P_acc` of one model at all `N` operating points, memory-major
/// (`index = mem_level · accel_levels + accel_level`; level 0 is the lowest clock).
///
/// Computed once when a model is loaded (EnerInfer §4.6 "Runtime overhead"); everything later
/// only looks values up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tables<const N: usize> {
    /// Decode throughput.
    pub throughput: [MicroTokPerS; N],
    /// Accelerator + memory power while decoding; all zero when the bundle has no power predictor.
    pub power: [MicroWatt; N],
    /// Accelerator power; all zero when the bundle has no such predictor.
    pub accel_power: [MicroWatt; N],
}
