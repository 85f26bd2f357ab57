//! Scores of predictions over a set of models.

use enerinfer_artifacts::exhibit::FiveNumbers;
use enerinfer_hyperparam::{kendall_tau_b, mape_percent};

use super::{FigureError, JudgedModel, Tables, mean};

/// Accuracy over a set of models and all operating points.
#[derive(Clone, Debug)]
pub(super) struct Scores {
    /// Throughput MAPE against measured values, %.
    pub(super) throughput_percent: f64,
    /// Power MAPE, %.
    pub(super) power_percent: f64,
    /// Efficiency MAPE, %.
    pub(super) efficiency_percent: f64,
    /// Tau-b of each model against the measured table, where it is defined.
    pub(super) tau: Vec<f64>,
    /// Tau-b of each model against the noiseless table, where it is defined.
    pub(super) tau_noiseless: Vec<f64>,
}

impl Scores {
    /// Of `models`; `None` without any.
    pub(super) fn of<'a>(
        models: impl IntoIterator<Item = &'a JudgedModel>,
    ) -> Result<Option<Self>, FigureError> {
        let models: Vec<&JudgedModel> = models.into_iter().collect();
        if models.is_empty() {
            return Ok(None);
        }
        let mape = |column: fn(&Tables) -> Vec<f64>| -> Result<f64, FigureError> {
            let all = |tables: fn(&JudgedModel) -> &Tables| -> Vec<f64> {
                models.iter().flat_map(|m| column(tables(m))).collect()
            };
            Ok(mape_percent(&all(|m| &m.predicted), &all(|m| &m.measured))?)
        };
        let taus = |truth: fn(&JudgedModel) -> &Tables| -> Result<Vec<f64>, FigureError> {
            let mut out = Vec::new();
            for m in &models {
                let tau = kendall_tau_b(&m.predicted.tok_per_j(), &truth(m).tok_per_j())?;
                out.extend(tau.kendall_tau_b);
            }
            Ok(out)
        };
        Ok(Some(Scores {
            throughput_percent: mape(|t| t.tok_per_s.clone())?,
            power_percent: mape(|t| t.power_w.clone())?,
            efficiency_percent: mape(Tables::tok_per_j)?,
            tau: taus(|m| &m.measured)?,
            tau_noiseless: taus(|m| &m.noiseless)?,
        }))
    }

    /// Mean tau-b against measured tables.
    pub(super) fn mean_tau(&self) -> Option<f64> {
        mean(self.tau.iter().copied())
    }

    /// Mean tau-b against noiseless tables.
    pub(super) fn mean_tau_noiseless(&self) -> Option<f64> {
        mean(self.tau_noiseless.iter().copied())
    }

    /// Distribution of tau-b against measured tables.
    pub(super) fn tau_summary(&self) -> Option<FiveNumbers> {
        FiveNumbers::of(&self.tau)
    }
}
