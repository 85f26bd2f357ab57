//! Laws of the energy-aware controller, on devices that differ from the prediction.

mod common;

use common::{phone, Engine};
use enerinfer_runtime::energy::{EnergyController, Policy, BLOCK_TOKENS};
use enerinfer_runtime::front::Front;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::units::MicroTokPerS;
use proptest::prelude::*;

const POLICIES: [Policy; 2] = [Policy::Paper, Policy::Default];

fn qoe(tok_per_s: f64) -> MicroTokPerS {
    MicroTokPerS((tok_per_s * 1e6) as u32)
}

/// Runs `seconds` of decoding; returns the point that ran at the end.
fn decode<const N: usize>(
    controller: &mut EnergyController<'_, N>,
    engine: &mut Engine,
    seconds: u64,
    slowdown: f64,
    noise: f64,
) -> u16 {
    let end = engine.now.0 + seconds * 1_000_000;
    while engine.now.0 < end {
        let now = engine.token(controller.point(), slowdown, noise);
        controller.on_token(now);
    }
    controller.point()
}

#[test]
fn decoding_begins_where_prediction_says() {
    let tables = phone();
    let front = Front::new(&tables);
    for policy in POLICIES {
        let mut c = EnergyController::new(&front, policy);
        c.begin_prefill();
        assert_eq!(c.on_token(Micros(1)), None, "prefill has no tokens to judge");
        assert_eq!(c.begin_decode(qoe(5.0), Micros(2)), 3);
        assert_eq!(c.begin_decode(qoe(10.0), Micros(3)), 8);
        assert_eq!(c.begin_decode(qoe(100.0), Micros(4)), 11);
    }
}

#[test]
fn paper_moves_up_at_every_slow_token_and_never_back() {
    let tables = phone();
    let front = Front::new(&tables);
    let mut c = EnergyController::new(&front, Policy::Paper);
    let mut engine = Engine::new(&tables.throughput, |_| 1.0);
    c.begin_decode(qoe(5.0), engine.now);
    let first = c.status().index;
    let now = engine.token(c.point(), 3.0, 0.0);
    assert!(c.on_token(now).is_some());
    assert_eq!(c.status().index, first + 1);
    decode(&mut c, &mut engine, 60, 1.0, 0.0);
    assert_eq!(c.status().index, first + 1);
    decode(&mut c, &mut engine, 60, 100.0, 0.0);
    assert_eq!(c.point(), 11, "stays at the last");
    assert_eq!(c.status().index + 1, front.entries().len());
}

#[test]
fn default_tolerates_single_slow_tokens() {
    let tables = phone();
    let front = Front::new(&tables);
    let mut c = EnergyController::new(&front, Policy::Default);
    let mut engine = Engine::new(&tables.throughput, |_| 1.0);
    let start = c.begin_decode(qoe(5.0), engine.now);
    for i in 0..400 {
        let now = engine.token(c.point(), if i % 40 == 7 { 20.0 } else { 1.0 }, 0.01);
        assert_eq!(c.on_token(now), None, "token {i}");
    }
    assert_eq!(c.point(), start);
}

#[test]
fn default_acts_on_bursts_whose_mean_is_too_slow() {
    let tables = phone();
    let front = Front::new(&tables);
    let mut c = EnergyController::new(&front, Policy::Default);
    let start = c.begin_decode(qoe(5.0), Micros(0));
    // Four tokens at once every second: 4 tokens/s, though most token times are zero.
    for second in 1..=20 {
        for _ in 0..4 {
            c.on_token(Micros::from_secs(second));
        }
    }
    assert!(c.status().index > front.choose(qoe(5.0)), "still at {start}");
}

