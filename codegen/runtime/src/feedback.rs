//! Measured beside predicted throughput, for choices that are not made by feedback alone.

use crate::energy::{BLOCK_TIME, BLOCK_TOKENS};
use crate::time::Micros;
use crate::units::MicroTokPerS;

/// Ratios are in units of 2⁻⁷.
const SHIFT: u32 = 7;
const ONE: u8 = 1 << SHIFT;
/// The filter's state has these bits more, and its weight for a new block is 1/2².
const FILTER_BITS: u32 = 4;
const FILTER_SHIFT: u32 = 2;
/// What is remembered of a point follows the filter when it has left it by more than 1/2⁴; over the
/// first blocks at a new point, by more than 1/2⁵: the first of them may have been far out.
const DRIFT_SHIFT: u32 = 4;
const NEW_DRIFT_SHIFT: u32 = 5;
const NEW_BLOCKS: u8 = 8;
/// Conditions have changed when blocks in a row leave what is remembered by more than 1/2³.
const CHANGE_SHIFT: u32 = 3;
const CHANGED_BLOCKS: u8 = 2;

const MICROTOK_US: u64 = 1_000_000_000_000;

/// The ratio of measured to predicted throughput of every operating point.
///
/// *Measured* over blocks of tokens ([`BLOCK_TOKENS`], [`BLOCK_TIME`]) at one point. A token
/// counts as no less than half and no more than twice the predicted time: so does the ratio, and
/// a single stall moves a block by an eighth at most. The token during which the point changed is
/// left out. The first block at a point is taken as it is, later ones through a slow filter.
///
/// *Remembered* for every point, so that a choice that was found too slow is not made again: under
/// constant conditions there are no more discoveries than points. A point never measured is
/// expected to have the mean ratio of those that were.
///
/// *Forgotten* is all but the running point when two blocks in a row contradict what was
/// remembered of it by more than an eighth: interference has begun or ended. Requests change
/// nothing: back to back, they need not find out again.
#[derive(Clone, Debug)]
pub struct Feedback<const N: usize> {
    /// Zero where nothing was measured.
    ratios: [u8; N],
    measured: u16,
    sum: u32,
    /// Of points never measured.
    mean: u8,
    running: Option<Running>,
    /// Over the blocks at the running point.
    filtered: Option<u32>,
    /// Blocks for which the running point is still new.
    new_blocks: u8,
    changed_blocks: u8,
}

/// The block in progress.
#[derive(Clone, Copy, Debug)]
struct Running {
    point: u16,
    expected_us: u64,
    last_token: Micros,
    block_us: u64,
    block_tokens: u32,
}

impl<const N: usize> Default for Feedback<N> {
    fn default() -> Self {
        Feedback {
            ratios: [0; N],
            measured: 0,
            sum: 0,
            mean: ONE,
            running: None,
            filtered: None,
            new_blocks: 0,
            changed_blocks: 0,
        }
    }
}

impl<const N: usize> Feedback<N> {
    /// A token was generated while `point` ran, whose throughput was predicted. At most one division
    /// of 64 bits, at the first token of a point, and two of 32 at the end of a block.
    pub fn on_token(&mut self, now: Micros, point: u16, predicted: MicroTokPerS) {
        let running = match &mut self.running {
            Some(running) if running.point == point => running,
            _ => {
                self.interrupt();
                let expected_us = MICROTOK_US.checked_div(predicted.0.into());
                self.running = expected_us.map(|expected_us| Running::new(point, expected_us, now));
                return;
            }
        };
        let token_us = now.since(running.last_token);
        running.last_token = now;
        if let Some(ratio) = token_us.and_then(|token_us| running.add(token_us)) {
            self.learn(point, ratio);
        }
    }

    /// The next token is not measured: it did not follow another at this point.
    pub fn interrupt(&mut self) {
        self.running = None;
        self.filtered = None;
        self.new_blocks = 0;
        self.changed_blocks = 0;
    }

