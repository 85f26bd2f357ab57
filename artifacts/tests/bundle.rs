//! The bundle file: exact round trips, and one clear error for every kind of damage.

#![allow(clippy::unwrap_used)] // a test's way to fail

use enerinfer_artifacts::{
    Accuracy, Bundle, ClockTables, Domain, Feature, Forest, Node, Normaliser, PlatformId,
    Predictor, Provenance, ShapeDims, Target,
};
use proptest::prelude::*;

fn shape() -> ShapeDims {
    ShapeDims {
        layers: 28,
        hidden: 1536,
        heads: 12,
        kv_heads: 2,
        head_dim: 128,
        ffn: 8960,
        vocab: 151_936,
        gated: true,
        tied: true,
        experts: 1,
        active_experts: 1,
        total_params: 1_543_714_304,
    }
}

fn predictor(target: Target) -> Predictor {
    Predictor {
        target,
        normaliser: (target == Target::Peak)
            .then_some(Normaliser { feature: Feature::ReadParamsK, reference: 1_000_000 }),
        domain: vec![Domain { min: 8, max: 40 }],
        forest: Forest {
            features: vec![Feature::Layers],
            base: 1.0,
            nodes: vec![
                Node::Leaf(0.25),
                Node::Leaf(0.5),
                Node::Split { feature: 0, threshold: 24, left: 0, right: 1 },
            ],
            roots: vec![2],
        },
    }
}

fn bundle() -> Bundle {
    Bundle {
        platform: PlatformId {
            name: "toy".into(),
            engine: "none".into(),
            weight_format: "q4_0".into(),
            power_domain: "accel+mem".into(),
            source: "simulated:toy".into(),
        },
        clocks: ClockTables { accel_khz: vec![500_000, 1_000_000], mem_khz: vec![400_000] },
        predictors: vec![predictor(Target::Peak), predictor(Target::Scale)],
        thermal: None,
        accuracy: vec![Accuracy { what: "throughput".into(), mape_percent: 2.5 }],
        test_shapes: vec![shape()],
        provenance: Provenance {
            data_digest: "00".into(),
            seed: 1,
            command: "train --platform toy".into(),
        },
    }
}

#[test]
fn round_trip_is_exact_and_repeatable() {
    let bytes = bundle().to_bytes().unwrap();
    assert_eq!(Bundle::from_bytes(&bytes).unwrap(), bundle());
    assert_eq!(bytes, bundle().to_bytes().unwrap());
}

#[test]
fn damage_is_named() {
    let good = bundle().to_bytes().unwrap();
    let error = |bytes: &[u8]| Bundle::from_bytes(bytes).unwrap_err().to_string();
    assert!(error(&[]).contains("0 bytes"));
    assert!(error(&good[..40]).contains("40 bytes"));
    assert!(error(&good[..good.len() - 1]).contains("cut or appended"));
    let mut magic = good.clone();
    magic[0] ^= 1;
    assert!(error(&magic).contains("magic"));
    let mut version = good.clone();
    version[8] = 99;
    assert!(error(&version).contains("format 99"));
    let mut payload = good.clone();
    let last = payload.len() - 1;
    payload[last] ^= 1;
    assert!(error(&payload).contains("digest"));
}

#[test]
fn contents_are_checked_before_anything_is_written_or_run() {
    let broken = |change: &dyn Fn(&mut Bundle), part: &str| {
        let mut b = bundle();
        change(&mut b);
        let message = b.validate().unwrap_err().to_string();
        assert!(message.contains(part), "{message:?} does not contain {part:?}");
        // The same rules hold for a file with a correct digest.
        assert!(Bundle::from_bytes(&b.to_bytes().unwrap()).is_err());
    };
    broken(&|b| b.predictors.truncate(1), "no `scale` predictor");
    broken(&|b| b.predictors.push(predictor(Target::Peak)), "two `peak`");
    broken(&|b| b.clocks.mem_khz = vec![2, 1], "strictly ascending");
    broken(&|b| b.clocks.accel_khz.clear(), "0 levels");
    broken(&|b| b.predictors[0].forest.roots = vec![7], "tree 0 has root 7");
    broken(
        &|b| {
            b.predictors[0].forest.nodes[2] =
                Node::Split { feature: 0, threshold: 0, left: 2, right: 1 }
        },
        "children stand before parents",
    );
    broken(
        &|b| {
            b.predictors[0].forest.nodes[2] =
                Node::Split { feature: 1, threshold: 0, left: 0, right: 1 }
        },
        "splits on input 1",
    );
    broken(&|b| b.predictors[0].forest.nodes[1] = Node::Leaf(f64::NAN), "node 1 (tree 0)");
    broken(&|b| b.predictors[0].forest.base = f64::INFINITY, "base value");
    broken(&|b| b.predictors[0].domain.clear(), "0 domains for 1 inputs");
    broken(
        &|b| {
            b.predictors[0].normaliser = Some(Normaliser { feature: Feature::MemKhz, reference: 1 })
        },
        "normaliser",
    );
}

proptest! {
    /// Whatever a file holds, reading it ends in a value or an error.
    #[test]
    fn hostile_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = Bundle::from_bytes(&bytes);
    }

    /// A flipped bit anywhere is noticed.
    #[test]
    fn every_flipped_bit_is_noticed(at in 0usize..10_000, bit in 0u8..8) {
        let mut bytes = bundle().to_bytes().unwrap();
        let at = at % bytes.len();
        bytes[at] ^= 1 << bit;
        prop_assert!(Bundle::from_bytes(&bytes).is_err());
    }

    /// A payload that decodes with a correct digest is still validated, never trusted.
    #[test]
    fn hostile_payloads_with_a_correct_digest_never_panic(
        payload in prop::collection::vec(any::<u8>(), 0..200)
    ) {
        let mut bytes = b"ENERINFR".to_vec();
        bytes.extend(1u32.to_le_bytes());
        bytes.extend((payload.len() as u64).to_le_bytes());
        // The digest that a hostile writer would compute.
        bytes.extend((0..32).map(|i| {
            let hex = enerinfer_artifacts::digest(&payload);
            u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).unwrap()
        }));
        bytes.extend(payload);
        let _ = Bundle::from_bytes(&bytes);
    }
}
