//! Thermal-aware controller: keeps the shell below a threshold by prediction (EnerInfer §4.4,
//! Algorithm 1).

use crate::feedback::Feedback;
use crate::sensor::SensorGuard;
use crate::tables::Tables;
use crate::temperature::MilliCelsius;
use crate::thermal_model::{Forecast, ThermalModel};
use crate::time::Micros;
use crate::units::{MicroTokPerS, MicroWatt};
use crate::window::Window;

/// `N`: steps of the prediction horizon, and the relaxed control period (EnerInfer §5).
pub const HORIZON_STEPS: u8 = 21;
/// `H = N·δt` with `δt = 1 s`.
pub const HORIZON_MS: u32 = HORIZON_STEPS as u32 * 1_000;

const STEP: Micros = Micros(1_000_000);
/// Without a tick for this long the temperature counts as unknown.
const STALE: Micros = Micros(5_000_000);
/// A reading that has not changed while the model expected this much warming is stuck.
const STUCK_UC: i64 = 2_000_000;
/// The QoE is given up when its coolest point is predicted to reach the threshold this soon.
const IMMINENT_MS: u32 = 2_000;
/// The same for heat that has left the accelerator but not reached the shell yet.
const STORED_MS: u32 = 8_000;
/// What such heat may add to `T_max`.
const OVERSHOOT: MilliCelsius = MilliCelsius(100);
/// This far above `T_max` the lowest clocks run, whatever the tables say of heat.
const FAR: MilliCelsius = MilliCelsius(250);
/// Seconds whose warming is continued to tell how near `T_max` is.
const TREND_S: usize = 5;
/// The default policy returns to the energy-aware choice this far below `T_pre`, and to the QoE
/// this far below `T_max`.
const HYSTERESIS: MilliCelsius = MilliCelsius(500);

/// The default policy comes back to an energy-aware choice that does not last this far below
/// `T_max`: a way of minutes between two points of nearly the same power.
const RIDE: MilliCelsius = MilliCelsius(200);

fn below(t: MilliCelsius) -> MilliCelsius {
    MilliCelsius(t.0.saturating_sub(HYSTERESIS.0))
}

/// How points are chosen while hot, and when control returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Algorithm 1 as printed.
    Paper,
    /// Begins earlier, looks further and returns later.
    ///
    /// *Begins* when the paper does, or from `T_pre` on if the energy-aware choice draws more
    /// than the model's sustainable power at `T_max`, so would reach it in the end.
    /// *Chooses* for most tokens before `T_max` under the QoE. Where some point that keeps the QoE
    /// is sustainable, that is for ever: the energy-aware choice as long as it is not predicted to
    /// reach `T_max` within the horizon, else the fastest sustainable point. Where none is, it is
    /// the point with the largest `R·t'`, `t'` from the model's line within the horizon and from
    /// its heat balance beyond. Temperature wins over QoE: seconds before `T_max`, or when heat on
    /// its way would exceed it even at the coolest point, the QoE is given up for the fastest point
    /// that stays below, else the coolest of all, and the lowest clocks if that was wrong; it returns with its coolest point when that is
    /// predicted to stay half a degree below.
    /// *Returns* only when the energy-aware choice itself is predicted to stay below `T_pre`.
    /// *Expects* of every point the throughput that [`Feedback`] makes of the prediction.
    #[default]
    Default,
}

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Policy.
    pub policy: Policy,
    /// `T_max`: shell temperature that must not be exceeded.
    pub t_max: MilliCelsius,
    /// `T_pre`: predicted temperature above which every second is checked.
    pub t_pre: MilliCelsius,
    /// Whether points must keep the QoE while that is possible.
    pub qoe_constraint: bool,
}

impl Default for Config {
    /// 42 °C, the comfort threshold of EnerInfer §6.3; `T_pre` 37 °C, where the range begins that
    /// the thermal model is fitted on (the paper gives no value).
    fn default() -> Self {
        Config {
            policy: Policy::Default,
            t_max: MilliCelsius(42_000),
            t_pre: MilliCelsius(37_000),
            qoe_constraint: true,
        }
    }
}

/// Who chooses operating points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// The energy-aware controller; `S` is false.
    #[default]
    EnergyAware,
    /// The thermal-aware controller; `S` is true.
    ThermalAware,
    /// Nobody: the temperature is unknown, so the lowest clocks run.
    FailSafe,
}

