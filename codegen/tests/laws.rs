//! Laws that hold for every shape, forest and bundle.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use common::Drawn;
use enerinfer_artifacts::{Feature, Predictor, ShapeDims, Target};
use enerinfer_codegen::passes::drop_unreachable::drop_unreachable;
use enerinfer_codegen::passes::merge_equal_leaves::merge_equal_leaves;
use enerinfer_codegen::passes::quantise::quantise;
use enerinfer_codegen::passes::share_subtrees::share_subtrees;
use enerinfer_codegen::{CodegenError, Options, generate};
use enerinfer_runtime::{Coverage, Feature as DeviceFeature, Predictor as Device, Shape};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// The schema's and the device's names of the same feature.
const FEATURES: [(Feature, DeviceFeature); 16] = [
    (Feature::Layers, DeviceFeature::Layers),
    (Feature::Hidden, DeviceFeature::Hidden),
    (Feature::Heads, DeviceFeature::Heads),
    (Feature::KvHeads, DeviceFeature::KvHeads),
    (Feature::Ffn, DeviceFeature::Ffn),
    (Feature::Vocab, DeviceFeature::Vocab),
    (Feature::TotalParamsK, DeviceFeature::TotalParamsK),
    (Feature::ReadParamsK, DeviceFeature::ReadParamsK),
    (Feature::LmHeadParamsK, DeviceFeature::LmHeadParamsK),
    (Feature::FfnParamsK, DeviceFeature::FfnParamsK),
    (Feature::AttnParamsK, DeviceFeature::AttnParamsK),
    (Feature::KvWidth, DeviceFeature::KvWidth),
    (Feature::QWidth, DeviceFeature::QWidth),
    (Feature::Experts, DeviceFeature::Experts),
    (Feature::ActiveExperts, DeviceFeature::ActiveExperts),
    (Feature::HeadDim, DeviceFeature::HeadDim),
];

/// A field of a shape: usual sizes, and anything.
fn field() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..300_000, any::<u32>()]
}

prop_compose! {
    fn dims()(
        layers in field(), hidden in field(), heads in field(), kv_heads in field(),
        head_dim in field(), ffn in field(), vocab in field(), gated: bool, tied: bool,
        experts in field(), active_experts in field(), total_params: u64,
    ) -> ShapeDims {
        ShapeDims {
            layers, hidden, heads, kv_heads, head_dim, ffn, vocab, gated, tied, experts,
            active_experts, total_params,
        }
    }
}

fn device_shape(d: &ShapeDims) -> Shape {
    let mut shape = Shape::new(d.layers, d.hidden, d.heads, d.kv_heads, d.ffn, d.vocab)
        .with_head_dim(d.head_dim)
        .with_experts(d.experts, d.active_experts);
    if !d.gated {
        shape = shape.plain_ffn();
    }
    if d.tied {
        shape = shape.tied_embeddings();
    }
    shape
}

