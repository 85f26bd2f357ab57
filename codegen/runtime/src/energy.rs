//! Energy-aware controller: walks the Pareto front by feedback (EnerInfer §4.5, Algorithm 2).

use crate::front::Front;
use crate::time::Micros;
use crate::units::MicroTokPerS;

/// When to leave the entry of the front that prediction chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// As printed: one token below the QoE moves one entry up; nothing moves back.
    Paper,
    /// Acts on sustained evidence, in both directions.
    ///
    /// *Up:* a median of three removes any single slow token; lateness against the QoE is summed
    /// over what remains, at most half a token period each, and one period of it moves up, so
    /// tokens twice too slow are acted on at the third. The ratio of measured to predicted
    /// throughput picks the entry. A few percent too slow, and deliveries in bursts, which medians
    /// hide, are caught by blocks in a row whose plain mean is late: two that agree, or
    /// [`LATE_BLOCKS`].
    ///
    /// *Down:* after two blocks that agree, an entry that measured throughput says suffices is
    /// tried. Once one was too slow, lower entries are tried again only if throughput has risen since, or once if the ratio
    /// measured higher up contradicts the failure. Every false rise doubles the rise that counts
    /// next time. Under constant conditions there are so at most as many transitions as the front
    /// is long.
    #[default]
    Default,
}

/// Tokens of a block, over which throughput is averaged before going down is considered.
pub const BLOCK_TOKENS: u32 = 8;
/// A block ends after this time even with fewer tokens (but at least three).
pub const BLOCK_TIME: Micros = Micros(2_000_000);
/// Consecutive blocks with a late mean that move up even if they do not agree, as those with
/// single stalls.
pub const LATE_BLOCKS: u8 = 4;
/// A rise in throughput counts above 1/2⁵ (3 %).
const RISE_SHIFT: u32 = 5;
/// Consecutive blocks that must show a rise.
const RISE_BLOCKS: u8 = 2;
/// Entries that prediction ruled out must be expected 1/2⁶ above the QoE.
const BELOW_CHOICE_SHIFT: u32 = 6;
/// A move down that fails within this time was a false one.
const FALSE_DOWN: Micros = Micros(10_000_000);
/// How long an entry is held before a failure below it may be doubted.
const DOUBT_AFTER: Micros = Micros(4_000_000);
/// Most doublings of the rise that counts.
const MAX_CAUTION: u32 = 5;

const MICROTOK_US: u64 = 1_000_000_000_000;

/// What the engine is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// No request.
    #[default]
    Idle,
    /// Processing the prompt.
    Prefill,
    /// Generating tokens.
    Decode,
}

/// Averages of token times since the controller last moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pace {
    last_token: Option<Micros>,
    since: Option<Micros>,
    recent_us: [u64; 2],
    seen: u8,
    late_us: u64,
    late_sum_us: u64,
    late_tokens: u64,
    block_us: u64,
    block_tokens: u32,
    last_block_us: Option<u64>,
    late_blocks: u8,
    rise_blocks: u8,
    /// Mean token time of the first block: what a rise is measured against.
    reference_us: Option<u64>,
}

/// An entry that was fast enough, and its reference token time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct KnownGood {
    index: usize,
    reference_us: Option<u64>,
}

/// What has been learnt under the present conditions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Evidence {
    /// An entry was too slow.
    failed: bool,
    /// That failure was doubted once.
    doubted: bool,
    /// These conditions began with a rise in throughput.
    after_rise: bool,
    /// Lowest entry that was left downwards, so was fast enough.
    known_good: Option<KnownGood>,
    /// Set by a return to it.
    returned: Option<KnownGood>,
    transitions: u32,
}

/// State of the controller, for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// What the engine is doing.
    pub phase: Phase,
    /// Index on the front.
    pub index: usize,
    /// Throughput that is kept.
    pub qoe: MicroTokPerS,
    /// Lateness against the QoE that has built up, in µs.
    pub late_us: u64,
    /// The fastest entry is too slow for the QoE.
    pub unreachable: bool,
    /// The thermal-aware controller is in charge (flag `S`).
    pub suspended: bool,
    /// Moves since decoding began.
    pub transitions: u32,
}

