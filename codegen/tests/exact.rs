//! Compiled predictors equal the interpreter bit for bit: at every threshold, at both neighbours,
//! at extremes and on random rows; for ordinary forests and for every kind that has broken forest
//! compilers; optimised for size and for speed.

mod common;

use std::f64::consts::{E, PI};

use common::rows::generate_with_rows;
use common::{Drawn, cargo};
use enerinfer_artifacts::{Bundle, Feature, Forest, Node, ShapeDims, Target};
use enerinfer_codegen::{Optimise, Options, lower};
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

/// What training on one value gives: constants come out as they went in, whatever the number of
/// trees that each hold a share.
#[test]
fn constants_are_exact() {
    let constant = |value| Forest::constant(common::all_features(), value);
    let exact = |forests: [Forest<f64>; 4]| {
        let lowered = lower(&with_forests(forests), &Options::default()).expect("it compiles");
        lowered.predictors.iter().map(|p| p.raw(&[7; 9])).collect::<Vec<_>>()
    };
    let expected = |[tok_per_s, scale, w, accel_w]: [f64; 4]| {
        let micro = |value: f64| (value * 1e6).round() as u32;
        vec![
            micro(tok_per_s),
            (scale * (1u64 << 30) as f64).round() as u32,
            micro(w),
            micro(accel_w),
        ]
    };
    for values in [[5.0, 0.5, 5.0, 0.25], [0.1, 1.0 / 3.0, 7.3, 1e-6], [4000.0, 1.0, 33.3, 0.7]] {
        assert_eq!(exact(values.map(constant)), expected(values));
        for trees in (1..=64).chain([100, 333, 500, 1000]) {
            let shares = |value: f64| Forest {
                features: common::all_features(),
                base: 0.0,
                nodes: vec![Node::Leaf(value / f64::from(trees))],
                roots: vec![0; trees as usize],
            };
            assert_eq!(exact(values.map(shares)), expected(values), "{trees} trees");
        }
    }
}

/// Builds the crate as its profiles do, runs its vectors and the row tests, and lints it. For
/// speed, single operating points have trees of their own beside all the code for size; the same
/// tests ask them, and all of it is checked for overflow.
fn check(bundle: &Bundle) {
    for optimise in [Optimise::Size, Optimise::Speed] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let krate = folder.path().join("enerinfer-runtime");
        let lowered =
            generate_with_rows(bundle, &Options { optimise, ..Options::default() }, &krate);
        assert_eq!(lowered.predictors.len(), bundle.predictors.len());
        let test = ["test", "--release", "--lib", "--test", "vectors"];
        match optimise {
            Optimise::Size => cargo(&krate, &test),
            Optimise::Speed => {
                let checked = ["--config", "profile.release.overflow-checks=true"];
                cargo(&krate, &[&test[..], &checked].concat())
            }
        };
        cargo(&krate, &["clippy"]);
    }
}

fn with_forests(forests: [Forest<f64>; 4]) -> Bundle {
    let clocks = common::board_clocks();
    let predictors = Target::COMPILED
        .into_iter()
        .zip(forests)
        .map(|(target, forest)| common::predictor(target, forest, &clocks))
        .collect();
    common::bundle(clocks, predictors)
}

fn split(feature: u16, threshold: u32, left: u32, right: u32) -> Node<f64> {
    Node::Split { feature, threshold, left, right }
}

#[test]
fn ordinary_forests() {
    let drawn = Drawn { trees: 12, depth: 7, leaf: (0.01, 0.08) };
    let mut bundle = common::random_bundle(11, common::board_clocks(), drawn);
    bundle.test_shapes.extend(mixtures_of_experts());
    check(&bundle);
}

/// Of their experts a predictor sees the active ones: all derived counts differ from a dense
/// model's. Sizes as of Granite 3.0 1B-A400M and OLMoE-1B-7B.
fn mixtures_of_experts() -> [ShapeDims; 2] {
    let sparse = |dense: ShapeDims, experts: u32| {
        let mut shape = ShapeDims { experts, active_experts: 8, ..dense };
        shape.total_params = shape.formula_total_params();
        shape
    };
    [
        sparse(common::shape(24, 1024, 16, 8, 512, 49_155, true), 32),
        sparse(common::shape(16, 2048, 16, 16, 1024, 50_304, false), 64),
    ]
}

#[test]
fn one_operating_point() {
    let clocks = enerinfer_artifacts::ClockTables { accel_khz: vec![5], mem_khz: vec![7] };
    check(&common::random_bundle(12, clocks, Drawn { trees: 3, depth: 4, leaf: (0.01, 0.3) }));
}

