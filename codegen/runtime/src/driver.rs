//! Connects the coordinator to a platform: reads clock and temperature, applies operating points,
//! reads back what was achieved.

use crate::coordinator::Coordinator;
use crate::hal::{Clock, Error, ErrorKind, FrequencyActuator, TemperatureSensor};
use crate::time::Micros;
use crate::units::MicroTokPerS;

/// Most ticks between two attempts on an actuator that keeps failing.
const MAX_BACKOFF: u16 = 64;
/// Ticks for which another clock than the achieved one must run to count as overridden.
const OVERRIDE_TICKS: u8 = 3;

/// Counters and conditions of the platform side, for logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Requests that failed.
    pub failures: u32,
    /// The last failure.
    pub last_failure: Option<ErrorKind>,
    /// Permission was denied: clocks were given back and nothing is requested any more.
    pub stopped: bool,
    /// Someone else sets the clocks; requests are made only when the wanted point changes.
    pub overridden: bool,
    /// Clocks in effect after the last request, kHz: accelerator, memory.
    pub achieved_khz: Option<(u32, u32)>,
}

/// A platform's parts.
#[derive(Debug)]
pub struct Platform<C, T, A, M> {
    /// Monotonic clock.
    pub clock: C,
    /// Shell temperature.
    pub temperature: T,
    /// Accelerator clock.
    pub accel: A,
    /// Memory clock.
    pub mem: M,
}

/// Coordinator and platform together. Clocks are given back when a request ends, when permission
/// is denied, and when the driver is dropped.
#[derive(Debug)]
pub struct Driver<'a, C, T, A, M, const N: usize>
where
    A: FrequencyActuator,
    M: FrequencyActuator,
{
    coordinator: Coordinator<'a, N>,
    platform: Platform<C, T, A, M>,
    accel_khz: &'a [u32],
    mem_khz: &'a [u32],
    /// Point that is wanted but not applied because a request failed.
    pending: Option<u16>,
    backoff: u16,
    wait: u16,
    strange_ticks: u8,
    status: Status,
}

