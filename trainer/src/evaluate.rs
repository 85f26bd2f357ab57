//! Accuracy of compiled predictors on held-out models: what the record and its readers get.

use enerinfer_artifacts::Target;
use enerinfer_artifacts::record::{
    Combined, FrontPoint, ModelFront, ModelTau, Ranking, Regret, ScatterPoint,
};
use enerinfer_datasets::MeasurementTable;
use enerinfer_hyperparam::{Outcome, kendall_tau_b, mape_percent, pareto_front, regret};

use crate::TrainError;
use crate::predicted::{ModelTables, Predictors, measured_tables};
use crate::samples::{measured, peak_tok_per_s};

/// QoE targets of the regret table, tok/s (EnerInfer Figure 13's range).
pub(crate) const QOE_TOK_PER_S: [f64; 8] = [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0];

/// Predicted and measured tables of every held-out model.
pub(crate) struct HeldOut {
    models: Vec<HeldOutModel>,
}

struct HeldOutModel {
    name: String,
    measured: ModelTables,
    predicted: ModelTables,
    noiseless: Option<ModelTables>,
}

impl HeldOut {
    /// Predicts every model of `table` with the device's arithmetic. `noiseless` is the same
    /// table without simulated noise, where there is one.
    ///
    /// # Errors
    /// If a throughput predictor is missing.
    pub(crate) fn new(
        predictors: Predictors<'_>,
        table: &MeasurementTable,
        noiseless: Option<&MeasurementTable>,
    ) -> Result<Self, TrainError> {
        let mut models = Vec::new();
        for (m, model) in table.models.iter().enumerate() {
            let predicted = predictors
                .tables(&table.platform, model.shape.dims())
                .ok_or(TrainError::MissingPredictor)?;
            models.push(HeldOutModel {
                name: model.name.clone(),
                measured: measured_tables(table, m),
                predicted,
                noiseless: noiseless.map(|t| measured_tables(t, m)),
            });
        }
        Ok(HeldOut { models })
    }

    /// MAPE over all models and operating points of a pair of columns, where both exist.
    fn mape(
        &self,
        column: impl Fn(&ModelTables) -> Option<Vec<f64>>,
    ) -> Result<Option<f64>, TrainError> {
        let (mut predicted, mut truth) = (Vec::new(), Vec::new());
        for m in &self.models {
            let (Some(p), Some(t)) = (column(&m.predicted), column(&m.measured)) else {
                return Ok(None);
            };
            predicted.extend(p);
            truth.extend(t);
        }
        Ok(Some(mape_percent(&predicted, &truth)?))
    }

    /// Accuracy of throughput, power and efficiency.
    pub(crate) fn combined(&self) -> Result<Combined, TrainError> {
        Ok(Combined {
            throughput_mape_percent: self
                .mape(|t| Some(t.tok_per_s.clone()))?
                .ok_or(TrainError::MissingPredictor)?,
            power_mape_percent: self.mape(|t| t.power_w.clone())?,
            efficiency_mape_percent: self.mape(ModelTables::tok_per_j)?,
            monolithic_mape_percent: None,
        })
    }

    /// Tau-b per model; without power there is no efficiency to rank.
    pub(crate) fn ranking(&self) -> Result<Ranking, TrainError> {
        let mut per_model = Vec::new();
        for m in &self.models {
            let (Some(predicted), Some(measured)) =
                (m.predicted.tok_per_j(), m.measured.tok_per_j())
            else {
                per_model.push(ModelTau {
                    model: m.name.clone(),
                    kendall_tau_b: None,
                    reason: Some("no power, hence no efficiency".to_owned()),
                    kendall_tau_b_noiseless: None,
                });
                continue;
            };
            let tau = kendall_tau_b(&predicted, &measured)?;
            let noiseless = match m.noiseless.as_ref().and_then(ModelTables::tok_per_j) {
                Some(truth) => kendall_tau_b(&predicted, &truth)?.kendall_tau_b,
                None => None,
            };
            per_model.push(ModelTau {
                model: m.name.clone(),
                kendall_tau_b: tau.kendall_tau_b,
                reason: tau.reason().map(str::to_owned),
                kendall_tau_b_noiseless: noiseless,
            });
        }
        let defined: Vec<f64> = per_model.iter().filter_map(|m| m.kendall_tau_b).collect();
        let noiseless: Vec<f64> =
            per_model.iter().filter_map(|m| m.kendall_tau_b_noiseless).collect();
        Ok(Ranking {
            mean_tau_b: mean(&defined),
            median_tau_b: quantile(&defined, 0.5),
            p10_tau_b: quantile(&defined, 0.1),
            mean_tau_b_noiseless: mean(&noiseless),
            per_model,
        })
    }

