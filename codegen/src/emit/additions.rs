//! Source of the functions of a merged forest.
//!
//! What a block adds to one sum is added up in a variable, and from there to the sum at once:
//! sums are in memory, a variable is a register.

use std::collections::BTreeMap;
use std::io::{self, Write};

use super::body::Body;
use super::condition::{self, Join, Ranked, pad};
use super::merged::Condition;
use super::statements::{Statement, Statements};

/// How many sums stand in the first array: so many are reached by short instructions of Arm and
/// x86, from the address of the array. Those that are added to in fewer places stand in a second.
pub(crate) const NEAR_SUMS: usize = 32;

/// Where a value goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adds {
    /// To the sums of rectangles, in the caller's memory; `more` says whether there is a second
    /// array.
    ToSums {
        /// Whether there are more than [`NEAR_SUMS`].
        more: bool,
    },
    /// To the variable `sum`.
    ToVariable,
}

/// Writes all functions. They add to the sums of rectangles, or return what they add up.
pub(crate) fn write(
    out: &mut dyn Write,
    statements: &Statements,
    ranked: &[Ranked],
    adds: Adds,
) -> io::Result<()> {
    let (program, functions) = (&statements.values, &statements.value_functions);
    let values = Body { program, functions, ranked, leaf_type: "i32" };
    values.write(out)?;
    let additions = Additions { statements, values, adds };
    for (number, statements) in statements.functions.iter().enumerate() {
        additions.function(out, number, statements)?;
    }
    Ok(())
}

struct Additions<'a> {
    statements: &'a Statements,
    values: Body<'a>,
    /// Where functions add.
    adds: Adds,
}

