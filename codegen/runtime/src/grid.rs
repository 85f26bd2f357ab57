//! One walk of a tree for all operating points.
//!
//! A walk adds values to rectangles of the grid of operating points. Each rectangle is kept as
//! four differences at its corners, so that adding costs the same whatever its size; running sums
//! in both directions give the totals at the end. Arithmetic is modulo 2³²: the compiler
//! guarantees that no total exceeds 32 bits.

use crate::predictor::finish;

/// A part of a tree that no clock split divides.
pub struct Part<R, V> {
    /// The value of this part for the ranks of a shape.
    pub value: fn(&R) -> V,
    /// What to do with it, from the lowest bit: 16 bits `base`, 12 bits number of the rectangle,
    /// 4 bits `shift`; `base + (value << shift)` is added to the rectangle.
    pub add: u32,
}

/// Adds parts to the grid.
///
/// A rectangle holds, one byte each from the lowest, the first accelerator level, the one after
/// the last, the first memory level, the one after the last. `cells` has one column more than
/// there are accelerator levels (`columns` in all), and one row more than there are memory levels.
#[inline]
pub fn add<R, V: Copy + Into<u32>>(
    cells: &mut [u32],
    columns: usize,
    rects: &[u32],
    parts: &[Part<R, V>],
    x: &R,
) {
    for part in parts {
        let value = (part.add & 0xffff) + ((part.value)(x).into() << (part.add >> 28));
        if let Some(rect) = rects.get((part.add >> 16 & 0xfff) as usize) {
            let [accel_from, accel_to, mem_from, mem_to] = rect.to_le_bytes().map(usize::from);
            let (top, bottom) = (mem_from * columns, mem_to * columns);
            step(cells, top + accel_from, value);
            step(cells, top + accel_to, 0u32.wrapping_sub(value));
            step(cells, bottom + accel_from, 0u32.wrapping_sub(value));
            step(cells, bottom + accel_to, value);
        }
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

    #[test]
    fn rectangles_add_up() {
        // 3 accelerator levels, 2 memory levels.
        let rect = |a0: u8, a1: u8, m0: u8, m1: u8| u32::from_le_bytes([a0, a1, m0, m1]);
        let rects = [rect(0, 3, 0, 2), rect(1, 3, 0, 1), rect(2, 3, 1, 2)];
        let parts: [Part<u8, u8>; 3] = [
            Part { value: |_| 1, add: 0 },
            Part { value: |x| *x, add: 1 << 28 | 1 << 16 | 7 },
            Part { value: |_| 0, add: 2 << 16 | 100 },
        ];
        let mut cells = [0; 12];
        add(&mut cells, 4, &rects, &parts, &5);
        let mut out = [0; 6];
        read(&mut cells, 4, 1000, 0, u32::MAX, &mut out);
        assert_eq!(out, [1001, 1018, 1018, 1001, 1001, 1101]);
    }
}
