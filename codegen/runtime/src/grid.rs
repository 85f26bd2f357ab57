//! One walk of a tree for all operating points.
//!
//! A walk adds values to rectangles of the grid of operating points. Each rectangle is kept as
//! four differences at its corners, so that adding costs the same whatever its size; running sums
//! in both directions give the totals at the end. Arithmetic is modulo 2³²: the compiler
//! guarantees that no total exceeds 32 bits.

use crate::predictor::finish;

/// Adds the list of pieces that starts at `first`.
///
/// A piece holds its value in bits 0–15, the number of its rectangle in bits 16–30, and in bit 31
/// whether it is the last of its list. A rectangle holds, one byte each from the lowest, the first
/// accelerator level, the one after the last, the first memory level, the one after the last.
/// `cells` has one column more than there are accelerator levels (`columns` in all), and one row
/// more than there are memory levels.
#[inline]
pub fn add(cells: &mut [u32], columns: usize, rects: &[u32], pieces: &[u32], first: usize) {
    for &piece in pieces.get(first..).unwrap_or(&[]) {
        let value = piece & 0xffff;
        if let Some(rect) = rects.get((piece >> 16 & 0x7fff) as usize) {
            let [accel_from, accel_to, mem_from, mem_to] = rect.to_le_bytes().map(usize::from);
            let (top, bottom) = (mem_from * columns, mem_to * columns);
            step(cells, top + accel_from, value);
            step(cells, top + accel_to, 0u32.wrapping_sub(value));
            step(cells, bottom + accel_from, 0u32.wrapping_sub(value));
            step(cells, bottom + accel_to, value);
        }
        if piece >> 31 == 1 {
            break;
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
    let mut slots = out.iter_mut();
    for column_and_row in 0..cells.len() {
        let above = match column_and_row.checked_sub(columns) {
            Some(above) => cells.get(above).copied().unwrap_or(0),
            None => 0,
        };
        step(cells, column_and_row, above);
    }
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
        let last = 1 << 31;
        let pieces = [1, 1 << 16 | 10, 2 << 16 | 100 | last, 1 << 16 | 7 | last];
        let mut cells = [0; 12];
        add(&mut cells, 4, &rects, &pieces, 0);
        add(&mut cells, 4, &rects, &pieces, 3);
        let mut out = [0; 6];
        read(&mut cells, 4, 1000, 0, u32::MAX, &mut out);
        assert_eq!(out, [1001, 1018, 1018, 1001, 1001, 1101]);
    }
}
