//! Which of the figures to reach are reached.

use enerinfer_artifacts::exhibit::{Column, DataTable, Exhibit, Provenance};
use enerinfer_device::SimulatedDevice;

use super::scores::Scores;
use super::{FigureError, Judged, device_name, headline, qoe};

/// Largest mean efficiency loss against the oracle, %.
const MEAN_LOSS_PERCENT: f64 = 2.0;

/// One goal of a device.
struct Goal {
    what: &'static str,
    /// Whether the value must be at least the goal rather than at most.
    at_least: bool,
    /// Published by the paper; else set by this project.
    published: bool,
    goal: f64,
    ours: Option<f64>,
}

impl Goal {
    fn rule(&self) -> String {
        let than = if self.at_least { "≥" } else { "≤" };
        if self.published {
            format!("{than} paper's")
        } else {
            format!("{than} {} (ours)", self.goal)
        }
    }

    fn met(&self) -> &'static str {
        match self.ours {
            None => "no value",
            Some(v) if self.at_least && v >= self.goal => "yes",
            Some(v) if !self.at_least && v <= self.goal => "yes",
            Some(_) => "no",
        }
    }
}

pub(super) fn exhibit(judged: &[Judged]) -> Result<Exhibit, FigureError> {
    let mut tables = Vec::new();
    for j in judged {
        let mut goals = Vec::new();
        let published = headline::of(j.platform());
        let synthetic = Scores::of(&j.held_out)?;
        let real = Scores::of(j.papers_llms())?;
        let mut add = |what, at_least, goal: Option<f64>, ours: Option<f64>| {
            if let Some(goal) = goal {
                goals.push(Goal { what, at_least, published: true, goal, ours });
            }
        };
        let of = |scores: &Option<Scores>, value: fn(&Scores) -> Option<f64>| {
            scores.as_ref().and_then(value)
        };
        add(
            "throughput MAPE, synthetic models, %",
            false,
            published.throughput_percent,
            of(&synthetic, |s| Some(s.throughput_percent)),
        );
        add(
            "power MAPE, synthetic models, %",
            false,
            published.power_percent,
            of(&synthetic, |s| Some(s.power_percent)),
        );
        add(
            "throughput MAPE, the paper's LLMs, %",
            false,
            published.real_throughput_percent,
            of(&real, |s| Some(s.throughput_percent)),
        );
        add(
            "power MAPE, the paper's LLMs, %",
            false,
            published.real_power_percent,
            of(&real, |s| Some(s.power_percent)),
        );
        add("tau-b, the paper's LLMs", true, published.real_tau, of(&real, Scores::mean_tau));
        add(
            "tau-b, the paper's LLMs, noiseless",
            true,
            published.real_tau,
            of(&real, Scores::mean_tau_noiseless),
        );
        // Trees do not extrapolate: below the synthetic sizes they repeat the edge of their range.
        for (what, scores) in [
            (
                "tau-b, dense LLMs of the synthetic sizes, noiseless",
                Scores::of(j.dense_in_range())?,
            ),
            ("tau-b, all dense LLMs, noiseless", Scores::of(j.dense())?),
        ] {
            add(what, true, published.real_tau, of(&scores, Scores::mean_tau_noiseless));
        }
        let regret = qoe::regret(j);
        for (what, goal, ours) in [
            ("mean loss against the oracle, %", MEAN_LOSS_PERCENT, regret.mean_loss_percent),
            ("QoE missed after feedback, cases", 0.0, Some(regret.violations_after as f64)),
        ] {
            goals.push(Goal { what, at_least: false, published: false, goal, ours });
        }
        tables.push(table(&j.device, &goals));
    }
    Ok(Exhibit {
        id: "goals".to_owned(),
        title: "Goals".to_owned(),
        source: "EnerInfer §4.2, §4.3, §4.6, §6.1, §6.2".to_owned(),
        caption: "The paper's accuracy on its hardware is the goal for ours on simulated devices. \
                  At 1 % measurement noise a perfect predictor reaches a tau-b of about 0.95, so \
                  tau-b is also scored against noiseless tables."
            .to_owned(),
        tables,
        charts: Vec::new(),
    })
}

fn table(device: &SimulatedDevice, goals: &[Goal]) -> DataTable {
    DataTable {
        id: format!("goals_{}", device.platform().name),
        caption: device_name(device),
        columns: vec![
            Column::key("Quantity", goals.iter().map(|g| g.what)),
            Column::key("Must be", goals.iter().map(Goal::rule)),
            Column::optional(
                "Goal",
                "",
                Provenance::Published,
                2,
                goals.iter().map(|g| g.published.then_some(g.goal)),
            ),
            Column::optional("Ours", "", Provenance::Simulated, 3, goals.iter().map(|g| g.ours)),
            Column::text("Met", Provenance::Compared, goals.iter().map(Goal::met)),
        ],
    }
}
