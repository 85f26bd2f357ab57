//! Statistics of one window, in the original's order of rounding.

use crate::Moments;

/// Statistics of one window: timestamp, cells, two bookkeeping columns.
pub(super) struct Group {
    pub(super) stats: Vec<Moments>,
    /// Values of the samples since the group was opened, sample by sample; empty cells are 0.
    open: Vec<f64>,
    sums: Vec<f64>,
}

impl Group {
    pub(super) fn new(columns: usize) -> Self {
        Group {
            stats: vec![Moments::default(); columns],
            open: Vec::new(),
            sums: vec![0.0; columns],
        }
    }

    /// Adds a sample. `spare` holds buffers that were let go: fresh memory for each window would
    /// cost as much time as the parsing.
    pub(super) fn add(&mut self, sample: &[f64], spare: &mut Vec<Vec<f64>>) {
        if self.open.capacity() == 0 {
            self.open = spare.pop().unwrap_or_default();
        }
        for (m, &v) in self.stats.iter_mut().zip(sample) {
            m.add(v);
        }
        self.open.extend(sample.iter().map(|v| if v.is_nan() { 0.0 } else { *v }));
    }

    /// Sums up what is open and lets it go: memory is bounded by the samples of one window.
    pub(super) fn close(&mut self, spare: &mut Vec<Vec<f64>>) {
        if self.open.capacity() == 0 {
            return;
        }
        let width = self.sums.len();
        let mut column = Vec::with_capacity(self.open.len() / width);
        for (c, sum) in self.sums.iter_mut().enumerate() {
            column.clear();
            column.extend(self.open.iter().skip(c).step_by(width));
            *sum += numpy_sum(&column);
        }
        self.open.clear();
        spare.push(std::mem::take(&mut self.open));
    }

    /// The mean. Where the windows follow each other in the log as in the INFO file (`in_order`)
    /// the original's is numpy's, else pandas' compensated one.
    pub(super) fn mean(&self, column: usize, in_order: bool) -> f64 {
        let m = &self.stats[column];
        if in_order && m.count() > 0 { self.sums[column] / m.count() as f64 } else { m.mean() }
    }
}

/// The sum in the order of numpy's `add.reduce`, whose rounding shows in averaged timestamps: the
/// first value, plus the others by halves down to blocks of 128 with eight running sums.
fn numpy_sum(values: &[f64]) -> f64 {
    match values.split_first() {
        Some((first, rest)) => first + pairwise(rest),
        None => 0.0,
    }
}

fn pairwise(v: &[f64]) -> f64 {
    if v.len() < 8 {
        return v.iter().sum();
    }
    if v.len() > 128 {
        let half = v.len() / 2;
        let (a, b) = v.split_at(half - half % 8);
        return pairwise(a) + pairwise(b);
    }
    let blocks = v.chunks_exact(8);
    let rest = blocks.remainder();
    let mut r = [0.0; 8];
    for block in blocks {
        r.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
    }
    let whole = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    rest.iter().fold(whole, |sum, x| sum + x)
}
