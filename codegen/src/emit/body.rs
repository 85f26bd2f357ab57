//! Functions that compute a value: nested `if`s.

use std::io::{self, Write};

use super::condition::{self, Join, Ranked, pad};
use super::functions::Functions;
use super::program::{Op, Program};

/// Prints the functions of a program.
pub(crate) struct Body<'a> {
    pub(crate) program: &'a Program,
    pub(crate) functions: &'a Functions,
    /// By column of the forest.
    pub(crate) ranked: &'a [Ranked],
    /// Type of leaves.
    pub(crate) leaf_type: &'static str,
}

impl Body<'_> {
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        for (number, &op) in self.functions.ops().iter().enumerate() {
            let leaf = self.leaf_type;
            writeln!(out, "\n#[inline(never)]\nfn tree_{number}(x: &Ranks) -> {leaf} {{")?;
            self.inside(out, op, 1)?;
            writeln!(out, "}}")?;
        }
        Ok(())
    }

    /// Writes an operation on lines of its own: as a call if it is a function.
    fn block(&self, out: &mut dyn Write, op: u32, depth: usize) -> io::Result<()> {
        match self.short(op) {
            Some(text) => writeln!(out, "{}{text}", pad(depth)),
            None => self.inside(out, op, depth),
        }
    }

    /// Writes what an operation computes.
    fn inside(&self, out: &mut dyn Write, op: u32, depth: usize) -> io::Result<()> {
        write!(out, "{}", pad(depth))?;
        match self.program.ops[op as usize] {
            Op::Leaf(value) => writeln!(out, "{value}"),
            Op::If { .. } => self.branch(out, op, depth, "", ""),
        }
    }

    /// Writes a branch; the cursor stands after the indentation and `before`, and `end` follows.
    pub(crate) fn branch(
        &self,
        out: &mut dyn Write,
        op: u32,
        depth: usize,
        before: &str,
        end: &str,
    ) -> io::Result<()> {
        let Op::If { feature, threshold, then, otherwise } = self.program.ops[op as usize] else {
            return Ok(());
        };
        // Branches in a row that lead to the same become one condition.
        let mut conditions = vec![condition::text(self.ranked, (feature, threshold), true)];
        let mut rest = otherwise;
        while self.is_inline_branch(rest)
            && let Op::If { feature, threshold, then: a, otherwise: b } =
                self.program.ops[rest as usize]
            && (a == then || b == then)
        {
            conditions.push(condition::text(self.ranked, (feature, threshold), a == then));
            rest = if a == then { b } else { a };
        }
        if let ([Some(then), Some(rest)], ";") = ([then, rest].map(|op| self.short(op)), end) {
            // A choice between two numbers or calls stands on one line, if it fits.
            let conditions = conditions.join(" || ");
            let line = format!("if {conditions} {{ {then} }} else {{ {rest} }}{end}");
            if 4 * depth + before.len() + line.len() <= 100 && !before.starts_with('}') {
                return writeln!(out, "{line}");
            }
        }
        condition::write(out, &conditions, Join::Any, depth, before)?;
        self.block(out, then, depth + 1)?;
        if self.is_inline_branch(rest) {
            let before = "} else ";
            write!(out, "{}{before}", pad(depth))?;
            return self.branch(out, rest, depth, before, end);
        }
        writeln!(out, "{}}} else {{", pad(depth))?;
        self.block(out, rest, depth + 1)?;
        writeln!(out, "{}}}{end}", pad(depth))
    }

    /// A number or a call.
    pub(crate) fn short(&self, op: u32) -> Option<String> {
        match (self.functions.number(op), self.program.ops[op as usize]) {
            (Some(number), _) => Some(format!("tree_{number}(x)")),
            (None, Op::Leaf(value)) => Some(value.to_string()),
            (None, Op::If { .. }) => None,
        }
    }

    fn is_inline_branch(&self, op: u32) -> bool {
        self.functions.number(op).is_none()
            && matches!(self.program.ops[op as usize], Op::If { .. })
    }
}
