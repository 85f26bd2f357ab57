//! The functions of a merged forest: additions and nested `if`s.

use std::io::{self, Write};

use super::condition::{self, Ranked};
use super::merged::{Condition, Merged};

/// Most statements of one function. rustc's time per function grows faster than the function.
const MAX_STATEMENTS: usize = 512;
/// Most nested branches of one function: keeps lines within rustfmt's width, and far away from
/// the thousand levels that crash rustc's parser.
const MAX_NESTING: usize = 14;

/// One statement.
#[derive(Clone, Debug)]
enum Statement {
    /// Adds a value to a rectangle.
    Add(u32, i64),
    /// Goes on with one of two blocks.
    If(Condition, [u32; 2]),
    /// Calls a function.
    Call(u32),
}

/// Statements of a place, and how large their text is where it stands inside a function.
#[derive(Debug, Default)]
struct Block {
    statements: Vec<Statement>,
    size: usize,
    nesting: usize,
}

/// The functions of a merged forest.
pub(crate) struct Statements {
    blocks: Vec<Block>,
    /// Statements of each function; a function calls only functions with smaller numbers. The
    /// last is where the walk starts.
    functions: Vec<Vec<Statement>>,
}

impl Statements {
    pub(crate) fn of(merged: &Merged) -> Self {
        let mut this = Statements { blocks: Vec::new(), functions: Vec::new() };
        this.blocks.resize_with(merged.places.len(), Block::default);
        let reached = reached(merged);
        for (at, place) in merged.places.iter().enumerate().rev() {
            if !reached[at] {
                continue;
            }
            let mut block = Block::default();
            let add = place.values.iter().map(|(&rect, &value)| Statement::Add(rect, value));
            block.statements.extend(add);
            block.size = block.statements.len();
            for &always in &place.always {
                let Block { statements, size, nesting } = &this.blocks[always as usize];
                block.statements.extend(statements.iter().cloned());
                block.size += size;
                block.nesting = block.nesting.max(*nesting);
            }
            for (&condition, &sides) in &place.branches {
                let mut statement = this.branch(condition, sides);
                let size = this.size(&statement);
                if block.size + size > MAX_STATEMENTS && block.size > 0 {
                    // What was collected becomes a function.
                    let statements = std::mem::take(&mut block.statements);
                    (block.size, block.nesting) = (1, 0);
                    let function = this.function(statements);
                    block.statements.push(Statement::Call(function));
                }
                if let Statement::If(_, sides) = &mut statement {
                    let deepest = sides.map(|side| this.blocks[side as usize].nesting);
                    block.nesting = block.nesting.max(1 + deepest[0].max(deepest[1]));
                }
                block.size += size;
                block.statements.push(statement);
            }
            this.blocks[at] = block;
        }
        let start = std::mem::take(&mut this.blocks[0].statements);
        this.functions.push(start);
        this
    }

    fn function(&mut self, statements: Vec<Statement>) -> u32 {
        if let [Statement::Call(function)] = statements[..] {
            return function;
        }
        self.functions.push(statements);
        self.functions.len() as u32 - 1
    }

    /// A branch whose sides are cut until it fits a function.
    fn branch(&mut self, condition: Condition, sides: [u32; 2]) -> Statement {
        let statement = Statement::If(condition, sides);
        loop {
            let [a, b] = sides.map(|side| {
                let Block { size, nesting, .. } = self.blocks[side as usize];
                (size, nesting)
            });
            let too_deep = 1 + a.1.max(b.1) > MAX_NESTING;
            let too_large = self.size(&statement) > MAX_STATEMENTS;
            if !too_deep && !too_large {
                return statement;
            }
            let first = if too_deep { a.1 >= b.1 } else { a.0 >= b.0 };
            let cut = sides[usize::from(!first)] as usize;
            let statements = std::mem::take(&mut self.blocks[cut].statements);
            let function = self.function(statements);
            self.blocks[cut] =
                Block { statements: vec![Statement::Call(function)], size: 1, nesting: 0 };
        }
    }

