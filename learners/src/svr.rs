//! ε-support-vector regression (Smola and Schölkopf 2003), by smartcore.

use std::collections::BTreeMap;

use enerinfer_hyperparam::{Space, below, log_uniform};
use rand_xoshiro::Xoshiro256PlusPlus;
use smartcore::linalg::basic::matrix::DenseMatrix;
use smartcore::svm::Kernels;
use smartcore::svm::svr::{SVR, SVRParameters};

use crate::forest_learner::describe;
use crate::learner::{Learner, Model};
use crate::prepare::{Prepared, Scales};
use crate::share::{Fold, HeldOut};
use crate::{CodedMatrix, LearnError, Regressor};

/// ε-SVR.
///
/// | parameter | drawn from |
/// |---|---|
/// | `kernel` | linear; RBF; polynomial of degree 2 or 3 |
/// | `c` | 0.01 … 1000, logarithm uniform |
/// | `epsilon` | 0.001 … 0.3 standard deviations of the target, logarithm uniform |
/// | `gamma` | 0.1 … 10 times 1 / number of features, logarithm uniform |
/// | `log_inputs` | `ln max(x, 1)` or `x` |
/// | `log_target` | `ln y` or `y` |
///
/// Inputs and target are standardised within the fold, so the unit of a feature changes nothing.
/// Sample weights are not used: smartcore's SVR has none; with `log_target` errors are relative
/// all the same. The solver stops after 50,000 steps, converged or not.
#[derive(Clone, Copy, Debug)]
pub struct SvrLearner {
    /// Most training rows per fit; larger sets are sampled, for the solver keeps a matrix of
    /// rows × rows.
    pub max_rows: usize,
}

/// Kernel of the SVR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SvrKernel {
    /// Scalar product.
    Linear,
    /// Radial basis functions.
    Rbf,
    /// `(gamma · ⟨x, y⟩ + 1)^degree`.
    Polynomial {
        /// The exponent.
        degree: u32,
    },
}

/// Hyper-parameters of an ε-SVR.
#[derive(Clone, Debug, PartialEq)]
pub struct SvrParams {
    /// The kernel.
    pub kernel: SvrKernel,
    /// Penalty of errors beyond `epsilon`.
    pub c: f64,
    /// Half width of the tube without penalty, in standard deviations of the target.
    pub epsilon: f64,
    /// Scale of the kernel, times 1 / number of features; without effect on the linear one.
    pub gamma: f64,
    /// `ln max(x, 1)` of the inputs.
    pub log_inputs: bool,
    /// `ln y` of the target.
    pub log_target: bool,
}

impl SvrParams {
    fn parameters(&self, features: usize) -> SVRParameters<f64> {
        let gamma = self.gamma / features as f64;
        let kernel = match self.kernel {
            SvrKernel::Linear => Kernels::Linear,
            SvrKernel::Rbf => Kernels::RBF { gamma: Some(gamma) },
            SvrKernel::Polynomial { degree } => Kernels::Polynomial {
                degree: Some(f64::from(degree)),
                gamma: Some(gamma),
                coef0: Some(1.0),
            },
        };
        SVRParameters::default().with_c(self.c).with_eps(self.epsilon).with_kernel(kernel)
    }
}

impl Space for SvrLearner {
    type Params = SvrParams;

    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> SvrParams {
        let kernel = match below(rng, 4) {
            0 => SvrKernel::Linear,
            1 | 2 => SvrKernel::Rbf,
            _ => SvrKernel::Polynomial { degree: 2 + below(rng, 2) as u32 },
        };
        let gamma = log_uniform(rng, 0.1, 10.0);
        SvrParams {
            kernel,
            c: log_uniform(rng, 0.01, 1000.0),
            epsilon: log_uniform(rng, 0.001, 0.3),
            gamma: if kernel == SvrKernel::Linear { 1.0 } else { gamma },
            log_inputs: below(rng, 2) == 1,
            log_target: below(rng, 2) == 1,
        }
    }

