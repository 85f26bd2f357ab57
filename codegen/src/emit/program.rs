//! What is printed: a predictor as a pool of operations, equal ones shared.
//!
//! A forest is lowered in one of two forms:
//!
//! - *value*: every tree is a function from ranks to a leaf, called once per prediction;
//! - *grid*: every tree is walked **once for all operating points**. A shape split takes one
//!   side. A clock split takes both, and costs nothing: which operating points reach a node is
//!   known when compiling, so a leaf adds its value to a rectangle of operating points that is a
//!   constant.

use std::collections::HashMap;

use enerinfer_artifacts::{ClockTables, Feature, Forest, Node};

/// One operation; children stand before parents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// Nothing is added.
    Nothing,
    /// *Value* form: the leaf. *Grid* form: index of the first piece of a list.
    Leaf(u32),
    /// Both, one after the other (*grid* form).
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

/// A value for a rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Piece {
    pub(crate) rect: Rect,
    pub(crate) value: u16,
}

/// A lowered forest.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    /// Operation of each tree; trees that are constant are part of `base`.
    pub(crate) roots: Vec<u32>,
    pub(crate) base: i64,
    /// Lists of pieces, one after the other; `true` marks the last of a list. Empty in *value*
    /// form.
    pub(crate) pieces: Vec<(Piece, bool)>,
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
    Program { ops: ops.pool, roots, base, pieces: Vec::new() }
}

/// Lowers to the *grid* form.
pub(crate) fn grid(forest: &Forest<i64>, clocks: &ClockTables) -> Program {
    let mut lowering = Grid {
        forest,
        clocks,
        ops: Ops::default(),
        pieces: Vec::new(),
        lists: HashMap::new(),
        built: HashMap::new(),
    };
    let all = Rect {
        // Levels are capped far below 255.
        accel: (0, clocks.accel_khz.len() as u8),
        mem: (0, clocks.mem_khz.len() as u8),
    };
    let mut base = forest.base;
    let mut roots = Vec::with_capacity(forest.roots.len());
    for &root in &forest.roots {
        match forest.nodes[root as usize] {
            Node::Leaf(value) => base += value,
            Node::Split { .. } => {
                let root = lowering.tree(root, all);
                if lowering.ops.pool[root as usize] != Op::Nothing {
                    roots.push(root);
                }
            }
        }
    }
    Program { ops: lowering.ops.pool, roots, base, pieces: lowering.pieces }
}

/// A lowered subtree.
#[derive(Clone, Debug)]
enum Built {
    /// Only clock splits below: a list of pieces.
    Pieces(Vec<Piece>),
    Op(u32),
}

struct Grid<'a> {
    forest: &'a Forest<i64>,
    clocks: &'a ClockTables,
    ops: Ops,
    pieces: Vec<(Piece, bool)>,
    lists: HashMap<Vec<Piece>, u32>,
    /// By node and the operating points that reach it.
    built: HashMap<(u32, Rect), Built>,
}

/// Where a node sends a rectangle.
enum Way {
    One(u32),
    Clock((u32, Rect), (u32, Rect)),
    Shape { feature: u16, threshold: u32, left: u32, right: u32 },
}

impl Grid<'_> {
    fn tree(&mut self, root: u32, all: Rect) -> u32 {
        // Trees share nothing by node number: the memory of one suffices.
        self.built.clear();
        // A stack of its own: foreign trees may be thousands of levels deep.
        let mut stack = vec![(root, all)];
        while let Some(&(node, rect)) = stack.last() {
            if self.built.contains_key(&(node, rect)) {
                stack.pop();
                continue;
            }
            let needed = match self.forest.nodes[node as usize] {
                Node::Leaf(value) => {
                    let pieces = if value == 0 {
                        Vec::new()
                    } else {
                        // Leaves fit 16 bits after quantisation.
                        vec![Piece { rect, value: value as u16 }]
                    };
                    self.built.insert((node, rect), Built::Pieces(pieces));
                    None
                }
                Node::Split { feature, threshold, left, right } => {
                    let way = self.way(feature, threshold, left, right, rect);
                    self.join(node, rect, &way)
                }
            };
            match needed {
                Some(child) => stack.push(child),
                None => {
                    stack.pop();
                }
            }
        }
        let root = self.built[&(root, all)].clone();
        self.op(root)
    }

    fn way(&self, feature: u16, threshold: u32, left: u32, right: u32, rect: Rect) -> Way {
        let count = |levels: &[u32]| levels.partition_point(|&l| l <= threshold) as u8;
        let (at, (from, to)) = match self.forest.features[usize::from(feature)] {
            Feature::AccelKhz => (count(&self.clocks.accel_khz), rect.accel),
            Feature::MemKhz => (count(&self.clocks.mem_khz), rect.mem),
            _ => return Way::Shape { feature, threshold, left, right },
        };
        if at >= to {
            Way::One(left)
        } else if at <= from {
            Way::One(right)
        } else if self.forest.features[usize::from(feature)] == Feature::AccelKhz {
            Way::Clock(
                (left, Rect { accel: (from, at), ..rect }),
                (right, Rect { accel: (at, to), ..rect }),
            )
        } else {
            Way::Clock(
                (left, Rect { mem: (from, at), ..rect }),
                (right, Rect { mem: (at, to), ..rect }),
            )
        }
    }

    /// Builds a split from its children; returns a child that must be built first.
    fn join(&mut self, node: u32, rect: Rect, way: &Way) -> Option<(u32, Rect)> {
        let (l, r) = match *way {
            Way::One(only) => ((only, rect), (only, rect)),
            Way::Clock(l, r) => (l, r),
            Way::Shape { left, right, .. } => ((left, rect), (right, rect)),
        };
        let Some(left) = self.built.get(&l).cloned() else { return Some(l) };
        let Some(right) = self.built.get(&r).cloned() else { return Some(r) };
        let built = match (way, left, right) {
            (Way::One(_), only, _) => only,
            (Way::Clock(..), Built::Pieces(mut pieces), Built::Pieces(more)) => {
                pieces.extend(more);
                Built::Pieces(pieces)
            }
            (Way::Clock(..), left, right) => {
                let (a, b) = (self.op(left), self.op(right));
                Built::Op(self.ops.add(Op::Both(a, b)))
            }
            (&Way::Shape { feature, threshold, .. }, left, right) => {
                let (then, otherwise) = (self.op(left), self.op(right));
                Built::Op(self.ops.add(Op::If { feature, threshold, then, otherwise }))
            }
        };
        self.built.insert((node, rect), built);
        None
    }

    fn op(&mut self, built: Built) -> u32 {
        match built {
            Built::Op(op) => op,
            Built::Pieces(pieces) if pieces.is_empty() => self.ops.add(Op::Nothing),
            Built::Pieces(pieces) => {
                let first = self.pieces.len() as u32;
                let list = *self.lists.entry(pieces).or_insert_with_key(|pieces| {
                    let last = pieces.len() - 1;
                    self.pieces.extend(pieces.iter().enumerate().map(|(i, &p)| (p, i == last)));
                    first
                });
                self.ops.add(Op::Leaf(list))
            }
        }
    }
}
