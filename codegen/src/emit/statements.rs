//! A merged forest as functions: additions and nested `if`s.

use super::functions::Functions;
use super::merged::{Condition, Merged, Place};
use super::program::{Op, Ops, Program};

/// Most statements of one function. rustc's time per function grows faster than the function.
const MAX_STATEMENTS: usize = 128;
/// Most nested branches of one function: keeps lines within rustfmt's width, and far away from
/// the thousand levels that crash rustc's parser.
const MAX_NESTING: usize = 14;
/// Most operations of a value that is computed where it is added.
const MAX_INLINE: usize = 128;

/// One statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    /// Adds a value to a rectangle.
    Add(u32, i64),
    /// Adds the value of an operation to a rectangle.
    AddValue(u32, u32),
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
    /// Statements of each function; a function calls only functions with smaller numbers.
    pub(super) functions: Vec<Vec<Statement>>,
    /// Functions where the walks start.
    starts: Vec<usize>,
    /// Operations that compute what is added to one rectangle.
    pub(super) values: Program,
    pub(super) value_functions: Functions,
}

impl Statements {
    pub(crate) fn of(merged: &Merged) -> Self {
        let mut build = Build {
            merged,
            targets: targets(merged),
            blocks: Vec::new(),
            functions: Vec::new(),
            values: Values::default(),
        };
        build.blocks.resize_with(merged.places.len(), Block::default);
        for (at, reached) in build.reached().into_iter().enumerate().rev() {
            if reached {
                build.blocks[at] = build.block(&merged.places[at]);
            }
        }
        let mut starts = Vec::with_capacity(merged.starts.len());
        for &start in &merged.starts {
            starts.push(build.functions.len());
            let statements = std::mem::take(&mut build.blocks[start as usize].statements);
            build.functions.push(statements);
        }
        let Build { blocks, functions, values, .. } = build;
        let values = Program { ops: values.ops.pool, roots: values.large };
        Statements { blocks, functions, starts, value_functions: Functions::of(&values), values }
    }

    /// Numbers of the functions where the walks start.
    pub(crate) fn starts(&self) -> &[usize] {
        &self.starts
    }

    /// How often a constant is added, and how many comparisons choose among values.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let blocks = self.blocks.iter().map(|block| &block.statements);
        let statements = self.functions.iter().chain(blocks).flatten();
        let additions = statements.filter(|s| matches!(s, Statement::Add(..)));
        let comparisons = self.values.ops.iter().filter(|op| matches!(op, Op::If { .. }));
        (additions.count() as u64, comparisons.count() as u64)
    }

    /// Most functions that are active at once.
    pub(crate) fn most_calls(&self) -> u32 {
        let values = self.value_functions.most_calls(&self.values);
        let mut functions = Vec::with_capacity(self.functions.len());
        for statements in &self.functions {
            let below = self.calls(statements, &functions, &values);
            functions.push(1 + below);
        }
        self.starts.iter().map(|&start| functions[start]).max().unwrap_or(0)
    }

    fn calls(&self, statements: &[Statement], functions: &[u32], values: &[u32]) -> u32 {
        let of = |statement: &Statement| match *statement {
            Statement::Add(..) => 0,
            Statement::AddValue(_, op) => values[op as usize],
            Statement::Call(function) => functions[function as usize],
            // Nested at most `MAX_NESTING` deep.
            Statement::If(_, sides) => {
                let [l, r] = sides.map(|side| self.calls(self.side(side), functions, values));
                l.max(r)
            }
        };
        statements.iter().map(of).max().unwrap_or(0)
    }

    /// Statements of a side of a branch.
    pub(super) fn side(&self, side: u32) -> &[Statement] {
        &self.blocks[side as usize].statements
    }

    /// Whether two sides do the same.
    pub(super) fn same(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.side(a), self.side(b));
        a.len() == b.len()
            && a.iter().zip(b).all(|(a, b)| match (a, b) {
                // Nested at most `MAX_NESTING` deep.
                (Statement::If(a, [al, ar]), Statement::If(b, [bl, br])) => {
                    a == b && self.same(*al, *bl) && self.same(*ar, *br)
                }
                (a, b) => a == b,
            })
    }

    /// Whether the first of two sides is the only one that does something, or the second.
    pub(super) fn only_side(&self, sides: [u32; 2]) -> Option<bool> {
        match sides.map(|side| self.side(side).is_empty()) {
            [false, true] => Some(true),
            [true, false] => Some(false),
            _ => None,
        }
    }
}