/// What the controller needs to know at a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// Operating point that runs, as achieved.
    pub current: u16,
    /// Operating point that the energy-aware controller would run.
    pub energy_choice: u16,
    /// QoE to keep.
    pub qoe: MicroTokPerS,
    /// Whether the accelerator works; while it does not, temperatures are only recorded.
    pub busy: bool,
}

/// State of the controller, for logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Who chooses.
    pub mode: Mode,
    /// Temperature in use; `None` while unknown.
    pub temperature: Option<MilliCelsius>,
    /// `T_N` of the last check, for the point that ran.
    pub predicted: Option<MilliCelsius>,
    /// Present control period in steps.
    pub period: u8,
    /// Point chosen by the last check that chose one.
    pub choice: u16,
    /// The QoE has been given up for the temperature.
    pub qoe_given_up: bool,
    /// The sensor repeats one value although the device must be warming.
    pub stuck: bool,
}

/// Algorithm 1 as a state machine, to be ticked once per second.
///
/// A tick costs at most 200 multiplications for windows, and six passes over the `N` points with
/// six multiplications each, one of them with a division.
#[derive(Clone, Debug)]
pub struct ThermalController<'a, const N: usize> {
    tables: &'a Tables<N>,
    model: &'a ThermalModel,
    config: Config,
    guard: SensorGuard,
    feedback: Feedback<N>,
    window: Option<Window>,
    last_tick: Option<Micros>,
    first_watch: Option<Micros>,
    period: u8,
    count: u8,
    mode: Mode,
    choice: u16,
    predicted: Option<MilliCelsius>,
    qoe_given_up: bool,
    /// The QoE was given up since the mode was entered: the device rides along the threshold.
    riding: bool,
    last_reading: Option<MilliCelsius>,
    unseen_warming_uc: i64,
}

impl<'a, const N: usize> ThermalController<'a, N> {
    /// A controller; the first tick checks at once.
    pub fn new(tables: &'a Tables<N>, model: &'a ThermalModel, config: Config) -> Self {
        ThermalController {
            tables,
            model,
            config,
            guard: SensorGuard::default(),
            feedback: Feedback::default(),
            window: None,
            last_tick: None,
            first_watch: None,
            period: HORIZON_STEPS,
            count: HORIZON_STEPS,
            mode: Mode::EnergyAware,
            choice: 0,
            predicted: None,
            qoe_given_up: false,
            riding: false,
            last_reading: None,
            unseen_warming_uc: 0,
        }
    }

    /// One step: `reading` is the shell temperature, `None` if it could not be read.
    ///
    /// Ticks less than half a second after the last are ignored; the window is filled by
    /// interpolation if ticks were missed, and begun anew after a gap longer than it.
    pub fn tick(&mut self, now: Micros, reading: Option<MilliCelsius>, at: Situation) -> Mode {
        let steps = match self.last_tick {
            None => 1,
            Some(last) => match now.since(last) {
                Some(us) if us < STEP.0 / 2 => return self.mode,
                Some(us) => us.saturating_add(STEP.0 / 2) / STEP.0,
                None => 1, // the clock went backwards
            },
        };
        self.last_tick = Some(now);
        let temperature = self.guard.accept(reading);
        let temperature = match temperature {
            Some(t) if !(at.busy && self.is_stuck(reading, at.current)) => t,
            _ => {
                self.fail_safe();
                return self.mode;
            }
        };
        if self.mode == Mode::FailSafe {
            // What happened meanwhile is not known.
            self.window = None;
            self.mode = Mode::ThermalAware;
        }
        if !at.busy {
            self.append(temperature, steps);
            self.count = self.period;
            return self.mode;
        }
        match self.config.policy {
            // The printed loop checks, then appends and sleeps.
            Policy::Paper => {
                let window = *self.window.get_or_insert(Window::filled(temperature));
                if self.count >= self.period {
                    self.check_paper(&window, at);
                }
                self.append(temperature, steps);
            }
            Policy::Default => {
                self.append(temperature, steps);
                let window = *self.window.get_or_insert(Window::filled(temperature));
                if self.count >= self.period || temperature >= self.config.t_pre {
                    self.check_default(&window, at);
                }
            }
        }
        let elapsed = u8::try_from(steps).unwrap_or(u8::MAX);
        self.count = self.count.saturating_add(elapsed);
        self.mode
    }

