//! One walk of a tree for all operating points.
//!
//! A walk adds values to rectangles of the grid of operating points. Each rectangle is kept as
//! four differences at its corners, so that adding costs the same whatever its size; running sums
//! in both directions give the totals at the end. Arithmetic is modulo 2³²: the compiler
//! guarantees that no total exceeds 32 bits.

use crate::predictor::finish;

/// The smallest value of one byte to return: `x86` loads a byte in two bytes of code, others a
/// small word.
#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
pub type Byte = u8;
/// The smallest value of one byte to return: `x86` loads a byte in two bytes of code, others a
/// small word.
#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
pub type Byte = u32;

/// Part of a tree that no clock split divides, or the choice of what is walked next.
pub struct Part<R, V> {
    /// A value for the ranks of a shape.
    pub value: fn(&R) -> V,
    /// What to do with it, from the lowest bit:
    ///
    /// - 16 bits `base`;
    /// - 11 bits number of a rectangle, to which `base + (value << shift)` is added; or
    ///   [`SELECT`], by which the walk goes through list `base + value`;
    /// - 4 bits `shift`;
    /// - 1 bit: whether this is the last part of its list.
    pub usage: u32,
}

/// See [`Part::usage`].
pub const SELECT: u32 = 0x7ff;

/// The parts of a forest.
pub struct Walk<R: 'static, V: 'static> {
    /// Columns of the grid of differences: one more than there are accelerator levels. (It has
    /// one row more than there are memory levels.)
    pub columns: usize,
    /// Rectangles: one byte each, from the lowest, for the first accelerator level, the one after
    /// the last, the first memory level, the one after the last.
    pub rects: &'static [u32],
    /// All lists of parts, one after the other.
    pub parts: &'static [Part<R, V>],
    /// First part of each list.
    pub lists: &'static [u16],
}

impl<R, V: Copy + Into<u32>> Walk<R, V> {
    /// Goes through a list, adding to `cells`. Recursion is as deep as selections are nested: at
    /// most the depth of the trees.
    pub fn list(&self, x: &R, cells: &mut [u32], list: usize) {
        let first = self.lists.get(list).copied().map_or(usize::MAX, usize::from);
        for part in self.parts.get(first..).unwrap_or(&[]) {
            let value: u32 = (part.value)(x).into();
            let (base, to) = (part.usage & 0xffff, part.usage >> 16 & 0x7ff);
            if to == SELECT {
                self.list(x, cells, (base + value) as usize);
            } else if let Some(rect) = self.rects.get(to as usize) {
                let value = base + (value << (part.usage >> 27 & 0xf));
                add_one(cells, self.columns, *rect, value);
            }
            if part.usage >> 31 == 1 {
                break;
            }
        }
    }
}

/// Adds a value to each rectangle; rectangles are as in [`Walk::rects`].
pub fn add(cells: &mut [u32], columns: usize, rects: &[u32], values: &[i32]) {
    for (rect, value) in rects.iter().zip(values) {
        add_one(cells, columns, *rect, *value as u32);
    }
}

#[inline]
fn add_one(cells: &mut [u32], columns: usize, rect: u32, value: u32) {
    let [accel_from, accel_to, mem_from, mem_to] = rect.to_le_bytes().map(usize::from);
    let (top, bottom) = (mem_from * columns, mem_to * columns);
    step(cells, top + accel_from, value);
    step(cells, top + accel_to, 0u32.wrapping_sub(value));
    step(cells, bottom + accel_from, 0u32.wrapping_sub(value));
    step(cells, bottom + accel_to, value);
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

    const LAST: u32 = 1 << 31;

    /// A rectangle of 3 accelerator levels and 2 memory levels.
    const fn rect(a0: u8, a1: u8, m0: u8, m1: u8) -> u32 {
        u32::from_le_bytes([a0, a1, m0, m1])
    }

    static RECTS: [u32; 3] = [rect(0, 3, 0, 2), rect(1, 3, 0, 1), rect(2, 3, 1, 2)];
    static PARTS: [Part<u8, u8>; 5] = [
        Part { value: |_| 1, usage: 0 },
        Part { value: |x| *x, usage: 1 << 27 | 1 << 16 | 7 },
        Part { value: |x| *x - 4, usage: LAST | SELECT << 16 | 1 },
        Part { value: |_| 0, usage: LAST | 2 << 16 | 999 },
        Part { value: |_| 0, usage: LAST | 2 << 16 | 100 },
    ];
    static WALK: Walk<u8, u8> =
        Walk { columns: 4, rects: &RECTS, parts: &PARTS, lists: &[0, 3, 4] };

    #[test]
    fn rectangles_of_walked_lists_add_up() {
        let mut cells = [0; 12];
        WALK.list(&5, &mut cells, 0);
        let mut out = [0; 6];
        read(&mut cells, 4, 1000, 0, u32::MAX, &mut out);
        assert_eq!(out, [1001, 1018, 1018, 1001, 1001, 1101]);
    }
    #[test]
    fn values_of_rectangles_add_up() {
        let mut cells = [0; 12];
        add(&mut cells, 4, &RECTS, &[5, -3, 100]);
        let mut out = [0; 6];
        read(&mut cells, 4, 1000, 0, u32::MAX, &mut out);
        assert_eq!(out, [1005, 1002, 1002, 1005, 1005, 1105]);
    }
}