/// Statements under construction.
struct Build<'a> {
    merged: &'a Merged,
    targets: Vec<Target>,
    blocks: Vec<Block>,
    functions: Vec<Vec<Statement>>,
    values: Values,
}

impl Build<'_> {
    /// The places whose statements are printed: all that the walk can come to, but for those
    /// that are part of a value.
    fn reached(&self) -> Vec<bool> {
        let mut reached = vec![false; self.merged.places.len()];
        for &start in &self.merged.starts {
            reached[start as usize] = true;
        }
        for (at, place) in self.merged.places.iter().enumerate() {
            if reached[at] {
                let branches = place.branches.values().filter(|sides| self.rect(sides).is_none());
                for &next in branches.flatten().chain(&place.always) {
                    reached[next as usize] = true;
                }
            }
        }
        reached
    }

    /// The rectangle to which a branch adds a value, if it does nothing else, and more than a
    /// statement would.
    fn rect(&self, &[left, right]: &[u32; 2]) -> Option<u32> {
        match self.targets[left as usize].and(self.targets[right as usize]) {
            Target::One { rect, values: 2.. } => Some(rect),
            _ => None,
        }
    }

    fn block(&mut self, place: &Place) -> Block {
        let mut block = Block::default();
        let add = place.values.iter().map(|(&rect, &value)| Statement::Add(rect, value));
        block.statements.extend(add);
        block.size = block.statements.len();
        for &always in &place.always {
            let Block { statements, size, nesting } = &self.blocks[always as usize];
            block.statements.extend(statements.iter().cloned());
            block.size += size;
            block.nesting = block.nesting.max(*nesting);
        }
        for (&condition, sides) in &place.branches {
            let (statement, nesting) = match self.rect(sides) {
                Some(rect) => {
                    let op = self.values.branch(&self.merged.places, condition, *sides);
                    let statement = match self.values.ops.pool[op as usize] {
                        Op::Leaf(value) => Statement::Add(rect, i64::from(value)),
                        Op::If { .. } => Statement::AddValue(rect, op),
                    };
                    (statement, self.values.extent(op).1)
                }
                None => {
                    let statement = self.branch(condition, *sides);
                    let deepest = sides.map(|side| self.blocks[side as usize].nesting);
                    (statement, 1 + deepest[0].max(deepest[1]))
                }
            };
            let size = self.size(&statement);
            if block.size + size > MAX_STATEMENTS && block.size > 0 {
                // What was collected becomes a function.
                let statements = std::mem::take(&mut block.statements);
                (block.size, block.nesting) = (1, 0);
                let function = self.function(statements);
                block.statements.push(Statement::Call(function));
            }
            block.nesting = block.nesting.max(nesting);
            block.size += size;
            block.statements.push(statement);
        }
        block
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
            Statement::AddValue(_, op) => 1 + self.values.extent(*op).0,
            Statement::If(_, sides) => {
                1 + sides.iter().map(|&side| self.blocks[side as usize].size).sum::<usize>()
            }
        }
    }
}

/// To what a place adds.
#[derive(Clone, Copy)]
enum Target {
    Nothing,
    /// To one rectangle, one of several values that depends on conditions.
    One {
        rect: u32,
        /// How many of them are not zero.
        values: u32,
    },
    /// Anything else.
    Any,
}

