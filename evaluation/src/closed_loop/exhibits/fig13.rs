//! Figure 13 played: speed and efficiency over QoE targets with predicted tables and feedback.

use enerinfer_artifacts::exhibit::{Axis, Chart, DataTable, Drawing, Exhibit, Provenance, Series};
use enerinfer_runtime::thermal_model::ThermalModel;
use rayon::prelude::*;

use super::{cool, gain_percent, key, predicted, simulated};
use crate::closed_loop::{Beliefs, HeatSplit, LoopError, Policy, Session, run};
use crate::figures::{Judged, JudgedModel, mean};

/// QoE targets, tok/s: the paper's horizontal axes end at 14 to 20.
const TARGETS: std::ops::RangeInclusive<u32> = 1..=20;
/// In the order of the pictures; the last is what the others are compared with.
const POLICIES: [Policy; 5] =
    [Policy::Default, Policy::Deadline, Policy::Ener, Policy::OursQoe, Policy::Oracle];

/// One target: a session of every policy.
struct Target {
    qoe_tok_per_s: f64,
    sessions: [Session; POLICIES.len()],
}

struct Subject<'a> {
    judged: &'a Judged,
    model: &'a JudgedModel,
    targets: Vec<Target>,
}

/// Figure 13 in the closed loop, for the paper's LLMs on every judged device.
///
/// # Errors
/// A device has too many operating points for the closed loop.
pub fn exhibit(judged: &[Judged]) -> Result<Exhibit, LoopError> {
    let models: Vec<(&Judged, &JudgedModel)> =
        judged.iter().flat_map(|j| j.papers_llms().into_iter().map(move |m| (j, m))).collect();
    let subjects = models
        .into_par_iter()
        .map(|(judged, model)| Ok(Subject { judged, model, targets: play(judged, model)? }))
        .collect::<Result<Vec<_>, LoopError>>()?;
    Ok(Exhibit {
        id: "fig13_loop".to_owned(),
        title: "Speed and efficiency over QoE targets, played".to_owned(),
        source: "EnerInfer Figure 13".to_owned(),
        caption: "Every target is a decode of 120 s, without thermal control, on the simulated \
                  device. Deadline, Ener (Algorithm 2 as printed) and ours QoE (the runtime's \
                  default) are told predicted tables of a model that the predictors have not \
                  seen; the oracle is told the truth. The time that feedback needs to leave a \
                  point that is too slow counts. Targets are those that the highest clocks meet."
            .to_owned(),
        tables: vec![table(&subjects)],
        charts: subjects.iter().flat_map(pictures).collect(),
    })
}

fn play(judged: &Judged, model: &JudgedModel) -> Result<Vec<Target>, LoopError> {
    let beliefs = Beliefs::new(predicted(model), HeatSplit::Total, ThermalModel::PERSISTENCE)?;
    let fastest = model.noiseless.tok_per_s.last().copied().unwrap_or(0.0);
    let mut targets = Vec::new();
    for qoe_tok_per_s in TARGETS.map(f64::from).filter(|qoe| *qoe <= fastest) {
        let scenario = cool(&judged.device, &model.shape, qoe_tok_per_s);
        let mut sessions = POLICIES.map(|_| Session::default());
        for (session, policy) in sessions.iter_mut().zip(POLICIES) {
            *session = run(&scenario, &beliefs, policy)?;
        }
        targets.push(Target { qoe_tok_per_s, sessions });
    }
    Ok(targets)
}

fn table(subjects: &[Subject<'_>]) -> DataTable {
    let lines: Vec<(&Subject<'_>, usize)> =
        subjects.iter().flat_map(|s| (0..POLICIES.len() - 1).map(move |i| (s, i))).collect();
    let over_oracle = |(subject, i): &(&Subject<'_>, usize)| -> Vec<f64> {
        let loss = |t: &Target| {
            let oracle = t.sessions[POLICIES.len() - 1].j_per_token();
            gain_percent(t.sessions[*i].j_per_token(), oracle)
        };
        subject.targets.iter().map(loss).collect()
    };
    let met = |(subject, i): &(&Subject<'_>, usize)| -> Vec<f64> {
        subject.targets.iter().filter_map(|t| t.sessions[*i].qoe_met_percent()).collect()
    };
    DataTable {
        id: "fig13_loop_policies".to_owned(),
        caption: "Over all targets".to_owned(),
        columns: vec![
            key("Device", &lines, |(s, _)| s.judged.platform().to_owned()),
            key("Model", &lines, |(s, _)| s.model.name.clone()),
            key("Policy", &lines, |(_, i)| POLICIES[*i].name().to_owned()),
            simulated("Targets", "", 0, &lines, |(s, _)| Some(s.targets.len() as f64)),
            simulated("Energy per token over Oracle, mean", "%", 2, &lines, |l| {
                mean(over_oracle(l))
            }),
            simulated("Energy per token over Oracle, most", "%", 2, &lines, |l| {
                over_oracle(l).into_iter().reduce(f64::max)
            }),
            simulated("QoE met, seconds, mean", "%", 1, &lines, |l| mean(met(l))),
            simulated("QoE met, seconds, least", "%", 1, &lines, |l| {
                met(l).into_iter().reduce(f64::min)
            }),
            simulated("Transitions, most", "", 0, &lines, |(s, i)| {
                let of = s.targets.iter().map(|t| t.sessions[*i].transitions);
                of.max().map(f64::from)
            }),
        ],
    }
}

fn pictures(subject: &Subject<'_>) -> [Chart; 2] {
    let (device, model) = (subject.judged.platform(), &subject.model.name);
    let name: String = model.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "_");
    let chart = |what: &str, title: &str, unit: &str, of: fn(&Session) -> f64| {
        let series = POLICIES.iter().enumerate().map(|(i, policy)| {
            let points = subject.targets.iter().map(|t| (t.qoe_tok_per_s, of(&t.sessions[i])));
            Series::new(policy.name(), Provenance::Simulated, points)
        });
        Chart {
            id: format!("fig13_loop_{device}_{name}_{what}"),
            caption: format!("{title} of {model} on {device}, played"),
            drawing: Drawing::Lines {
                x: Axis::new("Target throughput", "tok/s"),
                y: Axis::new(title, unit),
                series: series.collect(),
            },
        }
    };
    [
        chart("speed", "Throughput", "tok/s", |s| s.tokens / s.duration_s),
        chart("efficiency", "Efficiency", "tok/J", |s| s.tokens / s.energy_j),
    ]
}
