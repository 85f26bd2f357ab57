//! Polynomial ridge regression (Hoerl and Kennard 1970) by the normal equations.

use std::collections::BTreeMap;

use enerinfer_hyperparam::{Space, below, log_uniform};
use linfa_linalg::cholesky::SolveC;
use ndarray::{Array1, Array2, Axis};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::forest_learner::describe;
use crate::learner::{Learner, Model};
use crate::prepare::{Core, DenseModel, Prepared, Scales};
use crate::share::{Fold, HeldOut};
use crate::{CodedMatrix, LearnError, Regressor};

/// Most terms of a polynomial; more would take minutes per fit.
const MAX_TERMS: usize = 800;

/// Polynomial ridge.
///
/// | parameter | drawn from |
/// |---|---|
/// | `degree` | 1 … 4 |
/// | `interactions` | products of features, or powers of single features only |
/// | `alpha` | 1e-8 … 10, logarithm uniform (penalty per unit of mean squared input) |
/// | `log_inputs` | `ln max(x, 1)` or `x` |
/// | `log_target` | `ln y` or `y` |
///
/// Inputs and target are standardised within the fold. Polynomials of more than 800 terms are
/// counted as diverged. Trials that differ in `alpha` alone share their normal equations.
#[derive(Clone, Copy, Debug, Default)]
pub struct PolyLearner;

/// Hyper-parameters of polynomial ridge.
#[derive(Clone, Debug, PartialEq)]
pub struct PolyParams {
    /// Highest total degree of a term, 1 to 4.
    pub degree: u32,
    /// Whether terms multiply different features.
    pub interactions: bool,
    /// L2 penalty on the coefficients, not on the intercept.
    pub alpha: f64,
    /// `ln max(x, 1)` of the inputs.
    pub log_inputs: bool,
    /// `ln y` of the target.
    pub log_target: bool,
}

impl PolyParams {
    fn shares_with(&self, other: &Self) -> bool {
        PolyParams { alpha: other.alpha, ..self.clone() } == *other
    }
}

/// Terms as lists of features, the empty product (intercept) first.
fn terms(features: usize, degree: u32, interactions: bool) -> Option<Vec<Vec<usize>>> {
    let mut all: Vec<Vec<usize>> = vec![Vec::new()];
    let mut last = all.clone();
    for _ in 0..degree {
        let mut next = Vec::new();
        for term in &last {
            let from = term.last().copied().unwrap_or(0);
            let to = if interactions || term.is_empty() { features } else { from + 1 };
            next.extend((from..to).map(|f| [term.as_slice(), &[f]].concat()));
        }
        all.extend(next.iter().cloned());
        if all.len() > MAX_TERMS {
            return None;
        }
        last = next;
    }
    Some(all)
}

fn expand(z: &Array2<f64>, terms: &[Vec<usize>]) -> Array2<f64> {
    Array2::from_shape_fn((z.nrows(), terms.len()), |(i, t)| {
        terms[t].iter().map(|&f| z[[i, f]]).product()
    })
}

struct Polynomial {
    terms: Vec<Vec<usize>>,
    coefficients: Array1<f64>,
}

impl Core for Polynomial {
    fn predict(&self, z: &Array2<f64>) -> Array1<f64> {
        expand(z, &self.terms).dot(&self.coefficients)
    }
}

/// Normal equations of one polynomial on one set of rows.
struct Normal {
    gram: Array2<f64>,
    moment: Array1<f64>,
}

impl Normal {
    fn new(prepared: &Prepared, terms: &[Vec<usize>]) -> Self {
        let design = expand(&prepared.z, terms);
        let n = design.nrows() as f64;
        let weighted = &design * &prepared.w.view().insert_axis(Axis(1));
        Normal { gram: weighted.t().dot(&design) / n, moment: weighted.t().dot(&prepared.t) / n }
    }

    /// Coefficients for a penalty; `None` if the equations are singular to working precision.
    fn solve(&self, alpha: f64) -> Option<Array1<f64>> {
        let mut gram = self.gram.clone();
        for i in 1..gram.nrows() {
            gram[[i, i]] += alpha;
        }
        let moment = self.moment.view().insert_axis(Axis(1)).to_owned();
        let solved = gram.solvec(&moment).ok()?.remove_axis(Axis(1));
        solved.iter().all(|c| c.is_finite()).then_some(solved)
    }
}

