//! The table of `--explain`.

use std::fmt::Write as _;

use enerinfer_codegen::Lowered;

/// What every pass did to every predictor.
pub(crate) fn table(lowered: &Lowered) -> String {
    let mut text = format!(
        "{:<12} {:<20} {:>17} {:>17} {:>10} {:>12}\n",
        "predictor", "pass", "nodes", "leaves", "est. KiB", "error bound"
    );
    for s in &lowered.steps {
        let _ = writeln!(
            text,
            "{:<12} {:<20} {:>8} {:>8} {:>8} {:>8} {:>10.1} {:>12.2e}",
            s.target,
            s.name,
            s.nodes_before,
            s.nodes_after,
            s.leaves_before,
            s.leaves_after,
            s.est_bytes as f64 / 1024.0,
            s.error_bound
        );
    }
    text
}
