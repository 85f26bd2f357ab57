//! Multilayer perceptron, trained with L-BFGS (argmin) on the whole batch.

use std::cell::{Ref, RefCell};
use std::collections::BTreeMap;

use argmin::core::{CostFunction, Executor, Gradient};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use enerinfer_hyperparam::{Space, below, log_uniform, log_uniform_int, unit};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::forest_learner::{choose, describe};
use crate::learner::{Learner, Model};
use crate::prepare::{Core, DenseModel, Prepared, Scales};
use crate::share::{Fold, HeldOut};
use crate::{CodedMatrix, LearnError};

/// Multilayer perceptrons.
///
/// | parameter | drawn from |
/// |---|---|
/// | `layers` | 1 … 3 hidden layers of one width |
/// | `width` | 4 … 48 units, logarithm uniform |
/// | `activation` | tanh, ReLU |
/// | `alpha` | 1e-7 … 0.1, logarithm uniform (L2 penalty on the weights, not on the biases) |
/// | `max_iterations` | 50, 100, 200 of L-BFGS |
/// | `log_inputs` | `ln max(x, 1)` or `x` |
/// | `log_target` | `ln y` or `y` |
///
/// Inputs and target are standardised within the fold. A fit whose numbers leave the finite range
/// counts as diverged.
#[derive(Clone, Copy, Debug)]
pub struct MlpLearner {
    /// Most training rows per fit in the search; larger folds are sampled. The final fit sees all.
    pub max_rows: usize,
}

/// Activation of the hidden layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// Hyperbolic tangent.
    Tanh,
    /// Rectified linear unit.
    Relu,
}

/// Hyper-parameters of a perceptron.
#[derive(Clone, Debug, PartialEq)]
pub struct MlpParams {
    /// Hidden layers.
    pub layers: u32,
    /// Units of each.
    pub width: u32,
    /// Their activation.
    pub activation: Activation,
    /// L2 penalty.
    pub alpha: f64,
    /// Iterations of L-BFGS.
    pub max_iterations: u32,
    /// `ln max(x, 1)` of the inputs.
    pub log_inputs: bool,
    /// `ln y` of the target.
    pub log_target: bool,
}

impl Space for MlpLearner {
    type Params = MlpParams;

    fn draw(&self, rng: &mut Xoshiro256PlusPlus) -> MlpParams {
        MlpParams {
            layers: 1 + below(rng, 3) as u32,
            width: log_uniform_int(rng, 4, 48),
            activation: choose(rng, &[Activation::Tanh, Activation::Relu]),
            alpha: log_uniform(rng, 1e-7, 0.1),
            max_iterations: choose(rng, &[50, 100, 200]),
            log_inputs: below(rng, 2) == 1,
            log_target: below(rng, 2) == 1,
        }
    }

    fn describe(&self, p: &MlpParams) -> BTreeMap<String, String> {
        let activation = match p.activation {
            Activation::Tanh => "tanh",
            Activation::Relu => "relu",
        };
        describe([
            ("layers", p.layers.to_string()),
            ("width", p.width.to_string()),
            ("activation", activation.to_owned()),
            ("alpha", format!("{:e}", p.alpha)),
            ("max_iterations", p.max_iterations.to_string()),
            ("log_inputs", p.log_inputs.to_string()),
            ("log_target", p.log_target.to_string()),
        ])
    }
}

impl Learner for MlpLearner {
    fn name(&self) -> &'static str {
        "mlp"
    }

    fn evaluate(
        &self,
        group: &[&MlpParams],
        fold: Fold<'_>,
    ) -> Result<Vec<Option<HeldOut>>, LearnError> {
        let evaluate = |params: &&MlpParams| -> Result<Option<HeldOut>, LearnError> {
            let Some(model) = train(params, fold, self.max_rows)? else { return Ok(None) };
            let predictions = crate::Regressor::predict(&model, fold.x, fold.test)?;
            Ok(Some(HeldOut { predictions, size: None }))
        };
        group.iter().map(evaluate).collect()
    }

    fn fit(
        &self,
        params: &MlpParams,
        x: &CodedMatrix,
        rows: &[u32],
        y: &[f64],
        w: Option<&[f64]>,
        seed: u64,
    ) -> Result<Model, LearnError> {
        let fold = Fold { x, rows, y, w, test: &[], seed };
        let model = train(params, fold, usize::MAX)?.ok_or(LearnError::Diverged("mlp"))?;
        Ok(Model::Other(Box::new(model)))
    }
}