    fn append(&mut self, t: MilliCelsius, steps: u64) {
        match &mut self.window {
            Some(window) if steps <= crate::window::WINDOW as u64 => {
                let from = i64::from(window.newest().0);
                let rise = i64::from(t.0).saturating_sub(from);
                let steps = steps as i64; // at most 20
                for i in 1..=steps {
                    let between = from.saturating_add(rise.saturating_mul(i) / steps.max(1));
                    window.push(MilliCelsius(between as i32)); // between two 32-bit values
                }
            }
            _ => self.window = Some(Window::filled(t)),
        }
    }

    /// Sums the warming that the model expects while the reading stays exactly the same.
    fn is_stuck(&mut self, reading: Option<MilliCelsius>, current: u16) -> bool {
        let same = reading.is_some() && reading == self.last_reading;
        if reading.is_some() {
            self.last_reading = reading;
        }
        match reading {
            Some(t) if same => {
                let line = self.model.forecast_steady(t).line(self.heat(current));
                let rise_mc = i64::from(line.at(HORIZON_MS).0).saturating_sub(t.0.into());
                let rise_uc = rise_mc.saturating_mul(1_000) / i64::from(HORIZON_STEPS);
                let unseen_uc = self.unseen_warming_uc.saturating_add(rise_uc).max(0);
                // Once stuck, only another value helps, not the cooling that is expected then.
                if self.unseen_warming_uc < STUCK_UC {
                    self.unseen_warming_uc = unseen_uc;
                }
            }
            Some(_) => self.unseen_warming_uc = 0,
            None => {}
        }
        self.unseen_warming_uc >= STUCK_UC
    }

    fn fail_safe(&mut self) {
        self.mode = Mode::FailSafe;
        self.choice = 0;
        self.predicted = None;
        self.period = 1;
        self.count = 1;
    }

    /// To be called now and then between ticks (e.g. at every token): goes to the fail-safe if
    /// ticks have stopped. True if that happened just now.
    pub fn watch(&mut self, now: Micros) -> bool {
        let first = *self.first_watch.get_or_insert(now);
        let last = self.last_tick.unwrap_or(first);
        let stale = now.since(last).map_or(false, |us| us > STALE.0);
        if stale && self.mode != Mode::FailSafe {
            self.fail_safe();
            return true;
        }
        false
    }

    /// A token was generated while `point` ran, which the default policy learns from.
    pub fn on_token(&mut self, now: Micros, point: u16) {
        if self.config.policy == Policy::Default {
            self.feedback.on_token(now, point, self.in_table(point));
        }
    }

    /// The next token does not follow another: a request begins.
    pub fn begin_decode(&mut self) {
        self.feedback.interrupt();
    }

    fn check_paper(&mut self, window: &Window, at: Situation) {
        self.count = 0;
        let forecast = self.model.forecast(window);
        let t_n = self.predict(&forecast, at.current);
        self.predicted = Some(t_n);
        if t_n >= self.config.t_max {
            self.enter(ModePeriod::THERMAL);
            self.choice = self.least_cost(&forecast, at.qoe);
        } else if t_n >= self.config.t_pre {
            self.enter(ModePeriod::ALERT);
        } else {
            self.enter(ModePeriod::RELAXED);
        }
    }

    fn check_default(&mut self, window: &Window, at: Situation) {
        self.count = 0;
        let forecast = self.model.forecast(window);
        let t_n = self.predict(&forecast, at.current);
        let t_energy = self.predict(&forecast, at.energy_choice);
        self.predicted = Some(t_n);
        let stay = self.mode == Mode::ThermalAware && t_energy >= below(self.config.t_pre);
        // A reading above the threshold counts even if the model expects cooling.
        let begin = t_n.max(t_energy) >= self.config.t_max
            || window.newest() > self.config.t_max
            || (t_energy >= self.config.t_pre && !self.is_sustainable(at.energy_choice));
        if stay || begin {
            self.enter(ModePeriod::THERMAL);
            let (choice, given_up) = self.most_tokens(&forecast, window.newest(), at);
            self.choice = choice;
            self.qoe_given_up = given_up;
            self.riding |= given_up;
        } else {
            self.qoe_given_up = false;
            self.riding = false;
            self.enter(if t_energy >= self.config.t_pre {
                ModePeriod::ALERT
            } else {
                ModePeriod::RELAXED
            });
        }
    }

    fn enter(&mut self, next: ModePeriod) {
        self.mode = next.mode;
        self.period = next.period;
    }

    /// Power that heats the shell: the accelerator's, or all there is if that is not known.
    fn heat(&self, point: u16) -> MicroWatt {
        let of =
            |table: &[MicroWatt; N]| table.get(usize::from(point)).copied().unwrap_or_default();
        match of(&self.tables.accel_power) {
            MicroWatt(0) => of(&self.tables.power),
            power => power,
        }
    }