impl Additions<'_> {
    fn function(
        &self,
        out: &mut dyn Write,
        number: usize,
        statements: &[Statement],
    ) -> io::Result<()> {
        let asks = statements.iter().any(|s| !matches!(s, Statement::Add(..)));
        let x = if asks { "x" } else { "_" };
        write!(out, "\n#[inline(never)]\nfn add_{number}({x}: &Ranks")?;
        match (self.adds, statements) {
            (Adds::ToSums { more }, _) => {
                let name = |name, used| if used { name } else { "_" };
                let (near, far) = self.arrays(statements);
                write!(out, ", {}: &Sums", name("sums", near))?;
                if more {
                    write!(out, ", {}: &More", name("more", far))?;
                }
                writeln!(out, ") {{")?;
                self.block(out, statements, self.adds, 1)?;
            }
            (Adds::ToVariable, []) => writeln!(out, ") -> i32 {{\n    0")?,
            (Adds::ToVariable, [Statement::Add(_, value)]) => {
                writeln!(out, ") -> i32 {{\n    {value}")?;
            }
            (Adds::ToVariable, _) => {
                writeln!(out, ") -> i32 {{")?;
                self.add_up(out, statements.iter().collect(), 1)?;
                writeln!(out, "    sum")?;
            }
        }
        writeln!(out, "}}")
    }

    /// Whether statements need the first array of sums, and the second.
    fn arrays(&self, statements: &[Statement]) -> (bool, bool) {
        statements.iter().fold((false, false), |(near, far), statement| {
            let (a, b) = match *statement {
                Statement::Add(rect, _) | Statement::AddValue(rect, _) => {
                    let near = (rect as usize) < NEAR_SUMS;
                    (near, !near)
                }
                Statement::Call(_) => (true, true),
                // Nested no deeper than functions are.
                Statement::If(_, [l, r]) => {
                    let (l, r) = (
                        self.arrays(self.statements.side(l)),
                        self.arrays(self.statements.side(r)),
                    );
                    (l.0 || r.0, l.1 || r.1)
                }
            };
            (near || a, far || b)
        })
    }

    /// Writes statements that add up in a new variable.
    fn add_up(
        &self,
        out: &mut dyn Write,
        mut statements: Vec<&Statement>,
        depth: usize,
    ) -> io::Result<()> {
        let mut first = 0;
        if let [Statement::Add(_, value), ..] = statements[..] {
            first = *value;
            statements.remove(0);
        }
        writeln!(out, "{}let mut sum = {first};", pad(depth))?;
        for statement in statements {
            self.statement(out, statement, Adds::ToVariable, depth)?;
        }
        Ok(())
    }

    fn block(
        &self,
        out: &mut dyn Write,
        statements: &[Statement],
        adds: Adds,
        depth: usize,
    ) -> io::Result<()> {
        let rects: Vec<Option<(u32, usize)>> = statements.iter().map(|s| self.rect(s)).collect();
        let mut additions: BTreeMap<u32, usize> = BTreeMap::new();
        for (rect, count) in rects.iter().flatten() {
            *additions.entry(*rect).or_default() += count;
        }
        for (statement, rect) in statements.iter().zip(&rects) {
            let Some((rect, _)) = rect.filter(|_| adds != Adds::ToVariable) else {
                self.statement(out, statement, adds, depth)?;
                continue;
            };
            match additions.get(&rect) {
                Some(2..) => {
                    let together = statements.iter().zip(&rects);
                    let together = together.filter(|(_, r)| r.is_some_and(|(r, _)| r == rect));
                    self.add_up(out, together.map(|(s, _)| s).collect(), depth)?;
                    writeln!(out, "{}{}", pad(depth), add(rect, "sum"))?;
                    // Once.
                    additions.remove(&rect);
                }
                Some(_) => self.statement(out, statement, adds, depth)?,
                None => {}
            }
        }
        Ok(())
    }

    /// The rectangle to which a statement adds, if it is one, and in how many places it does.
    fn rect(&self, statement: &Statement) -> Option<(u32, usize)> {
        match *statement {
            Statement::Add(rect, _) | Statement::AddValue(rect, _) => Some((rect, 1)),
            Statement::Call(_) => None,
            Statement::If(_, sides) => {
                let mut inner = sides.iter().flat_map(|&side| self.statements.side(side));
                let first = self.rect(inner.next()?)?;
                inner.try_fold(first, |(rect, count), statement| {
                    let (same, more) = self.rect(statement)?;
                    (rect == same).then_some((rect, count + more))
                })
            }
        }
    }

    fn statement(
        &self,
        out: &mut dyn Write,
        statement: &Statement,
        adds: Adds,
        depth: usize,
    ) -> io::Result<()> {
        let pad = pad(depth);
        match *statement {
            Statement::Add(rect, value) => match adds {
                Adds::ToSums { .. } => writeln!(out, "{pad}{}", add(rect, &value.to_string())),
                Adds::ToVariable if value < 0 => {
                    writeln!(out, "{pad}sum -= {};", value.unsigned_abs())
                }
                Adds::ToVariable => writeln!(out, "{pad}sum += {value};"),
            },
            Statement::AddValue(rect, op) => match (adds, self.values.short(op)) {
                (Adds::ToSums { .. }, Some(value)) => writeln!(out, "{pad}{}", add(rect, &value)),
                (Adds::ToSums { .. }, None) => {
                    let before = "let value = ";
                    write!(out, "{pad}{before}")?;
                    self.values.branch(out, op, depth, before, ";")?;
                    writeln!(out, "{pad}{}", add(rect, "value"))
                }
                (Adds::ToVariable, Some(value)) => writeln!(out, "{pad}sum += {value};"),
                (Adds::ToVariable, None) => {
                    let before = "sum += ";
                    write!(out, "{pad}{before}")?;
                    self.values.branch(out, op, depth, before, ";")
                }
            },
            Statement::Call(function) => match adds {
                Adds::ToSums { more: false } => writeln!(out, "{pad}add_{function}(x, sums);"),
                Adds::ToSums { more: true } => writeln!(out, "{pad}add_{function}(x, sums, more);"),
                Adds::ToVariable => writeln!(out, "{pad}sum += add_{function}(x);"),
            },
            Statement::If(condition, sides) => {
                write!(out, "{pad}")?;
                self.branch(out, (condition, sides), adds, depth, "")
            }
        }
    }

    /// Writes a branch; the cursor stands after the indentation and `before`.
    fn branch(
        &self,
        out: &mut dyn Write,
        (condition, sides): (Condition, [u32; 2]),
        adds: Adds,
        depth: usize,
        before: &str,
    ) -> io::Result<()> {
        let side = |side: u32| self.statements.side(side);
        // The side that does something comes first.
        let holds = !side(sides[0]).is_empty();
        let [mut then, mut otherwise] = if holds { sides } else { [sides[1], sides[0]] };
        let mut conditions = vec![(condition, holds)];
        // Branches in a row that lead to the same become one condition.
        let mut join = Join::All;
        while let [Statement::If(condition, sides)] = *side(otherwise)
            && let Some(same) = sides.iter().position(|&other| self.statements.same(then, other))
        {
            conditions.push((condition, same == 0));
            otherwise = sides[1 - same];
            join = Join::Any;
        }
        if join == Join::All && side(otherwise).is_empty() {
            // Branches in a row without another side become one condition.
            while let [Statement::If(condition, sides)] = *side(then)
                && let Some(holds) = self.statements.only_side(sides)
            {
                conditions.push((condition, holds));
                then = sides[usize::from(!holds)];
            }
        }
        let conditions = condition::texts(self.values.ranked, &conditions, join);
        condition::write(out, &conditions, join, depth, before)?;
        self.block(out, side(then), adds, depth + 1)?;
        match *side(otherwise) {
            [] => {}
            [Statement::If(condition, sides)]
                if adds == Adds::ToVariable
                    || self.rect(&Statement::If(condition, sides)).is_none_or(|(_, n)| n < 2) =>
            {
                let before = "} else ";
                write!(out, "{}{before}", pad(depth))?;
                return self.branch(out, (condition, sides), adds, depth, before);
            }
            ref statements => {
                writeln!(out, "{}}} else {{", pad(depth))?;
                self.block(out, statements, adds, depth + 1)?;
            }
        }
        writeln!(out, "{}}}", pad(depth))
    }
}

/// Adds a value to the sum of a rectangle. A method: of an index (`sums[3] += 5`), rustc's type
/// check alone costs 30 µs, a quarter of the whole.
fn add(rect: u32, value: &str) -> String {
    match (rect as usize).checked_sub(NEAR_SUMS) {
        None => format!("sums.add({rect}, {value});"),
        Some(rest) => format!("more.add({rest}, {value});"),
    }
}
