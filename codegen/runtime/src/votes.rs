//! Votes of several holders on one clock domain (EnerInfer §5; like PM QoS in Linux).
//!
//! Every holder states the lowest clock it needs and, if it must limit the domain, the highest it
//! allows. The highest minimum wins; where it conflicts with a maximum (a thermal cap), the cap
//! wins. A vote ends when its holder drops it.

use core::cell::Cell;

/// What one holder asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Lowest clock that the holder needs, kHz.
    pub min_khz: u32,
    /// Highest clock that the holder allows, kHz.
    pub max_khz: u32,
}

impl Window {
    /// A vote for a minimum.
    pub const fn at_least(min_khz: u32) -> Self {
        Window { min_khz, max_khz: u32::MAX }
    }

    /// A cap.
    pub const fn at_most(max_khz: u32) -> Self {
        Window { min_khz: 0, max_khz }
    }
}

/// What all votes come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Highest minimum, after the cap.
    pub min_khz: u32,
    /// Lowest maximum.
    pub max_khz: u32,
    /// A minimum above the cap was overruled.
    pub overruled: bool,
}

/// Votes of at most `H` holders.
#[derive(Debug)]
pub struct Votes<const H: usize> {
    slots: [Cell<Option<Window>>; H],
}

impl<const H: usize> Default for Votes<H> {
    fn default() -> Self {
        Votes { slots: core::array::from_fn(|_| Cell::new(None)) }
    }
}

impl<const H: usize> Votes<H> {
    /// Places a vote; `None` if all slots are taken.
    pub fn hold(&self, window: Window) -> Option<Vote<'_>> {
        let slot = self.slots.iter().find(|slot| slot.get().is_none())?;
        slot.set(Some(window));
        Some(Vote { slot })
    }

    /// What holds now.
    pub fn outcome(&self) -> Outcome {
        let mut min_khz = 0;
        let mut max_khz = u32::MAX;
        for window in self.slots.iter().filter_map(Cell::get) {
            min_khz = min_khz.max(window.min_khz);
            max_khz = max_khz.min(window.max_khz);
        }
        Outcome { min_khz: min_khz.min(max_khz), max_khz, overruled: min_khz > max_khz }
    }

    /// Whether some vote asks for more than `khz`: somebody else keeps the domain fast.
    pub fn any_above(&self, khz: u32) -> bool {
        self.slots.iter().filter_map(Cell::get).any(|window| window.min_khz > khz)
    }
}

/// A vote, in force until dropped.
#[derive(Debug)]
pub struct Vote<'a> {
    slot: &'a Cell<Option<Window>>,
}

impl Vote<'_> {
    /// Replaces what is asked for.
    pub fn change(&mut self, window: Window) {
        self.slot.set(Some(window));
    }
}

impl Drop for Vote<'_> {
    fn drop(&mut self) {
        self.slot.set(None);
    }
}

/// The highest available clock that is not above `khz`, else the lowest available; `None` without
/// any. `available_khz` need not be sorted. Requests are snapped down, because a kernel that
/// snaps them up would spend power that nobody asked for.
pub fn snap_down(available_khz: &[u32], khz: u32) -> Option<u32> {
    let below = available_khz.iter().copied().filter(|f| *f <= khz).max();
    below.or_else(|| available_khz.iter().copied().min())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_minimum_wins_and_ends_with_its_holder() {
        let votes = Votes::<3>::default();
        let ours = votes.hold(Window::at_least(1_600));
        let mut theirs = votes.hold(Window::at_least(2_133));
        assert_eq!(votes.outcome().min_khz, 2_133);
        assert!(votes.any_above(1_600));
        if let Some(vote) = &mut theirs {
            vote.change(Window::at_least(800));
        }
        assert_eq!(votes.outcome().min_khz, 1_600);
        drop(ours);
        assert_eq!(votes.outcome().min_khz, 800);
        drop(theirs);
        assert_eq!(votes.outcome(), Outcome { min_khz: 0, max_khz: u32::MAX, overruled: false });
    }

    #[test]
    fn a_cap_beats_a_minimum_and_its_end_restores_it() {
        let votes = Votes::<2>::default();
        let _a = votes.hold(Window { min_khz: 800, max_khz: 1_000 });
        let b = votes.hold(Window { min_khz: 300, max_khz: 600 });
        assert_eq!(votes.outcome(), Outcome { min_khz: 600, max_khz: 600, overruled: true });
        assert_eq!(snap_down(&[300, 500, 700, 900], votes.outcome().min_khz), Some(500));
        assert!(votes.hold(Window::at_least(1)).is_none(), "no third slot");
        drop(b);
        assert_eq!(votes.outcome(), Outcome { min_khz: 800, max_khz: 1_000, overruled: false });
    }

    #[test]
    fn requests_snap_down_to_a_table_entry() {
        let nano = [76_800, 844_800, 921_600, 998_400];
        assert_eq!(snap_down(&nano, 950_000), Some(921_600));
        assert_eq!(snap_down(&nano, 1_000_000), Some(998_400));
        assert_eq!(snap_down(&nano, 1), Some(76_800));
        assert_eq!(snap_down(&[], 1), None);
    }
}