/// `None` if the fit diverged.
fn train(
    params: &MlpParams,
    fold: Fold<'_>,
    max_rows: usize,
) -> Result<Option<DenseModel<Network>>, LearnError> {
    let scales = Scales { log_inputs: params.log_inputs, log_target: params.log_target };
    let Fold { x, rows, y, w, seed, .. } = fold;
    let Some(prepared) = Prepared::new(x, rows, y, w, scales, max_rows, seed)? else {
        return Ok(None);
    };
    let mut sizes = vec![x.features().len()];
    sizes.extend((0..params.layers).map(|_| params.width as usize));
    sizes.push(1);
    let shape = Shape { sizes, activation: params.activation };
    let start = shape.initial(seed);
    let objective = Objective::new(&shape, &prepared, params.alpha);
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 10);
    let result = Executor::new(objective, solver)
        .configure(|state| state.param(start).max_iters(u64::from(params.max_iterations)))
        .run();
    // A line search that finds no descent ends the run with an error: the fit has diverged.
    let best = result.ok().and_then(|mut run| run.state.take_best_param());
    let Some(weights) = best.filter(|p| p.iter().all(|v| v.is_finite())) else {
        return Ok(None);
    };
    Ok(Some(DenseModel { core: Network { shape, weights }, prepared }))
}

/// Layer sizes and activation.
struct Shape {
    sizes: Vec<usize>,
    activation: Activation,
}

/// One layer's part of the parameter vector.
struct Layer<'a> {
    weights: ArrayView2<'a, f64>,
    biases: ArrayView1<'a, f64>,
}

impl Shape {
    /// Ranges of weights and biases of each layer, `(start, inputs, outputs)`.
    fn layers(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        let mut start = 0;
        self.sizes.windows(2).map(move |w| {
            let layer = (start, w[0], w[1]);
            start += (w[0] + 1) * w[1];
            layer
        })
    }

    fn len(&self) -> usize {
        self.sizes.windows(2).map(|w| (w[0] + 1) * w[1]).sum()
    }

    /// Uniform weights with variance 2/(in + out) (Glorot and Bengio 2010), biases zero.
    fn initial(&self, seed: u64) -> Vec<f64> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut params = vec![0.0; self.len()];
        for (start, inputs, outputs) in self.layers() {
            let limit = (6.0 / (inputs + outputs) as f64).sqrt();
            for p in &mut params[start..start + inputs * outputs] {
                *p = limit * (2.0 * unit(&mut rng) - 1.0);
            }
        }
        params
    }

    fn layer<'a>(&self, params: &'a [f64], at: (usize, usize, usize)) -> Layer<'a> {
        let (start, inputs, outputs) = at;
        let (weights, rest) = params[start..].split_at(inputs * outputs);
        let weights = ArrayView2::from_shape((inputs, outputs), weights)
            .unwrap_or_else(|_| unreachable!("the slice has inputs · outputs numbers"));
        Layer { weights, biases: ArrayView1::from(&rest[..outputs]) }
    }

    /// Outputs of every layer, the input first.
    fn forward(&self, params: &[f64], z: &Array2<f64>) -> Vec<Array2<f64>> {
        let mut outputs = vec![z.clone()];
        let last = self.sizes.len() - 2;
        for (i, at) in self.layers().enumerate() {
            let layer = self.layer(params, at);
            let mut out = outputs[i].dot(&layer.weights) + layer.biases;
            if i < last {
                match self.activation {
                    Activation::Tanh => out.mapv_inplace(f64::tanh),
                    Activation::Relu => out.mapv_inplace(|v| v.max(0.0)),
                }
            }
            outputs.push(out);
        }
        outputs
    }
}

struct Network {
    shape: Shape,
    weights: Vec<f64>,
}

impl Core for Network {
    fn predict(&self, z: &Array2<f64>) -> Array1<f64> {
        let mut outputs = self.shape.forward(&self.weights, z);
        outputs.pop().map_or_else(|| Array1::zeros(0), |out| out.remove_axis(Axis(1)))
    }
}

/// Half the weighted mean squared error plus the penalty.
struct Objective<'a> {
    shape: &'a Shape,
    prepared: &'a Prepared,
    alpha: f64,
    /// Parameters of the last evaluation and the outputs of every layer: the line search asks for
    /// cost and gradient at the same point, one after the other.
    last: RefCell<(Vec<f64>, Vec<Array2<f64>>)>,
}

