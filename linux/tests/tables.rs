//! Tables of a model from a bundle, and what a device leaves of them.

#![allow(clippy::unwrap_used)] // a test's way to fail

use enerinfer_artifacts::{
    Bundle, ClockTables, Domain as Range, Feature, Forest, Node, PlatformId, Predictor, Provenance,
    ShapeDims, Target, ThermalModel,
};
use enerinfer_datasets::survey;
use enerinfer_linux::domain::Domain;
use enerinfer_linux::tables::{ModelTables, TablesError};
use enerinfer_linux::uncontrolled::Uncontrolled;
use enerinfer_runtime::front::Front;
use enerinfer_runtime::units::{MicroTokPerS, MicroWatt};

/// 12 tokens/s at most, half of it below 1 GHz of memory; 2 W; accelerator 0.5 or 1.5 W.
fn bundle() -> Bundle {
    let clocks =
        ClockTables { accel_khz: vec![300_000, 900_000], mem_khz: vec![528_000, 2_112_000] };
    let constant =
        |target, value| predictor(target, Forest::constant(vec![Feature::Layers], value));
    let step = |target, feature, threshold, low, high| {
        let mut forest = Forest::constant(vec![feature, Feature::Layers], 0.0);
        forest.nodes = vec![
            Node::Leaf(low),
            Node::Leaf(high),
            Node::Split { feature: 0, threshold, left: 0, right: 1 },
        ];
        forest.roots = vec![2];
        predictor(target, forest)
    };
    Bundle {
        platform: PlatformId {
            name: "test".to_owned(),
            engine: "none".to_owned(),
            weight_format: "q8_0".to_owned(),
            power_domain: "accel+mem".to_owned(),
            source: "invented".to_owned(),
        },
        clocks,
        predictors: vec![
            constant(Target::Peak, 12.0),
            step(Target::Scale, Feature::MemKhz, 1_000_000, 0.5, 1.0),
            constant(Target::Power, 2.0),
            step(Target::AccelPower, Feature::AccelKhz, 500_000, 0.5, 1.5),
        ],
        thermal: None,
        accuracy: Vec::new(),
        test_shapes: Vec::new(),
        provenance: Provenance { data_digest: String::new(), seed: 0, command: String::new() },
    }
}

fn predictor(target: Target, forest: Forest<f64>) -> Predictor {
    // Trained on 4 to 32 layers and any clock.
    let domain = forest.features.iter().map(|f| match f {
        Feature::Layers => Range { min: 4, max: 32 },
        _ => Range { min: 0, max: u32::MAX },
    });
    Predictor { target, normaliser: None, domain: domain.collect(), forest }
}

fn shape() -> ShapeDims {
    *survey::find("qwen2-1.5b").unwrap().shape.dims()
}

fn at(khz: u32) -> Domain {
    Domain::Uncontrolled(Uncontrolled::at(khz))
}

#[test]
fn predicts_throughput_and_power_per_point() {
    let model = ModelTables::predict(&bundle(), &shape()).unwrap();
    let tables = &model.tables;
    assert_eq!(tables.throughput[..4], [6, 6, 12, 12].map(MicroTokPerS::from_tok_per_s));
    assert_eq!(tables.power[..4], [MicroWatt(2_000_000); 4]);
    assert_eq!(tables.accel_power[..4], [500_000, 1_500_000, 500_000, 1_500_000].map(MicroWatt));
    assert_eq!(model.extrapolated, None);
    assert!(!model.has_thermal);
    // The room beyond the platform's own points is never chosen.
    assert!(tables.throughput[4..].iter().all(|r| *r == MicroTokPerS(0)));
    let front = Front::new(tables);
    assert!(front.entries().iter().all(|e| e.point < 4), "{:?}", front.entries());
}

/// The scale of the highest clocks is 1 whatever is predicted, and none is above it.
#[test]
fn no_point_is_predicted_faster_than_the_highest_clocks() {
    let mut bundle = bundle();
    bundle.predictors[1] =
        predictor(Target::Scale, Forest::constant(vec![Feature::Layers, Feature::MemKhz], 0.25));
    let slow = ModelTables::predict(&bundle, &shape()).unwrap().tables;
    assert_eq!(slow.throughput[..4], [3, 3, 3, 12].map(MicroTokPerS::from_tok_per_s));
    bundle.predictors[1] =
        predictor(Target::Scale, Forest::constant(vec![Feature::Layers, Feature::MemKhz], 1.5));
    let fast = ModelTables::predict(&bundle, &shape()).unwrap().tables;
    assert_eq!(fast.throughput[..4], [12; 4].map(MicroTokPerS::from_tok_per_s));
}

#[test]
fn a_shape_outside_the_training_range_is_flagged() {
    let deep = ShapeDims { layers: 64, ..shape() };
    assert_eq!(ModelTables::predict(&bundle(), &deep).unwrap().extrapolated, Some("layers"));
    // Predictors of dense models have one expert in their range, which no split reads.
    let mut dense_only = bundle();
    for predictor in &mut dense_only.predictors {
        predictor.forest.features.push(Feature::Experts);
        predictor.domain.push(Range { min: 1, max: 1 });
    }
    let of = |shape| ModelTables::predict(&dense_only, &shape).unwrap();
    let mixture = ShapeDims { experts: 8, active_experts: 2, ..shape() };
    assert_eq!(of(shape()).extrapolated, None);
    assert_eq!(of(mixture).extrapolated, Some("experts"));
    assert_eq!(of(mixture).tables, of(shape()).tables);
}

#[test]
fn the_thermal_model_comes_along_or_is_refused() {
    let good = ThermalModel {
        window: 20,
        intercept_c: 0.5,
        history: vec![0.05; 20],
        power_c_per_w: 0.25,
        time_c_per_s: 0.0,
        time_power_c_per_ws: 0.0,
        time_history: Vec::new(),
    };
    let with = |thermal| Bundle { thermal: Some(thermal), ..bundle() };
    let model = ModelTables::predict(&with(good.clone()), &shape()).unwrap();
    assert!(model.has_thermal);
    assert_eq!(model.thermal.power_uc_per_w, 250_000);
    let short = ThermalModel { history: vec![0.05; 3], ..good };
    let refused = ModelTables::predict(&with(short), &shape());
    assert!(matches!(refused, Err(TablesError::Bundle(_))));
}

#[test]
fn clocks_that_the_device_lacks_take_their_points_away() {
    let mut model = ModelTables::predict(&bundle(), &shape()).unwrap();
    // Within a hundredth counts as the level.
    assert_eq!(model.keep_attainable(&at(898_500), &at(528_000)).unwrap(), 1);
    let kept: Vec<_> = (0..4).filter(|i| model.tables.throughput[*i].0 > 0).collect();
    assert_eq!(kept, [1]);
    let nothing = model.keep_attainable(&at(408_000), &at(528_000)).unwrap_err();
    assert!(nothing.to_string().contains("made for this device"), "{nothing}");
}
