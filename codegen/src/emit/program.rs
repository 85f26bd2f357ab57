//! What is printed: a predictor as a pool of operations, equal ones shared.
//!
//! A forest is lowered in one of two forms:
//!
//! - *value*: every tree is a function from ranks to a leaf, called once per prediction;
//! - *grid*: every tree is walked **once for all operating points**. A shape split takes one
//!   side. A clock split takes both, and costs nothing: which operating points reach a node is
//!   known when compiling. So a subtree without clock splits is a *part*: a function from ranks to
//!   a value, which is added to a rectangle of operating points that is a constant. The parts of
//!   all trees that stand under no shape split are one list.

use std::collections::HashMap;

use enerinfer_artifacts::{ClockTables, Feature, Forest, Node};

/// One operation; children stand before parents. `Leaf` and what leads to it computes a value;
/// everything else adds to the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// A value.
    Leaf(u32),
    /// Nothing is added.
    Nothing,
    /// Adds the parts from the first to before the second.
    Parts(u32, u32),
    /// Both, one after the other.
    Both(u32, u32),
    /// `x[feature] <= threshold` continues at `then`, else at `otherwise`.
    If {
        /// Column of the forest.
        feature: u16,
        /// Largest value that goes to `then`.
        threshold: u32,
        /// Operation if so.
        then: u32,
        /// Operation if not.
        otherwise: u32,
    },
}

/// Operations without repetition.
#[derive(Debug, Default)]
pub(crate) struct Ops {
    pub(crate) pool: Vec<Op>,
    known: HashMap<Op, u32>,
}

impl Ops {
    fn add(&mut self, op: Op) -> u32 {
        let op = match op {
            Op::If { then, otherwise, .. } if then == otherwise => return then,
            Op::Both(a, b) if self.pool[a as usize] == Op::Nothing => return b,
            Op::Both(a, b) if self.pool[b as usize] == Op::Nothing => return a,
            op => op,
        };
        *self.known.entry(op).or_insert_with(|| {
            self.pool.push(op);
            self.pool.len() as u32 - 1
        })
    }
}

/// A part of the grid of operating points: levels `accel.0..accel.1` and `mem.0..mem.1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rect {
    pub(crate) accel: (u8, u8),
    pub(crate) mem: (u8, u8),
}

/// A value for a rectangle: `base + (value << shift)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) rect: Rect,
    pub(crate) base: u16,
    pub(crate) shift: u8,
    /// Operation that computes the value.
    pub(crate) value: u32,
}

/// A lowered forest.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    /// Operation of each tree that is not constant. In *grid* form one for the parts that are
    /// always added, then those of shape splits above clock splits.
    pub(crate) roots: Vec<u32>,
    pub(crate) base: i64,
    /// Empty in *value* form.
    pub(crate) parts: Vec<Part>,
}

/// Lowers to the *value* form.
pub(crate) fn value(forest: &Forest<i64>) -> Program {
    let mut ops = Ops::default();
    let mut map = Vec::with_capacity(forest.nodes.len());
    for node in &forest.nodes {
        let op = match *node {
            // Leaves fit 16 bits after quantisation.
            Node::Leaf(value) => Op::Leaf(value as u32),
            Node::Split { feature, threshold, left, right } => Op::If {
                feature,
                threshold,
                then: map[left as usize],
                otherwise: map[right as usize],
            },
        };
        map.push(ops.add(op));
    }
    let mut base = forest.base;
    let mut roots = Vec::with_capacity(forest.roots.len());
    for &root in &forest.roots {
        match ops.pool[map[root as usize] as usize] {
            Op::Leaf(value) => base += i64::from(value),
            _ => roots.push(map[root as usize]),
        }
    }
    Program { ops: ops.pool, roots, base, parts: Vec::new() }
}