impl<'a> Objective<'a> {
    fn new(shape: &'a Shape, prepared: &'a Prepared, alpha: f64) -> Self {
        Objective { shape, prepared, alpha, last: RefCell::default() }
    }

    /// Outputs of every layer for all training rows.
    fn outputs(&self, params: &[f64]) -> Ref<'_, [Array2<f64>]> {
        if self.last.borrow().0 != params {
            *self.last.borrow_mut() =
                (params.to_vec(), self.shape.forward(params, &self.prepared.z));
        }
        Ref::map(self.last.borrow(), |last| &last.1[..])
    }

    fn penalised<'b>(&'b self, params: &'b [f64]) -> impl Iterator<Item = f64> + 'b {
        self.shape.layers().flat_map(|(start, inputs, outputs)| {
            params[start..start + inputs * outputs].iter().copied()
        })
    }
}

impl CostFunction for Objective<'_> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, params: &Vec<f64>) -> Result<f64, argmin::core::Error> {
        let outputs = self.outputs(params);
        let predicted = outputs[outputs.len() - 1].column(0);
        let n = self.prepared.t.len() as f64;
        let error: f64 = predicted
            .iter()
            .zip(&self.prepared.t)
            .zip(&self.prepared.w)
            .map(|((p, t), w)| w * (p - t) * (p - t))
            .sum();
        let squares: f64 = self.penalised(params).map(|p| p * p).sum();
        Ok(0.5 * (error / n + self.alpha * squares))
    }
}

impl Gradient for Objective<'_> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, params: &Vec<f64>) -> Result<Vec<f64>, argmin::core::Error> {
        let outputs = self.outputs(params);
        let n = self.prepared.t.len() as f64;
        let predicted = outputs[outputs.len() - 1].column(0);
        let mut delta =
            ((&predicted - &self.prepared.t) * &self.prepared.w / n).insert_axis(Axis(1));
        let mut gradient = vec![0.0; params.len()];
        let layers: Vec<_> = self.shape.layers().collect();
        for (i, &at) in layers.iter().enumerate().rev() {
            let (start, inputs, outs) = at;
            let layer = self.shape.layer(params, at);
            let weights = outputs[i].t().dot(&delta) + self.alpha * &layer.weights;
            for (g, v) in gradient[start..].iter_mut().zip(&weights) {
                *g = *v;
            }
            for (g, v) in gradient[start + inputs * outs..].iter_mut().zip(delta.sum_axis(Axis(0)))
            {
                *g = v;
            }
            if i > 0 {
                let slope = |v: f64| match self.shape.activation {
                    Activation::Tanh => 1.0 - v * v,
                    Activation::Relu => f64::from(u8::from(v > 0.0)),
                };
                delta = delta.dot(&layer.weights.t()) * outputs[i].mapv(slope);
            }
        }
        Ok(gradient)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use enerinfer_artifacts::Feature;

    #[test]
    fn the_gradient_is_that_of_the_cost() {
        let x = CodedMatrix::new(
            vec![Feature::Layers, Feature::Heads],
            vec![(0..20).map(|i| i * 7 % 13).collect(), (0..20).map(|i| i * 5 % 11).collect()],
        )
        .unwrap();
        let rows: Vec<u32> = (0..20).collect();
        let y: Vec<f64> = (0..20).map(|i| f64::from(i * 3 % 7) + 1.0).collect();
        let w: Vec<f64> = (0..20).map(|i| 1.0 + f64::from(i % 3)).collect();
        let scales = Scales { log_inputs: false, log_target: false };
        let prepared = Prepared::new(&x, &rows, &y, Some(&w), scales, 99, 0).unwrap().unwrap();
        for activation in [Activation::Tanh, Activation::Relu] {
            let shape = Shape { sizes: vec![2, 4, 3, 1], activation };
            let objective = Objective::new(&shape, &prepared, 0.1);
            let params: Vec<f64> = shape.initial(3).iter().map(|p| p + 0.05).collect();
            let gradient = objective.gradient(&params).unwrap();
            for i in 0..params.len() {
                let moved = |by: f64| {
                    let mut p = params.clone();
                    p[i] += by;
                    objective.cost(&p).unwrap()
                };
                let numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((gradient[i] - numeric).abs() < 1e-7, "{activation:?} {i}");
            }
        }
    }
}
