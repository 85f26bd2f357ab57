//! One session of one policy.

use enerinfer_artifacts::OperatingPoint;
use enerinfer_runtime::coordinator::Coordinator;
use enerinfer_runtime::driver::Driver;
use enerinfer_runtime::units::MicroTokPerS;

use super::plant::{AccelDomain, MemDomain, Shared};
use super::{Beliefs, LoopError, POINTS, Policy, Scenario, Workload};

/// Prefill processes this many tokens in the time of one decoded token: "15–25× faster"
/// (EnerInfer §3).
const PREFILL_SPEED: f64 = 20.0;
/// Apps that leave less of the throughput than this count as memory-heavy: the platform sees
/// their vote for a memory clock. Those of Table 1 leave 0.89 and more.
const HEAVY: f64 = 0.8;
/// Relative slack of comparisons with the QoE: rounding of sums of times.
const ROUNDING: f64 = 1e-9;

/// State at a whole second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Time, s.
    pub at_s: f64,
    /// Shell temperature, °C.
    pub shell_celsius: f64,
    /// Tokens decoded in the second that ended, partial tokens included.
    pub tokens: f64,
    /// The operating point that runs.
    pub point: OperatingPoint,
}

/// What came of a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Session {
    /// Duration, s.
    pub duration_s: f64,
    /// Tokens decoded, partial tokens included.
    pub tokens: f64,
    /// Energy of accelerator and memory, J.
    pub energy_j: f64,
    /// When a constraint first failed, s: the shell at the threshold, or decoding at a point
    /// that is too slow for the QoE.
    pub kept_s: f64,
    /// Tokens decoded until then.
    pub kept_tokens: f64,
    /// When the shell first reached the threshold, s.
    pub threshold_s: Option<f64>,
    /// Whole one-second windows of decoding.
    pub windows: u32,
    /// Of them, those that met the QoE.
    pub windows_met: u32,
    /// Highest shell temperature, °C.
    pub max_shell_celsius: f64,
    /// Changes of the operating point.
    pub transitions: u32,
    /// The last change of the operating point, s.
    pub last_transition_s: f64,
    /// Completed requests.
    pub requests: u32,
    /// Times of prefill, s.
    pub prefill_s: Vec<f64>,
    /// State at whole seconds.
    pub samples: Vec<Sample>,
}

impl Session {
    /// Share of one-second windows that met the QoE, %; none without windows.
    pub fn qoe_met_percent(&self) -> Option<f64> {
        (self.windows > 0).then(|| 100.0 * f64::from(self.windows_met) / f64::from(self.windows))
    }

    /// Energy per token, J.
    pub fn j_per_token(&self) -> f64 {
        self.energy_j / self.tokens
    }
}

type PlantDriver<'a> = Driver<'a, Shared, Shared, AccelDomain, MemDomain, POINTS>;

enum Governor<'a> {
    Fixed(Policy),
    Runtime(Box<PlantDriver<'a>>),
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Idle,
    Prefill,
    Decode,
}

struct Loop<'a> {
    scenario: &'a Scenario,
    beliefs: &'a Beliefs,
    plant: Shared,
    governor: Governor<'a>,
    phase: Phase,
    qoe_tok_per_s: f64,
    next_second: u64,
    window_tokens: f64,
    /// The whole present window was spent decoding at one QoE.
    window_whole: bool,
    violated: bool,
    out: Session,
}

/// Plays a scenario under a policy.
///
/// # Errors
/// The tables do not fit the platform.
pub fn run(scenario: &Scenario, beliefs: &Beliefs, policy: Policy) -> Result<Session, LoopError> {
    let points = scenario.platform.clocks.len();
    for rows in [scenario.truth.len(), beliefs.predicted.len()] {
        if rows != points {
            return Err(LoopError::TableLength { rows, points });
        }
    }
    let plant = Shared::new(scenario);
    let clocks = &scenario.platform.clocks;
    let governor = match policy.config(scenario.threshold_celsius) {
        None => Governor::Fixed(policy),
        Some(config) => {
            let coordinator =
                Coordinator::new(&beliefs.tables, &beliefs.fronts, &beliefs.thermal, config);
            let driver =
                Driver::new(coordinator, plant.parts(), &clocks.accel_khz, &clocks.mem_khz);
            Governor::Runtime(Box::new(driver))
        }
    };
    let mut session = Loop {
        scenario,
        beliefs,
        plant,
        governor,
        phase: Phase::Idle,
        qoe_tok_per_s: scenario.qoe_at(0.0),
        next_second: 0,
        window_tokens: 0.0,
        window_whole: false,
        violated: false,
        out: Session { max_shell_celsius: f64::NEG_INFINITY, ..Session::default() },
    };
    session.play();
    Ok(session.finish())
}

