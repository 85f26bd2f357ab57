//! Bundles and crates for the tests of the compiler.

#![allow(dead_code)] // every test binary uses its own part
#![allow(clippy::unwrap_used)] // a test that cannot prepare its input fails

pub(crate) mod rows;

use std::path::Path;
use std::process::Command;

use enerinfer_artifacts::{
    Bundle, ClockTables, Domain, Feature, Forest, Node, Normaliser, PlatformId, Predictor,
    Provenance, ShapeDims, Target, ThermalModel,
};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Inputs of a predictor that depends on the operating point.
pub(crate) fn all_features() -> Vec<Feature> {
    let mut features = Feature::PAPER_SHAPE.to_vec();
    features.extend(Feature::CLOCKS);
    features
}

/// How a random forest is drawn.
#[derive(Clone, Copy)]
pub(crate) struct Drawn {
    pub(crate) trees: usize,
    pub(crate) depth: u32,
    pub(crate) leaf: (f64, f64),
}

/// Range from which thresholds of a feature are drawn.
fn range(feature: Feature, clocks: &ClockTables) -> (u32, u32) {
    match feature {
        Feature::Layers => (4, 64),
        Feature::Hidden => (512, 8192),
        Feature::Heads => (8, 64),
        Feature::KvHeads => (1, 64),
        Feature::Ffn => (1024, 28672),
        Feature::Vocab => (32_000, 256_000),
        Feature::TotalParamsK => (100_000, 7_000_000),
        Feature::AccelKhz => {
            (clocks.accel_khz[0] - 1, clocks.accel_khz[clocks.accel_khz.len() - 1])
        }
        Feature::MemKhz => (clocks.mem_khz[0] - 1, clocks.mem_khz[clocks.mem_khz.len() - 1]),
        _ => (0, 10_000),
    }
}

/// A forest with random splits and leaves.
pub(crate) fn random_forest(
    rng: &mut Xoshiro256PlusPlus,
    features: Vec<Feature>,
    clocks: &ClockTables,
    drawn: Drawn,
) -> Forest<f64> {
    fn tree(
        rng: &mut Xoshiro256PlusPlus,
        forest: &mut Forest<f64>,
        clocks: &ClockTables,
        drawn: Drawn,
        depth: u32,
    ) -> u32 {
        let node = if depth == 0 || rng.random_range(0..12) == 0 {
            Node::Leaf(rng.random_range(drawn.leaf.0..drawn.leaf.1))
        } else {
            let left = tree(rng, forest, clocks, drawn, depth - 1);
            let right = tree(rng, forest, clocks, drawn, depth - 1);
            let feature = rng.random_range(0..forest.features.len());
            let (min, max) = range(forest.features[feature], clocks);
            let threshold = rng.random_range(min..=max);
            Node::Split { feature: feature as u16, threshold, left, right }
        };
        forest.nodes.push(node);
        forest.nodes.len() as u32 - 1
    }
    let mut forest = Forest::constant(features, 0.25);
    for _ in 0..drawn.trees {
        let root = tree(rng, &mut forest, clocks, drawn, drawn.depth);
        forest.roots.push(root);
    }
    forest
}

/// A predictor with the training range of a plausible data set.
pub(crate) fn predictor(target: Target, forest: Forest<f64>, clocks: &ClockTables) -> Predictor {
    let domain = forest
        .features
        .iter()
        .map(|&f| {
            let (min, max) = range(f, clocks);
            Domain { min, max }
        })
        .collect();
    Predictor { target, normaliser: None, domain, forest }
}

/// A bundle around predictors.
pub(crate) fn bundle(clocks: ClockTables, predictors: Vec<Predictor>) -> Bundle {
    Bundle {
        platform: PlatformId {
            name: "tiny".to_owned(),
            engine: "none".to_owned(),
            weight_format: "q4".to_owned(),
            power_domain: "accel+mem".to_owned(),
            source: "drawn at random, for tests".to_owned(),
        },
        clocks,
        predictors,
        thermal: Some(ThermalModel {
            window: 20,
            intercept_c: -0.25,
            history: (1..=20).map(|i| f64::from(i) / 210.0).collect(),
            power_c_per_w: 0.125,
            time_c_per_s: 0.0,
            time_power_c_per_ws: 0.03125,
            time_history: (1..=20).map(|i| f64::from(i - 11) / 1024.0).collect(),
        }),
        accuracy: Vec::new(),
        test_shapes: vec![
            shape(28, 1536, 12, 2, 8960, 151_936, true),
            shape(22, 2048, 32, 4, 5632, 32_000, false),
        ],
        provenance: Provenance {
            data_digest: "0".repeat(64),
            seed: 1,
            command: "cargo test -p enerinfer-codegen".to_owned(),
        },
    }
}

pub(crate) fn shape(
    layers: u32,
    hidden: u32,
    heads: u32,
    kv_heads: u32,
    ffn: u32,
    vocab: u32,
    tied: bool,
) -> ShapeDims {
    let mut shape = ShapeDims {
        layers,
        hidden,
        heads,
        kv_heads,
        head_dim: hidden / heads,
        ffn,
        vocab,
        gated: true,
        tied,
        experts: 1,
        active_experts: 1,
        total_params: 0,
    };
    shape.total_params = shape.formula_total_params();
    shape
}

/// All four predictors, drawn at random.
pub(crate) fn random_bundle(seed: u64, clocks: ClockTables, drawn: Drawn) -> Bundle {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut predictors = Vec::new();
    for target in Target::COMPILED {
        let features = match target {
            Target::Peak => Feature::PAPER_SHAPE.to_vec(),
            _ => all_features(),
        };
        let forest = random_forest(&mut rng, features, &clocks, drawn);
        predictors.push(predictor(target, forest, &clocks));
    }
    predictors[0].normaliser =
        Some(Normaliser { feature: Feature::ReadParamsK, reference: 1_000_000 });
    bundle(clocks, predictors)
}

/// The model that is committed in `runtime/src/model`.
pub(crate) fn tiny_bundle() -> Bundle {
    let clocks = ClockTables {
        accel_khz: vec![300_000, 600_000, 900_000],
        mem_khz: vec![1_000_000, 2_000_000],
    };
    random_bundle(1, clocks, Drawn { trees: 3, depth: 3, leaf: (0.05, 0.3) })
}

/// The clock tables of a board with 44 operating points.
pub(crate) fn board_clocks() -> ClockTables {
    ClockTables {
        accel_khz: vec![
            306_000, 408_000, 510_000, 612_000, 714_000, 816_000, 918_000, 1_020_000, 1_122_000,
            1_236_000, 1_300_500,
        ],
        mem_khz: vec![204_000, 665_600, 2_133_000, 3_199_000],
    }
}

/// Runs cargo offline in a folder, with warnings denied, and returns its stdout; panics with its
/// output if it fails.
pub(crate) fn cargo(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(args)
        .arg("--offline")
        .current_dir(folder)
        // A folder of its own: crates of tests at the same time have the same name.
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("RUSTFLAGS", "-Dwarnings")
        .env("RUSTDOCFLAGS", "-Dwarnings")
        .output()
        .expect("cargo runs");
    assert!(
        output.status.success(),
        "cargo {args:?}:\n{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Fails if rustfmt would change the crate.
pub(crate) fn cargo_fmt_is_silent(folder: &Path) {
    let output = Command::new(env!("CARGO"))
        .args(["fmt", "--check"])
        .current_dir(folder)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
