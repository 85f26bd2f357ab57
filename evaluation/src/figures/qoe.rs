//! Figure 13: speed and efficiency over QoE targets.

use enerinfer_artifacts::OperatingPoint;
use enerinfer_artifacts::exhibit::{
    Axis, Chart, Column, DataTable, Drawing, Exhibit, Provenance, Series,
};
use enerinfer_device::{Decode, Policy};
use enerinfer_hyperparam::{choose, pareto_front};

use super::{FigureError, Judged, JudgedModel, device_name, mean};

/// QoE targets, tok/s: the paper's horizontal axes end at 14 to 20.
const TARGETS: std::ops::RangeInclusive<u32> = 1..=20;

/// Prefill processes this many tokens in the time of one decoded token (EnerInfer §3).
const PREFILL_SPEED: [f64; 2] = [15.0, 25.0];
/// Length of the prompts whose time to first token is shown: a question of a few sentences.
const PROMPT_TOKENS: f64 = 64.0;
/// Target whose operating point prefill is also shown at, tok/s.
const TTFT_TARGET: f64 = 5.0;

/// What can be chosen for a target.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chooser {
    /// Highest clocks.
    Default,
    /// The slowest point that is fast enough.
    Deadline,
    /// The first fast-enough point by memory, then accelerator level.
    DeadlineLevels,
    /// EnerInfer's first choice, by predictions alone.
    Predicted,
    /// The same after feedback: one step along the predicted front to its faster end for each
    /// time the speed is too low.
    Feedback,
    /// The most efficient fast-enough point.
    Oracle,
}

const CHOOSERS: [(Chooser, &str); 6] = [
    (Chooser::Default, "Default"),
    (Chooser::Deadline, "Deadline, slowest"),
    (Chooser::DeadlineLevels, "Deadline, levels"),
    (Chooser::Predicted, "EnerInfer before feedback"),
    (Chooser::Feedback, "EnerInfer"),
    (Chooser::Oracle, "Oracle"),
];

/// A model on a device: what is true, and the front that is predicted.
struct Subject {
    truth: Vec<(OperatingPoint, Decode)>,
    predicted_tok_per_s: Vec<f64>,
    front: Vec<usize>,
}

impl Subject {
    fn new(judged: &Judged, model: &JudgedModel) -> Self {
        let predicted = &model.predicted;
        Subject {
            truth: judged.device.decode_all(&model.shape),
            predicted_tok_per_s: predicted.tok_per_s.clone(),
            front: pareto_front(&predicted.tok_per_s, &predicted.tok_per_j()),
        }
    }

    /// What a chooser's point does; `None` where it has none.
    fn choose(&self, chooser: Chooser, qoe_tok_per_s: f64) -> Option<Decode> {
        let by = |policy: Policy| policy.choose(&self.truth, qoe_tok_per_s).map(|(_, d)| d);
        let predicted = || choose(&self.front, &self.predicted_tok_per_s, qoe_tok_per_s);
        let decode = |point: usize| self.truth.get(point).map(|(_, d)| *d);
        match chooser {
            Chooser::Default => self.truth.last().map(|(_, d)| *d),
            Chooser::Deadline => by(Policy::Deadline),
            Chooser::DeadlineLevels => by(Policy::DeadlineLevels),
            Chooser::Oracle => by(Policy::Enerinfer),
            Chooser::Predicted => decode(predicted()?),
            Chooser::Feedback => {
                let start = self.front.iter().position(|&i| Some(i) == predicted())?;
                let mut steps = self.front[start..].iter().filter_map(|&i| decode(i));
                let fast = steps.find(|d| d.throughput_tok_per_s >= qoe_tok_per_s);
                fast.or_else(|| decode(*self.front.last()?))
            }
        }
    }

    /// Targets that the highest clocks meet.
    fn reachable(&self) -> impl Iterator<Item = f64> {
        let fastest = self.truth.last().map_or(0.0, |(_, d)| d.throughput_tok_per_s);
        TARGETS.map(f64::from).filter(move |&qoe| qoe <= fastest)
    }
}

/// How a chooser does over many models and targets.
struct Outcome {
    mean_loss_percent: Option<f64>,
    worst_loss_percent: Option<f64>,
    violations: usize,
    cases: usize,
}

fn outcome(subjects: &[Subject], chooser: Chooser) -> Outcome {
    let (mut losses, mut violations) = (Vec::new(), 0);
    for s in subjects {
        for qoe in s.reachable() {
            let (Some(chosen), Some(best)) =
                (s.choose(chooser, qoe), s.choose(Chooser::Oracle, qoe))
            else {
                continue;
            };
            violations += usize::from(chosen.throughput_tok_per_s < qoe);
            // A point that misses the target may be more efficient; that is no gain.
            let loss = 1.0 - chosen.efficiency_tok_per_j() / best.efficiency_tok_per_j();
            losses.push(100.0 * loss.max(0.0));
        }
    }
    Outcome {
        mean_loss_percent: mean(losses.iter().copied()),
        worst_loss_percent: losses.iter().copied().reduce(f64::max),
        violations,
        cases: losses.len(),
    }
}

