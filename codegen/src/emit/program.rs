//! What is printed: a predictor as a pool of operations, equal ones shared.
//!
//! A forest is lowered in one of two forms:
//!
//! - *value*: every tree is a function from ranks to a leaf, called once per prediction;
//! - *grid*: every tree is walked **once for all operating points**. A shape split takes one
//!   side. A clock split takes both, and costs nothing: which operating points reach a node is
//!   known when compiling. So a subtree without clock splits is a *part*: a function from ranks to
//!   a value, which is added to a rectangle of operating points that is a constant. Parts form
//!   lists; shape splits above clock splits are a function that selects the list to go on with.

use std::collections::HashMap;

use enerinfer_artifacts::{ClockTables, Feature, Forest, Node};

/// One operation; children stand before parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// A value.
    Leaf(u32),
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
        if let Op::If { then, otherwise, .. } = op
            && then == otherwise
        {
            return then;
        }
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

impl Rect {
    /// All operating points.
    pub(crate) fn all(clocks: &ClockTables) -> Self {
        // Levels are capped far below 255.
        let levels = |khz: &[u32]| (0, khz.len() as u8);
        Rect { accel: levels(&clocks.accel_khz), mem: levels(&clocks.mem_khz) }
    }

    /// The operating points with a clock of at most `threshold`, and the others; `None` where
    /// there are none.
    pub(crate) fn cut(
        self,
        clock: Feature,
        threshold: u32,
        clocks: &ClockTables,
    ) -> [Option<Self>; 2] {
        let cut = |levels: &[u32], (from, to): (u8, u8)| {
            let at = (levels.partition_point(|&l| l <= threshold) as u8).clamp(from, to);
            [(from, at), (at, to)].map(|(from, to)| (from < to).then_some((from, to)))
        };
        if clock == Feature::AccelKhz {
            cut(&clocks.accel_khz, self.accel).map(|a| a.map(|accel| Rect { accel, ..self }))
        } else {
            cut(&clocks.mem_khz, self.mem).map(|m| m.map(|mem| Rect { mem, ..self }))
        }
    }

    /// As the device reads it: one byte each, from the lowest, for the first accelerator level,
    /// the one after the last, the first memory level, the one after the last.
    pub(crate) fn packed(self) -> u32 {
        u32::from_le_bytes([self.accel.0, self.accel.1, self.mem.0, self.mem.1])
    }
}

/// What is done with a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Use {
    /// `base + (value << shift)` is added to a rectangle.
    Add {
        /// The rectangle.
        rect: Rect,
        /// Smallest leaf of the part.
        base: u16,
        /// Step of its leaves.
        shift: u8,
    },
    /// The list `first + value` is gone through.
    Select {
        /// Number of the first list that may be selected.
        first: u32,
    },
}

/// A value and its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Part {
    pub(crate) use_: Use,
    /// Operation that computes the value.
    pub(crate) value: u32,
}

/// A lowered forest.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    /// *Value* form: operation of each tree that is not constant. Empty in *grid* form.
    pub(crate) roots: Vec<u32>,
    pub(crate) base: i64,
    /// *Grid* form: lists of parts; the first is where a walk starts. Empty in *value* form.
    pub(crate) lists: Vec<Vec<Part>>,
}

impl Program {
    /// Whether every prediction is `base`.
    pub(crate) fn is_constant(&self) -> bool {
        self.roots.is_empty() && self.lists.is_empty()
    }

    /// The parts of all lists.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.lists.iter().flatten()
    }
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
    Program { ops: ops.pool, roots, base, lists: Vec::new() }
}

/// Lowers to the *grid* form.
pub(crate) fn grid(forest: &Forest<i64>, clocks: &ClockTables) -> Program {
    let all = Rect::all(clocks);
    let mut grid = Grid {
        forest,
        clocks,
        reads_clocks: reads_clocks(forest),
        ops: Ops::default(),
        // The first list is filled last: it refers to all others.
        lists: vec![Vec::new()],
    };
    let mut base = forest.base;
    let mut start = Vec::new();
    for &root in &forest.roots {
        match forest.nodes[root as usize] {
            Node::Leaf(value) => base += value,
            Node::Split { .. } => start.extend(grid.list(root, all)),
        }
    }
    if start.is_empty() {
        grid.lists.clear();
    } else {
        grid.lists[0] = start;
    }
    Program { ops: grid.ops.pool, roots: Vec::new(), base, lists: grid.lists }
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
    lists: Vec<Vec<Part>>,
}

/// A list under construction: its parts, and the shape splits above clock splits that still have
/// to become parts which select.
#[derive(Default)]
struct Open {
    always: Vec<Reached>,
    selects: Vec<Reached>,
}