    fn size(&self, statement: &Statement) -> usize {
        match statement {
            Statement::Add(..) | Statement::Call(_) => 1,
            Statement::If(_, sides) => {
                1 + sides.iter().map(|&side| self.blocks[side as usize].size).sum::<usize>()
            }
        }
    }

    /// Number of the function where the walk starts.
    pub(crate) fn start(&self) -> usize {
        self.functions.len() - 1
    }

    /// Writes all functions.
    pub(crate) fn write(&self, out: &mut dyn Write, ranked: &[Ranked]) -> io::Result<()> {
        for (number, statements) in self.functions.iter().enumerate() {
            let asks = statements.iter().any(|s| !matches!(s, Statement::Add(..)));
            let x = if asks { "x" } else { "_" };
            writeln!(out, "\n#[inline(never)]\nfn add_{number}({x}: &Ranks, sums: &mut Sums) {{")?;
            self.block(out, ranked, statements, 1)?;
            writeln!(out, "}}")?;
        }
        Ok(())
    }

    fn side(&self, side: u32) -> &[Statement] {
        &self.blocks[side as usize].statements
    }

    fn block(
        &self,
        out: &mut dyn Write,
        ranked: &[Ranked],
        statements: &[Statement],
        depth: usize,
    ) -> io::Result<()> {
        let pad = condition::pad(depth);
        for statement in statements {
            match *statement {
                Statement::Add(rect, value) if value < 0 => {
                    writeln!(out, "{pad}sums[{rect}] -= {};", value.unsigned_abs())?;
                }
                Statement::Add(rect, value) => writeln!(out, "{pad}sums[{rect}] += {value};")?,
                Statement::Call(function) => writeln!(out, "{pad}add_{function}(x, sums);")?,
                Statement::If(condition, sides) => {
                    write!(out, "{pad}")?;
                    self.branch_text(out, ranked, condition, sides, depth, "")?;
                }
            }
        }
        Ok(())
    }

    /// Writes a branch; the cursor stands after the indentation and `before`.
    fn branch_text(
        &self,
        out: &mut dyn Write,
        ranked: &[Ranked],
        condition: Condition,
        sides: [u32; 2],
        depth: usize,
        before: &str,
    ) -> io::Result<()> {
        // The side that does something comes first.
        let holds = !self.side(sides[0]).is_empty();
        let [mut then, otherwise] = if holds { sides } else { [sides[1], sides[0]] };
        let mut conditions = vec![condition::text(ranked, condition, holds)];
        if self.side(otherwise).is_empty() {
            // Branches in a row without another side become one condition.
            while let [Statement::If(condition, sides)] = *self.side(then)
                && let Some(holds) = self.only_side(sides)
            {
                conditions.push(condition::text(ranked, condition, holds));
                then = sides[usize::from(!holds)];
            }
        }
        condition::write(out, &conditions, "&&", depth, before)?;
        self.block(out, ranked, self.side(then), depth + 1)?;
        match *self.side(otherwise) {
            [] => {}
            [Statement::If(condition, sides)] => {
                let before = "} else ";
                write!(out, "{}{before}", condition::pad(depth))?;
                return self.branch_text(out, ranked, condition, sides, depth, before);
            }
            ref statements => {
                writeln!(out, "{}}} else {{", condition::pad(depth))?;
                self.block(out, ranked, statements, depth + 1)?;
            }
        }
        writeln!(out, "{}}}", condition::pad(depth))
    }

    /// Whether the first of two sides is the only one that does something, or the second.
    fn only_side(&self, sides: [u32; 2]) -> Option<bool> {
        match sides.map(|side| self.side(side).is_empty()) {
            [false, true] => Some(true),
            [true, false] => Some(false),
            _ => None,
        }
    }
}

/// The places that the walk can come to.
fn reached(merged: &Merged) -> Vec<bool> {
    let mut reached = vec![false; merged.places.len()];
    reached[0] = true;
    for (at, place) in merged.places.iter().enumerate() {
        if reached[at] {
            let next = place.branches.values().flatten().chain(&place.always);
            next.for_each(|&next| reached[next as usize] = true);
        }
    }
    reached
}