    fn in_table(&self, point: u16) -> MicroTokPerS {
        self.tables.throughput.get(usize::from(point)).copied().unwrap_or_default()
    }

    /// To be expected; as predicted for the paper's policy, which learns nothing.
    fn throughput(&self, point: u16) -> MicroTokPerS {
        self.feedback.expected(point, self.in_table(point))
    }

    fn predict(&self, forecast: &Forecast, point: u16) -> MilliCelsius {
        forecast.line(self.heat(point)).at(HORIZON_MS)
    }

    /// `t'`, `None` if not within the horizon.
    fn crossing_ms(&self, forecast: &Forecast, point: u16) -> Option<u32> {
        forecast.line(self.heat(point)).crossing_ms(self.config.t_max, HORIZON_MS)
    }

    fn is_sustainable(&self, point: u16) -> bool {
        match self.model.sustainable_uw(self.config.t_max, HORIZON_MS) {
            Some(limit) => i64::from(self.heat(point).0) <= limit,
            // Nothing is known about power: the threshold itself has to do.
            None => true,
        }
    }

    /// Attainable points (see [`crate::attainable`]) that keep `qoe`, or all of them if none does.
    fn candidates(&self, qoe: MicroTokPerS) -> impl Iterator<Item = u16> + '_ {
        let slowest = qoe.max(MicroTokPerS(1));
        let points = 0..N as u16; // of which there are fewer than 2¹⁶
        let any = points.clone().any(|point| self.throughput(point) >= slowest);
        let slowest = if any { slowest } else { MicroTokPerS(1) };
        points.filter(move |point| self.throughput(*point) >= slowest)
    }

    fn wanted(&self, qoe: MicroTokPerS) -> MicroTokPerS {
        if self.config.qoe_constraint {
            qoe
        } else {
            MicroTokPerS(0)
        }
    }

    /// `argmin J`: tokens after the crossing count against tokens before it. Equal costs: cooler.
    fn least_cost(&self, forecast: &Forecast, qoe: MicroTokPerS) -> u16 {
        let cost = |point: u16| {
            let r = i64::from(self.throughput(point).0);
            let before = self.crossing_ms(forecast, point).unwrap_or(HORIZON_MS);
            // 2³² · 2¹⁵ fits.
            r.saturating_mul(i64::from(HORIZON_MS).saturating_sub(2 * i64::from(before)))
        };
        let candidates = self.candidates(self.wanted(qoe));
        candidates.min_by_key(|point| (cost(*point), self.heat(*point))).unwrap_or(0)
    }

    fn coolest(&self, qoe: MicroTokPerS) -> u16 {
        let candidates = self.candidates(qoe);
        candidates
            .min_by_key(|p| (self.heat(*p), core::cmp::Reverse(self.throughput(*p))))
            .unwrap_or(0)
    }

    /// The default policy's choice, and whether it gives up the QoE.
    fn most_tokens(&self, forecast: &Forecast, now: MilliCelsius, at: Situation) -> (u16, bool) {
        if now > self.config.t_max {
            // Whatever the model says: it was wrong. Then the tables may be as well, and what
            // looks coolest is not.
            let lowest = self.lowest_point();
            let far = MilliCelsius(self.config.t_max.0.saturating_add(FAR.0));
            let point = if now > far || at.current == lowest {
                lowest
            } else {
                self.coolest(MicroTokPerS(0))
            };
            return (point, true);
        }
        let qoe = self.wanted(at.qoe);
        let outlook = self.outlook(now);
        if let Some(point) = self.lasting(forecast, &outlook, qoe, at) {
            return (point, false);
        }
        let best = self.best_before_crossing(forecast, &outlook, qoe, at.current);
        let line = forecast.line(self.heat(best));
        let t_max = self.config.t_max;
        // Once given up, the QoE returns when some point keeps it for a whole horizon.
        let give_up = if self.qoe_given_up {
            line.reaches(below(t_max), HORIZON_MS)
        } else {
            // A forecast alone is no reason: a window with a jump in it forecasts anything.
            (self.is_imminent(IMMINENT_MS) && line.reaches(t_max, IMMINENT_MS))
                || (self.is_imminent(STORED_MS) && self.overshoots(forecast, &outlook))
        };
        if give_up {
            return (self.fastest_safe(forecast, at.current), true);
        }
        (best, false)
    }

    /// Whether the coolest point would keep `T_max` for good, and yet bring the shell to
    /// [`OVERSHOOT`] above it first, by heat that is on its way already.
    fn overshoots(&self, forecast: &Forecast, outlook: &Outlook) -> bool {
        let coolest = self.coolest(MicroTokPerS(0));
        if !outlook.is_sustainable(self.heat(coolest)) {
            return false;
        }
        let limit = MilliCelsius(self.config.t_max.0.saturating_add(OVERSHOOT.0));
        forecast.line(self.heat(coolest)).reaches(limit, HORIZON_MS)
    }

    /// Whether the warming of the last seconds, continued for `ms`, reaches `T_max`.
    fn is_imminent(&self, ms: u32) -> bool {
        let (now, before) = match &self.window {
            Some(window) => (window.newest().0, window.ago(TREND_S).0),
            None => return true,
        };
        let rise = i64::from(now).saturating_sub(before.into()).max(0);
        let ahead = rise.saturating_mul(i64::from(ms)) / (1_000 * TREND_S as i64);
        i64::from(now).saturating_add(ahead) >= i64::from(self.config.t_max.0)
    }

    fn outlook(&self, now: MilliCelsius) -> Outlook {
        let t_max = self.config.t_max;
        let halfway = MilliCelsius((now.0 / 2).saturating_add(t_max.0 / 2).min(t_max.0));
        let limit = |t| self.model.sustainable_uw(t, HORIZON_MS);
        let sustainable_uw = limit(t_max);
        let on_the_way_uw = limit(halfway).min(sustainable_uw).unwrap_or(0);
        Outlook {
            sustainable_uw,
            on_the_way_uw,
            gain_uc_per_w: self.model.gain_uc_per_w(HORIZON_MS),
            gap_uc: i64::from(t_max.0).saturating_sub(now.0.into()).max(0).saturating_mul(1_000),
        }
    }

    /// A point that keeps `qoe` and `T_max` for good: the energy-aware choice for as long as it
    /// is not predicted to reach `T_max` and there is a sustainable point to fall back on; else
    /// the fastest sustainable one.
    fn lasting(
        &self,
        forecast: &Forecast,
        outlook: &Outlook,
        qoe: MicroTokPerS,
        at: Situation,
    ) -> Option<u16> {
        let t_max = self.config.t_max;
        let keeps =
            |point: u16, ceiling| !forecast.line(self.heat(point)).reaches(ceiling, HORIZON_MS);
        let ceiling = if self.qoe_given_up { below(t_max) } else { t_max };
        let sustainable = self
            .candidates(qoe)
            .filter(|p| self.throughput(*p) >= qoe && outlook.is_sustainable(self.heat(*p)))
            .filter(|p| keeps(*p, ceiling))
            .max_by_key(|p| (self.throughput(*p), core::cmp::Reverse(self.heat(*p))))?;
        let efficient = at.energy_choice;
        // Coming back to what does not last needs more room than staying, so that the choice does
        // not swing.
        let swings = at.current != efficient && !outlook.is_sustainable(self.heat(efficient));
        let room = MilliCelsius(t_max.0.saturating_sub(if swings { RIDE.0 } else { 0 }));
        let ride = self.throughput(efficient) >= qoe && keeps(efficient, ceiling.min(room));
        Some(if ride { efficient } else { sustainable })
    }

    /// The point with most tokens before `T_max`, which every point that keeps `qoe` reaches.
    /// The present one stays for small differences. Within a horizon of `T_max` nothing hotter is
    /// tried: its heat would arrive when the QoE has been given up.
    fn best_before_crossing(
        &self,
        forecast: &Forecast,
        outlook: &Outlook,
        qoe: MicroTokPerS,
        current: u16,
    ) -> u16 {
        if self.riding {
            // Anything hotter would only bring the next giving up nearer.
            return self.coolest(qoe);
        }
        let running = self.heat(current);
        let tokens = |point: u16| {
            let heat = self.heat(point);
            let ms = match self.crossing_ms(forecast, point) {
                Some(_) if heat > running => 0,
                Some(ms) => u64::from(ms),
                None => outlook.crossing_ms(heat),
            };
            u64::from(self.throughput(point).0).saturating_mul(ms)
        };
        let key = |p: &u16| (tokens(*p), core::cmp::Reverse(self.heat(*p)));
        let best = match self.candidates(qoe).max_by_key(key) {
            Some(best) => best,
            None => return self.coolest(qoe),
        };
        let most = tokens(best);
        let stays = self.throughput(current) >= qoe && tokens(current) >= most - (most >> 5);
        if stays {
            current
        } else {
            best
        }
    }

    /// The fastest point that is not predicted to reach `T_max`, else the coolest. Points hotter
    /// than `current` must stay further below, so that the choice does not swing.
    fn fastest_safe(&self, forecast: &Forecast, current: u16) -> u16 {
        let all = MicroTokPerS(0);
        let running = self.heat(current);
        let safe = self.candidates(all).filter(|point| {
            let heat = self.heat(*point);
            let ceiling = self.config.t_max;
            let ceiling = if heat > running { below(ceiling) } else { ceiling };
            !forecast.line(heat).reaches(ceiling, HORIZON_MS)
        });
        safe.max_by_key(|p| self.throughput(*p)).unwrap_or_else(|| self.coolest(all))
    }

    /// The point to run if the mode is not [`Mode::EnergyAware`].
    pub fn choice(&self) -> Option<u16> {
        match self.mode {
            Mode::EnergyAware => None,
            Mode::ThermalAware | Mode::FailSafe => Some(self.choice),
        }
    }

    /// The lowest clocks that are attainable (see [`crate::attainable`]).
    fn lowest_point(&self) -> u16 {
        let lowest = self.tables.throughput.iter().position(|r| *r > MicroTokPerS(0));
        lowest.unwrap_or(0) as u16
    }

    /// The highest clocks that are attainable (see [`crate::attainable`]).
    pub fn highest_point(&self) -> u16 {
        let highest = self.tables.throughput.iter().rposition(|r| *r > MicroTokPerS(0));
        highest.unwrap_or(0) as u16
    }

    /// The point for prefill: the highest clocks, unless they are predicted to reach `T_max`
    /// within the horizon; then the fastest point that is not.
    pub fn prefill_point(&self) -> u16 {
        let highest = self.highest_point();
        let forecast = match &self.window {
            Some(window) => self.model.forecast(window),
            None => return highest, // no temperature has been seen yet
        };
        match self.crossing_ms(&forecast, highest) {
            None => highest,
            Some(_) => self.fastest_safe(&forecast, highest),
        }
    }

    /// The policy in use.
    pub fn policy(&self) -> Policy {
        self.config.policy
    }

    /// State for logs.
    pub fn status(&self) -> Status {
        Status {
            mode: self.mode,
            temperature: self.guard.temperature(),
            predicted: self.predicted,
            period: self.period,
            choice: self.choice,
            qoe_given_up: self.qoe_given_up,
            stuck: self.unseen_warming_uc >= STUCK_UC,
        }
    }
}

