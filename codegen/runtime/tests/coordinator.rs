//! Both controllers together on a device that warms.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use common::{on_device, phone, thermal_model, Engine, Thermal, POINTS};
use enerinfer_runtime::attainable::keep_attainable;
use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime::tables::Tables;
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::thermal::{self, Mode};
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::units::MicroTokPerS;
use enerinfer_runtime::{energy, qoe};
use proptest::prelude::*;

const PAPER: Config = Config {
    energy: energy::Policy::Paper,
    thermal: thermal::Config {
        policy: thermal::Policy::Paper,
        t_max: MilliCelsius(42_000),
        t_pre: MilliCelsius(40_000),
        qoe_constraint: true,
    },
};

/// A run of back-to-back requests.
#[derive(Debug, Default)]
struct Run {
    hottest_c: f64,
    tokens: u32,
    changes: u32,
    late_windows: u32,
    windows: u32,
}

struct Scenario {
    seconds: u64,
    need: f64,
    ambient_c: f64,
    start_c: f64,
    /// Errors of predicted throughput and of predicted heat.
    speed_error: f64,
    heat_error: f64,
}

fn run(tables: &Tables<POINTS>, model: &ThermalModel, config: Config, s: &Scenario) -> Run {
    let fronts = Fronts::new(tables);
    let mut control = Coordinator::new(tables, &fronts, model, config);
    let mut engine = Engine::new(&tables.throughput, |_| s.speed_error);
    let mut device = Thermal::at(s.start_c);
    device.ambient_c = s.ambient_c;
    let qoe = MicroTokPerS((s.need * 1e6) as u32);
    let mut out = Run::default();
    let mut point = 0;
    let mut next_tick = 0;
    let mut window_start = 0;
    let mut in_window = 0;
    control.tick(Micros(0), Some(MilliCelsius((s.start_c * 1e3) as i32)));
    control.begin_prefill(engine.now);
    let mut set = |p: Option<u16>, point: &mut u16| {
        if let Some(p) = p {
            out.changes += 1;
            *point = p;
        }
    };
    set(control.begin_decode(qoe, engine.now), &mut point);
    let mut hottest: f64 = 0.0;
    while engine.now.0 < s.seconds * 1_000_000 {
        let before = engine.now.0;
        let now = engine.token(point, 1.0, 0.01);
        let watts = f64::from(tables.accel_power[usize::from(point)].0) / 1e6 * s.heat_error;
        device.step(watts, (now.0 - before) as f64 / 1e6);
        hottest = hottest.max(device.shell_c);
        set(control.on_token(now), &mut point);
        while next_tick <= now.0 {
            let reading = MilliCelsius((device.shell_c * 1e3) as i32);
            set(control.tick(Micros(next_tick), Some(reading)), &mut point);
            next_tick += 1_000_000;
        }
        in_window += 1;
        if now.0 - window_start >= 1_000_000 {
            let rate = f64::from(in_window) / ((now.0 - window_start) as f64 / 1e6);
            out.windows += 1;
            out.late_windows += u32::from(rate < s.need * 0.99);
            window_start = now.0;
            in_window = 0;
        }
        out.tokens += 1;
    }
    out.hottest_c = hottest;
    out
}

/// How the choice developed while hot.
#[derive(Debug)]
struct Hot {
    changes: usize,
    last_change_s: u64,
    /// At the last choice, without noise.
    tok_per_s: f64,
}

/// Ten minutes of decoding under thermal-aware control at a shell temperature that stays below
/// the threshold, after a second above it.
fn hot(need: f64, errors: &[f64], noise: f64, model_ambient_c: f64) -> Hot {
    let tables = phone();
    let model = on_device(&thermal_model(model_ambient_c));
    let fronts = Fronts::new(&tables);
    let mut config = Config::default();
    config.thermal.t_pre = MilliCelsius(20_000); // never left again
    let mut control = Coordinator::new(&tables, &fronts, &model, config);
    let mut engine = Engine::new(&tables.throughput, |i| errors[i]);
    // The last digit moves: a reading that never does would be a stuck sensor's.
    let reading = |s: u64| Some(MilliCelsius(39_000 + (s % 3) as i32));
    let mut point = control.begin_decode(MicroTokPerS((need * 1e6) as u32), Micros(0)).unwrap();
    point = control.tick(Micros(0), Some(MilliCelsius(42_100))).unwrap_or(point);
    let mut out = Hot { changes: 0, last_change_s: 0, tok_per_s: 0.0 };
    let mut ticks = 1;
    while engine.now.0 < 600_000_000 {
        let now = engine.token(point, 1.0, noise);
        let mut next = control.on_token(now);
        while ticks * 1_000_000 <= now.0 {
            next = control.tick(Micros::from_secs(ticks), reading(ticks)).or(next);
            ticks += 1;
            assert_eq!(control.status().thermal.mode, Mode::ThermalAware);
        }
        if let Some(next) = next {
            point = next;
            out.changes += 1;
            out.last_change_s = now.0 / 1_000_000;
        }
    }
    out.tok_per_s = engine.truth[usize::from(point)];
    out
}

