//! Laws of the thermal model in fixed point and of the thermal-aware controller.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use common::{on_device, phone, thermal_model};
use enerinfer_artifacts::ThermalModel as F64Model;
use enerinfer_runtime::tables::Tables;
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::thermal::{
    Config, Mode, Policy, Situation, ThermalController, HORIZON_MS, HORIZON_STEPS,
};
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::units::{MicroTokPerS, MicroWatt};
use enerinfer_runtime::window::Window;
use proptest::prelude::*;

fn predict(model: &F64Model, window: &Window, watts: f64, t: f64) -> f64 {
    let temperatures: Vec<f64> = window.iter().map(|t| f64::from(t.0) / 1e3).collect();
    let weigh = |w: &[f64]| w.iter().zip(&temperatures).map(|(w, t)| w * t).sum::<f64>();
    model.intercept_c
        + weigh(&model.history)
        + model.power_c_per_w * watts
        + t * (model.time_c_per_s + model.time_power_c_per_ws * watts + weigh(&model.time_history))
}

fn window_of(samples: &[i32]) -> Window {
    let mut window = Window::filled(MilliCelsius(samples[0]));
    for t in samples {
        window.push(MilliCelsius(*t));
    }
    window
}

fn policy(policy: Policy) -> Config {
    Config { policy, t_pre: MilliCelsius(40_000), ..Config::default() }
}

fn at(current: u16, energy_choice: u16, tok_per_s: u32) -> Situation {
    Situation { current, energy_choice, qoe: MicroTokPerS::from_tok_per_s(tok_per_s), busy: true }
}

/// Warms by `rise` °C over the horizon at 1 W, by nothing at 0 W.
fn warming(rise: f64) -> ThermalModel {
    let mut model = thermal_model(25.0);
    model.time_history = Vec::new();
    model.time_c_per_s = 0.0;
    model.time_power_c_per_ws = rise / f64::from(HORIZON_STEPS);
    on_device(&model)
}

