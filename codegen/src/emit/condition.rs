//! Conditions of branches, laid out as rustfmt lays them out.

use std::io::{self, Write};

/// What a branch compares: the name of a rank and the thresholds behind it.
pub(crate) struct Ranked {
    pub(crate) name: &'static str,
    pub(crate) thresholds: Vec<u32>,
}

/// `value <= threshold` (or its negation) as a comparison of ranks; `ranked` is by column of the
/// forest.
pub(crate) fn text(ranked: &[Ranked], (feature, threshold): (u16, u32), holds: bool) -> String {
    let Ranked { name, thresholds } = &ranked[usize::from(feature)];
    let rank = thresholds.partition_point(|&t| t < threshold);
    let comparison = match (rank, holds) {
        (0, true) => "== 0".to_owned(),
        (0, false) => "!= 0".to_owned(),
        (_, true) => format!("<= {rank}"),
        (_, false) => format!("> {rank}"),
    };
    format!("x.{name} {comparison}")
}

/// Writes `if … {` with all conditions; the cursor stands after the indentation and `before`.
pub(crate) fn write(
    out: &mut dyn Write,
    conditions: &[String],
    operator: &str,
    depth: usize,
    before: &str,
) -> io::Result<()> {
    // Breaks where rustfmt does.
    let line = format!("if {}", conditions.join(&format!(" {operator} ")));
    match 4 * depth + before.len() + line.len() {
        0..=98 => writeln!(out, "{line} {{"),
        99..=100 => writeln!(out, "{line}\n{}{{", pad(depth)),
        _ => {
            let next = format!("\n{}{operator} ", pad(depth + 1));
            writeln!(out, "if {}\n{}{{", conditions.join(&next), pad(depth))
        }
    }
}

pub(crate) fn pad(depth: usize) -> String {
    " ".repeat(4 * depth)
}
