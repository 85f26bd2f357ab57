//! Which of the figures to reach are reached.

use enerinfer_artifacts::exhibit::{Column, DataTable, Exhibit, Provenance};

use super::scores::Scores;
use super::{FigureError, Judged, device_name, headline, qoe};

/// Largest mean efficiency loss against the oracle, %.
const MEAN_LOSS_PERCENT: f64 = 2.0;

/// One goal of one device.
struct Goal {
    device: String,
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
        let than = if self.at_least { "at least" } else { "at most" };
        if self.published {
            format!("{than} the paper's")
        } else {
            format!("{than} {} (this project's goal)", self.goal)
        }
    }

    fn met(&self) -> &'static str {
        match self.ours {
            None => "not measured",
            Some(v) if self.at_least && v >= self.goal => "met",
            Some(v) if !self.at_least && v <= self.goal => "met",
            Some(_) => "missed",
        }
    }
}

pub(super) fn exhibit(judged: &[Judged]) -> Result<Exhibit, FigureError> {
    let mut goals = Vec::new();
    for j in judged {
        let published = headline::of(j.platform());
        let synthetic = Scores::of(&j.held_out)?;
        let real = Scores::of(j.papers_llms())?;
        let mut add = |what, at_least, goal: Option<f64>, ours: Option<f64>| {
            if let Some(goal) = goal {
                let device = device_name(&j.device);
                goals.push(Goal { device, what, at_least, published: true, goal, ours });
            }
        };
        let of = |scores: &Option<Scores>, value: fn(&Scores) -> Option<f64>| {
            scores.as_ref().and_then(value)
        };
        add(
            "throughput MAPE, held-out synthetic models, %",
            false,
            published.throughput_percent,
            of(&synthetic, |s| Some(s.throughput_percent)),
        );
        add(
            "power MAPE, held-out synthetic models, %",
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
            "tau-b, the paper's LLMs, against noiseless tables",
            true,
            published.real_tau,
            of(&real, Scores::mean_tau_noiseless),
        );
        let all = Scores::of(j.dense())?;
        add(
            "tau-b, all dense LLMs below 7 B, against noiseless tables",
            true,
            published.real_tau,
            of(&all, Scores::mean_tau_noiseless),
        );
        let regret = qoe::regret(j);
        for (what, goal, ours) in [
            (
                "mean efficiency lost against the oracle, %",
                MEAN_LOSS_PERCENT,
                regret.mean_loss_percent,
            ),
            (
                "QoE targets missed after feedback, of those that Default meets",
                0.0,
                Some(regret.violations_after as f64),
            ),
        ] {
            let device = device_name(&j.device);
            goals.push(Goal { device, what, at_least: false, published: false, goal, ours });
        }
    }
    let table = DataTable {
        id: "goals_table".to_owned(),
        caption: "Goals and what was reached".to_owned(),
        columns: vec![
            Column::key("Device", goals.iter().map(|g| g.device.clone())),
            Column::key("Quantity", goals.iter().map(|g| g.what)),
            Column::key("Must be", goals.iter().map(Goal::rule)),
            Column::optional(
                "Goal",
                "",
                Provenance::Published,
                2,
                goals.iter().map(|g| g.published.then_some(g.goal)),
            ),
            Column::optional("Reached", "", Provenance::Simulated, 3, goals.iter().map(|g| g.ours)),
            Column::text("Verdict", Provenance::Compared, goals.iter().map(Goal::met)),
        ],
    };
    Ok(Exhibit {
        id: "goals".to_owned(),
        title: "Goals".to_owned(),
        source: "EnerInfer §4.2, §4.3, §4.6, §6.1, §6.2".to_owned(),
        caption: "The paper's accuracy on its hardware is the goal for ours on simulated devices. \
                  At 1 % measurement noise a perfect predictor reaches a tau-b of about 0.95, so \
                  tau-b is also scored against noiseless tables."
            .to_owned(),
        tables: vec![table],
        charts: Vec::new(),
    })
}
