//! Preprocessing of the dense families, and the faults that others' preprocessing had.

// Helpers of tests fail as tests do.
#![allow(clippy::unwrap_used)]

use enerinfer_artifacts::Feature;
use enerinfer_learners::{
    Activation, CodedMatrix, Fold, LearnError, Learner, MlpLearner, MlpParams, PolyLearner,
    PolyParams, SvrKernel, SvrLearner, SvrParams,
};

const ROWS: u32 = 60;

/// Layers, clock in kHz times `unit`, and a constant; the last row is a test row.
fn columns(unit: u32) -> Vec<Vec<u32>> {
    vec![
        (0..ROWS).map(|i| 4 + i * 7 % 31).collect(),
        (0..ROWS).map(|i| (300_000 + i * 13 % 17 * 60_000) * unit).collect(),
        vec![1_300_000_000; ROWS as usize],
    ]
}

fn target(columns: &[Vec<u32>], unit: u32) -> Vec<f64> {
    (0..ROWS as usize)
        .map(|i| f64::from(columns[1][i] / unit) / 1e4 / f64::from(columns[0][i]) + 1.0)
        .collect()
}

fn matrix(columns: Vec<Vec<u32>>) -> CodedMatrix {
    let features = vec![Feature::Layers, Feature::AccelKhz, Feature::MemKhz];
    CodedMatrix::new(features, columns).unwrap()
}

const TRAIN: u32 = 45;

/// Predictions of the last 15 rows after training on the first 45.
fn held_out<L: Learner>(
    learner: &L,
    params: &L::Params,
    columns: Vec<Vec<u32>>,
    y: &[f64],
) -> Vec<f64> {
    let x = matrix(columns);
    let rows: Vec<u32> = (0..TRAIN).collect();
    let test: Vec<u32> = (TRAIN..ROWS).collect();
    let fold = Fold { x: &x, rows: &rows, y: &y[..TRAIN as usize], w: None, test: &test, seed: 1 };
    learner.evaluate(&[params], fold).unwrap().remove(0).unwrap().predictions
}

fn poly(log: bool) -> (PolyLearner, PolyParams) {
    let (degree, interactions, alpha) = (2, true, 1e-6);
    (PolyLearner, PolyParams { degree, interactions, alpha, log_inputs: log, log_target: log })
}

fn svr(log: bool) -> (SvrLearner, SvrParams) {
    let (kernel, c, epsilon, gamma) = (SvrKernel::Rbf, 10.0, 0.01, 1.0);
    let params = SvrParams { kernel, c, epsilon, gamma, log_inputs: log, log_target: log };
    (SvrLearner { max_rows: 1000 }, params)
}

fn mlp(log: bool) -> (MlpLearner, MlpParams) {
    let params = MlpParams {
        layers: 1,
        width: 6,
        activation: Activation::Tanh,
        alpha: 1e-4,
        max_iterations: 60,
        log_inputs: log,
        log_target: log,
    };
    (MlpLearner { max_rows: 1000 }, params)
}

fn worst(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| ((a - b) / b).abs()).fold(0.0, f64::max)
}

fn mean(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| ((a - b) / b).abs()).sum::<f64>() / a.len() as f64
}

/// One row alone is predicted as it is among others, and folds may be that small.
fn small_folds<L: Learner>(learner: &L, params: &L::Params) {
    let (x, y) = (matrix(columns(1)), target(&columns(1), 1));
    let rows: Vec<u32> = (0..TRAIN).collect();
    let of = |test: &[u32]| {
        let fold = Fold { x: &x, rows: &rows, y: &y[..TRAIN as usize], w: None, test, seed: 1 };
        learner.evaluate(&[params], fold).unwrap().remove(0).unwrap().predictions
    };
    assert_eq!(of(&[TRAIN]), of(&[TRAIN, TRAIN + 1])[..1], "{}", learner.name());
}

