//! `tests/vectors.rs` of the generated crate: shapes and the tables that the interpreter of the
//! IR computes for them.

use std::io::{self, Write};

use enerinfer_artifacts::{
    Bundle, Feature, IntPredictor, ShapeDims, Target, throughput_utok_per_s,
};

use super::{GENERATED, literal};
use crate::Lowered;

/// Most vectors taken at thresholds.
const MAX_THRESHOLD_VECTORS: usize = 200;

/// Tables that the generated crate must compute for a shape.
pub(crate) struct Expected {
    pub(crate) throughput: Vec<u32>,
    pub(crate) power: Vec<u32>,
    pub(crate) accel_power: Vec<u32>,
}

/// The interpreter's tables for a shape.
pub(crate) fn expected(bundle: &Bundle, lowered: &Lowered, shape: &ShapeDims) -> Expected {
    let clocks = &bundle.clocks;
    let at_all = |p: &IntPredictor| -> Vec<u32> {
        clocks.points().map(|u| p.predict(shape, clocks.clocks_khz(u))).collect()
    };
    let or_zero = |target| lowered.predictor(target).map_or_else(|| vec![0; clocks.len()], at_all);
    let throughput = match (lowered.predictor(Target::Peak), lowered.predictor(Target::Scale)) {
        (Some(peak), Some(scale)) => throughput_utok_per_s(peak, scale, clocks, shape),
        // A bundle without either is invalid.
        _ => vec![1; clocks.len()],
    };
    Expected { throughput, power: or_zero(Target::Power), accel_power: or_zero(Target::AccelPower) }
}

/// Held-out shapes, then shapes whose fields stand at, below and above thresholds.
fn shapes(bundle: &Bundle, lowered: &Lowered) -> Vec<ShapeDims> {
    let mut shapes = bundle.test_shapes.clone();
    let start = bundle.test_shapes.first().copied().unwrap_or(ShapeDims {
        layers: 24,
        hidden: 2048,
        heads: 16,
        kv_heads: 8,
        head_dim: 128,
        ffn: 8192,
        vocab: 32000,
        gated: true,
        tied: false,
        experts: 1,
        active_experts: 1,
        total_params: 1_500_000_000,
    });
    let mut at_thresholds = Vec::new();
    for predictor in &lowered.predictors {
        let forest = &predictor.forest;
        for (feature, thresholds) in forest.features.iter().zip(forest.thresholds()) {
            for t in thresholds {
                for value in [t.saturating_sub(1), t, t.saturating_add(1)] {
                    at_thresholds.extend(with_feature(start, *feature, value));
                }
            }
        }
    }
    // Evenly spread, so that every predictor and feature has its share.
    let step = at_thresholds.len().div_ceil(MAX_THRESHOLD_VECTORS).max(1);
    shapes.extend(at_thresholds.into_iter().step_by(step));
    shapes.extend([0, 1, u32::MAX].map(|v| ShapeDims {
        layers: v,
        hidden: v,
        heads: v,
        kv_heads: v,
        head_dim: v,
        ffn: v,
        vocab: v,
        gated: true,
        tied: false,
        experts: 1,
        active_experts: 1,
        total_params: u64::from(v),
    }));
    shapes
}

/// The shape with one field changed; `None` for features that follow from several fields.
fn with_feature(mut shape: ShapeDims, feature: Feature, value: u32) -> Option<ShapeDims> {
    let field = match feature {
        Feature::Layers => &mut shape.layers,
        Feature::Hidden => &mut shape.hidden,
        Feature::Heads => &mut shape.heads,
        Feature::KvHeads => &mut shape.kv_heads,
        Feature::Ffn => &mut shape.ffn,
        Feature::Vocab => &mut shape.vocab,
        Feature::HeadDim => &mut shape.head_dim,
        Feature::Experts => &mut shape.experts,
        Feature::ActiveExperts => &mut shape.active_experts,
        Feature::TotalParamsK => {
            shape.total_params = u64::from(value) * 1000;
            return Some(shape);
        }
        _ => return None,
    };
    *field = value;
    Some(shape)
}

/// Writes the file.
pub(crate) fn write(out: &mut dyn Write, bundle: &Bundle, lowered: &Lowered) -> io::Result<()> {
    out.write_all(GENERATED.as_bytes())?;
    out.write_all(HEAD.as_bytes())?;
    for (i, shape) in shapes(bundle, lowered).iter().enumerate() {
        let expected = expected(bundle, lowered, shape);
        writeln!(out, "\n#[test]\nfn vector_{i}() {{")?;
        constructor(out, shape)?;
        let Expected { throughput, power, accel_power } = expected;
        literal::array(out, 4, "let throughput_utok_per_s = ", &throughput, ";")?;
        literal::array(out, 4, "let power_uw = ", &power, ";")?;
        literal::array(out, 4, "let accel_power_uw = ", &accel_power, ";")?;
        writeln!(out, "    check(&shape, throughput_utok_per_s, power_uw, accel_power_uw);\n}}")?;
    }
    Ok(())
}

/// Writes the statements that make `shape`.
fn constructor(out: &mut dyn Write, s: &ShapeDims) -> io::Result<()> {
    let ShapeDims { layers, hidden, heads, kv_heads, ffn, vocab, .. } = s;
    let mut calls = vec![
        format!("Shape::new({layers}, {hidden}, {heads}, {kv_heads}, {ffn}, {vocab})"),
        format!("shape.with_head_dim({})", s.head_dim),
        format!("shape.with_total_params({})", s.total_params),
    ];
    if !s.gated {
        calls.push("shape.plain_ffn()".to_owned());
    }
    if s.tied {
        calls.push("shape.tied_embeddings()".to_owned());
    }
    if (s.experts, s.active_experts) != (1, 1) {
        calls.push(format!("shape.with_experts({}, {})", s.experts, s.active_experts));
    }
    calls.iter().try_for_each(|call| writeln!(out, "    let shape = {call};"))
}

const HEAD: &str = "
//! Predictions of the trained forests, computed by the compiler's interpreter: for held-out
//! models, at thresholds and at extremes. This crate must repeat them bit for bit.

use enerinfer_runtime::model::POINTS;
use enerinfer_runtime::{PointPrediction, Predictor, Shape};

fn check(
    shape: &Shape,
    throughput_utok_per_s: [u32; POINTS],
    power_uw: [u32; POINTS],
    accel_power_uw: [u32; POINTS],
) {
    let prediction = Predictor::tables(shape);
    let tables = prediction.tables;
    assert_eq!(tables.throughput.map(|r| r.0), throughput_utok_per_s);
    assert_eq!(tables.power.map(|p| p.0), power_uw);
    assert_eq!(tables.accel_power.map(|p| p.0), accel_power_uw);
    for point in 0..POINTS {
        let entry = PointPrediction {
            throughput: tables.throughput[point],
            power: tables.power[point],
            accel_power: tables.accel_power[point],
            coverage: prediction.coverage,
        };
        assert_eq!(Predictor::at_point(shape, point as u16), Some(entry));
    }
    assert_eq!(Predictor::at_point(shape, POINTS as u16), None);
}
";
