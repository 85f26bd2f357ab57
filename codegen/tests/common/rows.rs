//! Comparison of a generated predictor with the interpreter, row by row of feature values.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use enerinfer_artifacts::{Bundle, Feature, IntPredictor, Node, Target};
use enerinfer_codegen::{Lowered, Options, generate_to};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Generates the crate and gives every predictor a test over [`rows`].
pub(crate) fn generate_with_rows(bundle: &Bundle, options: &Options, krate: &Path) -> Lowered {
    let lowered = generate_to(bundle, options, krate).unwrap();
    super::cargo_fmt_is_silent(krate);
    for predictor in &lowered.predictors {
        let name = predictor.target.name();
        let file = krate.join(format!("src/model/{name}.rs"));
        let source = fs::read_to_string(&file).unwrap();
        let Some((_, ranks)) = source.split_once("struct Ranks {\n") else {
            continue; // no shape decides: the crate's own vectors say all
        };
        let fields: Vec<&str> = ranks
            .lines()
            .take_while(|line| *line != "}")
            .map(|line| line.trim().trim_start_matches("pub(super) ").split(':').next().unwrap())
            .collect();
        fs::write(file.with_extension("txt"), rows(bundle, predictor, &fields)).unwrap();
        let compute = if predictor.target == Target::Peak {
            "let out = [value(x)];"
        } else if source.contains("fn value_at(") {
            "let at = |point| value_at(&x, point as u16);
            let one_by_one: [u32; model::POINTS] = core::array::from_fn(at);
            let mut out = [0; model::POINTS]; table(x, &mut out);
            assert_eq!(out, one_by_one, \"{}\", values);"
        } else {
            "let mut out = [0; model::POINTS]; table(x, &mut out);"
        };
        let test = TEST.replace("NAME", name).replace("COMPUTE", compute);
        fs::write(&file, source + &test).unwrap();
    }
    lowered
}

const TEST: &str = r#"
#[cfg(test)]
mod rows {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn equal_the_interpreter() {
        let mut count = 0;
        for line in include_str!("NAME.txt").lines() {
            let (values, expected) = line.split_once(':').unwrap();
            let numbers = |text: &str| -> Vec<u32> {
                text.split_whitespace().map(|n| n.parse().unwrap()).collect()
            };
            let x = Ranks::new(numbers(values).try_into().unwrap());
            COMPUTE
            assert_eq!(&out[..], &numbers(expected)[..], "{}", values);
            count += 1;
        }
        assert!(count > 0);
    }
}
"#;

/// Most rows that visit leaves; of larger forests every n-th leaf is visited.
const MAX_LEAF_ROWS: usize = 4000;

/// A row for every leaf of every tree that some row reaches, as far as that tree is concerned.
fn leaf_rows(predictor: &IntPredictor, random: &mut dyn FnMut() -> Vec<u32>) -> Vec<Vec<u32>> {
    let forest = &predictor.forest;
    let mut rows = Vec::new();
    for &root in &forest.roots {
        // Each feature lies in a range, both ends included.
        let mut stack = vec![(root, vec![(0u32, u32::MAX); forest.features.len()])];
        while let Some((node, ranges)) = stack.pop() {
            let Node::Split { feature, threshold, left, right } = forest.nodes[node as usize]
            else {
                // Inside its range a feature stays near other trees' thresholds.
                let row = random();
                let row = row.iter().zip(&ranges).map(|(v, &(min, max))| (*v).clamp(min, max));
                rows.push(row.collect());
                continue;
            };
            let column = usize::from(feature);
            let (min, max) = ranges[column];
            if min <= threshold {
                let mut below = ranges.clone();
                below[column] = (min, max.min(threshold));
                stack.push((left, below));
            }
            if max > threshold {
                let mut above = ranges;
                above[column] = (min.max(threshold + 1), max);
                stack.push((right, above));
            }
        }
    }
    let step = rows.len().div_ceil(MAX_LEAF_ROWS).max(1);
    rows.into_iter().step_by(step).collect()
}

/// Lines `values of the fields : expected device values`: every threshold of every feature and
/// both neighbours, every leaf of every tree, extremes, and random rows.
fn rows(bundle: &Bundle, predictor: &IntPredictor, fields: &[&str]) -> String {
    let forest = &predictor.forest;
    let thresholds = forest.thresholds();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(7);
    let random = |rng: &mut Xoshiro256PlusPlus| -> Vec<u32> {
        thresholds
            .iter()
            .map(|list| match list.as_slice() {
                [] => rng.random(),
                // Near thresholds, so that rows reach leaves of every depth.
                list => {
                    let near: u32 = list[rng.random_range(0..list.len())];
                    near.wrapping_add(rng.random_range(0..3)).wrapping_sub(1)
                }
            })
            .collect()
    };
    let mut rows: Vec<Vec<u32>> = Vec::new();
    for (column, list) in thresholds.iter().enumerate() {
        for &t in list {
            let base = random(&mut rng);
            for value in [t.saturating_sub(1), t, t.saturating_add(1)] {
                let mut row = base.clone();
                row[column] = value;
                rows.push(row);
            }
        }
    }
    for value in [0, 1, u32::MAX - 1, u32::MAX] {
        rows.push(vec![value; forest.features.len()]);
    }
    rows.extend(leaf_rows(predictor, &mut || random(&mut rng)));
    rows.extend((0..1000).map(|_| random(&mut rng)));

    let mut text = String::new();
    for mut row in rows {
        let mut at = |clocks: (u32, u32)| {
            for (value, feature) in row.iter_mut().zip(&forest.features) {
                match feature {
                    Feature::AccelKhz => *value = clocks.0,
                    Feature::MemKhz => *value = clocks.1,
                    _ => {}
                }
            }
            predictor.raw(&row)
        };
        let expected: Vec<u32> = if predictor.target == Target::Peak {
            vec![at(bundle.clocks.clocks_khz(bundle.clocks.highest()))]
        } else {
            bundle.clocks.points().map(|u| at(bundle.clocks.clocks_khz(u))).collect()
        };
        for (value, feature) in row.iter().zip(&forest.features) {
            if fields.contains(&feature.name()) {
                write!(text, "{value} ").unwrap();
            }
        }
        text.push(':');
        for value in expected {
            write!(text, " {value}").unwrap();
        }
        text.push('\n');
    }
    text
}
