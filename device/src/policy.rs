//! The policies of EnerInfer's Table 2 on noiseless tables.

use enerinfer_datasets::OperatingPoint;
use serde::Deserialize;

use crate::Decode;

/// How an operating point is chosen for a throughput that the user needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Policy {
    /// The slowest point that is fast enough ("just fulfill QoE").
    Deadline,
    /// The lowest memory clock with a fast enough point, then its lowest accelerator clock ("the
    /// minimal configuration").
    DeadlineLevels,
    /// The most efficient point that is fast enough.
    Enerinfer,
}

impl Policy {
    /// The point chosen on a table in the order of
    /// [`ClockTables::points`](enerinfer_artifacts::ClockTables::points); none if even the
    /// fastest is too slow.
    pub fn choose(
        self,
        table: &[(OperatingPoint, Decode)],
        qoe_tok_per_s: f64,
    ) -> Option<(OperatingPoint, Decode)> {
        let mut enough =
            table.iter().filter(|(_, decode)| decode.throughput_tok_per_s >= qoe_tok_per_s);
        let chosen = match self {
            Policy::Deadline => enough
                .min_by(|(_, a), (_, b)| a.throughput_tok_per_s.total_cmp(&b.throughput_tok_per_s)),
            Policy::DeadlineLevels => enough.next(),
            Policy::Enerinfer => enough.max_by(|(_, a), (_, b)| {
                a.efficiency_tok_per_j().total_cmp(&b.efficiency_tok_per_j())
            }),
        };
        chosen.copied()
    }
}
