//! The integer semantics of predictions, on values that can be checked by hand.

use enerinfer_artifacts::{
    ClockTables, Feature, Forest, IntPredictor, Node, Normaliser, SCALE_ONE, ShapeDims, Target,
    inputs, throughput_utok_per_s,
};

fn shape() -> ShapeDims {
    ShapeDims {
        layers: 4,
        hidden: 1000,
        heads: 10,
        kv_heads: 5,
        head_dim: 100,
        ffn: 3000,
        vocab: 2000,
        gated: true,
        tied: false,
        experts: 1,
        active_experts: 1,
        total_params: 54_000_499,
    }
}

fn constant(target: Target, base: i64, shift: i8) -> IntPredictor {
    IntPredictor {
        target,
        normaliser: None,
        domain: vec![],
        forest: Forest::constant(vec![], base),
        shift,
    }
}

#[test]
fn shape_features_by_hand() {
    let s = shape();
    // Per layer: q 1000·1000, o the same, k and v 1000·500 each.
    assert_eq!(s.attn_params(), 4 * 3_000_000);
    assert_eq!(s.ffn_read_params(), 4 * 3 * 3_000_000);
    assert_eq!(s.lm_head_params(), 2_000_000);
    assert_eq!(s.read_params(), 12_000_000 + 36_000_000 + 2_000_000 + 1000);
    assert_eq!(s.formula_total_params(), 12_000_000 + 36_000_000 + 4_000_000 + 9 * 1000);
    assert_eq!(s.feature(Feature::TotalParamsK), Some(54_000), "499 rounds down");
    assert_eq!(s.feature(Feature::KvWidth), Some(500));
    assert_eq!(s.feature(Feature::MemKhz), None);
}

#[test]
fn experts_multiply_stored_but_not_read_weights() {
    let moe = ShapeDims { experts: 8, active_experts: 2, ..shape() };
    let router = 4 * 8 * 1000;
    assert_eq!(moe.ffn_read_params(), 2 * 36_000_000 + router);
    assert_eq!(moe.formula_total_params(), 12_000_000 + 8 * 36_000_000 + router + 4_009_000);
}

/// A mixture of experts looks like the dense model that does the same work, but for its router.
#[test]
fn a_mixture_is_to_a_predictor_the_dense_model_of_its_active_experts() {
    let moe = ShapeDims { experts: 8, active_experts: 2, ..shape() };
    let moe = ShapeDims { total_params: moe.formula_total_params(), ..moe };
    let dense = ShapeDims { ffn: 2 * moe.ffn, experts: 1, active_experts: 1, ..moe };
    let dense = ShapeDims { total_params: dense.formula_total_params(), ..dense };
    assert_eq!(moe.feature(Feature::Ffn), dense.feature(Feature::Ffn));
    let router_k = 4 * 8 * 1000 / 1000;
    for feature in [Feature::TotalParamsK, Feature::ReadParamsK] {
        assert_eq!(moe.feature(feature), dense.feature(feature).map(|k| k + router_k));
    }
}

#[test]
fn finish_shifts_both_ways_and_clamps() {
    assert_eq!(constant(Target::Power, 5 << 4, 4).raw(&[]), 5);
    assert_eq!(constant(Target::Power, 5, -4).raw(&[]), 80);
    assert_eq!(constant(Target::Power, -5, 0).raw(&[]), 1, "power is never zero");
    assert_eq!(constant(Target::Power, 1 << 40, 0).raw(&[]), u32::MAX);
    assert_eq!(constant(Target::Scale, 1 << 40, 0).raw(&[]), SCALE_ONE, "never above the peak");
}

#[test]
fn the_split_value_itself_goes_left() {
    let p = IntPredictor {
        forest: Forest {
            features: vec![Feature::Layers, Feature::MemKhz],
            base: 100,
            nodes: vec![
                Node::Leaf(1),
                Node::Leaf(2),
                Node::Split { feature: 1, threshold: 665_600, left: 0, right: 1 },
            ],
            roots: vec![2, 0],
        },
        ..constant(Target::Power, 0, 0)
    };
    assert_eq!(p.predict(&shape(), (0, 665_600)), 102);
    assert_eq!(p.predict(&shape(), (0, 665_601)), 103);
    assert_eq!(inputs(&p.forest.features, &shape(), (7, 9)), [4, 9]);
}

#[test]
fn normalised_peak_is_divided_by_the_feature() {
    let mut p = constant(Target::Peak, 30_000_000, 0);
    p.normaliser = Some(Normaliser { feature: Feature::TotalParamsK, reference: 108_000 });
    assert_eq!(p.predict(&shape(), (0, 0)), 60_000_000, "half the reference is twice as fast");
}

#[test]
fn throughput_is_peak_times_scale_and_peak_at_the_highest_clocks() {
    let clocks = ClockTables { accel_khz: vec![300, 900], mem_khz: vec![1000] };
    let table = |peak: i64, scale: i64| {
        let (peak, scale) = (constant(Target::Peak, peak, 0), constant(Target::Scale, scale, 0));
        throughput_utok_per_s(&peak, &scale, &clocks, &shape())
    };
    let one = i64::from(SCALE_ONE);
    assert_eq!(table(10_000_000, one / 4), [2_500_000, 10_000_000]);
    assert_eq!(table(1, 1), [1, 1], "never zero");
    assert_eq!(table(i64::from(u32::MAX), 2 * one), [u32::MAX; 2], "nowhere above the peak");
}
