//! Stack that the generated crate takes, estimated without compiling.
//!
//! Compared with thumbv7em, aarch64 and x86-64 by `checks/measure.sh`, which fails if a measurement is
//! above the estimate; with 44 operating points the deepest was 16 % below.

use enerinfer_artifacts::ClockTables;

use crate::Lowered;
use crate::emit::form::Form;

const FIXED: u64 = 448;
/// Tables while they are computed, their front, and copies of both.
const PER_POINT: u64 = 60;
/// A sum of 32 bits.
const PER_SUM: u64 = 4;
/// Registers that a function of the walk saves, where there are most of them (x86-64).
const PER_CALL: u64 = 64;

/// Estimated bytes of stack from a shape to a choice, the tables and the front included.
pub(super) fn estimate_stack_bytes(lowered: &Lowered, clocks: &ClockTables) -> u64 {
    let walk = lowered.predictors.iter().map(|p| {
        let form = Form::of(p, clocks);
        PER_SUM * form.rects() as u64 + PER_CALL * form.most_calls()
    });
    FIXED + PER_POINT * clocks.len() as u64 + walk.max().unwrap_or(0)
}