prop_compose! {
    fn any_model()(
        history in prop::collection::vec(-1.0f64..1.5, 20),
        time_history in prop::collection::vec(-0.01f64..0.01, 20),
        intercept_c in -50.0f64..50.0,
        power_c_per_w in -1.0f64..2.0,
        time_c_per_s in -0.5f64..0.5,
        time_power_c_per_ws in -0.1f64..0.2,
    ) -> F64Model {
        F64Model {
            window: 20, intercept_c, history, power_c_per_w, time_c_per_s, time_power_c_per_ws,
            time_history,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn fixed_point_is_within_a_hundredth_of_a_degree(
        model in any_model(),
        samples in prop::collection::vec(-20_000i32..90_000, 20),
        micro_watts in 0u32..30_000_000,
        ms in 0u32..21_000,
    ) {
        let window = window_of(&samples);
        let exact = predict(&model, &window, f64::from(micro_watts) / 1e6, f64::from(ms) / 1e3);
        let fixed = on_device(&model).forecast(&window).line(MicroWatt(micro_watts)).at(ms);
        prop_assert!((f64::from(fixed.0) / 1e3 - exact).abs() < 0.01, "{} for {exact}", fixed.0);
    }

    /// The closed form agrees with stepping along the line.
    #[test]
    fn crossing_time_separates_below_from_above(
        model in any_model(),
        samples in prop::collection::vec(36_000i32..43_000, 20),
        micro_watts in 0u32..5_000_000,
        threshold in 37_000i32..45_000,
    ) {
        let threshold = MilliCelsius(threshold);
        let line = on_device(&model).forecast(&window_of(&samples)).line(MicroWatt(micro_watts));
        let slack = MilliCelsius(threshold.0 - 2);
        match line.crossing_ms(threshold, HORIZON_MS) {
            Some(ms) => {
                prop_assert!(line.at(ms + 1) >= slack);
                prop_assert!(ms == 0 || line.at(ms - 1) <= threshold);
            }
            None => {
                prop_assert!(line.at(0) <= threshold);
                prop_assert!(line.at(HORIZON_MS) <= MilliCelsius(threshold.0 + 2));
            }
        }
    }

    /// `argmin J` against the formula in floating point (equations 1 and 2).
    #[test]
    fn paper_minimises_the_printed_cost(
        start in 40_000i32..42_500,
        rise in 0.5f64..8.0,
        tok_per_s in 0u32..12,
        qoe_constraint in any::<bool>(),
    ) {
        let tables = phone();
        let model = warming(rise);
        let config = Config { qoe_constraint, ..policy(Policy::Paper) };
        let mut c = ThermalController::new(&tables, &model, config);
        let mode = c.tick(Micros(0), Some(MilliCelsius(start)), at(11, 3, tok_per_s));
        let horizon = f64::from(HORIZON_STEPS);
        let start = f64::from(start) / 1e3;
        let heat = |u: usize| f64::from(tables.accel_power[u].0) / 1e6;
        prop_assert_eq!(mode == Mode::ThermalAware, start + rise * heat(11) >= 41.9999);
        prop_assume!(mode == Mode::ThermalAware);
        let cost = |u: usize| {
            let speed = f64::from(tables.throughput[u].0) / 1e6;
            let t = ((42.0 - start) / (rise * heat(u) / horizon)).max(0.0);
            if t < horizon { speed * (horizon - t) - speed * t } else { -speed * horizon }
        };
        let needed = if qoe_constraint { f64::from(tok_per_s) } else { 0.0 };
        let least = (0..tables.throughput.len())
            .filter(|u| f64::from(tables.throughput[*u].0) / 1e6 >= needed)
            .map(cost)
            .fold(f64::INFINITY, f64::min);
        let chosen = usize::from(c.choice().unwrap());
        prop_assert!(cost(chosen) <= least + 0.05, "{chosen}: {} > {least}", cost(chosen));
        prop_assert!(f64::from(tables.throughput[chosen].0) / 1e6 >= needed);
    }

    /// Whatever sensor, clock and coefficients do.
    #[test]
    fn arbitrary_input_is_survived(
        model in any_model(),
        ticks in prop::collection::vec((any::<u64>(), any::<Option<i32>>(), any::<u16>()), 0..100),
        qoe in any::<u32>(),
        paper in any::<bool>(),
    ) {
        let tables = phone();
        let model = on_device(&model);
        let config = policy(if paper { Policy::Paper } else { Policy::Default });
        let mut c = ThermalController::new(&tables, &model, config);
        for (now, reading, point) in ticks {
            let situation = Situation {
                current: point,
                energy_choice: point / 2,
                qoe: MicroTokPerS(qoe),
                busy: point % 8 != 0,
            };
            c.tick(Micros(now), reading.map(MilliCelsius), situation);
            c.watch(Micros(now / 2));
            prop_assert!(c.choice().map_or(true, |u| usize::from(u) < tables.throughput.len()));
            prop_assert!(usize::from(c.prefill_point()) < tables.throughput.len());
        }
    }
}

#[test]
fn the_first_check_is_immediate_and_the_period_adapts() {
    let tables = phone();
    let model = warming(2.0); // 1.8 °C at point 11, 0.28 at point 3
    let paper = [
        (42_100, Mode::ThermalAware, 1),
        (39_900, Mode::EnergyAware, 1), // predicted above T_pre
        (30_000, Mode::EnergyAware, HORIZON_STEPS),
    ];
    // This model never cools, so no power is sustainable: the default begins at T_pre.
    let default = [
        (42_100, Mode::ThermalAware, 1),
        (39_900, Mode::ThermalAware, 1),
        (30_000, Mode::EnergyAware, HORIZON_STEPS),
    ];
    for (policy, cases) in [(policy(Policy::Paper), paper), (policy(Policy::Default), default)] {
        for (start, mode, period) in cases {
            let mut c = ThermalController::new(&tables, &model, policy);
            let got = c.tick(Micros(0), Some(MilliCelsius(start)), at(3, 3, 5));
            assert_eq!((got, c.status().period), (mode, period), "{policy:?} from {start}");
        }
    }
}

#[test]
fn a_relaxed_paper_controller_checks_every_21_seconds() {
    let tables = phone();
    let model = warming(2.0);
    let mut c = ThermalController::new(&tables, &model, policy(Policy::Paper));
    // Rises by 0.4 °C each second from 36 °C: checks at 0 s (window of 36 °C) and at 21 s.
    let mut thermal_at = None;
    for s in 0..40 {
        let t = MilliCelsius(36_000 + 400 * s);
        let mode = c.tick(Micros::from_secs(s as u64), Some(t), at(3, 3, 5));
        if mode == Mode::ThermalAware {
            thermal_at.get_or_insert(s);
        }
    }
    assert_eq!(thermal_at, Some(21));
}

#[test]
fn default_reacts_to_a_hot_reading_without_waiting_for_the_period() {
    let tables = phone();
    let model = warming(2.0);
    let mut c = ThermalController::new(&tables, &model, policy(Policy::Default));
    c.tick(Micros(0), Some(MilliCelsius(36_000)), at(3, 3, 5));
    assert_eq!(c.status().period, HORIZON_STEPS);
    assert_eq!(
        c.tick(Micros::from_secs(1), Some(MilliCelsius(43_000)), at(3, 3, 5)),
        Mode::ThermalAware
    );
}

#[test]
fn default_returns_only_when_the_energy_choice_stays_below_t_pre() {
    let tables = phone();
    let model = warming(2.0); // point 8: +0.8 °C, point 0: +0.24 °C
    let mut c = ThermalController::new(&tables, &model, policy(Policy::Default));
    let mut now = 0;
    let mut tick = |c: &mut ThermalController<'_, { common::POINTS }>, t: i32| {
        now += 1;
        c.tick(Micros::from_secs(now), Some(MilliCelsius(t)), at(0, 8, 10))
    };
    assert_eq!(tick(&mut c, 41_900), Mode::ThermalAware);
    let mut t = 41_900;
    while t > 38_750 {
        assert_eq!(tick(&mut c, t), Mode::ThermalAware, "at {t}");
        t -= 100;
    }
    assert_eq!(tick(&mut c, 38_600), Mode::EnergyAware, "39.4 °C is below 40 - 0.5");
}

#[test]
fn temperature_wins_over_qoe() {
    let mut tables = phone();
    tables.accel_power[3] = MicroWatt(80_000);
    let model = warming(4.0); // point 8: +1.6 °C
    let mut c = ThermalController::new(&tables, &model, policy(Policy::Default));
    // Every point of 10 tokens/s reaches 42 °C, but not soon: the coolest of them.
    c.tick(Micros(0), Some(MilliCelsius(40_900)), at(8, 8, 10));
    assert_eq!((c.choice(), c.status().qoe_given_up), (Some(8), false));
    // Soon: the fastest point that stays below, whatever its speed.
    c.tick(Micros::from_secs(1), Some(MilliCelsius(41_900)), at(8, 8, 10));
    assert_eq!((c.choice(), c.status().qoe_given_up), (Some(3), true));
    // Cooler again, but point 8 would not stay half a degree below: the QoE stays given up.
    c.tick(Micros::from_secs(2), Some(MilliCelsius(40_300)), at(3, 8, 10));
    assert_eq!((c.choice(), c.status().qoe_given_up), (Some(7), true));
    c.tick(Micros::from_secs(3), Some(MilliCelsius(39_800)), at(3, 8, 10));
    assert_eq!((c.choice(), c.status().qoe_given_up), (Some(8), false));
    // Above it: the coolest of all.
    c.tick(Micros::from_secs(4), Some(MilliCelsius(42_200)), at(8, 8, 10));
    assert_eq!(c.choice(), Some(3));
    // Far above it: that was not the coolest. The lowest clocks stay until it is cool enough.
    c.tick(Micros::from_secs(5), Some(MilliCelsius(42_300)), at(3, 8, 10));
    assert_eq!(c.choice(), Some(0));
    c.tick(Micros::from_secs(6), Some(MilliCelsius(42_100)), at(0, 8, 10));
    assert_eq!(c.choice(), Some(0));
}

#[test]
fn a_reading_above_the_threshold_wins_over_a_model_that_expects_cooling() {
    let tables = phone();
    let model = ThermalModel { intercept_uc: -20_000_000, ..warming(2.0) };
    let mut c = ThermalController::new(&tables, &model, policy(Policy::Default));
    for s in 0..3 {
        c.tick(Micros::from_secs(s), Some(MilliCelsius(41_950 + 10 * s as i32)), at(8, 8, 10));
    }
    assert_eq!(c.choice(), None, "believed");
    for s in 3..6 {
        c.tick(Micros::from_secs(s), Some(MilliCelsius(41_990 + 10 * s as i32)), at(8, 8, 10));
    }
    assert_eq!(c.choice(), Some(0), "the coolest");
}

#[test]
fn without_an_accelerator_power_table_all_power_counts() {
    let tables = Tables { accel_power: [MicroWatt(0); common::POINTS], ..phone() };
    let model = warming(8.0);
    let mut c = ThermalController::new(&tables, &model, policy(Policy::Default));
    c.tick(Micros(0), Some(MilliCelsius(42_500)), at(11, 11, 10));
    assert_eq!(c.choice(), Some(0));
}

#[test]
fn a_sensor_without_a_believable_reading_fails_toward_cool() {
    let tables = phone();
    let model = warming(2.0);
    for policy in [policy(Policy::Paper), policy(Policy::Default)] {
        for bad in [None, Some(-273_150), Some(-256_000), Some(i32::MAX), Some(i32::MIN)] {
            let bad = bad.map(MilliCelsius);
            // From the start, and after it has worked.
            for good_ticks in [0u64, 5] {
                let mut c = ThermalController::new(&tables, &model, policy);
                for s in 0..good_ticks {
                    c.tick(Micros::from_secs(s), Some(MilliCelsius(35_000)), at(11, 11, 10));
                }
                for s in 0..3 {
                    c.tick(Micros::from_secs(good_ticks + s), bad, at(11, 11, 10));
                }
                assert_eq!(c.status().mode, Mode::FailSafe);
                assert_eq!(c.choice(), Some(0), "lowest clocks");
                // It recovers with the sensor.
                for s in 0..3 {
                    c.tick(
                        Micros::from_secs(good_ticks + 3 + s),
                        Some(MilliCelsius(35_000 + s as i32)),
                        at(0, 11, 10),
                    );
                }
                assert_eq!(c.status().mode, Mode::EnergyAware);
            }
        }
    }
}

#[test]
fn a_cold_reading_does_not_boost() {
    let tables = phone();
    let model = warming(2.0);
    let mut c = ThermalController::new(&tables, &model, policy(Policy::Default));
    c.tick(Micros(0), Some(MilliCelsius(42_500)), at(8, 8, 10));
    let hot = c.choice();
    assert_eq!(
        c.tick(Micros::from_secs(1), Some(MilliCelsius(-273_150)), at(8, 8, 10)),
        Mode::ThermalAware
    );
    assert_eq!(c.choice(), hot);
}

#[test]
fn a_stuck_sensor_is_noticed_while_warming_is_expected() {
    let tables = phone();
    let model = on_device(&thermal_model(25.0));
    let mut c = ThermalController::new(&tables, &model, Config::default());
    let stuck_after = (0..600).find(|s| {
        c.tick(Micros::from_secs(*s), Some(MilliCelsius(33_000)), at(11, 11, 15)) == Mode::FailSafe
    });
    assert!(stuck_after.map_or(false, |s| s < 120), "{stuck_after:?}");
    assert!(c.status().stuck);
    // It stays so although cooling is expected at the lowest clocks, until the reading changes.
    for s in 600..700 {
        c.tick(Micros::from_secs(s), Some(MilliCelsius(33_000)), at(0, 11, 15));
        assert_eq!(c.status().mode, Mode::FailSafe);
    }
    c.tick(Micros::from_secs(700), Some(MilliCelsius(33_100)), at(0, 11, 15));
    assert_ne!(c.status().mode, Mode::FailSafe);
}

#[test]
fn a_steady_temperature_in_balance_is_not_stuck() {
    let tables = phone();
    let model = on_device(&thermal_model(25.0));
    // 0.4 W · 40 °C/W over 25 °C
    let mut c = ThermalController::new(&tables, &model, Config::default());
    for s in 0..3_600 {
        c.tick(Micros::from_secs(s), Some(MilliCelsius(41_000)), at(8, 8, 10));
        assert!(!c.status().stuck);
    }
}

#[test]
fn missing_ticks_are_noticed() {
    let tables = phone();
    let model = warming(2.0);
    let mut c = ThermalController::new(&tables, &model, Config::default());
    assert!(!c.watch(Micros(0)), "nothing is known yet");
    c.tick(Micros(0), Some(MilliCelsius(30_000)), at(8, 8, 10));
    assert!(!c.watch(Micros::from_secs(4)));
    assert!(c.watch(Micros::from_secs(6)));
    assert!(!c.watch(Micros::from_secs(7)), "reported once");
    assert_eq!(c.choice(), Some(0));
    // Never ticked at all.
    let mut c = ThermalController::new(&tables, &model, Config::default());
    c.watch(Micros::from_secs(100));
    assert!(c.watch(Micros::from_secs(106)));
}

#[test]
fn gaps_between_ticks_are_filled_and_early_ticks_ignored() {
    let tables = phone();
    // Predicts by the trend of the window alone.
    let mut model = thermal_model(25.0);
    model.time_history = vec![0.0; 20];
    model.time_history[0] = -1.0 / 19.0;
    model.time_history[19] = 1.0 / 19.0;
    model.time_c_per_s = 0.0;
    model.time_power_c_per_ws = 0.0;
    let model = on_device(&model);
    let mut c = ThermalController::new(&tables, &model, Config::default());
    // 0.1 °C/s, ticked every 3 s, with early ticks that read nonsense.
    for s in (0..60).step_by(3) {
        let t = MilliCelsius(37_000 + 50 * s);
        c.tick(Micros::from_secs(s as u64), Some(t), at(8, 8, 10));
        c.tick(Micros(s as u64 * 1_000_000 + 100), Some(MilliCelsius(90_000)), at(8, 8, 10));
    }
    let predicted = c.status().predicted.unwrap().0;
    let expected = 37_000 + 50 * 57 + 50 * 21;
    assert!((predicted - expected).abs() < 20, "{predicted} for {expected}");
}
