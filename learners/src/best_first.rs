//! One regression tree, grown best first: the split that gains most comes next, until the tree has
//! its number of leaves (Shi 2007; "leaf-wise" in LightGBM).

use crate::CodedMatrix;
use crate::split::{Best, Open, Splitter};
use crate::tree::{GrownNode, Split};

/// A node while the tree grows; parents stand before their children.
struct Growing {
    value: f64,
    rows: u32,
    split: Option<(Best, usize)>,
}

/// A leaf that can be split.
struct Candidate {
    at: usize,
    node: Open,
    best: Best,
    gain: f64,
}

/// Grows the tree of `root` to at most `max_leaves` leaves; among equal gains the node that came
/// first is split first. Children stand before their parents in the result.
pub(crate) fn grow_best_first<const F: usize>(
    matrix: &CodedMatrix,
    splitter: &mut Splitter<F>,
    root: Open,
    max_leaves: u32,
) -> Vec<GrownNode> {
    let mut nodes = Vec::new();
    let mut candidates = Vec::new();
    open(splitter, root, &mut nodes, &mut candidates);
    for _ in 1..max_leaves {
        let first = candidates.iter().enumerate().reduce(|a, b| {
            let later = b.1.gain > a.1.gain || (b.1.gain == a.1.gain && b.1.at < a.1.at);
            if later { b } else { a }
        });
        let Some((index, _)) = first else { break };
        let Candidate { at, node, best, .. } = candidates.swap_remove(index);
        let (left, right) = splitter.partition(&node, &best);
        nodes[at].split = Some((best, nodes.len()));
        open(splitter, left, &mut nodes, &mut candidates);
        open(splitter, right, &mut nodes, &mut candidates);
    }
    let mut out = Vec::with_capacity(nodes.len());
    emit(matrix, &nodes, 0, &mut out);
    out
}

/// Adds a leaf, and a candidate if it can be split.
fn open<const F: usize>(
    splitter: &mut Splitter<F>,
    mut node: Open,
    nodes: &mut Vec<Growing>,
    candidates: &mut Vec<Candidate>,
) {
    let at = nodes.len();
    let value = splitter.scale.mean(node.total);
    nodes.push(Growing { value, rows: node.rows() as u32, split: None });
    if let Some(best) = splitter.best_split(&mut node) {
        // L2 can make every split a loss.
        let gain = splitter.scale.gain(best.left, node.total - best.left);
        if gain > 0.0 {
            candidates.push(Candidate { at, node, best, gain });
        }
    }
}

/// Writes a subtree, children first; gives the index of its root. Depth is limited.
fn emit(matrix: &CodedMatrix, nodes: &[Growing], at: usize, out: &mut Vec<GrownNode>) -> u32 {
    let node = &nodes[at];
    let split = node.split.as_ref().map(|(best, left)| {
        let (a, b) = (emit(matrix, nodes, *left, out), emit(matrix, nodes, left + 1, out));
        Split::new(matrix, best, a, b)
    });
    out.push(GrownNode { value: node.value, rows: node.rows, split });
    out.len() as u32 - 1
}
