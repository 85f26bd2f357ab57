//! The device computes the features of the schema, and says when they leave the training range.

use enerinfer_artifacts::{Feature, ShapeDims};
use enerinfer_runtime::{Coverage, Feature as DeviceFeature, Predictor, Shape};
use proptest::prelude::*;

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
}

#[test]
fn shapes_outside_the_training_range_are_answered_and_flagged() {
    // Ranges of the committed model: see `src/model/mod.rs`.
    let inside = Shape::new(28, 1536, 12, 2, 8960, 151_936);
    assert_eq!(Predictor::tables(&inside).coverage, Coverage::Inside);
    let outside = Shape::new(28, 1536, 12, 2, 8960, 300_000);
    let prediction = Predictor::tables(&outside);
    assert_eq!(prediction.coverage, Coverage::Extrapolated { feature: DeviceFeature::Vocab });
    assert!(prediction.tables.throughput.iter().all(|r| r.0 > 0));
}