#[test]
fn a_clock_that_jumps_or_goes_back_moves_nothing() {
    let tables = phone();
    let front = Front::new(&tables);
    let mut c = EnergyController::new(&front, Policy::Default);
    let mut engine = Engine::new(&tables.throughput, |_| 1.0);
    let start = c.begin_decode(qoe(5.0), Micros::from_secs(1_000));
    engine.now = Micros::from_secs(1_000);
    for i in 0..200 {
        if i % 50 == 20 {
            engine.now = Micros(engine.now.0 - 500_000_000);
        }
        if i % 50 == 40 {
            engine.now = Micros(engine.now.0 + 900_000_000);
        }
        let now = engine.token(c.point(), 1.0, 0.01);
        assert_eq!(c.on_token(now), None, "token {i}");
    }
    for stamp in [0, u64::MAX, 0, u64::MAX / 2, 5, 5, 5] {
        c.on_token(Micros(stamp));
    }
    assert!(usize::from(start) < tables.throughput.len());
}

#[test]
fn suspension_moves_nothing_and_forgets_what_was_measured_meanwhile() {
    let tables = phone();
    let front = Front::new(&tables);
    for policy in POLICIES {
        let mut c = EnergyController::new(&front, policy);
        let mut engine = Engine::new(&tables.throughput, |_| 1.0);
        let start = c.begin_decode(qoe(5.0), engine.now);
        c.set_suspended(true);
        decode(&mut c, &mut engine, 20, 4.0, 0.0);
        assert_eq!(c.point(), start);
        c.set_suspended(false);
        decode(&mut c, &mut engine, 20, 1.0, 0.0);
        assert_eq!(c.point(), start);
    }
}

#[test]
fn the_qoe_may_change_during_a_session() {
    let tables = phone();
    let front = Front::new(&tables);
    let mut c = EnergyController::new(&front, Policy::Default);
    c.begin_decode(qoe(5.0), Micros(0));
    assert_eq!(c.set_qoe(qoe(10.0), Micros(10)), 8);
    assert_eq!(c.set_qoe(qoe(5.0), Micros(20)), 3);
}