impl Space for PolyLearner {
    type Params = PolyParams;

    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> PolyParams {
        PolyParams {
            degree: 1 + below(rng, 4) as u32,
            interactions: below(rng, 2) == 1,
            alpha: log_uniform(rng, 1e-8, 10.0),
            log_inputs: below(rng, 2) == 1,
            log_target: below(rng, 2) == 1,
        }
    }

    fn describe(&self, p: &PolyParams) -> BTreeMap<String, String> {
        describe([
            ("degree", p.degree.to_string()),
            ("interactions", p.interactions.to_string()),
            ("alpha", format!("{:e}", p.alpha)),
            ("log_inputs", p.log_inputs.to_string()),
            ("log_target", p.log_target.to_string()),
        ])
    }
}

impl Learner for PolyLearner {
    fn name(&self) -> &'static str {
        "polynomial"
    }

    fn groups(&self, trials: &[PolyParams]) -> Vec<Vec<usize>> {
        crate::share::group(trials, PolyParams::shares_with)
    }

    fn evaluate(
        &self,
        group: &[&PolyParams],
        fold: Fold<'_>,
    ) -> Result<Vec<Option<HeldOut>>, LearnError> {
        let diverged = || Ok(group.iter().map(|_| None).collect());
        let Some(first) = group.first() else { return Ok(Vec::new()) };
        let Some(fit) = Fit::new(first, fold.x, fold.rows, fold.y, fold.w)? else {
            return diverged();
        };
        let z = fit.prepared.inputs(fold.x, fold.test)?;
        let design = expand(&z, &fit.terms);
        let held_out = |params: &&PolyParams| {
            let predicted = design.dot(&fit.normal.solve(params.alpha)?);
            let predictions = predicted.iter().map(|&t| fit.prepared.target(t)).collect();
            Some(HeldOut { predictions, size: None })
        };
        Ok(group.iter().map(held_out).collect())
    }

    fn fit(
        &self,
        params: &PolyParams,
        x: &CodedMatrix,
        rows: &[u32],
        y: &[f64],
        w: Option<&[f64]>,
        _seed: u64,
    ) -> Result<Model, LearnError> {
        let fit = Fit::new(params, x, rows, y, w)?.ok_or(LearnError::Diverged("poly"))?;
        let coefficients = fit.normal.solve(params.alpha).ok_or(LearnError::Diverged("poly"))?;
        let core = Polynomial { terms: fit.terms, coefficients };
        let model: Box<dyn Regressor> = Box::new(DenseModel { prepared: fit.prepared, core });
        Ok(Model::Other(model))
    }
}

/// All of a fit but the penalty.
struct Fit {
    prepared: Prepared,
    terms: Vec<Vec<usize>>,
    normal: Normal,
}

impl Fit {
    fn new(
        params: &PolyParams,
        x: &CodedMatrix,
        rows: &[u32],
        y: &[f64],
        w: Option<&[f64]>,
    ) -> Result<Option<Self>, LearnError> {
        let scales = Scales { log_inputs: params.log_inputs, log_target: params.log_target };
        let prepared = Prepared::new(x, rows, y, w, scales, usize::MAX, 0)?;
        let terms = terms(x.features().len(), params.degree, params.interactions);
        Ok(prepared.zip(terms).map(|(prepared, terms)| {
            let normal = Normal::new(&prepared, &terms);
            Fit { prepared, terms, normal }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_complete() {
        // With interactions C(F + d, d), else 1 + F·d.
        for (features, degree, all, powers) in [(3, 2, 10, 7), (9, 4, 715, 37), (2, 3, 10, 7)] {
            assert_eq!(terms(features, degree, true).map(|t| t.len()), Some(all));
            assert_eq!(terms(features, degree, false).map(|t| t.len()), Some(powers));
        }
        assert_eq!(
            terms(2, 2, true).unwrap(),
            [vec![], vec![0], vec![1], vec![0, 0], vec![0, 1], vec![1, 1]]
        );
        assert!(terms(17, 4, true).is_none());
    }
}