#[test]
fn single_leaves_constants_one_feature_and_extreme_thresholds() {
    let features = common::all_features;
    let constant = Forest::constant(features(), 5.0);
    let clock_only = Forest {
        features: vec![Feature::MemKhz],
        base: 0.0,
        nodes: vec![
            Node::Leaf(0.5),
            Node::Leaf(0.25),
            split(0, 665_600, 0, 1),
            Node::Leaf(0.125), // a tree of a single leaf
        ],
        roots: vec![2, 3],
    };
    let extremes = Forest {
        features: vec![Feature::Layers],
        base: -1.0,
        nodes: vec![
            Node::Leaf(2.0),
            Node::Leaf(3.0),
            split(0, 0, 0, 1),
            Node::Leaf(4.0),
            split(0, u32::MAX - 1, 2, 3),
            split(0, u32::MAX, 4, 3),
        ],
        roots: vec![5],
    };
    // Power from the shape alone: the same at every operating point.
    let shape_only = Forest {
        features: vec![Feature::KvHeads],
        base: 3.5,
        nodes: vec![Node::Leaf(-10.0), Node::Leaf(20.0), split(0, 8, 0, 1)],
        roots: vec![2, 2],
    };
    check(&with_forests([constant.clone(), clock_only, extremes, shape_only]));
    check(&with_forests([constant.clone(), constant.clone(), constant.clone(), constant]));
}

/// Digits of π, e, ln 2; beyond 2²⁴, where `f32` rounds; endings that look like a suffix.
const NUMBERS: [u32; 12] = [
    31,
    314,
    31_415,
    3_141_593,
    2_718_281,
    27_182_818,
    693_147,
    16_777_217,
    164_791_320,
    1_640_000_032,
    2_147_483_648,
    4_294_967_294,
];

#[test]
fn numbers_that_trip_lints_of_literals() {
    let mut nodes = vec![Node::Leaf(PI), Node::Leaf(E), split(0, NUMBERS[0], 0, 1)];
    for (i, &number) in NUMBERS.iter().enumerate().skip(1) {
        nodes.push(Node::Leaf(1.0 + i as f64 / E));
        let below = nodes.len() as u32 - 2;
        nodes.push(split(0, number, below, below + 1));
    }
    let root = nodes.len() as u32 - 1;
    let forest = Forest {
        features: vec![Feature::Vocab, Feature::MemKhz],
        base: 0.0,
        nodes,
        roots: vec![root],
    };
    let small = forest.clone().map_leaves(|leaf| leaf / 10.0);
    check(&with_forests([forest.clone(), small, forest.clone(), forest]));
}

#[test]
fn without_power_predictors_and_test_shapes() {
    let mut bundle = common::tiny_bundle();
    bundle.predictors.truncate(2);
    bundle.test_shapes.clear();
    check(&bundle);
}

#[test]
fn equal_leaves_and_equal_trees() {
    // Two leaf values make equal siblings, equal branches and equal trees common.
    let clocks = common::board_clocks();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(13);
    let mut forest = |features: Vec<Feature>| {
        let drawn = Drawn { trees: 9, depth: 5, leaf: (0.0, 1.0) };
        common::random_forest(&mut rng, features, &clocks, drawn)
            .map_leaves(|leaf| if leaf < 0.5 { 0.01 } else { 0.02 })
    };
    let mut forests = [(); 4].map(|()| forest(vec![Feature::Layers, Feature::MemKhz]));
    for forest in &mut forests {
        forest.roots.extend(forest.roots.clone());
    }
    check(&with_forests(forests));
}

/// A chain of `depth` splits over one feature; each takes the next side of `sides`.
fn chain(depth: u32, features: Vec<Feature>, sides: &[bool]) -> Forest<f64> {
    let mut nodes = vec![Node::Leaf(0.5)];
    for level in (0..depth).rev() {
        let below = nodes.len() as u32 - 1;
        nodes.push(Node::Leaf(f64::from(level) / f64::from(2 * depth)));
        let leaf = nodes.len() as u32 - 1;
        // Thresholds close in from both ends, so that no branch is unreachable.
        let feature = (level % features.len() as u32) as u16;
        nodes.push(if sides[level as usize % sides.len()] {
            split(feature, 1_000_000 - 10 * level, below, leaf)
        } else {
            split(feature, 1000 + 10 * level, leaf, below)
        });
    }
    let root = nodes.len() as u32 - 1;
    Forest { features, base: 0.1, nodes, roots: vec![root] }
}