/// Mean and worst loss of EnerInfer against the oracle and its violations, over all dense real
/// LLMs: before and after feedback.
pub(super) struct Regret {
    pub(super) mean_loss_percent: Option<f64>,
    pub(super) violations_after: usize,
}

pub(super) fn regret(judged: &Judged) -> Regret {
    let subjects: Vec<Subject> = judged.dense().map(|m| Subject::new(judged, m)).collect();
    let after = outcome(&subjects, Chooser::Feedback);
    Regret { mean_loss_percent: after.mean_loss_percent, violations_after: after.violations }
}

pub(super) fn exhibit(judged: &[Judged]) -> Result<Exhibit, FigureError> {
    let mut charts = Vec::new();
    let mut lines: Vec<(String, &str, Outcome)> = Vec::new();
    for j in judged {
        for m in j.papers_llms() {
            charts.extend(pictures(j, m));
        }
        let subjects: Vec<Subject> = j.dense().map(|m| Subject::new(j, m)).collect();
        for (chooser, name) in CHOOSERS.into_iter().filter(|(c, _)| *c != Chooser::Oracle) {
            lines.push((device_name(&j.device), name, outcome(&subjects, chooser)));
        }
    }
    let column = |name: &str, unit: &str, decimals, of: fn(&Outcome) -> Option<f64>| {
        let values = lines.iter().map(|(.., o)| of(o));
        Column::optional(name, unit, Provenance::Simulated, decimals, values)
    };
    let table = DataTable {
        id: "fig13_loss".to_owned(),
        caption: "Efficiency lost against the oracle, over all dense real LLMs and every whole \
                  target up to 20 tok/s that the highest clocks meet"
            .to_owned(),
        columns: vec![
            Column::key("Device", lines.iter().map(|l| l.0.clone())),
            Column::key("Policy", lines.iter().map(|l| l.1)),
            column("Cases", "", 0, |o| Some(o.cases as f64)),
            column("Mean loss", "%", 2, |o| o.mean_loss_percent),
            column("Worst loss", "%", 2, |o| o.worst_loss_percent),
            column("Targets missed", "", 0, |o| Some(o.violations as f64)),
        ],
    };
    let ttft = ttft_table(judged);
    Ok(Exhibit {
        id: "fig13".to_owned(),
        title: "Speed and efficiency over QoE targets".to_owned(),
        source: "EnerInfer Figure 13".to_owned(),
        caption: "Choices are made by predictions and judged by what the simulated device does, \
                  without noise. Feedback is the static reading of Algorithm 2: a step to the \
                  faster end of the predicted front for as long as the target is missed. The \
                  paper draws EnerInfer close to the oracle, always above y = x, and prints no \
                  losses."
            .to_owned(),
        tables: vec![table, ttft],
        charts,
    })
}

/// The other half of QoE: time to first token of the paper's LLMs.
fn ttft_table(judged: &[Judged]) -> DataTable {
    let mut lines = Vec::new();
    for j in judged {
        for m in j.papers_llms() {
            let subject = Subject::new(j, m);
            let ms = |chooser: Chooser| -> Option<[f64; 2]> {
                let decode = subject.choose(chooser, TTFT_TARGET)?;
                let tokens_s = PROMPT_TOKENS / decode.throughput_tok_per_s;
                Some(PREFILL_SPEED.map(|faster| 1e3 * tokens_s / faster))
            };
            let both = [ms(Chooser::Default), ms(Chooser::Feedback)];
            lines.push((device_name(&j.device), m.name.clone(), both));
        }
    }
    let column = |name: &str, at: usize, speed: usize| {
        Column::optional(
            &format!("{name}, {} times decoding", PREFILL_SPEED[speed]),
            "ms",
            Provenance::Simulated,
            0,
            lines.iter().map(|l| l.2[at].map(|ms| ms[speed])),
        )
    };
    DataTable {
        id: "fig13_ttft".to_owned(),
        caption: format!(
            "Time to first token for {PROMPT_TOKENS} tokens of prompt. Every policy prefills at the \
             highest clocks, so it is the same for all; beside it, what it would be at EnerInfer's \
             point for {TTFT_TARGET} tok/s. Prefill is not simulated: the paper's 15 to 25 times \
             the decoding speed is assumed"
        ),
        columns: vec![
            Column::key("Device", lines.iter().map(|l| l.0.clone())),
            Column::key("Model", lines.iter().map(|l| l.1.clone())),
            column("Highest clocks", 0, 1),
            column("Highest clocks", 0, 0),
            column("EnerInfer's point", 1, 1),
            column("EnerInfer's point", 1, 0),
        ],
    }
}