impl Loop<'_> {
    fn now_s(&self) -> f64 {
        self.plant.0.borrow().now_s()
    }

    fn play(&mut self) {
        match &self.scenario.workload {
            Workload::Decode => {
                self.second();
                self.begin_decode();
                self.work(f64::INFINITY, 1.0);
            }
            Workload::Requests(requests) => {
                for request in requests {
                    self.phase = Phase::Idle;
                    while self.now_s() < request.arrival_s {
                        if !self.pass(request.arrival_s) {
                            return;
                        }
                    }
                    let begun_s = self.now_s();
                    self.begin_prefill();
                    if !self.work(f64::from(request.prompt_tokens), PREFILL_SPEED) {
                        return;
                    }
                    self.out.prefill_s.push(self.now_s() - begun_s);
                    self.begin_decode();
                    if !self.work(f64::from(request.tokens), 1.0) {
                        return;
                    }
                    self.end();
                    self.out.requests += 1;
                }
            }
        }
    }

    /// Does `amount` tokens of work at `speed` times the speed of decoding. False if the session
    /// is over.
    fn work(&mut self, amount: f64, speed: f64) -> bool {
        let (mut done, mut told) = (0.0, 0.0);
        while done < amount {
            let rate = self.plant.0.borrow().decode().throughput_tok_per_s * speed;
            let next: f64 = if self.phase == Phase::Decode { told + 1.0 } else { amount };
            let from_s = self.now_s();
            let until_s = from_s + (next.min(amount) - done) / rate;
            // The point may change at a whole second, in the middle of a token.
            if until_s > self.next_second as f64 {
                let second_s = self.next_second as f64;
                if !self.pass(second_s) {
                    return false;
                }
                done += rate * (second_s - from_s).max(0.0);
                continue;
            }
            if !self.pass(until_s) {
                return false;
            }
            done = next.min(amount);
            if self.phase == Phase::Decode {
                told = done;
                self.on_token();
            }
        }
        true
    }

    /// Lets time pass, at most until the next whole second. False if the session is over.
    fn pass(&mut self, until_s: f64) -> bool {
        let second_s = self.next_second as f64;
        let until_s = until_s.min(second_s).min(self.scenario.stop.after_s);
        let from_s = self.now_s();
        let decoding = self.phase == Phase::Decode;
        let before = self.plant.0.borrow().temperatures().shell_celsius;
        let rate = self.plant.0.borrow().decode().throughput_tok_per_s;
        self.plant.0.borrow_mut().advance(self.phase != Phase::Idle, until_s);
        let shell = self.plant.0.borrow().temperatures().shell_celsius;
        self.out.max_shell_celsius = self.out.max_shell_celsius.max(shell);
        let tokens = if decoding { rate * (until_s - from_s) } else { 0.0 };
        self.out.tokens += tokens;
        self.window_tokens += tokens;
        self.window_whole &= decoding;
        self.judge(from_s, until_s, before, shell, tokens, rate);
        let stop = self.scenario.stop;
        let hot = stop.at_shell_celsius.is_some_and(|limit| shell >= limit);
        if until_s >= second_s {
            self.second();
        }
        !hot && until_s < stop.after_s
    }

    /// Notes when a constraint first fails.
    fn judge(
        &mut self,
        from_s: f64,
        until_s: f64,
        before: f64,
        shell: f64,
        tokens: f64,
        rate: f64,
    ) {
        let threshold = self.scenario.threshold_celsius;
        if shell >= threshold && self.out.threshold_s.is_none() {
            let part = ((threshold - before) / (shell - before)).clamp(0.0, 1.0);
            let part = if part.is_nan() { 0.0 } else { part };
            self.out.threshold_s = Some(from_s + part * (until_s - from_s));
            if !self.violated {
                self.out.kept_s = from_s + part * (until_s - from_s);
                self.out.kept_tokens += part * tokens;
                self.violated = true;
            }
        }
        if self.phase == Phase::Decode && rate < self.qoe_tok_per_s * (1.0 - ROUNDING) {
            self.violated |= until_s > from_s;
        }
        if !self.violated {
            self.out.kept_s = until_s;
            self.out.kept_tokens += tokens;
        }
    }

    /// A whole second: the window ends, conditions change, controllers tick.
    fn second(&mut self) {
        let now_s = self.now_s();
        if self.window_whole && self.next_second > 0 {
            self.out.windows += 1;
            let enough = self.window_tokens >= self.qoe_tok_per_s * (1.0 - ROUNDING);
            self.out.windows_met += u32::from(enough);
        }
        let plant = self.plant.0.borrow();
        self.out.samples.push(Sample {
            at_s: now_s,
            shell_celsius: plant.temperatures().shell_celsius,
            tokens: self.window_tokens,
            point: plant.point(),
        });
        drop(plant);
        self.window_tokens = 0.0;
        self.window_whole = self.phase == Phase::Decode;
        self.next_second += 1;
        let app = self.scenario.app_at(now_s);
        self.plant.0.borrow_mut().set_app(app);
        let qoe = self.scenario.qoe_at(now_s);
        self.observe(|session| {
            match &mut session.governor {
                Governor::Fixed(Policy::Oracle) if session.phase == Phase::Decode => {
                    session.fix(Policy::Oracle);
                }
                Governor::Fixed(_) => {}
                Governor::Runtime(driver) => {
                    let heavy = app.is_some_and(|app| app.throughput < HEAVY);
                    driver.set_memory_heavy_foreground(heavy);
                    driver.tick();
                }
            }
            if qoe != session.qoe_tok_per_s {
                session.qoe_tok_per_s = qoe;
                session.set_qoe();
            }
        });
    }

    /// Does something that may change the operating point, and notes whether it did.
    fn observe(&mut self, act: impl FnOnce(&mut Self)) {
        let before = self.plant.0.borrow().point();
        act(self);
        if self.plant.0.borrow().point() != before {
            self.out.transitions += 1;
            self.out.last_transition_s = self.now_s();
        }
    }

    fn qoe(&self) -> MicroTokPerS {
        MicroTokPerS((self.qoe_tok_per_s * 1e6).round() as u32)
    }

    fn fix(&mut self, policy: Policy) {
        let predicted = &self.beliefs.predicted;
        let app = self.scenario.app_at(self.now_s());
        let point = policy.fixed_point(self.scenario, predicted, app, self.qoe_tok_per_s);
        self.plant.0.borrow_mut().set_point(point);
    }

    fn begin_prefill(&mut self) {
        self.phase = Phase::Prefill;
        self.observe(|session| match &mut session.governor {
            Governor::Fixed(_) => session.fix(Policy::Default),
            Governor::Runtime(driver) => driver.begin_prefill(),
        });
    }

    fn begin_decode(&mut self) {
        self.phase = Phase::Decode;
        self.window_whole =
            self.window_tokens == 0.0 && self.now_s() + 1.0 == self.next_second as f64;
        let qoe = self.qoe();
        self.observe(|session| match &mut session.governor {
            Governor::Fixed(policy) => {
                let policy = *policy;
                session.fix(policy);
            }
            Governor::Runtime(driver) => driver.begin_decode(qoe),
        });
    }

    fn set_qoe(&mut self) {
        if self.phase != Phase::Decode {
            return;
        }
        let qoe = self.qoe();
        match &mut self.governor {
            Governor::Fixed(policy) => {
                let policy = *policy;
                self.fix(policy);
            }
            Governor::Runtime(driver) => driver.set_qoe(qoe),
        }
    }

    fn on_token(&mut self) {
        self.observe(|session| {
            if let Governor::Runtime(driver) = &mut session.governor {
                driver.on_token();
            }
        });
    }

    fn end(&mut self) {
        self.phase = Phase::Idle;
        self.observe(|session| {
            if let Governor::Runtime(driver) = &mut session.governor {
                driver.end();
            }
        });
    }

    fn finish(mut self) -> Session {
        let plant = self.plant.0.borrow();
        self.out.duration_s = plant.now_s();
        self.out.energy_j = plant.energy_j();
        drop(plant);
        self.out
    }
}
