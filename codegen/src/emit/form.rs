//! How the trees of a predictor are walked.

use enerinfer_artifacts::{ClockTables, IntPredictor, Target};

use super::functions::Functions;
use super::merged::{Merged, merge, merge_at};
use super::program::{Op, Program, trees};
use super::statements::Statements;

/// How the trees are walked.
pub(crate) enum Form {
    /// One walk for all operating points and all trees.
    Table(Merged),
    /// One walk of all trees, where operating points do not matter, and for `peak`, at the highest.
    Value(Merged),
    /// Every tree by itself, at each operating point or at the highest, and this base: for trees
    /// that cannot be merged.
    Trees(Program, i64),
}

impl Form {
    pub(crate) fn of(predictor: &IntPredictor, clocks: &ClockTables) -> Self {
        let forest = &predictor.forest;
        let reads_clocks = forest
            .thresholds()
            .iter()
            .zip(&forest.features)
            .any(|(t, f)| f.is_clock() && !t.is_empty());
        let merged = if predictor.target == Target::Peak || !reads_clocks {
            merge_at(forest, clocks.clocks_khz(clocks.highest()))
                .filter(Merged::reads_shape)
                .map(Form::Value)
        } else {
            merge(forest, clocks).map(Form::Table)
        };
        merged.unwrap_or_else(|| {
            let (program, base) = trees(forest);
            Form::Trees(program, base)
        })
    }

    /// All conditions: column and threshold.
    pub(crate) fn conditions(&self) -> Vec<(u16, u32)> {
        match self {
            Form::Trees(program, _) => program
                .ops
                .iter()
                .filter_map(|op| match *op {
                    Op::If { feature, threshold, .. } => Some((feature, threshold)),
                    Op::Leaf(_) => None,
                })
                .collect(),
            Form::Table(merged) | Form::Value(merged) => merged.conditions().collect(),
        }
    }

    /// Most comparisons of conditions in one walk, for any shape. Exact for one tree without
    /// impossible paths, else a bound, since no shape may take the longest path of every tree.
    pub(crate) fn most_comparisons(&self) -> u64 {
        match self {
            Form::Trees(program, _) => {
                let mut longest = vec![0u64; program.ops.len()];
                for (i, op) in program.ops.iter().enumerate() {
                    if let Op::If { then, otherwise, .. } = *op {
                        longest[i] = 1 + longest[then as usize].max(longest[otherwise as usize]);
                    }
                }
                let roots = program.roots.iter().map(|&root| longest[root as usize]);
                roots.fold(0, u64::saturating_add)
            }
            Form::Table(merged) | Form::Value(merged) => {
                let mut most = vec![0u64; merged.places.len()];
                for (at, place) in merged.places.iter().enumerate().rev() {
                    let branches = place
                        .branches
                        .values()
                        .map(|&[l, r]| most[l as usize].max(most[r as usize]).saturating_add(1));
                    let always = place.always.iter().map(|&next| most[next as usize]);
                    most[at] = branches.chain(always).fold(0, u64::saturating_add);
                }
                most.first().copied().unwrap_or(0)
            }
        }
    }

    /// Most functions of the walk that are active at once.
    pub(crate) fn most_calls(&self) -> u64 {
        u64::from(match self {
            Form::Trees(program, _) => {
                1 + Functions::of(program).most_calls(program).into_iter().max().unwrap_or(0)
            }
            Form::Table(merged) | Form::Value(merged) => Statements::of(merged).most_calls(),
        })
    }

    /// Rectangles to which a walk adds.
    pub(crate) fn rects(&self) -> usize {
        match self {
            Form::Trees(..) | Form::Value(_) => 0,
            Form::Table(merged) => merged.rects.len(),
        }
    }
}
