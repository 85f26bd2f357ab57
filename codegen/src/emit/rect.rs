//! Rectangles of the grid of operating points.

use enerinfer_artifacts::{ClockTables, Feature};

/// Operating points of neighbouring clocks: levels `accel.0..accel.1` and `mem.0..mem.1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rect {
    pub(crate) accel: (u8, u8),
    pub(crate) mem: (u8, u8),
}

impl Rect {
    /// All operating points.
    pub(crate) fn all(clocks: &ClockTables) -> Self {
        // Levels are capped far below 255.
        let levels = |khz: &[u32]| (0, khz.len() as u8);
        Rect { accel: levels(&clocks.accel_khz), mem: levels(&clocks.mem_khz) }
    }

    /// The operating points with a clock of at most `threshold`, and the others; `None` where
    /// there are none.
    pub(crate) fn cut(
        self,
        clock: Feature,
        threshold: u32,
        clocks: &ClockTables,
    ) -> [Option<Self>; 2] {
        let cut = |levels: &[u32], (from, to): (u8, u8)| {
            let at = (levels.partition_point(|&l| l <= threshold) as u8).clamp(from, to);
            [(from, at), (at, to)].map(|(from, to)| (from < to).then_some((from, to)))
        };
        if clock == Feature::AccelKhz {
            cut(&clocks.accel_khz, self.accel).map(|a| a.map(|accel| Rect { accel, ..self }))
        } else {
            cut(&clocks.mem_khz, self.mem).map(|m| m.map(|mem| Rect { mem, ..self }))
        }
    }

    /// The rectangle that two neighbours make together, if they do.
    pub(crate) fn union(self, other: Self) -> Option<Self> {
        let joined = |a: (u8, u8), b: (u8, u8)| {
            if a.1 == b.0 { Some((a.0, b.1)) } else { (b.1 == a.0).then_some((b.0, a.1)) }
        };
        if self.mem == other.mem {
            joined(self.accel, other.accel).map(|accel| Rect { accel, ..self })
        } else if self.accel == other.accel {
            joined(self.mem, other.mem).map(|mem| Rect { mem, ..self })
        } else {
            None
        }
    }

    /// As the device reads it: one byte each, from the lowest, for the first accelerator level,
    /// the one after the last, the first memory level, the one after the last.
    pub(crate) fn packed(self) -> u32 {
        u32::from_le_bytes([self.accel.0, self.accel.1, self.mem.0, self.mem.1])
    }
}

/// Rectangles as differences at their corners, in a grid with a border: one column more than
/// there are accelerator levels, one row more than there are memory levels. Arithmetic is modulo
/// 2³².
pub(crate) fn differences(values: &[(Rect, u32)], clocks: &ClockTables) -> Vec<u32> {
    let columns = clocks.accel_khz.len() + 1;
    let mut cells = vec![0u32; columns * (clocks.mem_khz.len() + 1)];
    for &(Rect { accel, mem }, value) in values {
        let minus = 0u32.wrapping_sub(value);
        for (mem, accel, value) in [
            (mem.0, accel.0, value),
            (mem.0, accel.1, minus),
            (mem.1, accel.0, minus),
            (mem.1, accel.1, value),
        ] {
            let cell = &mut cells[usize::from(mem) * columns + usize::from(accel)];
            *cell = cell.wrapping_add(value);
        }
    }
    cells
}