impl Target {
    /// Of two sides of a branch.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Target::Nothing, target) | (target, Target::Nothing) => target,
            (Target::One { rect, values: a }, Target::One { rect: same, values: b })
                if rect == same =>
            {
                Target::One { rect, values: a.saturating_add(b) }
            }
            _ => Target::Any,
        }
    }
}

fn targets(merged: &Merged) -> Vec<Target> {
    let mut targets = vec![Target::Nothing; merged.places.len()];
    for (at, place) in merged.places.iter().enumerate().rev() {
        let mut branches = place.branches.values();
        let below = match (branches.next(), branches.next(), place.always.is_empty()) {
            (None, None, true) => Target::Nothing,
            (Some(&[l, r]), None, true) => targets[l as usize].and(targets[r as usize]),
            _ => Target::Any,
        };
        let mut values = place.values.keys();
        let here = match (values.next(), values.next()) {
            (None, _) => Target::Nothing,
            (Some(&rect), None) => Target::One { rect, values: 1 },
            _ => Target::Any,
        };
        targets[at] = match (here, below) {
            // A value here is added to every one below.
            (Target::One { rect, .. }, Target::One { rect: same, values }) if rect == same => {
                Target::One { rect, values: values.saturating_add(1) }
            }
            _ => here.and(below),
        };
    }
    targets
}

/// Operations that compute values, and the extent of their text.
#[derive(Default)]
struct Values {
    ops: Ops,
    /// Size and nesting.
    extents: Vec<(usize, usize)>,
    /// Operations that become functions.
    large: Vec<u32>,
}

impl Values {
    /// Adds a branch that adds to one rectangle.
    fn branch(&mut self, places: &[Place], condition: Condition, sides: [u32; 2]) -> u32 {
        enum Step {
            Place(u32, i64),
            Branch(Condition, [u32; 2], i64),
            Join(Condition),
        }
        let mut done: Vec<u32> = Vec::new();
        // A stack of its own: foreign trees may be thousands of levels deep.
        let mut steps = vec![Step::Branch(condition, sides, 0)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Place(at, before) => {
                    let place = &places[at as usize];
                    let value = place.values.values().fold(before, |sum, v| sum + v);
                    match place.branches.first_key_value() {
                        Some((&condition, &sides)) => {
                            steps.push(Step::Branch(condition, sides, value));
                        }
                        // Within the bound of merged forests, and not negative.
                        None => done.push(self.add(Op::Leaf(value as u32))),
                    }
                }
                Step::Branch(condition, [left, right], value) => {
                    steps.push(Step::Join(condition));
                    steps.push(Step::Place(right, value));
                    steps.push(Step::Place(left, value));
                }
                Step::Join((feature, threshold)) => {
                    let otherwise = done.pop().unwrap_or(0);
                    let then = done.pop().unwrap_or(0);
                    done.push(self.add(Op::If { feature, threshold, then, otherwise }));
                }
            }
        }
        let op = done.pop().unwrap_or(0);
        let (size, nesting) = self.extents[op as usize];
        if size > MAX_INLINE || nesting > MAX_NESTING / 2 {
            self.large.push(op);
        }
        op
    }

    fn add(&mut self, op: Op) -> u32 {
        let number = self.ops.add(op);
        if number as usize == self.extents.len() {
            self.extents.push(match op {
                Op::Leaf(_) => (1, 0),
                Op::If { then, otherwise, .. } => {
                    let (a, b) = (self.extents[then as usize], self.extents[otherwise as usize]);
                    (1 + a.0 + b.0, 1 + a.1.max(b.1))
                }
            });
        }
        number
    }

    /// Size and nesting of an operation where it stands inside a function.
    fn extent(&self, op: u32) -> (usize, usize) {
        let (size, nesting) = self.extents[op as usize];
        if size > MAX_INLINE || nesting > MAX_NESTING / 2 { (1, 0) } else { (size, nesting) }
    }
}
