//! Comparison of a generated predictor with the interpreter, row by row of feature values.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use enerinfer_artifacts::{Bundle, Feature, IntPredictor, Target};
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
        if !source.contains("struct Ranks {") {
            continue; // no shape decides: the crate's own vectors say all
        }
        let fields: Vec<&str> = source
            .lines()
            .skip_while(|line| *line != "struct Ranks {")
            .skip(1)
            .take_while(|line| *line != "}")
            .map(|line| line.trim().split(':').next().unwrap())
            .collect();
        fs::write(file.with_extension("txt"), rows(bundle, predictor, &fields)).unwrap();
        let compute = if predictor.target == Target::Peak {
            "let out = [value(x)];"
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

/// Lines `values of the fields : expected device values`: every threshold of every feature and
/// both neighbours on two random rows, extremes, and random rows.
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