impl Grid<'_> {
    /// Follows clock splits down to parts and to shape splits above further clock splits.
    fn open(&self, root: u32, all: Rect) -> Open {
        let mut open = Open::default();
        let mut stack = vec![(root, all)];
        while let Some((node, rect)) = stack.pop() {
            if !self.reads_clocks[node as usize] {
                open.always.push((node, rect));
            } else if let Some(sides) = self.sides(node, rect) {
                stack.extend(sides.into_iter().rev().flatten());
            } else {
                open.selects.push((node, rect));
            }
        }
        open
    }

    /// The sides of a clock split that a rectangle reaches; `None` for other nodes.
    fn sides(&self, node: u32, rect: Rect) -> Option<[Option<Reached>; 2]> {
        let Node::Split { feature, threshold, left, right } = self.forest.nodes[node as usize]
        else {
            return None;
        };
        let clock = self.forest.features[usize::from(feature)];
        clock.is_clock().then(|| {
            let [l, r] = rect.cut(clock, threshold, self.clocks);
            [l.map(|rect| (left, rect)), r.map(|rect| (right, rect))]
        })
    }

    /// The parts that add a subtree to the grid.
    fn list(&mut self, root: u32, rect: Rect) -> Vec<Part> {
        let mut built: HashMap<Reached, Vec<Part>> = HashMap::new();
        // A stack of its own: foreign trees may be thousands of levels deep.
        let mut stack = vec![(root, rect)];
        while let Some(&at) = stack.last() {
            if built.contains_key(&at) {
                stack.pop();
                continue;
            }
            let open = self.open(at.0, at.1);
            let selects: Vec<Select> =
                open.selects.iter().map(|&(node, rect)| self.select(node, rect)).collect();
            let waiting = stack.len();
            let ends = selects.iter().flat_map(|select| &select.ends);
            stack.extend(ends.filter(|end| !built.contains_key(*end)));
            if stack.len() > waiting {
                continue;
            }
            let mut parts: Vec<Part> =
                open.always.into_iter().filter_map(|(n, r)| self.part(n, r)).collect();
            for select in selects {
                let lists = select.ends.iter().map(|end| built[end].clone()).collect();
                parts.extend(self.selecting(&select, lists));
            }
            built.insert(at, parts);
        }
        built.remove(&(root, rect)).unwrap_or_default()
    }

    /// The shape splits from a node down to where clocks are split or nothing is left to split.
    fn select(&self, root: u32, rect: Rect) -> Select {
        let mut select = Select { splits: Vec::new(), ends: Vec::new() };
        let mut seen = std::collections::HashSet::new();
        let mut stack = vec![root];
        while let Some(node) = stack.pop() {
            if !seen.insert(node) {
                continue;
            }
            match self.forest.nodes[node as usize] {
                Node::Split { feature, left, right, .. }
                    if self.reads_clocks[node as usize]
                        && !self.forest.features[usize::from(feature)].is_clock() =>
                {
                    select.splits.push(node);
                    stack.extend([right, left]);
                }
                _ => select.ends.push((node, rect)),
            }
        }
        // Children stand before parents.
        select.splits.sort_unstable();
        select
    }

    /// The part that selects among the lists of a select's ends; `None` if all are empty.
    fn selecting(&mut self, select: &Select, lists: Vec<Vec<Part>>) -> Option<Part> {
        if lists.iter().all(Vec::is_empty) {
            return None;
        }
        let first = self.lists.len() as u32;
        let mut map: HashMap<u32, u32> = HashMap::new();
        for (&(node, rect), mut list) in select.ends.iter().zip(lists) {
            if list.is_empty() {
                // A list has an end, and so at least one part.
                let use_ = Use::Add { rect, base: 0, shift: 0 };
                list.push(Part { use_, value: self.ops.add(Op::Leaf(0)) });
            }
            let known = self.lists[first as usize..].iter().position(|l| *l == list);
            let number = known.unwrap_or_else(|| {
                self.lists.push(list);
                self.lists.len() - 1 - first as usize
            });
            map.insert(node, self.ops.add(Op::Leaf(number as u32)));
        }
        let mut value = 0;
        for &node in &select.splits {
            if let Node::Split { feature, threshold, left, right } =
                self.forest.nodes[node as usize]
            {
                let (then, otherwise) = (map[&left], map[&right]);
                value = self.ops.add(Op::If { feature, threshold, then, otherwise });
                map.insert(node, value);
            }
        }
        Some(Part { use_: Use::Select { first }, value })
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
        if min == 0 && self.ops.pool[value as usize] == Op::Leaf(0) {
            return None;
        }
        // As above.
        let use_ = Use::Add { rect, base: min as u16, shift: shift as u8 };
        Some(Part { use_, value })
    }
}

/// Shape splits above clock splits, and the nodes to which they lead.
struct Select {
    splits: Vec<u32>,
    ends: Vec<Reached>,
}

/// Largest shift that the bits of a part hold.
const MAX_SHIFT: u32 = 15;