#[test]
fn an_unreachable_qoe_ends_at_the_fastest_entry_and_is_reported() {
    let tables = phone();
    let front = Front::new(&tables);
    let mut c = EnergyController::new(&front, Policy::Default);
    let mut engine = Engine::new(&tables.throughput, |_| 1.0);
    c.begin_decode(qoe(14.0), engine.now);
    assert_eq!(decode(&mut c, &mut engine, 30, 2.0, 0.01), 11);
    assert!(c.status().unreachable);
    decode(&mut c, &mut engine, 10, 1.0, 0.01);
    assert!(!c.status().unreachable);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// Tokens far too slow are acted on within a few.
    #[test]
    fn sustained_slowness_is_acted_on_within_a_few_tokens(
        slowdown in 1.8f64..10.0,
        before in 0usize..100,
        need in 4.2f64..9.0,
    ) {
        let tables = phone();
        let front = Front::new(&tables);
        let mut c = EnergyController::new(&front, Policy::Default);
        let mut engine = Engine::new(&tables.throughput, |_| 1.0);
        c.begin_decode(qoe(need), engine.now);
        for _ in 0..before {
            let now = engine.token(c.point(), 1.0, 0.01);
            c.on_token(now);
        }
        let index = c.status().index;
        prop_assume!(index + 1 < front.entries().len());
        // The chosen entry may be faster than needed: the slowdown counts against the QoE.
        let margin = f64::from(front.entries()[index].throughput.0) / 1e6 / need;
        for _ in 0..6 {
            let now = engine.token(c.point(), slowdown * margin, 0.01);
            if c.on_token(now).is_some() {
                break;
            }
        }
        prop_assert!(c.status().index > index);
    }

    /// Tokens a little too slow, hardly later than chance makes some: acted on after two blocks.
    #[test]
    fn a_few_percent_too_slow_is_acted_on_after_two_blocks(
        shortfall in 0.01f64..0.05,
        noise in 0.0f64..0.01,
        index in 0usize..4,
    ) {
        let tables = phone();
        let front = Front::new(&tables);
        prop_assert!(index + 1 < front.entries().len());
        let chosen = f64::from(front.entries()[index].throughput.0) / 1e6;
        let mut c = EnergyController::new(&front, Policy::Default);
        let mut engine = Engine::new(&tables.throughput, |_| 0.999 * (1.0 - shortfall));
        c.begin_decode(qoe(0.999 * chosen), engine.now);
        prop_assert_eq!(c.status().index, index);
        for _ in 0..2 * BLOCK_TOKENS {
            let now = engine.token(c.point(), 1.0, noise);
            c.on_token(now);
        }
        prop_assert!(c.status().index > index);
    }

    /// Constant conditions, whatever they are: no more transitions than the front is long, and
    /// the QoE is met in the end if an entry meets it.
    #[test]
    fn transitions_are_bounded_under_constant_conditions(
        errors in prop::collection::vec(0.7f64..1.3, common::POINTS),
        slowdown in 1.0f64..1.5,
        noise in 0.0f64..0.01,
        need in 3.0f64..14.0,
    ) {
        let tables = phone();
        let front = Front::new(&tables);
        let mut c = EnergyController::new(&front, Policy::Default);
        let mut engine = Engine::new(&tables.throughput, |i| errors[i]);
        c.begin_decode(qoe(need), engine.now);
        decode(&mut c, &mut engine, 300, slowdown, noise);
        prop_assert!(c.status().transitions as usize <= front.entries().len());
        let at = c.status().index;
        let actual = engine.truth[usize::from(c.point())] / slowdown;
        prop_assert!(
            actual >= need * 0.985 || at + 1 == front.entries().len(),
            "{actual} tokens/s at {at} for {need}"
        );
    }

    /// Predictions that are wrong by the same factor everywhere cost at most the margin: the
    /// entry in the end is the one that true throughput would have chosen, or one beside it.
    #[test]
    fn a_common_error_of_prediction_is_learnt(error in 0.7f64..1.3, need in 4.5f64..9.5) {
        let tables = phone();
        let front = Front::new(&tables);
        let mut c = EnergyController::new(&front, Policy::Default);
        let mut engine = Engine::new(&tables.throughput, |_| error);
        c.begin_decode(qoe(need), engine.now);
        decode(&mut c, &mut engine, 60, 1.0, 0.005);
        let ideal = front.choose(qoe(need / error));
        prop_assert!(c.status().index.abs_diff(ideal) <= 1, "{} not {ideal}", c.status().index);
    }

    /// Interference of any length and strength: back to the first choice within ten seconds.
    #[test]
    fn steps_back_within_ten_seconds_after_interference(
        slowdown in 1.05f64..3.0,
        seconds in 1u64..40,
        quiet in 0u64..40,
        noise in 0.0f64..0.01,
        need in 4.2f64..9.5,
    ) {
        let tables = phone();
        let front = Front::new(&tables);
        let mut c = EnergyController::new(&front, Policy::Default);
        let mut engine = Engine::new(&tables.throughput, |_| 1.0);
        let first = usize::from(c.begin_decode(qoe(need), engine.now));
        // An entry on the very edge of the QoE may fail by jitter alone.
        prop_assume!(engine.truth[first] > need * 1.005);
        decode(&mut c, &mut engine, quiet, 1.0, noise);
        let before = c.status().index;
        decode(&mut c, &mut engine, seconds, slowdown, noise);
        decode(&mut c, &mut engine, 10, 1.0, noise);
        prop_assert!(c.status().index <= before, "{} after {before}", c.status().index);
    }

    /// Nothing that a clock can do panics or leaves the front.
    #[test]
    fn arbitrary_stamps_are_survived(
        stamps in prop::collection::vec(any::<u64>(), 0..200),
        need in any::<u32>(),
        paper in any::<bool>(),
    ) {
        let tables = phone();
        let front = Front::new(&tables);
        let policy = if paper { Policy::Paper } else { Policy::Default };
        let mut c = EnergyController::new(&front, policy);
        c.begin_decode(MicroTokPerS(need), Micros(0));
        for stamp in stamps {
            if let Some(point) = c.on_token(Micros(stamp)) {
                prop_assert!(front.entries().iter().any(|e| e.point == point));
            }
        }
    }
}