fn laws<L: Learner>(learner: &L, params: &L::Params) {
    small_folds(learner, params);
    let name = learner.name();
    let y = target(&columns(1), 1);
    let plain = held_out(learner, params, columns(1), &y);
    let constant = [y[..TRAIN as usize].iter().sum::<f64>() / f64::from(TRAIN); 15];
    let truth = &y[TRAIN as usize..];
    assert!(mean(&plain, truth) < 0.5 * mean(&constant, truth), "{name} learns nothing");

    // Values of held-out rows reach no other row's prediction.
    let mut planted = columns(1);
    planted[0][ROWS as usize - 1] = 1_000_000;
    let leaked = held_out(learner, params, planted, &y);
    assert_eq!(plain[..14], leaked[..14], "{name}");

    // A column that is constant in training says nothing, whatever it is later.
    let mut moved = columns(1);
    for v in &mut moved[2][TRAIN as usize..] {
        *v = 900_000_000;
    }
    assert_eq!(plain, held_out(learner, params, moved, &y), "{name}");

    // A target of small numbers is not taken for a constant; its rounding moves iterative solvers.
    let tiny: Vec<f64> = y.iter().map(|y| y * 1e-12).collect();
    let scaled: Vec<f64> =
        held_out(learner, params, columns(1), &tiny).iter().map(|p| p * 1e12).collect();
    assert!(worst(&scaled, &plain) < 1e-4, "{name}");

    // Hz instead of kHz.
    let other = held_out(learner, params, columns(1000), &y);
    assert!(worst(&other, &plain) < 1e-9, "{name}");

    // A constant target is predicted.
    let flat = held_out(learner, params, columns(1), &[5.0; ROWS as usize]);
    assert!(worst(&flat, &[5.0; 15]) < 1e-3, "{name} {flat:?}");
}

#[test]
fn polynomial() {
    let (learner, params) = poly(false);
    laws(&learner, &params);
    let (learner, params) = poly(true);
    laws(&learner, &params);
}

#[test]
fn support_vectors() {
    let (learner, params) = svr(false);
    laws(&learner, &params);
    let (learner, params) = svr(true);
    laws(&learner, &params);
}

#[test]
fn perceptron() {
    let (learner, params) = mlp(true);
    laws(&learner, &params);
}

#[test]
fn a_polynomial_is_recovered() {
    let x = matrix(columns(1));
    let y: Vec<f64> = (0..ROWS as usize)
        .map(|r| {
            let (a, b) = (f64::from(x.value(r, 0)), f64::from(x.value(r, 1)) / 1e5);
            3.0 + a * b - 0.5 * b * b + 0.1 * a
        })
        .collect();
    let (learner, params) = poly(false);
    let params = PolyParams { alpha: 0.0, ..params };
    let rows: Vec<u32> = (0..ROWS).collect();
    // The constant column makes the equations singular unless it is penalised.
    let singular = learner.fit(&params, &x, &rows, &y, None, 0);
    assert!(matches!(singular, Err(LearnError::Diverged("poly"))));
    let x = x.select(&[Feature::Layers, Feature::AccelKhz]).unwrap();
    let model = learner.fit(&params, &x, &rows, &y, None, 0).unwrap();
    // Standardised values are rounded to 2⁻³⁰.
    assert!(worst(&model.predict(&x, &rows).unwrap(), &y) < 1e-6);
}

#[test]
fn a_logarithm_that_does_not_exist_is_a_diverged_trial() {
    let x = matrix(columns(1));
    let rows: Vec<u32> = (0..TRAIN).collect();
    let y: Vec<f64> = (0..TRAIN).map(|i| f64::from(i) - 10.0).collect();
    let fold = Fold { x: &x, rows: &rows, y: &y, w: None, test: &[50], seed: 1 };
    assert_eq!(PolyLearner.evaluate(&[&poly(true).1], fold).unwrap(), [None]);
    assert_eq!(svr(true).0.evaluate(&[&svr(true).1], fold).unwrap(), [None]);
    assert_eq!(mlp(true).0.evaluate(&[&mlp(true).1], fold).unwrap(), [None]);
}

#[test]
fn large_tables_are_sampled_in_the_search() {
    let y = target(&columns(1), 1);
    let (_, params) = mlp(true);
    let few = held_out(&MlpLearner { max_rows: 20 }, &params, columns(1), &y);
    assert_ne!(few, held_out(&MlpLearner { max_rows: 1000 }, &params, columns(1), &y));
    assert!(few.iter().all(|p| p.is_finite()));
}