/// Algorithm 2 as a state machine. It proposes operating points; who applies them is not its
/// concern. No call costs more than one pass over the front and three divisions.
#[derive(Clone, Debug)]
pub struct EnergyController<'a, const N: usize> {
    front: &'a Front<N>,
    policy: Policy,
    phase: Phase,
    index: usize,
    qoe: MicroTokPerS,
    /// Token time at the QoE, rounded down: `1/r < qoe` exactly if the time is longer.
    period_us: u64,
    suspended: bool,
    pace: Pace,
    evidence: Evidence,
    last_down: Option<Micros>,
    caution: u32,
    transitions: u32,
}

impl<'a, const N: usize> EnergyController<'a, N> {
    /// A controller over a model's front.
    pub fn new(front: &'a Front<N>, policy: Policy) -> Self {
        EnergyController {
            front,
            policy,
            phase: Phase::Idle,
            index: 0,
            qoe: MicroTokPerS(0),
            period_us: u64::MAX,
            suspended: false,
            pace: Pace::default(),
            evidence: Evidence::default(),
            last_down: None,
            caution: 0,
            transitions: 0,
        }
    }

    /// A prompt is being processed: no choice of this controller's. The highest clocks run
    /// (Algorithm 2, line 2).
    pub fn begin_prefill(&mut self) {
        self.phase = Phase::Prefill;
    }

    /// The first token is out: the most efficient entry predicted faster than `qoe` (lines 1, 3).
    pub fn begin_decode(&mut self, qoe: MicroTokPerS, now: Micros) -> u16 {
        self.phase = Phase::Decode;
        self.caution = 0;
        self.transitions = 0;
        self.last_down = None;
        self.choose(qoe, now);
        self.point()
    }

    /// The QoE changed during decoding: chooses anew.
    pub fn set_qoe(&mut self, qoe: MicroTokPerS, now: Micros) -> u16 {
        if qoe != self.qoe {
            self.choose(qoe, now);
        }
        self.point()
    }

    /// Walks another front, e.g. while a foreground app makes power predictions useless.
    pub fn set_front(&mut self, front: &'a Front<N>, now: Micros) -> u16 {
        self.front = front;
        self.choose(self.qoe, now);
        self.point()
    }

    fn choose(&mut self, qoe: MicroTokPerS, now: Micros) {
        self.qoe = qoe;
        self.period_us = MICROTOK_US.checked_div(qoe.0.into()).unwrap_or(u64::MAX);
        self.index = self.front.choose(qoe);
        self.evidence = Evidence::default();
        self.restart_pace(Some(now));
    }

    /// The request is complete.
    pub fn end(&mut self) {
        self.phase = Phase::Idle;
        self.pace = Pace::default();
    }

    /// Sets the shared flag `S`: while it is set, tokens move nothing.
    pub fn set_suspended(&mut self, suspended: bool) {
        if suspended != self.suspended {
            self.suspended = suspended;
            // Token times before the change were measured elsewhere.
            let last_token = self.pace.last_token;
            self.restart_pace(last_token);
        }
    }

    /// A token was generated. Returns the point to move to, if any.
    pub fn on_token(&mut self, now: Micros) -> Option<u16> {
        if self.phase != Phase::Decode {
            return None;
        }
        let last = self.pace.last_token.replace(now);
        // A clock that stood or went backwards says nothing about this token.
        let token_us = last.and_then(|last| now.since(last)).unwrap_or(0);
        if self.suspended {
            return None;
        }
        let before = self.index;
        match self.policy {
            Policy::Paper => {
                if token_us > self.period_us {
                    self.index = self.clamp(self.index.saturating_add(1));
                }
            }
            Policy::Default => {
                if last.map_or(false, |last| now >= last) {
                    self.weigh(token_us, now);
                }
            }
        }
        if self.index == before {
            return None;
        }
        self.transitions = self.transitions.saturating_add(1);
        self.evidence.transitions = self.evidence.transitions.saturating_add(1);
        self.restart_pace(Some(now));
        if let Some(good) = self.evidence.returned.take() {
            self.pace.reference_us = good.reference_us;
        }
        Some(self.point())
    }

