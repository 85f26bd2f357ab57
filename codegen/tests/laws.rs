//! Laws that hold for every shape, forest and bundle.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use common::Drawn;
use enerinfer_artifacts::{Predictor, Target};
use enerinfer_codegen::passes::drop_unreachable::drop_unreachable;
use enerinfer_codegen::passes::merge_equal_leaves::merge_equal_leaves;
use enerinfer_codegen::passes::quantise::{Precision, quantise_to};
use enerinfer_codegen::passes::share_subtrees::share_subtrees;
use enerinfer_codegen::{CodegenError, Lowered, Options, estimate_bytes, generate, lower};
use proptest::prelude::*;
use rand::SeedableRng as _;
use rand_xoshiro::Xoshiro256PlusPlus;

proptest! {
    #[test]
    fn quantisation_stays_within_its_bound(
        seed: u64,
        tree_bits in 3u32..=16,
        part_bits in 3u32..=16,
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
        let quantised = quantise_to(&predictor, Precision { tree_bits, part_bits }).unwrap();
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
            let quantised = quantise_to(predictor, Precision { tree_bits: 16, part_bits: 8 }).unwrap().predictor;
            let mut passed = quantised.clone();
            passed.forest = merge_equal_leaves(&passed.forest);
            passed.forest = drop_unreachable(&passed.forest, &clocks);
            let apart = estimate_bytes(&passed.forest);
            passed.forest = share_subtrees(&passed.forest);
            // Code does not depend on which equal leaves are one node.
            prop_assert_eq!(estimate_bytes(&passed.forest), apart);
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
    let error = quantise_to(&predictor, Precision::FINEST).unwrap_err().to_string();
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
fn pruning_meets_the_budget_or_says_that_nothing_can() {
    let drawn = Drawn { trees: 10, depth: 7, leaf: (0.01, 0.1) };
    let bundle = common::random_bundle(22, common::board_clocks(), drawn);
    let lowered =
        |budget| lower(&bundle, &Options { flash_budget: Some(budget), ..Options::default() });
    let bytes = |lowered: &Lowered| -> u64 {
        lowered.predictors.iter().map(|p| estimate_bytes(&p.forest)).sum()
    };
    let whole = lowered(u64::MAX).unwrap();
    assert!(whole.steps.iter().all(|s| s.name != "prune to budget"));
    let half = bytes(&whole) / 2;
    let pruned = lowered(half).unwrap();
    assert!(bytes(&pruned) <= half && bytes(&pruned) > half / 2, "{}", bytes(&pruned));
    assert!(pruned.steps.iter().any(|s| s.name == "prune to budget" && s.error_bound > 0.0));
    assert!(matches!(
        lowered(100),
        Err(CodegenError::FlashBudget { budget: 100, smallest: 101.. })
    ));
}

#[test]
fn a_leaf_that_is_not_finite_is_named() {
    let mut bundle = common::tiny_bundle();
    bundle.predictors[2].forest.nodes[0] = enerinfer_artifacts::Node::Leaf(f64::NAN);
    let text = generate(&bundle, &Options::default()).unwrap_err().to_string();
    assert!(text.contains("`power`") && text.contains("node 0 (tree 0)"), "{text}");
}

/// Sees literals and types of floating point in source.
#[derive(Default)]
struct Floats(Vec<String>);

impl<'ast> syn::visit::Visit<'ast> for Floats {
    fn visit_lit_float(&mut self, literal: &'ast syn::LitFloat) {
        self.0.push(literal.to_string());
    }

    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        if segment.ident == "f32" || segment.ident == "f64" {
            self.0.push(segment.ident.to_string());
        }
        syn::visit::visit_path_segment(self, segment);
    }
}

#[test]
fn generated_predictors_have_no_number_that_a_compiler_rounds() {
    use syn::visit::Visit as _;

    let floats = |source: &str| {
        let mut floats = Floats::default();
        floats.visit_file(&syn::parse_file(source).unwrap());
        floats.0
    };
    assert_eq!(floats("fn f(x: f32) -> f64 { g::<f64>(x as f64) + 1.5 }").len(), 5);
    let drawn = Drawn { trees: 3, depth: 5, leaf: (0.01, 0.3) };
    let bundle = common::random_bundle(24, common::board_clocks(), drawn);
    for (path, bytes) in generate(&bundle, &Options::default()).unwrap().files {
        if path.starts_with("src/") {
            let found = floats(std::str::from_utf8(&bytes).unwrap());
            assert!(found.is_empty(), "{path}: {found:?}");
        }
    }
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
            // The rest is copied as a person wrote it.
            if path.starts_with("src/model/") || path == "tests/vectors.rs" {
                assert!(text.starts_with("// @generated"), "{path}");
            }
            if path.starts_with("src/model/") {
                assert!(file.attrs.is_empty(), "{path} has inner attributes");
            }
        }
    }
}
