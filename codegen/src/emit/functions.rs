//! Which operations become functions of their own.

use super::program::{Op, Program};

/// Most operations of one function. rustc's time per function grows faster than the function.
const MAX_OPS_PER_FUNCTION: u32 = 512;
/// Most nested branches of one function: keeps lines within rustfmt's width, and far away from
/// the thousand levels that crash rustc's parser.
const MAX_NESTING: u32 = 14;
/// A shared subtree of at least this many operations is called rather than repeated.
const MIN_SHARED_OPS: u32 = 7;

/// The operations that become functions: roots of trees, shared subtrees, and cuts through trees
/// that are too large or too deep for one function.
pub(crate) struct Functions {
    /// Function number per operation.
    number: Vec<Option<u32>>,
    /// Operation of each function; a function calls only functions with smaller numbers.
    ops: Vec<u32>,
}

impl Functions {
    pub(crate) fn of(program: &Program) -> Self {
        let count = program.ops.len();
        let mut parents = vec![0u32; count];
        for op in &program.ops {
            if let Op::If { then: a, otherwise: b, .. } = *op {
                parents[a as usize] += 1;
                parents[b as usize] += 1;
            }
        }
        let mut is_function = vec![false; count];
        for &root in &program.roots {
            is_function[root as usize] = true;
        }
        // Operations and nesting of each operation's text where it stands inside a function.
        let mut size = vec![1u32; count];
        let mut nesting = vec![0u32; count];
        for i in 0..count {
            let Op::If { then, otherwise, .. } = program.ops[i] else { continue };
            let (a, b) = (then as usize, otherwise as usize);
            let inline = |child: usize, is_function: &[bool]| {
                if is_function[child] { (1, 0) } else { (size[child], nesting[child]) }
            };
            let (mut size_a, mut nesting_a) = inline(a, &is_function);
            let (mut size_b, mut nesting_b) = inline(b, &is_function);
            loop {
                let too_deep = 1 + nesting_a.max(nesting_b) > MAX_NESTING;
                let too_large = 1 + size_a + size_b > MAX_OPS_PER_FUNCTION;
                if !too_deep && !too_large {
                    break;
                }
                let cut_a = if too_deep { nesting_a >= nesting_b } else { size_a >= size_b };
                if cut_a {
                    is_function[a] = true;
                    (size_a, nesting_a) = (1, 0);
                } else {
                    is_function[b] = true;
                    (size_b, nesting_b) = (1, 0);
                }
            }
            size[i] = 1 + size_a + size_b;
            nesting[i] = 1 + nesting_a.max(nesting_b);
            if parents[i] > 1 && size[i] >= MIN_SHARED_OPS {
                is_function[i] = true;
            }
        }
        let mut number = vec![None; count];
        let mut ops = Vec::new();
        for (i, &is_function) in is_function.iter().enumerate() {
            if is_function {
                number[i] = Some(ops.len() as u32);
                ops.push(i as u32);
            }
        }
        Functions { number, ops }
    }

    /// Number of the function that computes an operation, if it has one.
    pub(crate) fn number(&self, op: u32) -> Option<u32> {
        self.number[op as usize]
    }

    /// Most functions that are active at once while an operation is computed, the one where it
    /// stands excepted.
    pub(crate) fn most_calls(&self, program: &Program) -> Vec<u32> {
        let mut most = vec![0u32; program.ops.len()];
        for (i, op) in program.ops.iter().enumerate() {
            if let Op::If { then, otherwise, .. } = *op {
                let below = most[then as usize].max(most[otherwise as usize]);
                most[i] = below + u32::from(self.number[i].is_some());
            }
        }
        most
    }

    /// Operation of every function, in order of number.
    pub(crate) fn ops(&self) -> &[u32] {
        &self.ops
    }
}