    /// The default policy's reaction to one token time: sets `index`.
    fn weigh(&mut self, token_us: u64, now: Micros) {
        if let Some(median_us) = self.pace.filter(token_us) {
            self.pace.add_lateness(median_us, self.period_us);
        }
        let block_us = self.pace.add_to_block(token_us);
        let risen = block_us.map_or(false, |mean| self.pace.has_risen(mean, self.caution));
        if self.pace.late_us >= self.period_us {
            let mean_us = self.pace.late_sum_us / self.pace.late_tokens.max(1);
            self.move_up(mean_us, now);
            return;
        }
        let mean_us = match block_us {
            Some(mean_us) => mean_us,
            None => return,
        };
        if mean_us > self.period_us {
            if self.pace.has_been_late(mean_us) {
                self.move_up(mean_us, now);
            }
            return;
        }
        if self.pace.late_blocks > 0 {
            self.pace.late_blocks = 0;
            self.pace.last_block_us = None;
        }
        if risen {
            self.evidence = Evidence { after_rise: true, ..Evidence::default() };
            self.pace.reference_us = Some(mean_us);
        }
        if self.pace.is_steady(mean_us) {
            self.move_down(mean_us, now);
        }
    }

    fn move_up(&mut self, mean_us: u64, now: Micros) {
        self.evidence.failed = true;
        if self.last_down.and_then(|down| now.since(down)).map_or(false, |us| us < FALSE_DOWN.0) {
            self.caution = self.caution.saturating_add(1).min(MAX_CAUTION);
        }
        let next = self.index.saturating_add(1);
        let needed = self.needed(mean_us);
        let fast_enough = self
            .front
            .entries()
            .iter()
            .enumerate()
            .skip(next)
            .find(|(_, e)| u64::from(e.throughput.0) > needed)
            .map_or(N, |(i, _)| i);
        // An entry that was fast enough before is the highest worth moving to; what lies between
        // has failed already if a doubt led here.
        let good = self.evidence.known_good.take().filter(|good| good.index > self.index);
        let target = match good {
            Some(good) if self.evidence.doubted || good.index <= fast_enough => {
                self.evidence.returned = Some(good);
                good.index
            }
            _ => fast_enough,
        };
        self.index = self.clamp(target);
    }

    fn move_down(&mut self, mean_us: u64, now: Micros) {
        let Evidence { failed, doubted, transitions, .. } = self.evidence;
        if failed || doubted {
            // One return costs two transitions; more than the front is long are never made.
            let held = self.pace.since.and_then(|since| now.since(since)).unwrap_or(0);
            let affordable = transitions.saturating_add(2) as usize <= self.front.entries().len();
            if (failed && (doubted || held < DOUBT_AFTER.0)) || !affordable {
                return;
            }
        }
        let needed = self.needed(mean_us);
        let chosen = self.front.choose(self.qoe);
        let lower = self.front.entries().iter().take(self.index).enumerate().position(|(i, e)| {
            let margin = if i < chosen { needed >> BELOW_CHOICE_SHIFT } else { 0 };
            u64::from(e.throughput.0) > needed.saturating_add(margin)
        });
        if let Some(lower) = lower {
            self.evidence.doubted |= failed;
            self.evidence.failed = false;
            self.evidence.known_good =
                Some(KnownGood { index: self.index, reference_us: self.pace.reference_us });
            if self.evidence.after_rise {
                self.last_down = Some(now);
            }
            self.index = lower;
        }
    }

    /// The predicted throughput that an entry needs to reach the QoE, if the ratio of measured to
    /// predicted throughput is everywhere as it is here.
    fn needed(&self, mean_us: u64) -> u64 {
        let measured = MICROTOK_US / mean_us.max(1);
        let predicted = self.entry_throughput();
        // The product of two 32-bit values fits 64 bits.
        u64::from(self.qoe.0).saturating_mul(predicted) / measured.max(1)
    }

    fn entry_throughput(&self) -> u64 {
        self.front.entries().get(self.index).map_or(0, |e| u64::from(e.throughput.0))
    }

    fn clamp(&self, index: usize) -> usize {
        index.min(self.front.entries().len().saturating_sub(1))
    }