    /// The throughput to expect at a point.
    pub fn expected(&self, point: u16, predicted: MicroTokPerS) -> MicroTokPerS {
        let ratio = match self.ratios.get(usize::from(point)) {
            None | Some(0) => self.mean,
            Some(ratio) => *ratio,
        };
        let expected = (u64::from(predicted.0) * u64::from(ratio)) >> SHIFT;
        MicroTokPerS(u32::try_from(expected).unwrap_or(u32::MAX))
    }

    /// `ratio` has the filter's bits.
    fn learn(&mut self, point: u16, ratio: u32) {
        let filtered = match self.filtered {
            None => ratio,
            Some(old) => old - (old >> FILTER_SHIFT) + (ratio >> FILTER_SHIFT),
        };
        self.filtered = Some(filtered);
        let old = self.ratios.get(usize::from(point)).copied().unwrap_or(0);
        if old == 0 {
            self.new_blocks = NEW_BLOCKS;
            self.remember(point, whole(filtered));
            return;
        }
        if whole(ratio).abs_diff(old) > old >> CHANGE_SHIFT {
            self.changed_blocks = self.changed_blocks.saturating_add(1);
            if self.changed_blocks >= CHANGED_BLOCKS {
                self.forget();
                self.filtered = Some(ratio);
                self.remember(point, whole(ratio));
            }
            return;
        }
        self.changed_blocks = 0;
        let shift = if self.new_blocks > 0 { NEW_DRIFT_SHIFT } else { DRIFT_SHIFT };
        self.new_blocks = self.new_blocks.saturating_sub(1);
        if whole(filtered).abs_diff(old) > old >> shift {
            self.remember(point, whole(filtered));
        }
    }

    fn forget(&mut self) {
        self.ratios = [0; N];
        self.measured = 0;
        self.sum = 0;
        self.changed_blocks = 0;
    }

    fn remember(&mut self, point: u16, ratio: u8) {
        let slot = match self.ratios.get_mut(usize::from(point)) {
            Some(slot) => slot,
            None => return,
        };
        let old = core::mem::replace(slot, ratio);
        if old == 0 {
            self.measured = self.measured.saturating_add(1);
        }
        self.sum = self.sum.saturating_sub(old.into()).saturating_add(ratio.into());
        let mean = self.sum / u32::from(self.measured.max(1));
        self.mean = u8::try_from(mean).unwrap_or(u8::MAX);
    }
}

impl Running {
    fn new(point: u16, expected_us: u64, now: Micros) -> Self {
        Running { point, expected_us, last_token: now, block_us: 0, block_tokens: 0 }
    }

    /// The ratio over a block, with the filter's bits, when it is complete.
    fn add(&mut self, token_us: u64) -> Option<u32> {
        let longest_us = self.expected_us.saturating_mul(2);
        // Not `clamp`, which panics for a range that is empty.
        let counted_us = token_us.max(self.expected_us / 2).min(longest_us);
        self.block_us = self.block_us.saturating_add(counted_us);
        self.block_tokens = self.block_tokens.saturating_add(1);
        let complete = self.block_tokens >= BLOCK_TOKENS
            || (self.block_tokens >= 3 && self.block_us >= BLOCK_TIME.0);
        if !complete {
            return None;
        }
        // Both to 19 bits and little more, for a division of 32 bits: the expected time is at most
        // twice the other.
        let excess = (u64::BITS - self.block_us.leading_zeros()).saturating_sub(19);
        let expected = self.expected_us.saturating_mul(self.block_tokens.into()) >> excess;
        let took = ((self.block_us >> excess) as u32).max(1);
        let ratio = (((expected as u32) << (SHIFT + FILTER_BITS)) + took / 2) / took;
        self.block_us = 0;
        self.block_tokens = 0;
        Some(ratio.min(u32::from(u8::MAX) << FILTER_BITS))
    }
}

