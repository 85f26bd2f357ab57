//! The functions of a predictor: trees and parts of trees as nested `if`s.

use std::io::{self, Write};

use super::functions::Functions;
use super::program::{Op, Program};

/// What a branch compares: the name of a rank and the thresholds behind it.
pub(crate) struct Ranked {
    pub(crate) name: &'static str,
    pub(crate) thresholds: Vec<u32>,
}

/// Prints the functions of a program.
pub(crate) struct Body<'a> {
    pub(crate) program: &'a Program,
    pub(crate) functions: &'a Functions,
    /// By column of the forest.
    pub(crate) ranked: &'a [Ranked],
    /// In *value* form the type of leaves; `None` in *grid* form.
    pub(crate) leaf_type: Option<&'static str>,
}

impl Body<'_> {
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (number, &op) in self.functions.ops().iter().enumerate() {
            write!(out, "\n#[inline(never)]\nfn tree_{number}(x: &Ranks")?;
            match self.leaf_type {
                Some(leaf) => writeln!(out, ") -> {leaf} {{")?,
                None => writeln!(out, ", cells: &mut Cells) {{")?,
            }
            self.inside(out, op, 1)?;
            writeln!(out, "}}")?;
        }
        Ok(())
    }

    /// Writes an operation on lines of its own: as a call if it is a function.
    fn block(&self, out: &mut dyn Write, op: u32, depth: usize) -> io::Result<()> {
        match self.functions.number(op) {
            Some(number) => {
                let call = match self.leaf_type {
                    Some(_) => format!("tree_{number}(x)"),
                    None => format!("tree_{number}(x, cells);"),
                };
                writeln!(out, "{}{call}", pad(depth))
            }
            None => self.inside(out, op, depth),
        }
    }

    /// Writes what an operation does.
    fn inside(&self, out: &mut dyn Write, op: u32, depth: usize) -> io::Result<()> {
        match (self.program.ops[op as usize], self.leaf_type) {
            (Op::Nothing, _) => Ok(()),
            (Op::Leaf(value), Some(_)) => writeln!(out, "{}{value}", pad(depth)),
            (Op::Leaf(list), None) => writeln!(out, "{}add(cells, {list});", pad(depth)),
            (Op::Both(a, b), _) => {
                self.block(out, a, depth)?;
                self.block(out, b, depth)
            }
            (Op::If { .. }, _) => {
                write!(out, "{}", pad(depth))?;
                self.branch(out, op, depth, "")
            }
        }
    }

    /// Writes a branch; the cursor stands after the indentation and `before`.
    fn branch(&self, out: &mut dyn Write, op: u32, depth: usize, before: &str) -> io::Result<()> {
        let Op::If { feature, threshold, then, otherwise } = self.program.ops[op as usize] else {
            return Ok(());
        };
        if self.is_nothing(then) || self.is_nothing(otherwise) {
            return self.one_sided(out, op, depth, before);
        }
        // Branches in a row that lead to the same become one condition.
        let mut conditions = vec![self.condition(feature, threshold, true)];
        let mut rest = otherwise;
        while self.is_inline_branch(rest)
            && let Op::If { feature, threshold, then: a, otherwise: b } =
                self.program.ops[rest as usize]
            && (a == then || b == then)
        {
            conditions.push(self.condition(feature, threshold, a == then));
            rest = if a == then { b } else { a };
        }
        self.head(out, &conditions, "||", depth, before)?;
        self.block(out, then, depth + 1)?;
        if self.is_nothing(rest) {
            writeln!(out, "{}}}", pad(depth))
        } else if self.is_inline_branch(rest) {
            let before = "} else ";
            write!(out, "{}{before}", pad(depth))?;
            self.branch(out, rest, depth, before)
        } else {
            writeln!(out, "{}}} else {{", pad(depth))?;
            self.block(out, rest, depth + 1)?;
            writeln!(out, "{}}}", pad(depth))
        }
    }

    /// A branch of which one side adds nothing; directly nested ones become one condition.
    fn one_sided(
        &self,
        out: &mut dyn Write,
        mut op: u32,
        depth: usize,
        before: &str,
    ) -> io::Result<()> {
        let mut conditions = Vec::new();
        while let Op::If { feature, threshold, then, otherwise } = self.program.ops[op as usize] {
            let nested = !conditions.is_empty();
            let side = self.is_nothing(otherwise);
            if (nested && self.functions.number(op).is_some()) || !(side || self.is_nothing(then)) {
                break;
            }
            conditions.push(self.condition(feature, threshold, side));
            op = if side { then } else { otherwise };
        }
        self.head(out, &conditions, "&&", depth, before)?;
        self.block(out, op, depth + 1)?;
        writeln!(out, "{}}}", pad(depth))
    }

    /// Writes `if conditions {`, broken where rustfmt breaks it.
    fn head(
        &self,
        out: &mut dyn Write,
        conditions: &[String],
        operator: &str,
        depth: usize,
        before: &str,
    ) -> io::Result<()> {
        let line = format!("if {} {{", conditions.join(&format!(" {operator} ")));
        if 4 * depth + before.len() + line.len() <= 100 {
            return writeln!(out, "{line}");
        }
        let next = format!("\n{}{operator} ", pad(depth + 1));
        writeln!(out, "if {}\n{}{{", conditions.join(&next), pad(depth))
    }

    /// `value <= threshold` (or its negation) as a comparison of ranks.
    fn condition(&self, feature: u16, threshold: u32, holds: bool) -> String {
        let Ranked { name, thresholds } = &self.ranked[usize::from(feature)];
        let rank = thresholds.partition_point(|&t| t < threshold);
        let comparison = match (rank, holds) {
            (0, true) => "== 0".to_owned(),
            (0, false) => "!= 0".to_owned(),
            (_, true) => format!("<= {rank}"),
            (_, false) => format!("> {rank}"),
        };
        format!("x.{name} {comparison}")
    }

    fn is_nothing(&self, op: u32) -> bool {
        self.program.ops[op as usize] == Op::Nothing
    }

    fn is_inline_branch(&self, op: u32) -> bool {
        self.functions.number(op).is_none()
            && matches!(self.program.ops[op as usize], Op::If { .. })
    }
}

fn pad(depth: usize) -> String {
    " ".repeat(4 * depth)
}