/// Each variant differs from the base in one declared hyper-parameter and must give another model.
fn changes<L: Learner>(learner: &L, base: L::Params, variants: Vec<(&str, L::Params)>) {
    let (x, y) = smooth();
    let rows: Vec<u32> = (0..x.n_rows() as u32).collect();
    let declared = learner.describe(&base);
    assert_eq!(declared.len(), variants.len(), "a variant for every hyper-parameter");
    let predictions = |params: &L::Params| {
        let model = learner.fit(params, &x, &rows, &y, None, 1).unwrap();
        model.predict(&x, &rows).unwrap()
    };
    let reference = predictions(&base);
    for (name, params) in variants {
        let changed = learner.describe(&params);
        let differing: Vec<&str> = declared
            .keys()
            .filter(|key| declared[*key] != changed[*key])
            .map(String::as_str)
            .collect();
        assert_eq!(differing, [name]);
        assert_ne!(predictions(&params), reference, "{}: {name}", learner.name());
    }
}

/// A function that no family fits exactly.
fn smooth() -> (CodedMatrix, Vec<f64>) {
    let columns = vec![
        (0..60).map(|i| 1 + i * 7 % 31).collect::<Vec<u32>>(),
        (0..60).map(|i| 1 + i * 11 % 47).collect(),
    ];
    let y = (0..60)
        .map(|i| {
            let c = |f: usize| f64::from(columns[f][i]);
            2.0 + (c(0) * c(1)).sqrt() + (c(0) / 5.0).sin()
        })
        .collect();
    (CodedMatrix::new(Feature::ALL[..2].to_vec(), columns).unwrap(), y)
}

#[test]
fn every_hyper_parameter_changes_some_fit() {
    let base = MlpParams {
        layers: 1,
        width: 6,
        activation: Activation::Tanh,
        alpha: 1e-4,
        max_iterations: 20,
        log_inputs: false,
        log_target: false,
    };
    let variants = vec![
        ("layers", MlpParams { layers: 2, ..base.clone() }),
        ("width", MlpParams { width: 7, ..base.clone() }),
        ("activation", MlpParams { activation: Activation::Relu, ..base.clone() }),
        ("alpha", MlpParams { alpha: 1e-2, ..base.clone() }),
        ("max_iterations", MlpParams { max_iterations: 30, ..base.clone() }),
        ("log_inputs", MlpParams { log_inputs: true, ..base.clone() }),
        ("log_target", MlpParams { log_target: true, ..base.clone() }),
    ];
    changes(&MlpLearner { max_rows: 100 }, base, variants);

    let base = SvrParams {
        kernel: SvrKernel::Rbf,
        c: 1.0,
        epsilon: 0.1,
        gamma: 1.0,
        log_inputs: false,
        log_target: false,
    };
    let variants = vec![
        ("kernel", SvrParams { kernel: SvrKernel::Polynomial { degree: 2 }, ..base.clone() }),
        ("c", SvrParams { c: 0.1, ..base.clone() }),
        ("epsilon", SvrParams { epsilon: 0.2, ..base.clone() }),
        ("gamma", SvrParams { gamma: 3.0, ..base.clone() }),
        ("log_inputs", SvrParams { log_inputs: true, ..base.clone() }),
        ("log_target", SvrParams { log_target: true, ..base.clone() }),
    ];
    changes(&SvrLearner { max_rows: 100 }, base, variants);

    let base = PolyParams {
        degree: 2,
        interactions: false,
        alpha: 1e-4,
        log_inputs: false,
        log_target: false,
    };
    let variants = vec![
        ("degree", PolyParams { degree: 3, ..base.clone() }),
        ("interactions", PolyParams { interactions: true, ..base.clone() }),
        ("alpha", PolyParams { alpha: 1.0, ..base.clone() }),
        ("log_inputs", PolyParams { log_inputs: true, ..base.clone() }),
        ("log_target", PolyParams { log_target: true, ..base.clone() }),
    ];
    changes(&PolyLearner, base, variants);
}
