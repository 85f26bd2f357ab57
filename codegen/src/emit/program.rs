//! Functions from ranks to a value: a pool of operations, equal ones shared.

use std::collections::HashMap;

use enerinfer_artifacts::{Forest, Node};

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
    pub(crate) fn add(&mut self, op: Op) -> u32 {
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

/// Operations, and those of them that become functions.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) ops: Vec<Op>,
    /// The operations that become functions.
    pub(crate) roots: Vec<u32>,
}

/// Every tree of a forest as a function, and the sum of the base and the trees that are constant.
pub(crate) fn trees(forest: &Forest<i64>) -> (Program, i64) {
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
    (Program { ops: ops.pool, roots }, base)
}
