//! One walk of all trees for all operating points.
//!
//! A walk adds values to rectangles of the grid of operating points, as many as a forest's clock
//! splits make. Afterwards each rectangle is kept as four differences at its corners, and running
//! sums in both directions give the totals. Arithmetic is modulo 2³²: the compiler guarantees that
//! no total exceeds 32 bits.

use crate::predictor::finish;

/// What a walk has added to rectangles.
///
/// Relaxed atomics where there are such: compilers leave their loads and stores where they are.
/// Plain numbers they keep in registers, of which there are not enough for so many sums, and save
/// and restore them instead: measured as a third more code on x86-64 and 7 % on thumbv7em.
#[derive(Debug)]
pub struct Sums<const N: usize>([Cell; N]);

#[cfg(target_has_atomic = "32")]
type Cell = core::sync::atomic::AtomicI32;
#[cfg(not(target_has_atomic = "32"))]
type Cell = core::cell::Cell<i32>;

impl<const N: usize> Default for Sums<N> {
    fn default() -> Self {
        Sums(core::array::from_fn(|_| Cell::new(0)))
    }
}

impl<const N: usize> Sums<N> {
    /// Adds a value to the sum at `at`, if there is one.
    #[inline]
    pub fn add(&self, at: usize, value: i32) {
        if let Some(sum) = self.0.get(at) {
            set(sum, get(sum).wrapping_add(value));
        }
    }

    /// Adds each sum to its rectangle of a grid of differences. `columns` is one more than there
    /// are accelerator levels, and there is one row more than memory levels. A rectangle is four
    /// bytes, from the lowest: the first accelerator level, the one after the last, the first
    /// memory level, the one after the last.
    pub fn spread(&self, cells: &mut [u32], columns: usize, rects: &[u32; N]) {
        spread(cells, columns, rects, &self.0);
    }
}

#[cfg(target_has_atomic = "32")]
#[inline]
fn get(sum: &Cell) -> i32 {
    sum.load(core::sync::atomic::Ordering::Relaxed)
}

#[cfg(not(target_has_atomic = "32"))]
fn get(sum: &Cell) -> i32 {
    sum.get()
}

#[cfg(target_has_atomic = "32")]
#[inline]
fn set(sum: &Cell, value: i32) {
    sum.store(value, core::sync::atomic::Ordering::Relaxed);
}

#[cfg(not(target_has_atomic = "32"))]
fn set(sum: &Cell, value: i32) {
    sum.set(value);
}

/// Adds a value to each rectangle of a grid of differences.
fn spread(cells: &mut [u32], columns: usize, rects: &[u32], sums: &[Cell]) {
    for (rect, sum) in rects.iter().zip(sums) {
        let [accel_from, accel_to, mem_from, mem_to] = rect.to_le_bytes().map(usize::from);
        let (top, bottom) = (mem_from * columns, mem_to * columns);
        let plus = get(sum) as u32;
        let minus = 0u32.wrapping_sub(plus);
        step(cells, top + accel_from, plus);
        step(cells, top + accel_to, minus);
        step(cells, bottom + accel_from, minus);
        step(cells, bottom + accel_to, plus);
    }
}

#[inline]
fn step(cells: &mut [u32], at: usize, value: u32) {
    if let Some(cell) = cells.get_mut(at) {
        *cell = cell.wrapping_add(value);
    }
}

/// Turns differences into totals, adds `base`, and writes the device value of every operating
/// point.
pub fn read(cells: &mut [u32], columns: usize, base: i64, shift: i8, max: u32, out: &mut [u32]) {
    // Differences of a row cancel at its end, so that one running sum serves all rows.
    let mut sum = 0u32;
    for cell in cells.iter_mut() {
        sum = sum.wrapping_add(*cell);
        *cell = sum;
    }
    for at in columns..cells.len() {
        let above = cells.get(at - columns).copied().unwrap_or(0);
        step(cells, at, above);
    }
    let mut slots = out.iter_mut();
    for row in cells.chunks(if columns == 0 { 1 } else { columns }) {
        if let Some((_, totals)) = row.split_last() {
            for total in totals {
                if let Some(slot) = slots.next() {
                    *slot = finish(base + i64::from(*total), shift, max);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rectangle of 3 accelerator levels and 2 memory levels.
    const fn rect(a0: u8, a1: u8, m0: u8, m1: u8) -> u32 {
        u32::from_le_bytes([a0, a1, m0, m1])
    }

    static RECTS: [u32; 3] = [rect(0, 3, 0, 2), rect(1, 3, 0, 1), rect(2, 3, 1, 2)];
    #[test]
    fn values_of_rectangles_add_up() {
        let mut cells = [0; 12];
        let sums: Sums<3> = Sums::default();
        for (at, value) in [5, -3, 100].into_iter().enumerate() {
            sums.add(at, value);
        }
        sums.add(3, 1); // no such sum
        sums.spread(&mut cells, 4, &RECTS);
        let mut out = [0; 6];
        read(&mut cells, 4, 1000, 0, u32::MAX, &mut out);
        assert_eq!(out, [1005, 1002, 1002, 1005, 1005, 1105]);
    }
}