/// Without the filter's bits, rounded down so that nothing passes for faster than it is, but for
/// the rounding of one that is as predicted.
fn whole(ratio: u32) -> u8 {
    u8::try_from((ratio + 1) >> FILTER_BITS).unwrap_or(u8::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREDICTED: MicroTokPerS = MicroTokPerS(10_000_000); // 100 ms

    /// Tokens at a point, each of `token_us`, from where the last ones ended.
    fn run(f: &mut Feedback<4>, now: &mut u64, point: u16, tokens: u32, token_us: u64) {
        for _ in 0..tokens {
            *now += token_us;
            f.on_token(Micros(*now), point, PREDICTED);
        }
    }

    fn percent(f: &Feedback<4>, point: u16) -> u32 {
        (f.expected(point, PREDICTED).0 + 50_000) / 100_000
    }

    #[test]
    fn a_device_as_predicted_changes_nothing() {
        let (mut f, mut now) = (Feedback::default(), 0);
        run(&mut f, &mut now, 1, 100, 100_000);
        for r in [0, 1, 12_345_678, u32::MAX] {
            assert_eq!(f.expected(1, MicroTokPerS(r)), MicroTokPerS(r));
        }
    }

    #[test]
    fn the_first_block_counts_for_all_and_points_are_remembered() {
        let (mut f, mut now) = (Feedback::default(), 0);
        run(&mut f, &mut now, 1, BLOCK_TOKENS, 125_000);
        assert_eq!(percent(&f, 1), 100, "the first token is not measured");
        run(&mut f, &mut now, 1, 1, 125_000);
        assert_eq!([percent(&f, 1), percent(&f, 3)], [80, 80]);
        run(&mut f, &mut now, 2, 1 + BLOCK_TOKENS, 100_000);
        assert_eq!([0, 1, 2, 3].map(|p| percent(&f, p)), [90, 80, 100, 90]);
    }

    #[test]
    fn one_stall_weighs_no_more_than_one_token_and_ratios_are_bounded() {
        let (mut f, mut now) = (Feedback::default(), 0);
        run(&mut f, &mut now, 1, BLOCK_TOKENS, 100_000);
        run(&mut f, &mut now, 1, 1, 3_600_000_000);
        assert_eq!(percent(&f, 1), 88); // 8/9, rounded down to 2⁻⁷
        for (token_us, least, most) in [(u64::MAX / 100, 50, 50), (1, 199, 200)] {
            let (mut f, mut now) = (Feedback::default(), 0);
            run(&mut f, &mut now, 1, 40, token_us);
            assert!((least..=most).contains(&percent(&f, 1)), "{}", percent(&f, 1));
        }
    }

    #[test]
    fn a_change_of_conditions_forgets_the_other_points() {
        let (mut f, mut now) = (Feedback::default(), 0);
        run(&mut f, &mut now, 1, 1 + BLOCK_TOKENS, 200_000);
        run(&mut f, &mut now, 2, 1 + BLOCK_TOKENS, 200_000);
        assert_eq!([1, 2].map(|p| percent(&f, p)), [50, 50]);
        run(&mut f, &mut now, 2, BLOCK_TOKENS, 100_000);
        assert_eq!([1, 2].map(|p| percent(&f, p)), [50, 50], "one block may be chance");
        run(&mut f, &mut now, 2, BLOCK_TOKENS, 100_000);
        assert_eq!([1, 2].map(|p| percent(&f, p)), [100, 100]);
    }

    #[test]
    fn a_slow_drift_is_followed() {
        let (mut f, mut now) = (Feedback::default(), 0);
        for i in 0..100 {
            run(&mut f, &mut now, 1, BLOCK_TOKENS, 100_000 + 1_000 * i);
        }
        assert!(percent(&f, 1).abs_diff(50) <= 3, "{}", percent(&f, 1));
    }
}
