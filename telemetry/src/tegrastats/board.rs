//! Boards and what their power rails mean.
//!
//! A total is only a total by definition: on some boards one rail is the input of the whole
//! module and already holds the others, on others the total is a sum. Totals of different
//! definitions are different quantities.

use std::fmt;

/// Jetson boards, told apart by the rails that tegrastats prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Board {
    /// Jetson Nano (and TX1), JetPack 4.
    Nano,
    /// Jetson TX2.
    Tx2,
    /// Jetson AGX Xavier.
    XavierAgx,
    /// Jetson AGX Orin.
    OrinAgx,
    /// Jetson Xavier NX, Orin NX and Orin Nano: the same three rails.
    Nx,
    /// Jetson AGX Thor.
    Thor,
}

/// How the total power of a board is defined. Two totals may be compared only if this is equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PowerTotal {
    /// One rail measures the input of the module.
    Input(&'static str),
    /// Sum of rails that do not contain each other.
    Sum(&'static [&'static str]),
}

impl fmt::Display for PowerTotal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PowerTotal::Input(rail) => write!(f, "input:{rail}"),
            PowerTotal::Sum(rails) => write!(f, "sum:{}", rails.join("+")),
        }
    }
}

impl Board {
    /// All boards.
    pub const ALL: [Board; 6] =
        [Board::Nano, Board::Tx2, Board::XavierAgx, Board::OrinAgx, Board::Nx, Board::Thor];

    /// Short name.
    pub fn name(self) -> &'static str {
        match self {
            Board::Nano => "nano",
            Board::Tx2 => "tx2",
            Board::XavierAgx => "xavier-agx",
            Board::OrinAgx => "orin-agx",
            Board::Nx => "nx",
            Board::Thor => "thor",
        }
    }

    /// Rails without which it is not this board.
    fn mark(self) -> &'static [&'static str] {
        match self {
            Board::Nano => &["POM_5V_IN", "POM_5V_GPU"],
            Board::Tx2 => &["VDD_IN", "VDD_SYS_GPU"],
            Board::XavierAgx => &["GPU", "CPU", "SOC", "SYS5V"],
            Board::OrinAgx => &["VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"],
            Board::Nx => &["VDD_IN", "VDD_CPU_GPU_CV"],
            Board::Thor => &["VDD_GPU", "VDD_CPU_SOC_MSS", "VIN"],
        }
    }

    /// The board that prints these rails.
    pub fn detect<'a>(rails: impl Iterator<Item = &'a str> + Clone) -> Option<Board> {
        Board::ALL.into_iter().find(|b| b.mark().iter().all(|m| rails.clone().any(|r| r == *m)))
    }

    /// Definition of the board's total.
    ///
    /// Input rails: NVIDIA Jetson Linux developer guide, power monitors (Nano `POM_5V_IN`, TX2 and
    /// NX `VDD_IN`, Thor `VIN`). AGX Xavier has no input rail: the six rails are summed. AGX Orin
    /// likewise, but `VDDQ_VDD2_1V8AO` is fed from `VIN_SYS_5V0` and not added again.
    pub fn total(self) -> PowerTotal {
        match self {
            Board::Nano => PowerTotal::Input("POM_5V_IN"),
            Board::Tx2 | Board::Nx => PowerTotal::Input("VDD_IN"),
            Board::XavierAgx => PowerTotal::Sum(&["GPU", "CPU", "SOC", "CV", "VDDRQ", "SYS5V"]),
            Board::OrinAgx => PowerTotal::Sum(&["VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"]),
            Board::Thor => PowerTotal::Input("VIN"),
        }
    }

    /// The rail that holds the GPU, and what else it holds.
    pub fn accelerator_rail(self) -> (&'static str, &'static str) {
        match self {
            Board::Nano => ("POM_5V_GPU", "GPU"),
            Board::Tx2 => ("VDD_SYS_GPU", "GPU"),
            Board::XavierAgx => ("GPU", "GPU"),
            Board::OrinAgx => ("VDD_GPU_SOC", "GPU and SoC"),
            Board::Nx => ("VDD_CPU_GPU_CV", "CPU, GPU and CV"),
            Board::Thor => ("VDD_GPU", "GPU"),
        }
    }
}

/// Column name of a rail's current power.
pub(crate) fn rail_column(rail: &str) -> String {
    format!("{}_mw", rail.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_board_is_mistaken_for_another() {
        for b in Board::ALL {
            let mut rails: Vec<&str> = b.mark().to_vec();
            match b.total() {
                PowerTotal::Input(r) => rails.push(r),
                PowerTotal::Sum(rs) => rails.extend(rs),
            }
            assert_eq!(Board::detect(rails.iter().copied()), Some(b));
        }
        assert_eq!(Board::detect(["VDD_X"].into_iter()), None);
    }
}
