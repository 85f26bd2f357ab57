//! An hour of decoding in the closed loop: the goal is under a second.
#![allow(missing_docs, clippy::unwrap_used)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use enerinfer_evaluation::closed_loop::optimum::{Grid, optimum};
use enerinfer_evaluation::closed_loop::stress::stress;
use enerinfer_evaluation::closed_loop::{Beliefs, HeatSplit, Policy, Stop, fit_thermal, run};

fn benches(c: &mut Criterion) {
    let mut scenario = stress(HeatSplit::Total, 8.0).unwrap();
    let thermal = fit_thermal(&scenario, HeatSplit::Total, 1).unwrap();
    let beliefs = Beliefs::new(scenario.truth.clone(), HeatSplit::Total, thermal).unwrap();
    scenario.stop = Stop { after_s: 3_600.0, at_shell_celsius: None };
    for policy in [Policy::EnerInferQoe, Policy::OursQoe] {
        c.bench_function(&format!("an hour of decoding, {}", policy.name()), |b| {
            b.iter(|| run(black_box(&scenario), &beliefs, policy));
        });
    }
    let scenario = stress(HeatSplit::Total, 8.0).unwrap();
    c.bench_function("optimum", |b| {
        b.iter(|| optimum(black_box(&scenario), Grid::default()));
    });
}

criterion_group! {
    name = closed_loop;
    config = Criterion::default().sample_size(10);
    targets = benches
}
criterion_main!(closed_loop);
