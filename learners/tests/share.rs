//! Sharing is exact: every trial evaluated from a shared fit equals the trial fitted alone.

// Helpers of tests fail as tests do.
#![allow(clippy::unwrap_used)]

use enerinfer_artifacts::Feature;
use enerinfer_learners::{
    BoostParams, BoostValidParams, CodedMatrix, Fold, ForestParams, ForestValidParams,
    boost_groups, evaluate_boosted, evaluate_forests, forest_groups, predict, relative_weights,
};
use linfa::ParamGuard;
use proptest::prelude::*;

struct Table {
    x: CodedMatrix,
    y: Vec<f64>,
    w: Vec<f64>,
    rows: Vec<u32>,
    test: Vec<u32>,
}

fn table(rows: &[(u32, u32, u32, u32)]) -> Table {
    let columns = vec![
        rows.iter().map(|r| r.0).collect(),
        rows.iter().map(|r| r.1).collect(),
        rows.iter().map(|r| r.2).collect(),
    ];
    let x = CodedMatrix::new(Feature::ALL[..3].to_vec(), columns).unwrap();
    let (test, train): (Vec<u32>, Vec<u32>) =
        (0..rows.len() as u32).partition(|row| row.is_multiple_of(4));
    let y: Vec<f64> = train.iter().map(|&r| f64::from(rows[r as usize].3) / 10.0).collect();
    let w = relative_weights(&y);
    Table { x, y, w, rows: train, test }
}

impl Table {
    fn fold(&self, seed: u64) -> Fold<'_> {
        Fold { x: &self.x, rows: &self.rows, y: &self.y, w: Some(&self.w), test: &self.test, seed }
    }
}

fn example() -> impl Strategy<Value = Vec<(u32, u32, u32, u32)>> {
    prop::collection::vec((0u32..12, 0u32..40, 0u32..4, 1u32..500), 8..120)
}

fn forest_trial() -> impl Strategy<Value = ForestValidParams> {
    (1u32..8, 1u32..9, 1u32..3, 2u32..12, 1u32..4, any::<bool>()).prop_map(
        |(trees, depth, leaf, split, features, bootstrap)| {
            ForestParams::new()
                .n_trees(trees)
                .max_depth(depth)
                .min_samples_leaf(leaf)
                .min_samples_split(split)
                .max_features((features < 3).then_some(features))
                .bootstrap(bootstrap)
                .check()
                .unwrap()
        },
    )
}

fn boost_trial() -> impl Strategy<Value = BoostValidParams> {
    (1u32..12, 2u32..6, 1u32..3, 0u32..2).prop_map(|(rounds, leaves, leaf, sampled)| {
        BoostParams::new()
            .n_rounds(rounds)
            .max_leaves(leaves)
            .min_samples_leaf(leaf)
            .subsample(if sampled == 0 { 1.0 } else { 0.5 })
            .check()
            .unwrap()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn forests_of_a_group_equal_forests_alone(
        rows in example(),
        trials in prop::collection::vec(forest_trial(), 1..12),
        seed: u64,
    ) {
        let table = table(&rows);
        let groups = forest_groups(&trials);
        prop_assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), trials.len());
        for group in groups {
            let members: Vec<&ForestValidParams> = group.iter().map(|&i| &trials[i]).collect();
            let together = evaluate_forests(&members, table.fold(seed)).unwrap();
            for (trial, shared) in members.iter().zip(together) {
                let forest = trial
                    .fit(&table.x, &table.rows, &table.y, Some(&table.w), seed)
                    .unwrap();
                let alone = predict(&forest, &table.x, &table.test).unwrap();
                prop_assert_eq!(shared.predictions, alone);
                let size = shared.size.unwrap();
                prop_assert_eq!(size.leaves, u64::from(forest.stats().leaves));
                prop_assert_eq!(size.trees, forest.stats().trees);
            }
        }
    }

    #[test]
    fn boosted_trees_of_a_group_equal_boosted_trees_alone(
        rows in example(),
        trials in prop::collection::vec(boost_trial(), 1..12),
        seed: u64,
    ) {
        let table = table(&rows);
        for group in boost_groups(&trials) {
            let members: Vec<&BoostValidParams> = group.iter().map(|&i| &trials[i]).collect();
            let together = evaluate_boosted(&members, table.fold(seed)).unwrap();
            for (trial, shared) in members.iter().zip(together) {
                let forest = trial
                    .fit(&table.x, &table.rows, &table.y, Some(&table.w), seed)
                    .unwrap();
                let alone = predict(&forest, &table.x, &table.test).unwrap();
                prop_assert_eq!(shared.predictions, alone);
                let size = shared.size.unwrap();
                prop_assert_eq!(size.leaves, u64::from(forest.stats().leaves));
                prop_assert_eq!(size.trees, forest.stats().trees);
            }
        }
    }
}

#[test]
fn groups_hold_what_differs_in_shared_parameters_only() {
    let base = ForestParams::new();
    let trials: Vec<ForestValidParams> = [
        base.clone(),
        base.clone().min_samples_leaf(2),
        base.clone().n_trees(7).max_depth(3).min_samples_split(9),
        base.clone().max_features(Some(2)),
        base.clone().bootstrap(false),
        base.clone().sample_fraction(0.5),
        base.min_samples_leaf(2).n_trees(3),
    ]
    .into_iter()
    .map(|p| p.check().unwrap())
    .collect();
    assert_eq!(forest_groups(&trials), [vec![0, 2], vec![1, 6], vec![3], vec![4], vec![5]]);
    let rows: Vec<(u32, u32, u32, u32)> = (0..9).map(|i| (i, i, i, i + 1)).collect();
    let table = table(&rows);
    assert!(evaluate_forests(&[&trials[0], &trials[1]], table.fold(0)).is_err());
}
