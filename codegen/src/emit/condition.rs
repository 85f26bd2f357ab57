//! Conditions of branches, laid out as rustfmt lays them out.

use std::io::{self, Write};

use super::merged::Condition;

/// What a branch compares: the name of a rank and the thresholds behind it.
pub(crate) struct Ranked {
    pub(crate) name: &'static str,
    pub(crate) thresholds: Vec<u32>,
}

/// `value <= threshold` (or its negation) as a comparison of ranks; `ranked` is by column of the
/// forest.
pub(crate) fn text(ranked: &[Ranked], (feature, threshold): Condition, holds: bool) -> String {
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

/// How conditions are joined.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Join {
    All,
    Any,
}

impl Join {
    fn operator(self) -> &'static str {
        match self {
            Join::All => "&&",
            Join::Any => "||",
        }
    }
}

/// Conditions (or their negations) as comparisons of ranks, without those that change nothing
/// beside another one: of two that bound a rank alike, one is enough.
pub(crate) fn texts(
    ranked: &[Ranked],
    conditions: &[(Condition, bool)],
    join: Join,
) -> Vec<String> {
    let idle = |&((feature, threshold), holds): &(Condition, bool)| {
        conditions.iter().any(|&((same, other), alike)| {
            let stricter = if holds { other < threshold } else { other > threshold };
            (same, alike) == (feature, holds)
                && other != threshold
                && stricter == (join == Join::All)
        })
    };
    let needed = conditions.iter().filter(|condition| !idle(condition));
    needed.map(|&(condition, holds)| text(ranked, condition, holds)).collect()
}

/// Writes `if … {` with joined conditions; the cursor stands after the indentation and `before`.
pub(crate) fn write(
    out: &mut dyn Write,
    conditions: &[String],
    join: Join,
    depth: usize,
    before: &str,
) -> io::Result<()> {
    let operator = join.operator();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_change_nothing_are_left_out() {
        let ranked = [
            Ranked { name: "layers", thresholds: vec![2, 5, 9] },
            Ranked { name: "heads", thresholds: vec![2, 5, 9] },
        ];
        let above = |feature, threshold| ((feature, threshold), false);
        let below = |feature, threshold| ((feature, threshold), true);
        let all = [above(0, 2), below(0, 9), above(0, 5), above(1, 9), above(1, 2), below(0, 9)];
        let left = ["x.layers <= 2", "x.layers > 1", "x.heads > 2", "x.layers <= 2"];
        assert_eq!(texts(&ranked, &all, Join::All), left);
        let left = ["x.layers != 0", "x.layers <= 2", "x.heads != 0", "x.layers <= 2"];
        assert_eq!(texts(&ranked, &all, Join::Any), left);
    }
}