/// Lowers to the *grid* form.
pub(crate) fn grid(forest: &Forest<i64>, clocks: &ClockTables) -> Program {
    let all = Rect {
        // Levels are capped far below 255.
        accel: (0, clocks.accel_khz.len() as u8),
        mem: (0, clocks.mem_khz.len() as u8),
    };
    let mut grid = Grid {
        forest,
        clocks,
        reads_clocks: reads_clocks(forest),
        ops: Ops::default(),
        parts: Vec::new(),
    };
    let mut base = forest.base;
    let mut always = Vec::new();
    let mut conditional = Vec::new();
    for &root in &forest.roots {
        match forest.nodes[root as usize] {
            Node::Leaf(value) => base += value,
            Node::Split { .. } => grid.top(root, all, &mut always, &mut conditional),
        }
    }
    let mut roots = Vec::new();
    let parts: Vec<Part> = always.into_iter().filter_map(|(n, r)| grid.part(n, r)).collect();
    roots.extend(grid.list(parts));
    for (node, rect) in conditional {
        let op = grid.statement(node, rect);
        if grid.ops.pool[op as usize] != Op::Nothing {
            roots.push(op);
        }
    }
    Program { ops: grid.ops.pool, roots, base, parts: grid.parts }
}

/// Whether a clock split stands at or below each node.
fn reads_clocks(forest: &Forest<i64>) -> Vec<bool> {
    let mut reads = Vec::with_capacity(forest.nodes.len());
    for node in &forest.nodes {
        reads.push(match *node {
            Node::Leaf(_) => false,
            Node::Split { feature, left, right, .. } => {
                forest.features[usize::from(feature)].is_clock()
                    || reads[left as usize]
                    || reads[right as usize]
            }
        });
    }
    reads
}

/// A node with the operating points that reach it.
type Reached = (u32, Rect);

struct Grid<'a> {
    forest: &'a Forest<i64>,
    clocks: &'a ClockTables,
    reads_clocks: Vec<bool>,
    ops: Ops,
    parts: Vec<Part>,
}