    /// Regret of acting on predictions, per QoE; empty without power.
    pub(crate) fn regret(&self) -> Result<Vec<Regret>, TrainError> {
        let mut out = Vec::new();
        for qoe_tok_per_s in QOE_TOK_PER_S {
            let Some(measured) = self.outcomes(qoe_tok_per_s, |m| Some(&m.measured))? else {
                return Ok(Vec::new());
            };
            let noiseless = self.outcomes(qoe_tok_per_s, |m| m.noiseless.as_ref())?;
            // A point that misses the QoE may be more efficient; that is no gain.
            let losses = |outcomes: &[Outcome]| -> Vec<f64> {
                outcomes.iter().map(|o| o.loss_percent.max(0.0)).collect()
            };
            let lost = losses(&measured);
            out.push(Regret {
                qoe_tok_per_s,
                mean_percent: mean(&lost),
                worst_percent: lost.iter().copied().reduce(f64::max),
                reachable_models: measured.len() as u32,
                violations: measured.iter().filter(|o| o.violation).count() as u32,
                mean_percent_noiseless: noiseless.and_then(|o| mean(&losses(&o))),
            });
        }
        Ok(out)
    }

    /// Choices by prediction for a QoE, judged by `truth`, for the models that can reach it;
    /// `None` where some model has no such truth or no power.
    fn outcomes(
        &self,
        qoe_tok_per_s: f64,
        truth: impl Fn(&HeldOutModel) -> Option<&ModelTables>,
    ) -> Result<Option<Vec<Outcome>>, TrainError> {
        let mut out = Vec::new();
        for m in &self.models {
            let Some(truth) = truth(m) else { return Ok(None) };
            let (Some(predicted_e), Some(true_e)) = (m.predicted.tok_per_j(), truth.tok_per_j())
            else {
                return Ok(None);
            };
            let (predicted_r, true_r) = (&m.predicted.tok_per_s, &truth.tok_per_s);
            out.extend(regret(predicted_r, &predicted_e, true_r, &true_e, qoe_tok_per_s)?);
        }
        Ok(Some(out))
    }

    /// Every held-out value beside its prediction.
    pub(crate) fn scatter(&self, table: &MeasurementTable) -> Vec<ScatterPoint> {
        let clocks = &table.platform.clocks;
        let mut out = Vec::new();
        for (i, m) in self.models.iter().enumerate() {
            for (u, point) in clocks.points().enumerate() {
                out.push(ScatterPoint {
                    model: i as u32,
                    point,
                    measured_tok_per_s: m.measured.tok_per_s[u],
                    predicted_tok_per_s: m.predicted.tok_per_s[u],
                    measured_w: m.measured.power_w.as_ref().map(|p| p[u]),
                    predicted_w: m.predicted.power_w.as_ref().map(|p| p[u]),
                });
            }
        }
        out
    }

    /// Fronts of the model whose tau-b is the median: neither the best nor the worst to show.
    pub(crate) fn median_front(
        &self,
        ranking: &Ranking,
        table: &MeasurementTable,
    ) -> Vec<ModelFront> {
        let mut ranked: Vec<(f64, usize)> = ranking
            .per_model
            .iter()
            .enumerate()
            .filter_map(|(i, m)| Some((m.kendall_tau_b?, i)))
            .collect();
        ranked.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let Some(&(_, median)) = ranked.get(ranked.len() / 2) else { return Vec::new() };
        let m = &self.models[median];
        let (Some(measured_e), Some(predicted_e)) =
            (m.measured.tok_per_j(), m.predicted.tok_per_j())
        else {
            return Vec::new();
        };
        let measured_front = pareto_front(&m.measured.tok_per_s, &measured_e);
        let predicted_front = pareto_front(&m.predicted.tok_per_s, &predicted_e);
        let points = table
            .platform
            .clocks
            .points()
            .enumerate()
            .map(|(u, point)| FrontPoint {
                point,
                measured_tok_per_s: m.measured.tok_per_s[u],
                measured_tok_per_j: measured_e[u],
                predicted_tok_per_s: m.predicted.tok_per_s[u],
                predicted_tok_per_j: predicted_e[u],
                on_measured_front: measured_front.contains(&u),
                on_predicted_front: predicted_front.contains(&u),
            })
            .collect();
        vec![ModelFront { model: m.name.clone(), points }]
    }
}

/// MAPE of one compiled predictor on the models of `table`, %.
///
/// # Errors
/// If a score has no value.
pub(crate) fn target_mape_percent(
    predictors: Predictors<'_>,
    target: Target,
    table: &MeasurementTable,
) -> Result<f64, TrainError> {
    let clocks = &table.platform.clocks;
    let highest = clocks.index(clocks.highest());
    let (mut predicted, mut truth) = (Vec::new(), Vec::new());
    for (m, model) in table.models.iter().enumerate() {
        let values = predictors
            .target(target, &table.platform, model.shape.dims())
            .ok_or(TrainError::MissingPredictor)?;
        let peak = peak_tok_per_s(table, m);
        for (u, row) in table.rows_of(m).iter().enumerate() {
            if target == Target::Peak && u != highest {
                continue;
            }
            if let Some(value) = measured(target, row, peak) {
                predicted.push(values[u]);
                truth.push(value);
            }
        }
    }
    Ok(mape_percent(&predicted, &truth)?)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Quantile with linear interpolation between order statistics (type 7).
fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let at = q * last as f64;
    let below = sorted[at.floor() as usize];
    let above = sorted[at.ceil() as usize];
    Some(below + (above - below) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[3.0], 0.1), Some(3.0));
        assert_eq!(quantile(&[4.0, 1.0, 2.0], 0.5), Some(2.0));
        assert_eq!(quantile(&[1.0, 2.0], 0.1), Some(1.1));
    }
}
