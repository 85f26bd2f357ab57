//! Cost of the calls on the hot paths: a token and a tick, at 45 operating points (as many as the
//! high-end phone of EnerInfer has).
#![allow(clippy::incompatible_msrv, missing_docs)] // benches do not reach the generated crate

use std::hint::black_box;

use criterion::{criterion_group, criterion_main, Criterion};
use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime::energy::{EnergyController, Policy};
use enerinfer_runtime::qoe;
use enerinfer_runtime::tables::Tables;
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::units::{MicroTokPerS, MicroWatt};

const POINTS: usize = 45;

fn tables() -> Tables<POINTS> {
    let level = |i: usize| i as u32 + 1;
    Tables {
        throughput: core::array::from_fn(|i| MicroTokPerS(3_000_000 + 300_000 * level(i))),
        power: core::array::from_fn(|i| MicroWatt(150_000 + 700 * level(i) * level(i))),
        accel_power: core::array::from_fn(|i| MicroWatt(100_000 + 500 * level(i) * level(i))),
    }
}

/// Warms by some hundredths of a degree per second and watt.
const MODEL: ThermalModel = ThermalModel {
    intercept_uc: -800_000,
    power_uc_per_w: 100_000,
    time_power_uc_per_ws: 50_000,
    ..ThermalModel::PERSISTENCE
};

fn benches(c: &mut Criterion) {
    let tables = tables();
    let fronts = Fronts::new(&tables);
    let fresh = || {
        let mut control = Coordinator::new(&tables, &fronts, &MODEL, Config::default());
        control.begin_decode(qoe::READING, Micros(0));
        control
    };

    for (name, policy) in [("on_token/paper", Policy::Paper), ("on_token/default", Policy::Default)]
    {
        let mut energy = EnergyController::new(&fronts.efficient, policy);
        energy.begin_decode(qoe::READING, Micros(0));
        let mut now = 0;
        c.bench_function(name, |b| {
            b.iter(|| {
                now += 190_000 + now % 1_000; // on time, with jitter
                black_box(energy.on_token(black_box(Micros(now))))
            });
        });
    }

    // What a token costs altogether: both controllers, and their share of a tick per second.
    let mut control = fresh();
    let (mut now, mut next_tick) = (0, 0);
    c.bench_function("on_token/coordinator", |b| {
        b.iter(|| {
            now += 190_000 + now % 1_000;
            if now >= next_tick {
                next_tick += 1_000_000;
                control.tick(Micros(now), Some(MilliCelsius(30_000 + (now % 7) as i32)));
            }
            black_box(control.on_token(black_box(Micros(now))))
        });
    });

    for (name, millis) in [("tick/cool", 30_000), ("tick/warm", 39_000), ("tick/hot", 42_500)] {
        let mut control = fresh();
        let mut now = 0;
        c.bench_function(name, |b| {
            b.iter(|| {
                now += 1_000_000;
                let reading = MilliCelsius(millis + (now % 7) as i32);
                black_box(control.tick(black_box(Micros(now)), black_box(Some(reading))))
            });
        });
    }
}

criterion_group!(controllers, benches);
criterion_main!(controllers);