/// Speed and efficiency of one model over targets.
fn pictures(judged: &Judged, model: &JudgedModel) -> [Chart; 2] {
    let subject = Subject::new(judged, model);
    let device = device_name(&judged.device);
    let anchor = |what: &str| {
        let name: String = model.name.to_lowercase().replace(|c: char| !c.is_alphanumeric(), "_");
        format!("fig13_{}_{name}_{what}", judged.platform())
    };
    let series = |of: fn(&Decode) -> f64| -> Vec<Series> {
        CHOOSERS
            .iter()
            // Its few differences from EnerInfer with feedback are counted in the table.
            .filter(|(chooser, _)| *chooser != Chooser::Predicted)
            .map(|&(chooser, name)| {
                let points = subject
                    .reachable()
                    .filter_map(|qoe| Some((qoe, of(&subject.choose(chooser, qoe)?))));
                Series::new(name, Provenance::Simulated, points)
            })
            .collect()
    };
    let chart = |what: &str, title: &str, unit: &str, of: fn(&Decode) -> f64| Chart {
        id: anchor(what),
        caption: format!("{title} of {} on {device}", model.name),
        drawing: Drawing::Lines {
            x: Axis::new("Target throughput", "tok/s"),
            y: Axis::new(title, unit),
            series: series(of),
        },
    };
    [
        chart("speed", "Throughput", "tok/s", |d| d.throughput_tok_per_s),
        chart("efficiency", "Efficiency", "tok/J", Decode::efficiency_tok_per_j),
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn subject(truth: &[(f64, f64)], predicted: &[(f64, f64)]) -> Subject {
        let r: Vec<f64> = predicted.iter().map(|p| p.0).collect();
        let e: Vec<f64> = predicted.iter().map(|p| p.1).collect();
        Subject {
            truth: truth
                .iter()
                .map(|&(speed, efficiency)| {
                    let decode = Decode {
                        throughput_tok_per_s: speed,
                        power_w: speed / efficiency,
                        accel_power_w: 0.0,
                    };
                    (OperatingPoint { mem: 0, accel: 0 }, decode)
                })
                .collect(),
            front: pareto_front(&r, &e),
            predicted_tok_per_s: r,
        }
    }

    #[test]
    fn feedback_mends_a_prediction_that_is_too_fast() {
        let truth = [(5.0, 9.0), (10.0, 8.0), (20.0, 4.0)];
        let s = subject(&truth, &[(7.0, 9.0), (10.0, 8.0), (20.0, 4.0)]);
        let speed = |chooser| s.choose(chooser, 6.0).map(|d| d.throughput_tok_per_s);
        assert_eq!(speed(Chooser::Predicted), Some(5.0));
        assert_eq!(speed(Chooser::Feedback), Some(10.0));
        assert_eq!(speed(Chooser::Oracle), Some(10.0));
        let subjects = [s];
        assert_eq!(outcome(&subjects, Chooser::Predicted).violations, 1, "at 6 tok/s");
        assert_eq!(outcome(&subjects, Chooser::Feedback).violations, 0);
        assert_eq!(outcome(&subjects, Chooser::Oracle).worst_loss_percent, Some(0.0));
    }

    proptest! {
        /// Whatever is predicted: if no point is predicted faster than the highest clocks, which
        /// are the fastest in truth, feedback ends at a point that is fast enough. For then they
        /// are on the front, and the first choice is never behind them.
        #[test]
        fn feedback_meets_every_target_that_the_highest_clocks_meet(
            // Few values, so that ties are frequent.
            points in prop::collection::vec((1u32..6, 1u32..4, 1u32..6, 1u32..4), 1..9),
        ) {
            type Drawn = (u32, u32, u32, u32);
            let pairs = |of: fn(&Drawn) -> (u32, u32)| -> Vec<(f64, f64)> {
                let mut all: Vec<(u32, u32)> = points.iter().map(of).collect();
                let fastest = all.iter().map(|p| p.0).max().unwrap_or(1);
                if let Some(highest) = all.last_mut() {
                    highest.0 = fastest;
                }
                all.into_iter().map(|(r, e)| (f64::from(r), f64::from(e))).collect()
            };
            let s = subject(&pairs(|p| (p.0, p.1)), &pairs(|p| (p.2, p.3)));
            for qoe in s.reachable() {
                let chosen = s.choose(Chooser::Feedback, qoe).map(|d| d.throughput_tok_per_s);
                prop_assert!(chosen >= Some(qoe), "{chosen:?} for {qoe}");
            }
        }
    }
}