impl Grid<'_> {
    /// Splits a subtree, down to the first shape splits above clock splits, into the parts that
    /// are always added and the rest.
    fn top(&self, root: u32, all: Rect, always: &mut Vec<Reached>, conditional: &mut Vec<Reached>) {
        let mut stack = vec![(root, all)];
        while let Some((node, rect)) = stack.pop() {
            if !self.reads_clocks[node as usize] {
                always.push((node, rect));
            } else if let Some(sides) = self.sides(node, rect) {
                stack.extend(sides.into_iter().rev().flatten());
            } else {
                conditional.push((node, rect));
            }
        }
    }

    /// The sides of a clock split that a rectangle reaches; `None` for other nodes.
    fn sides(&self, node: u32, rect: Rect) -> Option<[Option<Reached>; 2]> {
        let Node::Split { feature, threshold, left, right } = self.forest.nodes[node as usize]
        else {
            return None;
        };
        let cut = |levels: &[u32], (from, to): (u8, u8)| {
            let at = levels.partition_point(|&l| l <= threshold) as u8;
            let some = |from, to| (from < to).then_some((from, to));
            (some(from, at.min(to)), some(at.max(from), to))
        };
        match self.forest.features[usize::from(feature)] {
            Feature::AccelKhz => {
                let (l, r) = cut(&self.clocks.accel_khz, rect.accel);
                Some([
                    l.map(|accel| (left, Rect { accel, ..rect })),
                    r.map(|accel| (right, Rect { accel, ..rect })),
                ])
            }
            Feature::MemKhz => {
                let (l, r) = cut(&self.clocks.mem_khz, rect.mem);
                Some([
                    l.map(|mem| (left, Rect { mem, ..rect })),
                    r.map(|mem| (right, Rect { mem, ..rect })),
                ])
            }
            _ => None,
        }
    }

    /// The operation that adds a subtree to the grid.
    fn statement(&mut self, root: u32, rect: Rect) -> u32 {
        let mut built: HashMap<Reached, u32> = HashMap::new();
        // A stack of its own: foreign trees may be thousands of levels deep.
        let mut stack = vec![(root, rect)];
        while let Some(&at) = stack.last() {
            if built.contains_key(&at) {
                stack.pop();
                continue;
            }
            let (node, rect) = at;
            if let (true, Node::Split { feature, threshold, left, right }) =
                (self.is_shape_split_above_clocks(node), self.forest.nodes[node as usize])
            {
                match (built.get(&(left, rect)), built.get(&(right, rect))) {
                    (Some(&then), Some(&otherwise)) => {
                        let op = Op::If { feature, threshold, then, otherwise };
                        built.insert(at, self.ops.add(op));
                    }
                    (None, _) => stack.push((left, rect)),
                    (_, None) => stack.push((right, rect)),
                }
                continue;
            }
            // Parts, clock splits, and below them perhaps shape splits again.
            let (mut always, mut conditional) = (Vec::new(), Vec::new());
            self.top(node, rect, &mut always, &mut conditional);
            if let Some(&missing) = conditional.iter().find(|c| !built.contains_key(c)) {
                stack.push(missing);
                continue;
            }
            let parts: Vec<Part> =
                always.into_iter().filter_map(|(n, r)| self.part(n, r)).collect();
            let mut op = self.list(parts).unwrap_or_else(|| self.ops.add(Op::Nothing));
            for reached in conditional {
                op = self.ops.add(Op::Both(op, built[&reached]));
            }
            built.insert(at, op);
        }
        built[&(root, rect)]
    }

    fn is_shape_split_above_clocks(&self, node: u32) -> bool {
        self.reads_clocks[node as usize]
            && matches!(self.forest.nodes[node as usize], Node::Split { feature, .. }
                if !self.forest.features[usize::from(feature)].is_clock())
    }

    /// The operation that adds a list of parts.
    fn list(&mut self, parts: Vec<Part>) -> Option<u32> {
        if parts.is_empty() {
            return None;
        }
        let first = self.parts.len() as u32;
        self.parts.extend(parts);
        Some(self.ops.add(Op::Parts(first, self.parts.len() as u32)))
    }

    /// The part of a subtree without clock splits; `None` if it adds nothing.
    fn part(&mut self, root: u32, rect: Rect) -> Option<Part> {
        let mut nodes = Vec::new();
        let mut stack = vec![root];
        let mut seen = std::collections::HashSet::new();
        while let Some(node) = stack.pop() {
            if seen.insert(node) {
                nodes.push(node);
                if let Node::Split { left, right, .. } = self.forest.nodes[node as usize] {
                    stack.extend([left, right]);
                }
            }
        }
        // Children stand before parents.
        nodes.sort_unstable();
        let leaves = || {
            nodes.iter().filter_map(|&n| match self.forest.nodes[n as usize] {
                Node::Leaf(value) => Some(value),
                Node::Split { .. } => None,
            })
        };
        let min = leaves().min().unwrap_or(0);
        let bits = leaves().fold(0, |bits, value| bits | (value - min));
        let shift = if bits == 0 { 0 } else { bits.trailing_zeros().min(MAX_SHIFT) };
        let mut map = HashMap::with_capacity(nodes.len());
        for &node in &nodes {
            let op = match self.forest.nodes[node as usize] {
                // Leaves of a tree fit 16 bits after quantisation.
                Node::Leaf(value) => Op::Leaf(((value - min) >> shift) as u32),
                Node::Split { feature, threshold, left, right } => {
                    Op::If { feature, threshold, then: map[&left], otherwise: map[&right] }
                }
            };
            map.insert(node, self.ops.add(op));
        }
        let value = map[&root];
        // As above.
        let part = Part { rect, base: min as u16, shift: shift as u8, value };
        (part.base != 0 || self.ops.pool[value as usize] != Op::Leaf(0)).then_some(part)
    }
}

/// Largest shift that the bits of a part hold.
const MAX_SHIFT: u32 = 15;