fn scenario(need: f64, ambient_c: f64) -> Scenario {
    Scenario {
        seconds: 3_600,
        need,
        ambient_c,
        start_c: ambient_c,
        speed_error: 1.0,
        heat_error: 1.0,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// An hour of decoding, with predictions that are wrong: the threshold is not exceeded by
    /// more than half a degree as long as the lowest clocks can hold it, and points do not flap.
    #[test]
    fn the_threshold_holds_for_an_hour(
        need in 3.0f64..16.0,
        ambient_c in 10.0f64..34.0,
        start_above in 0.0f64..5.0,
        speed_error in 0.7f64..1.3,
        heat_error in 0.8f64..1.2,
        qoe_constraint in any::<bool>(),
    ) {
        let tables = phone();
        // The model was fitted at 25 °C.
        let model = on_device(&thermal_model(25.0));
        let mut config = Config::default();
        config.thermal.qoe_constraint = qoe_constraint;
        let s = Scenario {
            start_c: (ambient_c + start_above).min(38.0),
            speed_error,
            heat_error,
            ..scenario(need, ambient_c)
        };
        let out = run(&tables, &model, config, &s);
        prop_assert!(out.hottest_c < 42.5, "{out:?}");
        // At most one change in 10 seconds, even riding along the threshold.
        prop_assert!(out.changes <= 360, "{out:?}");
    }

    /// Hot for good, below the threshold, with every prediction wrong in its own way: what is
    /// learnt moves the choice at most once per point, and soon no more.
    #[test]
    fn learning_while_hot_ends(
        need in 3.0f64..14.0,
        errors in prop::collection::vec(0.7f64..1.3, POINTS),
        noise in 0.0f64..0.1,
        model_ambient_c in 15.0f64..40.0,
    ) {
        let hot = hot(need, &errors, noise, model_ambient_c);
        prop_assert!(hot.changes <= POINTS, "{hot:?}");
        prop_assert!(hot.last_change_s <= 20, "{hot:?}");
    }

    /// The QoE is kept while hot by a device that is as much slower than its tables everywhere,
    /// if some point keeps it.
    #[test]
    fn qoe_is_kept_on_a_slower_device_while_hot(
        need in 3.0f64..10.0,
        error in 0.7f64..1.3,
        model_ambient_c in 15.0f64..40.0,
    ) {
        let hot = hot(need, &[error; POINTS], 0.01, model_ambient_c);
        prop_assert!(hot.tok_per_s >= 0.98 * need, "{hot:?}");
        prop_assert!(hot.last_change_s <= 10, "{hot:?}");
    }
}

/// Runs that went 0.4 to 0.6 °C too far before heat on its way was counted.
#[test]
fn heat_on_its_way_counts() {
    let tables = phone();
    let model = on_device(&thermal_model(25.0));
    for (need, ambient_c, start_c, speed_error, heat_error) in [
        (12.06, 33.5, 38.0, 0.87, 1.19),
        (14.56, 30.0, 30.6, 1.10, 1.18),
        (10.64, 31.4, 35.7, 0.73, 1.16),
        (10.27, 30.3, 34.6, 0.80, 1.19),
        (10.1, 33.0, 34.8, 0.70, 1.09),
    ] {
        let s = Scenario { start_c, speed_error, heat_error, ..scenario(need, ambient_c) };
        let out = run(&tables, &model, Config::default(), &s);
        assert!(out.hottest_c < 42.3, "{need} tokens/s at {ambient_c} °C: {out:?}");
    }
}

#[test]
fn qoe_is_met_when_temperature_allows() {
    let tables = phone();
    let model = on_device(&thermal_model(25.0));
    for need in [3.3, 4.8, 7.0, 9.5] {
        let out = run(&tables, &model, Config::default(), &scenario(need, 22.0));
        assert!(out.late_windows * 100 <= out.windows, "{need} tokens/s: {out:?}");
        assert!(out.changes <= 3, "{need} tokens/s: {out:?}");
    }
}

#[test]
fn the_default_policy_outlasts_energy_alone() {
    let tables = phone();
    let model = on_device(&thermal_model(30.0));
    // 9.5 tokens/s at 30 °C: the energy-aware choice would end at 46 °C.
    let s = Scenario { seconds: 1_200, start_c: 37.0, ..scenario(9.5, 30.0) };
    let ours = run(&tables, &model, Config::default(), &s);
    let mut never = Config::default();
    never.thermal.t_max = MilliCelsius(60_000);
    never.thermal.t_pre = MilliCelsius(59_000);
    let energy_alone = run(&tables, &model, never, &s);
    assert!(energy_alone.hottest_c > 43.0, "{energy_alone:?}");
    assert!(ours.hottest_c < 42.5, "{ours:?}");
    assert!(f64::from(ours.tokens) > 0.7 * f64::from(energy_alone.tokens), "{ours:?}");
}

#[test]
fn paper_keeps_the_cooler_point_until_the_next_decode() {
    let tables = phone();
    let fronts = Fronts::new(&tables);
    let model = ThermalModel::PERSISTENCE;
    let mut control = Coordinator::new(&tables, &fronts, &model, PAPER);
    control.tick(Micros(0), Some(MilliCelsius(30_000)));
    control.begin_prefill(Micros(0));
    assert_eq!(control.begin_decode(qoe::READING, Micros(0)), Some(3));
    let mut last = None;
    for s in 1..30 {
        last = control.tick(Micros::from_secs(s), Some(MilliCelsius(42_100))).or(last);
    }
    assert_eq!(control.status().thermal.mode, Mode::ThermalAware);
    let cool = control.status().wanted;
    assert_eq!(last, None, "point 3 is the coolest with this QoE already");
    for s in 30..60 {
        assert_eq!(control.tick(Micros::from_secs(s), Some(MilliCelsius(35_000))), None);
    }
    assert_eq!(control.status().thermal.mode, Mode::EnergyAware);
    assert_eq!(control.status().wanted, cool);
}

#[test]
fn default_returns_to_the_energy_choice_by_itself() {
    let tables = phone();
    let fronts = Fronts::new(&tables);
    let model = ThermalModel::PERSISTENCE;
    let mut control = Coordinator::new(&tables, &fronts, &model, Config::default());
    control.tick(Micros(0), Some(MilliCelsius(30_000)));
    assert_eq!(control.begin_decode(qoe::READING, Micros(0)), Some(3));
    assert_eq!(control.tick(Micros::from_secs(1), Some(MilliCelsius(42_100))), None, "a spike");
    control.tick(Micros::from_secs(2), Some(MilliCelsius(42_100)));
    assert_eq!(control.tick(Micros::from_secs(3), Some(MilliCelsius(42_100))), Some(0));
    control.tick(Micros::from_secs(4), Some(MilliCelsius(39_000)));
    assert_eq!(control.status().thermal.mode, Mode::ThermalAware);
    control.tick(Micros::from_secs(5), Some(MilliCelsius(36_000)));
    assert_eq!(control.status().thermal.mode, Mode::EnergyAware);
    assert_eq!(control.status().wanted, Some(3));
}

#[test]
fn prefill_runs_at_the_highest_clocks_unless_near_the_threshold() {
    let tables = phone();
    let fronts = Fronts::new(&tables);
    let model = on_device(&thermal_model(25.0));
    let prefill_at = |millis: i32| {
        let mut control = Coordinator::new(&tables, &fronts, &model, Config::default());
        control.tick(Micros(0), Some(MilliCelsius(millis)));
        control.begin_prefill(Micros(1))
    };
    assert_eq!(prefill_at(30_000), Some(11));
    let near = prefill_at(41_800);
    assert!(near.is_some() && near < Some(11), "{near:?}");
    let mut control = Coordinator::new(&tables, &fronts, &model, Config::default());
    assert_eq!(control.begin_prefill(Micros(1)), Some(11), "no reading yet");
    // A cap takes the upper memory level away.
    let mut capped = phone();
    keep_attainable(&mut capped, |point| point < 9);
    for config in [PAPER, Config::default()] {
        let mut control = Coordinator::new(&capped, &fronts, &model, config);
        assert_eq!(control.begin_prefill(Micros(1)), Some(8));
    }
}

#[test]
fn sessions_run_back_to_back() {
    let tables = phone();
    let fronts = Fronts::new(&tables);
    let model = on_device(&thermal_model(25.0));
    let mut control = Coordinator::new(&tables, &fronts, &model, Config::default());
    for session in 0..10u64 {
        let start = session * 10;
        control.tick(Micros::from_secs(start), Some(MilliCelsius(30_000 + session as i32)));
        assert_eq!(control.begin_prefill(Micros::from_secs(start)), Some(11));
        assert_eq!(control.begin_decode(qoe::READING, Micros::from_secs(start + 1)), Some(3));
        assert_eq!(control.set_qoe(qoe::LISTENING, Micros::from_secs(start + 2)), None);
        assert_eq!(control.set_qoe(MicroTokPerS(9_500_000), Micros::from_secs(start + 2)), Some(8));
        control.end();
        assert_eq!(control.status().wanted, None);
        assert_eq!(control.on_token(Micros::from_secs(start + 3)), None);
        assert_eq!(control.set_qoe(qoe::READING, Micros::from_secs(start + 3)), None);
    }
}

#[test]
fn a_memory_heavy_foreground_app_gets_the_slowest_sufficient_setting() {
    let tables = phone();
    let fronts = Fronts::new(&tables);
    let model = on_device(&thermal_model(25.0));
    let mut control = Coordinator::new(&tables, &fronts, &model, Config::default());
    control.tick(Micros(0), Some(MilliCelsius(30_000)));
    let need = MicroTokPerS(7_200_000);
    assert_eq!(control.begin_decode(need, Micros(0)), Some(6));
    assert_eq!(control.set_memory_heavy_foreground(true, Micros(1)), None, "7.5 tokens/s again");
    // The app takes a quarter of the speed: feedback finds the slowest that suffices.
    let mut engine = Engine::new(&tables.throughput, |_| 0.75);
    let mut point = 6;
    let mut next_tick = 1_000_000;
    while engine.now.0 < 60_000_000 {
        let now = engine.token(point, 1.0, 0.005);
        point = control.on_token(now).unwrap_or(point);
        if now.0 > next_tick {
            let reading = MilliCelsius(30_000 + (next_tick / 1_000_000 % 5) as i32);
            control.tick(now, Some(reading));
            next_tick += 1_000_000;
        }
    }
    assert_eq!(point, 8, "10.09 · 0.75 is the first above 7.2");
    assert_eq!(control.set_memory_heavy_foreground(false, engine.now), Some(6));
}

#[test]
fn tokens_without_ticks_end_in_the_fail_safe() {
    let tables = phone();
    let fronts = Fronts::new(&tables);
    let model = on_device(&thermal_model(25.0));
    for config in [PAPER, Config::default()] {
        let mut control = Coordinator::new(&tables, &fronts, &model, config);
        control.tick(Micros(0), Some(MilliCelsius(30_000)));
        control.begin_decode(qoe::READING, Micros(0));
        let mut point = None;
        for i in 0..60 {
            point = control.on_token(Micros(i * 180_000)).or(point);
        }
        assert_eq!(point, Some(0));
        assert_eq!(control.status().thermal.mode, Mode::FailSafe);
        // Ticks are back: so is the choice.
        for s in 11..15 {
            control.tick(Micros::from_secs(s), Some(MilliCelsius(30_000 + s as i32)));
        }
        assert_eq!(control.status().wanted, Some(3));
    }
}

#[test]
fn state_is_below_a_kibibyte() {
    // Of what is remembered of every point there is a byte: this many may be on a platform.
    assert!(core::mem::size_of::<Coordinator<'_, 256>>() < 1024);
}