impl<'a, C, T, A, M, const N: usize> Driver<'a, C, T, A, M, N>
where
    C: Clock,
    T: TemperatureSensor,
    A: FrequencyActuator,
    M: FrequencyActuator,
{
    /// `accel_khz` and `mem_khz` are the clock tables of the trained bundle, ascending; points
    /// are numbered memory-major over them.
    pub fn new(
        coordinator: Coordinator<'a, N>,
        platform: Platform<C, T, A, M>,
        accel_khz: &'a [u32],
        mem_khz: &'a [u32],
    ) -> Self {
        Driver {
            coordinator,
            platform,
            accel_khz,
            mem_khz,
            pending: None,
            backoff: 0,
            wait: 0,
            strange_ticks: 0,
            status: Status::default(),
        }
    }

    /// A prompt is being processed.
    pub fn begin_prefill(&mut self) {
        let now = self.platform.clock.now();
        let point = self.coordinator.begin_prefill(now);
        self.apply(point);
    }

    /// The first token is out.
    pub fn begin_decode(&mut self, qoe: MicroTokPerS) {
        let now = self.platform.clock.now();
        let point = self.coordinator.begin_decode(qoe, now);
        self.apply(point);
    }

    /// The user's need changed.
    pub fn set_qoe(&mut self, qoe: MicroTokPerS) {
        let now = self.platform.clock.now();
        let point = self.coordinator.set_qoe(qoe, now);
        self.apply(point);
    }

    /// The foreground app began or ceased to use much memory bandwidth.
    pub fn set_memory_heavy_foreground(&mut self, heavy: bool) {
        let now = self.platform.clock.now();
        let point = self.coordinator.set_memory_heavy_foreground(heavy, now);
        self.apply(point);
    }

    /// A token was generated just now.
    pub fn on_token(&mut self) {
        let now = self.platform.clock.now();
        self.on_token_at(now);
    }

    /// A token was generated at `now`, for engines that stamp their tokens.
    pub fn on_token_at(&mut self, now: Micros) {
        let point = self.coordinator.on_token(now);
        self.apply(point);
    }

    /// To be called once per second.
    pub fn tick(&mut self) {
        let now = self.platform.clock.now();
        let reading = self.platform.temperature.temperature().ok();
        let point = self.coordinator.tick(now, reading);
        self.apply(point);
        self.retry();
        self.check_override();
    }

    /// The request is complete or was cancelled: clocks are given back.
    pub fn end(&mut self) {
        self.coordinator.end();
        self.pending = None;
        self.strange_ticks = 0;
        self.status.overridden = false;
        self.give_back();
    }

    fn apply(&mut self, point: Option<u16>) {
        if let Some(point) = point {
            self.pending = Some(point);
            if self.wait == 0 {
                self.attempt(point);
            }
        }
    }

    /// Tries again what failed, ever more rarely.
    fn retry(&mut self) {
        self.wait = self.wait.saturating_sub(1);
        if let (Some(point), 0) = (self.pending, self.wait) {
            self.attempt(point);
        }
    }

    fn attempt(&mut self, point: u16) {
        if self.status.stopped {
            return;
        }
        self.strange_ticks = 0;
        let levels = self.accel_khz.len().max(1);
        let clocks = (
            self.accel_khz.get(usize::from(point) % levels).copied(),
            self.mem_khz.get(usize::from(point) / levels).copied(),
        );
        let (accel, mem) = match clocks {
            (Some(accel), Some(mem)) => (accel, mem),
            _ => return,
        };
        let accel = self.platform.accel.request_khz(accel).map_err(|e| e.kind());
        let mem = self.platform.mem.request_khz(mem).map_err(|e| e.kind());
        match (accel, mem) {
            (Ok(accel), Ok(mem)) => {
                self.pending = None;
                self.backoff = 0;
                self.adopt(accel, mem);
            }
            (Err(kind), _) | (_, Err(kind)) => self.failed(kind),
        }
    }

    fn failed(&mut self, kind: ErrorKind) {
        self.status.failures = self.status.failures.saturating_add(1);
        self.status.last_failure = Some(kind);
        if kind == ErrorKind::PermissionDenied {
            self.status.stopped = true;
            self.pending = None;
            self.give_back();
        } else {
            self.backoff = self.backoff.saturating_mul(2).clamp(1, MAX_BACKOFF);
            self.wait = self.backoff;
        }
    }

    /// Tells the coordinator which point really runs.
    fn adopt(&mut self, accel_khz: u32, mem_khz: u32) {
        self.status.achieved_khz = Some((accel_khz, mem_khz));
        let accel = nearest(self.accel_khz, accel_khz);
        let mem = nearest(self.mem_khz, mem_khz);
        let point = mem.saturating_mul(self.accel_khz.len()).saturating_add(accel);
        self.coordinator.set_achieved(u16::try_from(point).unwrap_or(u16::MAX));
    }

    /// Notices when someone else sets the clocks, and adopts theirs instead of fighting.
    fn check_override(&mut self) {
        let achieved = match self.status.achieved_khz {
            Some(achieved) if self.pending.is_none() && !self.status.stopped => achieved,
            _ => return,
        };
        if self.coordinator.status().wanted.is_none() {
            return;
        }
        let current = (self.platform.accel.current_khz(), self.platform.mem.current_khz());
        let current = match current {
            (Ok(accel), Ok(mem)) => (accel, mem),
            _ => return,
        };
        self.strange_ticks =
            if current == achieved { 0 } else { self.strange_ticks.saturating_add(1) };
        if self.strange_ticks >= OVERRIDE_TICKS {
            self.strange_ticks = 0;
            self.status.overridden = true;
            self.adopt(current.0, current.1);
        }
    }

    /// State of the controllers.
    pub fn coordinator(&self) -> &Coordinator<'a, N> {
        &self.coordinator
    }

    /// State of the platform side.
    pub fn status(&self) -> Status {
        self.status
    }
}

impl<C, T, A, M, const N: usize> Driver<'_, C, T, A, M, N>
where
    A: FrequencyActuator,
    M: FrequencyActuator,
{
    fn give_back(&mut self) {
        for result in [
            self.platform.accel.restore().map_err(|e| e.kind()),
            self.platform.mem.restore().map_err(|e| e.kind()),
        ] {
            if let Err(kind) = result {
                self.status.failures = self.status.failures.saturating_add(1);
                self.status.last_failure = Some(kind);
            }
        }
        self.status.achieved_khz = None;
    }
}

impl<C, T, A, M, const N: usize> Drop for Driver<'_, C, T, A, M, N>
where
    A: FrequencyActuator,
    M: FrequencyActuator,
{
    fn drop(&mut self) {
        self.give_back();
    }
}

/// Level whose clock is nearest; the lower of two equally near ones.
fn nearest(table_khz: &[u32], khz: u32) -> usize {
    let levels = table_khz.iter().enumerate();
    levels.min_by_key(|(_, f)| f.abs_diff(khz)).map_or(0, |(level, _)| level)
}