#[test]
fn many_trees_that_compare_the_same_are_merged() {
    // Few thresholds, many trees: the same comparison stands at the same place again and again.
    let clocks = common::board_clocks();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(15);
    let mut forest = || {
        let drawn = Drawn { trees: 60, depth: 5, leaf: (0.001, 0.004) };
        let features = vec![Feature::Layers, Feature::Hidden, Feature::AccelKhz, Feature::MemKhz];
        let mut forest = common::random_forest(&mut rng, features, &clocks, drawn);
        for node in &mut forest.nodes {
            if let Node::Split { feature: 0 | 1, threshold, .. } = node {
                *threshold = *threshold / 16 * 16;
            }
        }
        forest
    };
    check(&with_forests([(); 4].map(|()| forest())));
}

#[test]
fn trees_that_share_too_much_to_be_merged() {
    // Each level has two nodes, and both lead to both of the level below: 2³⁰ paths.
    let features = || vec![Feature::Layers, Feature::Vocab, Feature::MemKhz];
    let ladder = |clocks: bool| {
        let mut nodes = vec![Node::Leaf(0.25), Node::Leaf(0.5)];
        for level in 0..30 {
            let (a, b) = (2 * level, 2 * level + 1);
            nodes.push(split(0, 4 + 2 * level, a, b));
            nodes.push(match clocks && level == 20 {
                true => split(2, 665_600, b, a),
                false => split(1, 40_000 + 1000 * level, b, a),
            });
        }
        let root = nodes.len() as u32 - 1;
        Forest { features: features(), base: 0.1, nodes, roots: vec![root] }
    };
    check(&with_forests([ladder(false), ladder(true), ladder(true), ladder(false)]));
}

#[test]
fn deep_chains_build() {
    let two = || vec![Feature::Layers, Feature::Vocab];
    check(&with_forests([
        chain(100, two(), &[false]),
        chain(500, two(), &[true]),
        chain(1000, two(), &[true, false]),
        chain(5000, two(), &[false, true, true]),
    ]));
}

/// A tree that tells apart every one of so many neighbouring ranges of a feature, and its root.
fn bisection(nodes: &mut Vec<Node<f64>>, feature: u16, thresholds: &[u32]) -> u32 {
    let node = match thresholds.get(thresholds.len() / 2) {
        None => Node::Leaf(f64::from(nodes.len() as u32 % 10_007) / 1e5),
        Some(&threshold) => {
            let (below, above) = thresholds.split_at(thresholds.len() / 2);
            let left = bisection(nodes, feature, below);
            let right = bisection(nodes, feature, &above[1..]);
            split(feature, threshold, left, right)
        }
    };
    nodes.push(node);
    nodes.len() as u32 - 1
}

/// Ranks of 8, 16 and 32 bits: one threshold more than a type holds takes the next.
#[test]
fn more_thresholds_than_8_and_16_bits_count() {
    let mut forest = Forest {
        features: vec![Feature::Layers, Feature::Heads, Feature::Ffn, Feature::Vocab],
        base: 0.1,
        nodes: Vec::new(),
        roots: Vec::new(),
    };
    for (feature, count) in (0u16..).zip([255u32, 256, 65_536, 3]) {
        let thresholds: Vec<u32> = (0..count).map(|i| 5 + 3 * i).collect();
        let root = bisection(&mut forest.nodes, feature, &thresholds);
        forest.roots.push(root);
    }
    let small = Forest::constant(common::all_features(), 0.5);
    let mut bundle = with_forests([forest, small.clone(), small.clone(), small]);
    // Without them leaves keep all bits, so that no two neighbours are equal.
    bundle.test_shapes.clear();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let krate = folder.path().join("enerinfer-runtime");
    generate_with_rows(&bundle, &Options::default(), &krate);
    let source = std::fs::read_to_string(krate.join("src/model/peak.rs")).expect("it was written");
    for field in ["layers: u8", "heads: u16", "ffn: u32", "vocab: u8"] {
        assert!(source.contains(&format!("    {field},\n")), "{field}");
    }
    cargo(&krate, &["test", "--release", "--lib", "--test", "vectors"]);
}

#[test]
fn seventy_thousand_nodes() {
    let clocks = common::board_clocks();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(14);
    let drawn = Drawn { trees: 16, depth: 12, leaf: (0.01, 0.06) };
    let large = common::random_forest(&mut rng, common::all_features(), &clocks, drawn);
    assert!(large.nodes.len() > 40_000, "{}", large.nodes.len());
    let small = Forest::constant(common::all_features(), 0.5);
    // One of the large forests is `peak`, a sum; one is `scale`, a table.
    let bundle = with_forests([large.clone(), large, small.clone(), small]);
    let nodes: usize = bundle.predictors.iter().map(|p| p.forest.nodes.len()).sum();
    assert!(nodes > 70_000, "{nodes}");
    check(&bundle);
}
