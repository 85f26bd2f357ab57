//! Splits of nodes of few rows: the values of every feature are sorted at once, without a branch.

use crate::CodedMatrix;
use crate::fixed::Sum;
use crate::split::{Row, Winner};

/// Most rows of a node that is sorted rather than binned.
const MAX_ROWS: usize = 16;
/// Bits of a row's place in the node.
const PLACE_BITS: u32 = MAX_ROWS.trailing_zeros();
/// Most rows of a node whose divisions are all scored beforehand.
const MAX_DIVIDED: usize = 4;
/// Most distinct values of a column that leave room for the place in 15 bits.
const MAX_DISTINCT: usize = 1 << (i16::BITS - 1 - PLACE_BITS);

/// Sorts the columns of small nodes.
pub(crate) struct Small<const F: usize> {
    /// Most rows of a node that is sorted.
    max_rows: usize,
    /// For each number of rows, the pairs that a sorting network compares.
    networks: Vec<Vec<(u8, u8)>>,
    /// Code and, below it, place of a row; one array of features per row.
    keys: [[i16; F]; MAX_ROWS],
    /// Score of every division of the rows, by the set of places on one side; for the smallest
    /// nodes, where the features offer the same few divisions again and again.
    divisions: [f64; 1 << MAX_DIVIDED],
    /// Score of every boundary of each feature.
    scores: [[i64; MAX_ROWS]; F],
}

impl<const F: usize> Small<F> {
    pub(crate) fn new(matrix: &CodedMatrix) -> Self {
        let fits = |f| matrix.distinct(f).len() <= MAX_DISTINCT;
        let max_rows = if (0..matrix.features().len()).all(fits) { MAX_ROWS } else { 0 };
        let networks = (0..=MAX_ROWS).map(network).collect();
        let divisions = [0.0; 1 << MAX_DIVIDED];
        Small {
            max_rows,
            networks,
            keys: [[0; F]; MAX_ROWS],
            divisions,
            scores: [[0; MAX_ROWS]; F],
        }
    }

    /// Whether a node of so many rows can be sorted.
    pub(crate) fn takes(&self, rows: usize) -> bool {
        rows <= self.max_rows
    }

    /// Offers the best boundary between the rows of a node in `features` to `winner`, the first of
    /// equals; gives those that are constant in the node.
    #[inline(always)]
    pub(crate) fn scan(&mut self, rows: &[Row<F>], features: &[u32], winner: &mut Winner) -> u32 {
        self.sort(rows, winner);
        // The best is taken when all are known: which is best so far cannot be foretold, and
        // taking it each time costs more than the scores.
        let (mut top, mut best, mut constant) = (0, 0, 0);
        for &f in features {
            match self.highest(rows, f, winner) {
                Some(score) => (top, best) = if score > top { (score, f) } else { (top, best) },
                None => constant |= 1 << f,
            }
        }
        if top > 0 {
            self.take(rows, best, top, winner);
        }
        constant
    }

    /// Sorts every column of a node.
    fn sort(&mut self, rows: &[Row<F>], winner: &Winner) {
        for (place, (keys, row)) in (0..).zip(self.keys.iter_mut().zip(rows)) {
            for (key, &code) in keys.iter_mut().zip(&row.codes) {
                *key = (code << PLACE_BITS) as i16 | place;
            }
        }
        for &(a, b) in &self.networks[rows.len()] {
            let (a, b) = (usize::from(a) % MAX_ROWS, usize::from(b) % MAX_ROWS);
            let (low, high) = (self.keys[a], self.keys[b]);
            for f in 0..F {
                self.keys[a][f] = low[f].min(high[f]);
                self.keys[b][f] = low[f].max(high[f]);
            }
        }
        if rows.len() <= MAX_DIVIDED {
            let mut sums = [Sum::default(); 1 << MAX_DIVIDED];
            let all = (1 << rows.len()) - 1;
            for set in 1..=all / 2 {
                let mut sum = sums[set & (set - 1)];
                sum += rows[set.trailing_zeros() as usize].sum;
                sums[set] = sum;
                let score = winner.score(sum);
                self.divisions[set] = score;
                self.divisions[all ^ set] = score;
            }
        }
    }

    /// Highest score of a boundary of `feature` between the sorted rows, as bits; `None` if it is
    /// constant.
    #[inline]
    fn highest(&mut self, rows: &[Row<F>], feature: u32, winner: &Winner) -> Option<i64> {
        let keys = &self.keys[..rows.len()];
        let f = feature as usize;
        let code = |at: usize| keys[at][f] as u16 >> PLACE_BITS;
        let place = |at: usize| keys[at][f] as usize % MAX_ROWS;
        let last = keys.len() - 1;
        if code(0) == code(last) {
            return None;
        }
        // Scores are not negative where they matter, and then as ordered as their bits; what is no
        // boundary has none. So no branch depends on the values.
        let scores = &mut self.scores[f][..last];
        let mut top = 0;
        let mut offer = |at: usize, score: f64, out: &mut i64| {
            *out = score.to_bits() as i64 & -i64::from(code(at) != code(at + 1));
            top = top.max(*out);
        };
        if keys.len() <= MAX_DIVIDED {
            let mut set = 0;
            for (at, out) in scores.iter_mut().enumerate() {
                set |= 1 << place(at);
                offer(at, self.divisions[set % (1 << MAX_DIVIDED)], out);
            }
        } else {
            let mut left = Sum::default();
            for (at, out) in scores.iter_mut().enumerate() {
                left += rows[place(at)].sum;
                offer(at, winner.score(left), out);
            }
        }
        Some(top)
    }

    /// Offers the boundary of `feature` that has this score.
    fn take(&self, rows: &[Row<F>], feature: u32, score: i64, winner: &mut Winner) {
        let (keys, f) = (&self.keys[..rows.len()], feature as usize);
        let found = self.scores[f].iter().position(|&bits| bits == score);
        if let Some(at) = found.filter(|at| at + 1 < keys.len()) {
            let code = |at: usize| keys[at][f] as u16 >> PLACE_BITS;
            let mut left = Sum::default();
            for key in &keys[..=at] {
                left += rows[key[f] as usize % MAX_ROWS].sum;
            }
            winner.take(f64::from_bits(score as u64), feature, (code(at), code(at + 1)), left);
        }
    }
}

/// Batcher's merge exchange for `n` values (Knuth, The Art of Computer Programming 3, algorithm
/// 5.2.2 M).
fn network(n: usize) -> Vec<(u8, u8)> {
    let mut pairs = Vec::new();
    let top = n.next_power_of_two() / 2;
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            let low = (0..n.saturating_sub(d)).filter(|i| i & p == r);
            pairs.extend(low.map(|i| (i as u8, (i + d) as u8)));
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_sort() {
        for n in 0..=MAX_ROWS {
            let network = network(n);
            // A network that sorts every sequence of zeros and ones sorts every sequence.
            for bits in 0u32..1 << n {
                let mut values: Vec<u32> = (0..n).map(|i| bits >> i & 1).collect();
                for &(a, b) in &network {
                    let (a, b) = (usize::from(a), usize::from(b));
                    if values[a] > values[b] {
                        values.swap(a, b);
                    }
                }
                assert!(values.is_sorted(), "{n} {bits:b}");
            }
        }
    }
}