proptest! {
    #[test]
    fn device_computes_the_schemas_features(dims in dims()) {
        let by_formula = device_shape(&dims);
        prop_assert_eq!(by_formula.total_params(), dims.formula_total_params());
        let shape = by_formula.with_total_params(dims.total_params);
        for (schema, device) in FEATURES {
            prop_assert_eq!(Some(shape.feature(device)), dims.feature(schema), "{:?}", schema);
        }
    }

    #[test]
    fn quantisation_stays_within_its_bound(
        seed: u64,
        trees in 0usize..40,
        low in -5.0f64..5.0,
        spread in 1e-6f64..100.0,
        x in prop::collection::vec(any::<u32>(), 9),
    ) {
        let clocks = common::board_clocks();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let drawn = Drawn { trees, depth: 4, leaf: (low, low + spread) };
        let forest = common::random_forest(&mut rng, common::all_features(), &clocks, drawn);
        let predictor = common::predictor(Target::Power, forest, &clocks);
        let quantised = quantise(&predictor).unwrap();
        let exact = predictor.forest.predict(&x);
        // What the device clamps is excepted.
        if exact > 1e-3 && exact < 4000.0 {
            let device = f64::from(quantised.predictor.raw(&x)) / 1e6;
            prop_assert!(
                (device - exact).abs() <= quantised.error_bound * (1.0 + 1e-9),
                "{device} against {exact}, bound {}", quantised.error_bound
            );
        }
    }

    #[test]
    fn exact_passes_change_no_prediction(seed: u64, rows in prop::collection::vec(any::<[u32; 7]>(), 20)) {
        let clocks = common::board_clocks();
        let bundle = common::random_bundle(
            seed, clocks.clone(), Drawn { trees: 4, depth: 6, leaf: (0.01, 0.2) });
        for predictor in &bundle.predictors {
            let quantised = quantise(predictor).unwrap().predictor;
            let mut passed = quantised.clone();
            passed.forest = merge_equal_leaves(&passed.forest);
            passed.forest = drop_unreachable(&passed.forest, &clocks);
            passed.forest = share_subtrees(&passed.forest);
            prop_assert!(passed.forest.validate_structure().is_ok());
            for (row, point) in rows.iter().zip(clocks.points()) {
                let mut x = row.to_vec();
                let (accel, mem) = clocks.clocks_khz(point);
                x.extend([accel, mem]);
                x.truncate(predictor.forest.features.len());
                prop_assert_eq!(quantised.raw(&x), passed.raw(&x));
            }
        }
    }
}

#[test]
fn values_beyond_the_unit_are_refused_with_the_reason() {
    let clocks = common::board_clocks();
    let forest = enerinfer_artifacts::Forest::constant(common::all_features(), 1e300);
    let predictor: Predictor = common::predictor(Target::Power, forest, &clocks);
    let error = quantise(&predictor).unwrap_err().to_string();
    assert!(error.contains("`power`") && error.contains("unit of the training target"), "{error}");
}

#[test]
fn forests_above_the_cap_are_refused_with_numbers_and_a_hint() {
    let bundle = common::tiny_bundle();
    let options = Options { max_nodes: 20, ..Options::default() };
    let error = generate(&bundle, &options).unwrap_err();
    assert!(matches!(error, CodegenError::TooLarge { max_nodes: 20, .. }));
    let text = error.to_string();
    assert!(text.contains("nodes") && text.contains("shallower trees"), "{text}");
}

#[test]
fn a_leaf_that_is_not_finite_is_named() {
    let mut bundle = common::tiny_bundle();
    bundle.predictors[2].forest.nodes[0] = enerinfer_artifacts::Node::Leaf(f64::NAN);
    let text = generate(&bundle, &Options::default()).unwrap_err().to_string();
    assert!(text.contains("`power`") && text.contains("node 0 (tree 0)"), "{text}");
}

#[test]
fn shapes_outside_the_training_range_are_answered_and_flagged() {
    // Ranges of the committed model: see `runtime/src/model/mod.rs`.
    let inside = Shape::new(28, 1536, 12, 2, 8960, 151_936);
    assert_eq!(Device::tables(&inside).coverage, Coverage::Inside);
    let outside = Shape::new(28, 1536, 12, 2, 8960, 300_000);
    let prediction = Device::tables(&outside);
    assert_eq!(prediction.coverage, Coverage::Extrapolated { feature: DeviceFeature::Vocab });
    assert!(prediction.tables.throughput.iter().all(|r| r.0 > 0));
}

#[test]
fn generated_source_parses_and_can_be_included() {
    let bundle = common::random_bundle(
        21,
        common::board_clocks(),
        Drawn { trees: 3, depth: 5, leaf: (0.01, 0.3) },
    );
    for (path, bytes) in generate(&bundle, &Options::default()).unwrap().files {
        if path.ends_with(".rs") {
            let text = String::from_utf8(bytes).unwrap();
            let file = syn::parse_file(&text).unwrap_or_else(|e| panic!("{path}: {e}"));
            if path.starts_with("src/model/") {
                assert!(text.starts_with("// @generated"), "{path}");
                assert!(file.attrs.is_empty(), "{path} has inner attributes");
            }
        }
    }
}