    fn restart_pace(&mut self, last_token: Option<Micros>) {
        self.pace = Pace { last_token, since: last_token, ..Pace::default() };
    }

    /// The point that this controller would run now.
    pub fn point(&self) -> u16 {
        self.front.entries().get(self.index).map_or(0, |e| e.point)
    }

    /// The QoE that is kept.
    pub fn qoe(&self) -> MicroTokPerS {
        self.qoe
    }

    /// State for logs.
    pub fn status(&self) -> Status {
        Status {
            phase: self.phase,
            index: self.index,
            qoe: self.qoe,
            late_us: self.pace.late_us,
            unreachable: self.pace.late_us >= self.period_us
                && self.index >= self.clamp(self.index.saturating_add(1)),
            suspended: self.suspended,
            transitions: self.transitions,
        }
    }
}

impl Pace {
    /// Median of the last three token times; of the first two the smaller; none of one.
    fn filter(&mut self, token_us: u64) -> Option<u64> {
        let [a, b] = self.recent_us;
        self.recent_us = [b, token_us];
        self.seen = self.seen.saturating_add(1);
        match self.seen {
            0 | 1 => None,
            2 => Some(b.min(token_us)),
            _ => Some(a.min(b).max(a.max(b).min(token_us))),
        }
    }

    fn add_lateness(&mut self, median_us: u64, period_us: u64) {
        if median_us > period_us {
            let late = (median_us - period_us).min(period_us / 2 + 1);
            // Kept at one period: what is older than that is forgotten once tokens are on time.
            self.late_us = self.late_us.saturating_add(late).min(period_us);
        } else {
            self.late_us = self.late_us.saturating_sub(period_us - median_us);
        }
        if self.late_us == 0 {
            self.late_sum_us = 0;
            self.late_tokens = 0;
        } else {
            self.late_sum_us = self.late_sum_us.saturating_add(median_us);
            self.late_tokens = self.late_tokens.saturating_add(1);
        }
    }

    /// Mean token time of a block when it is complete.
    fn add_to_block(&mut self, token_us: u64) -> Option<u64> {
        self.block_us = self.block_us.saturating_add(token_us);
        self.block_tokens = self.block_tokens.saturating_add(1);
        let complete = self.block_tokens >= BLOCK_TOKENS
            || (self.block_tokens >= 3 && self.block_us >= BLOCK_TIME.0);
        if !complete {
            return None;
        }
        let mean_us = self.block_us / u64::from(self.block_tokens.max(1));
        self.block_us = 0;
        self.block_tokens = 0;
        Some(mean_us)
    }

    /// Whether late blocks make a case, this one included: two that agree, or [`LATE_BLOCKS`].
    fn has_been_late(&mut self, mean_us: u64) -> bool {
        if self.late_blocks == 0 {
            self.last_block_us = None;
        }
        let agree = self.is_steady(mean_us);
        self.late_blocks = self.late_blocks.saturating_add(1);
        let late = agree || self.late_blocks >= LATE_BLOCKS;
        if late {
            self.late_blocks = 0;
            self.last_block_us = None;
        }
        late
    }

    /// Whether the block before took as long (to 1/2⁴): blocks in which conditions changed tell
    /// nothing about either.
    fn is_steady(&mut self, mean_us: u64) -> bool {
        let last_us = self.last_block_us.replace(mean_us);
        last_us.map_or(false, |last_us| last_us.abs_diff(mean_us) <= mean_us >> 4)
    }

    /// Whether tokens have become faster than they were after the last move.
    fn has_risen(&mut self, mean_us: u64, caution: u32) -> bool {
        let reference_us = *self.reference_us.get_or_insert(mean_us);
        let rise = (mean_us >> RISE_SHIFT).saturating_mul(1u64 << caution.min(MAX_CAUTION));
        if mean_us.saturating_add(rise) < reference_us {
            self.rise_blocks = self.rise_blocks.saturating_add(1);
        } else {
            self.rise_blocks = 0;
        }
        if self.rise_blocks < RISE_BLOCKS {
            return false;
        }
        self.rise_blocks = 0;
        true
    }
}