    fn describe(&self, p: &SvrParams) -> BTreeMap<String, String> {
        let kernel = match p.kernel {
            SvrKernel::Linear => "linear".to_owned(),
            SvrKernel::Rbf => "rbf".to_owned(),
            SvrKernel::Polynomial { degree } => format!("poly{degree}"),
        };
        describe([
            ("kernel", kernel),
            ("c", format!("{:e}", p.c)),
            ("epsilon", format!("{:e}", p.epsilon)),
            ("gamma", format!("{:e}", p.gamma)),
            ("log_inputs", p.log_inputs.to_string()),
            ("log_target", p.log_target.to_string()),
        ])
    }
}

impl Learner for SvrLearner {
    fn name(&self) -> &'static str {
        "svr"
    }

    fn evaluate(
        &self,
        group: &[&SvrParams],
        fold: Fold<'_>,
    ) -> Result<Vec<Option<HeldOut>>, LearnError> {
        let evaluate = |params: &&SvrParams| -> Result<Option<HeldOut>, LearnError> {
            let Some(model) = Svr::new(params, fold, self.max_rows)? else { return Ok(None) };
            let predictions = model.predict(fold.x, fold.test).ok();
            Ok(predictions.map(|predictions| HeldOut { predictions, size: None }))
        };
        group.iter().map(evaluate).collect()
    }

    fn fit(
        &self,
        params: &SvrParams,
        x: &CodedMatrix,
        rows: &[u32],
        y: &[f64],
        w: Option<&[f64]>,
        seed: u64,
    ) -> Result<Model, LearnError> {
        let fold = Fold { x, rows, y, w, test: &[], seed };
        let model = Svr::new(params, fold, self.max_rows)?.ok_or(LearnError::Diverged("svr"))?;
        Ok(Model::Other(Box::new(model)))
    }
}

/// A machine with what it is trained from: smartcore's fitted SVR borrows its parameters and
/// cannot be kept beside them, so each call of `predict` solves once, for all of its rows.
struct Svr {
    prepared: Prepared,
    z: DenseMatrix<f64>,
    t: Vec<f64>,
    parameters: SVRParameters<f64>,
}

impl Svr {
    /// `None` if a logarithm does not exist.
    fn new(
        params: &SvrParams,
        fold: Fold<'_>,
        max_rows: usize,
    ) -> Result<Option<Self>, LearnError> {
        let scales = Scales { log_inputs: params.log_inputs, log_target: params.log_target };
        let Fold { x, rows, y, w, seed, .. } = fold;
        let prepared = Prepared::new(x, rows, y, w, scales, max_rows, seed)?;
        let Some(prepared) = prepared else { return Ok(None) };
        let z = dense(&prepared.z)?;
        let t = prepared.t.to_vec();
        let parameters = params.parameters(x.features().len());
        Ok(Some(Svr { prepared, z, t, parameters }))
    }
}

impl Regressor for Svr {
    fn predict(&self, x: &CodedMatrix, rows: &[u32]) -> Result<Vec<f64>, LearnError> {
        // smartcore takes a matrix of one row for a vector and panics: such a row goes in twice.
        let twice: &[u32] = if let [row] = rows { &[*row, *row] } else { rows };
        let new = self.prepared.inputs(x, twice)?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let new = dense(&new)?;
        let svr = SVR::fit(&self.z, &self.t, &self.parameters)
            .map_err(|_| LearnError::Diverged("svr"))?;
        let predicted = svr.predict(&new).map_err(|_| LearnError::Diverged("svr"))?;
        Ok(predicted.into_iter().take(rows.len()).map(|t| self.prepared.target(t)).collect())
    }
}

fn dense(z: &ndarray::Array2<f64>) -> Result<DenseMatrix<f64>, LearnError> {
    let values = z.iter().copied().collect();
    DenseMatrix::new(z.nrows(), z.ncols(), values, false).map_err(|_| LearnError::Diverged("svr"))
}
