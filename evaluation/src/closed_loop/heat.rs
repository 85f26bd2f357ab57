//! Which part of the power warms the shell.

use enerinfer_device::Decode;

/// How much of the memory's power reaches the spot whose temperature is controlled.
///
/// EnerInfer §4.4 says that "Mem contributes little heat, whereas the NPU is the primary driver",
/// and gives no figure. What a thermal policy can gain depends on it, so three cases are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeatSplit {
    /// The accelerator's power alone, as the paper's thermal model assumes.
    Accelerator,
    /// The accelerator's power and half of the memory's.
    HalfMemory,
    /// All power of accelerator and memory.
    Total,
}

impl HeatSplit {
    /// All splits.
    pub const ALL: [HeatSplit; 3] =
        [HeatSplit::Accelerator, HeatSplit::HalfMemory, HeatSplit::Total];

    /// Name for tables.
    pub fn name(self) -> &'static str {
        match self {
            HeatSplit::Accelerator => "accelerator only",
            HeatSplit::HalfMemory => "accelerator + half of memory",
            HeatSplit::Total => "accelerator + memory",
        }
    }

    /// Share of the memory's power that heats.
    pub fn memory_share(self) -> f64 {
        match self {
            HeatSplit::Accelerator => 0.0,
            HeatSplit::HalfMemory => 0.5,
            HeatSplit::Total => 1.0,
        }
    }

    /// Power that heats, W.
    pub fn heat_w(self, decode: &Decode) -> f64 {
        decode.accel_power_w + self.memory_share() * (decode.power_w - decode.accel_power_w)
    }
}
