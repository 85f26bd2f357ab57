//! The Pareto front over throughput and energy efficiency, and the choice for a QoE.

use core::cmp::Ordering;

use crate::tables::Tables;
use crate::units::{MicroTokPerS, MicroWatt};

/// One operating point of the front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrontEntry {
    /// Index of the operating point.
    pub point: u16,
    /// Predicted throughput there.
    pub throughput: MicroTokPerS,
    /// Predicted power there; zero when power is not known.
    pub power: MicroWatt,
}

impl FrontEntry {
    /// Compares efficiency `R/P` exactly, by cross-multiplication. Without power (zero), a lower
    /// throughput counts as more efficient: the slowest sufficient point is then chosen, which
    /// is the paper's `Deadline` baseline.
    fn cmp_efficiency(&self, other: &Self) -> Ordering {
        if self.power.0 == 0 || other.power.0 == 0 {
            return other.throughput.cmp(&self.throughput);
        }
        let a = u64::from(self.throughput.0) * u64::from(other.power.0);
        let b = u64::from(other.throughput.0) * u64::from(self.power.0);
        a.cmp(&b)
    }
}

/// `U_Π`: operating points that no other point beats in **both** throughput and efficiency
/// (EnerInfer §4.5, eq. 4), most efficient first. Along it throughput never falls.
///
/// A point without throughput stays only if no point has any.
///
/// Ties: a point that is only equalled stays; order is efficiency descending, then throughput
/// descending, then index ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Front<const N: usize> {
    entries: [FrontEntry; N],
    len: usize,
}

impl<const N: usize> Front<N> {
    /// The front of a model's tables. O(N²) comparisons, no allocation.
    pub fn new(tables: &Tables<N>) -> Self {
        let mut all = [FrontEntry::default(); N];
        for (i, ((entry, r), p)) in
            all.iter_mut().zip(&tables.throughput).zip(&tables.power).enumerate()
        {
            *entry = FrontEntry { point: i as u16, throughput: *r, power: *p };
        }
        let mut front = Front { entries: [FrontEntry::default(); N], len: 0 };
        for candidate in &all {
            let beaten = all.iter().any(|other| {
                // What decodes nothing is of no use, however little it takes.
                other.throughput > candidate.throughput
                    && (candidate.throughput.0 == 0
                        || other.cmp_efficiency(candidate) == Ordering::Greater)
            });
            if !beaten {
                front.insert(*candidate);
            }
        }
        front
    }

    /// Inserts in order. Called at most `N` times, so there is always room.
    fn insert(&mut self, entry: FrontEntry) {
        let at = self
            .entries()
            .iter()
            .position(|e| {
                entry
                    .cmp_efficiency(e)
                    .then(entry.throughput.cmp(&e.throughput))
                    .then(e.point.cmp(&entry.point))
                    == Ordering::Greater
            })
            .unwrap_or(self.len);
        let mut carried = entry;
        for slot in self.entries.iter_mut().skip(at).take(self.len + 1 - at) {
            core::mem::swap(slot, &mut carried);
        }
        self.len += 1;
    }

    /// The points, most efficient first. Never empty for `N > 0`.
    pub fn entries(&self) -> &[FrontEntry] {
        self.entries.get(..self.len).unwrap_or(&[])
    }

    /// Index on the front of the most efficient point that is faster than `qoe`; the fastest if
    /// none is (Algorithm 2, line 1). The fastest is the last entry, but for ties in efficiency.
    pub fn choose(&self, qoe: MicroTokPerS) -> usize {
        let entries = self.entries();
        let fastest = entries.iter().map(|e| e.throughput).max();
        entries
            .iter()
            .position(|e| e.throughput > qoe)
            .or_else(|| entries.iter().position(|e| Some(e.throughput) == fastest))
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables<const N: usize>(r: [u32; N], p: [u32; N]) -> Tables<N> {
        Tables {
            throughput: r.map(MicroTokPerS),
            power: p.map(MicroWatt),
            accel_power: [MicroWatt(0); N],
        }
    }

    fn points<const N: usize>(front: &Front<N>) -> [Option<u16>; N] {
        let mut out = [None; N];
        for (slot, e) in out.iter_mut().zip(front.entries()) {
            *slot = Some(e.point);
        }
        out
    }

    #[test]
    fn keeps_what_is_not_beaten_in_both() {
        // E = 10, 9, 8, 5; the last is slower and less efficient than point 1.
        let front = Front::new(&tables([10, 18, 32, 15], [1, 2, 4, 3]));
        assert_eq!(points(&front), [Some(0), Some(1), Some(2), None]);
    }

    #[test]
    fn ties_are_kept_and_ordered_by_throughput_then_index() {
        // Points 0, 1 and 3 have equal efficiency; 1 and 3 are equal altogether.
        let front = Front::new(&tables([10, 20, 5, 20], [1, 2, 1, 2]));
        assert_eq!(points(&front), [Some(1), Some(3), Some(0), None]);
    }

    #[test]
    fn chooses_strictly_faster_than_qoe_or_the_fastest() {
        let front = Front::new(&tables([10, 18, 32], [1, 2, 4]));
        assert_eq!(front.choose(MicroTokPerS(0)), 0);
        assert_eq!(front.choose(MicroTokPerS(10)), 1);
        assert_eq!(front.choose(MicroTokPerS(32)), 2);
        assert_eq!(front.choose(MicroTokPerS(u32::MAX)), 2);
    }

    #[test]
    fn an_unreachable_qoe_gets_the_fastest_even_among_ties() {
        // All of one efficiency: the front is ordered by throughput, fastest first.
        let front = Front::new(&tables([10, 30, 20], [1, 3, 2]));
        assert_eq!(points(&front), [Some(1), Some(2), Some(0)]);
        assert_eq!(front.choose(MicroTokPerS(30)), 0);
    }

    #[test]
    fn without_power_the_slowest_sufficient_point_is_chosen() {
        let front = Front::new(&tables([30, 10, 20], [0, 0, 0]));
        assert_eq!(points(&front), [Some(1), Some(2), Some(0)]);
        assert_eq!(front.choose(MicroTokPerS(15)), 1);
    }
}