/// What the thermal model says about the way to `T_max`.
struct Outlook {
    /// Power that keeps `T_max` steady, µW; `None` if the model sees no effect of power.
    sustainable_uw: Option<i64>,
    /// Power that would keep the temperature halfway to `T_max` steady, µW.
    on_the_way_uw: i64,
    /// Rise over the horizon per watt, µ°C/W.
    gain_uc_per_w: i64,
    /// Way to go, µ°C.
    gap_uc: i64,
}

impl Outlook {
    fn is_sustainable(&self, heat: MicroWatt) -> bool {
        self.sustainable_uw.map_or(true, |limit| i64::from(heat.0) <= limit)
    }

    /// Time until `T_max` under constant power, ms: at least the horizon, within which none is
    /// predicted, and at most some days.
    fn crossing_ms(&self, heat: MicroWatt) -> u64 {
        let excess_uw = i64::from(heat.0).saturating_sub(self.on_the_way_uw).max(1);
        // µ°C per horizon, times 10⁶ / 2²⁰ = 15625 / 2¹⁴, to save a division.
        let rise = self.gain_uc_per_w.max(1).saturating_mul(excess_uw) >> 20;
        let way = (self.gap_uc.saturating_mul(i64::from(HORIZON_MS)).saturating_mul(15_625)) >> 14;
        (way / rise.max(1)).clamp(HORIZON_MS.into(), i64::from(u32::MAX)) as u64
    }
}

/// The pairs `(S, N_step)` of Algorithm 1.
struct ModePeriod {
    mode: Mode,
    period: u8,
}

impl ModePeriod {
    const THERMAL: Self = ModePeriod { mode: Mode::ThermalAware, period: 1 };
    const ALERT: Self = ModePeriod { mode: Mode::EnergyAware, period: 1 };
    const RELAXED: Self = ModePeriod { mode: Mode::EnergyAware, period: HORIZON_STEPS };
}
