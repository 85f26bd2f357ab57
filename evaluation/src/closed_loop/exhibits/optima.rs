//! What the optimum gains over Ener, and how much of the optimum the policies obtain.

use enerinfer_artifacts::exhibit::{Axis, Chart, DataTable, Drawing, Exhibit, Provenance, Series};
use rayon::prelude::*;

use super::{SEED, gain_percent, key, simulated};
use crate::closed_loop::optimum::{Grid, Optimum, optimum};
use crate::closed_loop::stress::{LIMIT_S, stress};
use crate::closed_loop::{
    Beliefs, HeatSplit, LoopError, Policy, Scenario, Session, fit_thermal, run,
};

/// QoE targets, tokens/s.
const TARGETS: std::ops::RangeInclusive<u32> = 5..=13;
/// The share of the optimum's tokens to obtain where thermal control is needed.
const SHARE: f64 = 0.95;
/// Lengths of session for cells in which Ener lasts, s.
const LENGTHS_S: [f64; 3] = [LIMIT_S, 2.0 * LIMIT_S, 4.0 * LIMIT_S];

/// One heat split and QoE.
pub struct Cell {
    /// What warms the device.
    pub heat: HeatSplit,
    /// QoE, tokens/s.
    pub qoe_tok_per_s: f64,
    /// Full knowledge.
    pub optimum: Optimum,
    /// Ener.
    pub ener: Session,
    /// The paper's policies with QoE constraint.
    pub paper: Session,
    /// The default policies.
    pub ours: Session,
}

impl Cell {
    /// Ener itself keeps threshold and QoE to the end of the session: no thermal control is
    /// needed, and the default policies leave the energy-aware choice alone.
    pub fn is_unthreatened(&self) -> bool {
        self.ener.kept_s >= LIMIT_S
    }

    /// Tokens of ours as a share of the optimum's, %.
    pub fn ours_percent(&self) -> f64 {
        100.0 * self.ours.kept_tokens / self.optimum.tokens
    }
}

fn told_the_truth(heat: HeatSplit) -> Result<(Scenario, Beliefs), LoopError> {
    let scenario = stress(heat, f64::from(*TARGETS.start()))?;
    let thermal = fit_thermal(&scenario, heat, SEED)?;
    let beliefs = Beliefs::new(scenario.truth.clone(), heat, thermal)?;
    Ok((scenario, beliefs))
}

fn at_qoe(scenario: &Scenario, qoe_tok_per_s: f64) -> Scenario {
    Scenario { qoe_tok_per_s: vec![(0.0, qoe_tok_per_s)], ..scenario.clone() }
}

/// Every heat split and QoE.
///
/// # Errors
/// None for the embedded platform file and survey.
pub fn cells(grid: Grid) -> Result<Vec<Cell>, LoopError> {
    let mut jobs = Vec::new();
    for heat in HeatSplit::ALL {
        let (scenario, beliefs) = told_the_truth(heat)?;
        jobs.extend(TARGETS.map(|qoe| (at_qoe(&scenario, f64::from(qoe)), beliefs.clone())));
    }
    let cell = |(scenario, beliefs): &(Scenario, Beliefs)| {
        let Some(optimum) = optimum(scenario, grid) else { return Ok(None) };
        Ok(Some(Cell {
            heat: scenario.heat,
            qoe_tok_per_s: scenario.qoe_at(0.0),
            optimum,
            ener: run(scenario, beliefs, Policy::Ener)?,
            paper: run(scenario, beliefs, Policy::EnerInferQoe)?,
            ours: run(scenario, beliefs, Policy::OursQoe)?,
        }))
    };
    let cells: Vec<Option<Cell>> = jobs.par_iter().map(cell).collect::<Result<_, LoopError>>()?;
    Ok(cells.into_iter().flatten().collect())
}

/// A cell in which Ener lasts, for one length of session.
struct Lasting {
    heat: HeatSplit,
    qoe_tok_per_s: f64,
    length_s: f64,
    optimum: Optimum,
    ener: Session,
    ours: Session,
    /// J per token.
    oracle: f64,
    /// The least J per token of any policy that makes [`SHARE`] of the optimum's tokens.
    least: Option<f64>,
}

/// Whether more time gives what thermal control cannot, and what speed would cost.
fn lasting(cells: &[Cell]) -> Result<Vec<Lasting>, LoopError> {
    let mut lines = Vec::new();
    for cell in cells.iter().filter(|cell| cell.is_unthreatened()) {
        let (scenario, beliefs) = told_the_truth(cell.heat)?;
        for length_s in LENGTHS_S {
            let mut scenario = at_qoe(&scenario, cell.qoe_tok_per_s);
            scenario.stop.after_s = length_s;
            let Some(optimum) = optimum(&scenario, Grid::default()) else { continue };
            lines.push(Lasting {
                heat: cell.heat,
                qoe_tok_per_s: cell.qoe_tok_per_s,
                length_s,
                optimum,
                ener: run(&scenario, &beliefs, Policy::Ener)?,
                ours: run(&scenario, &beliefs, Policy::OursQoe)?,
                oracle: run(&scenario, &beliefs, Policy::Oracle)?.j_per_token(),
                least: least_j_per_token(&scenario, SHARE * optimum.tokens / length_s),
            });
        }
    }
    Ok(lines)
}

/// The least energy per token at which a mixture of points that meet the QoE has a mean speed of
/// at least `tok_per_s`: what no sequence of points undercuts, whatever the temperature.
fn least_j_per_token(scenario: &Scenario, tok_per_s: f64) -> Option<f64> {
    let qoe = scenario.qoe_at(0.0);
    let points: Vec<(f64, f64)> = scenario
        .truth
        .iter()
        .filter(|decode| decode.throughput_tok_per_s >= qoe)
        .map(|decode| (decode.throughput_tok_per_s, decode.power_w))
        .collect();
    let mut least: Option<f64> = None;
    let mut consider = |j: f64| least = Some(least.map_or(j, |l| l.min(j)));
    for &(fast, fast_w) in points.iter().filter(|(fast, _)| *fast >= tok_per_s) {
        consider(fast_w / fast);
        for &(slow, slow_w) in points.iter().filter(|(slow, _)| *slow < tok_per_s) {
            let part = (tok_per_s - slow) / (fast - slow);
            consider((part * fast_w + (1.0 - part) * slow_w) / tok_per_s);
        }
    }
    least
}

fn lasting_table(lines: &[Lasting]) -> DataTable {
    DataTable {
        id: "optimum_lasting".to_owned(),
        caption: "Cells in which Ener lasts: longer sessions, and what more tokens would cost"
            .to_owned(),
        columns: vec![
            key("Heat", lines, |l| l.heat.name().to_owned()),
            simulated("QoE", "tok/s", 0, lines, |l| Some(l.qoe_tok_per_s)),
            simulated("Session", "s", 0, lines, |l| Some(l.length_s)),
            simulated("Ener", "s", 0, lines, |l| Some(l.ener.kept_s)),
            simulated("Ener, highest shell", "°C", 2, lines, |l| Some(l.ener.max_shell_celsius)),
            simulated("Optimum", "tokens", 0, lines, |l| Some(l.optimum.tokens)),
            simulated("ours QoE", "s", 0, lines, |l| Some(l.ours.kept_s)),
            simulated("ours QoE, of the optimum", "%", 1, lines, |l| {
                Some(100.0 * l.ours.kept_tokens / l.optimum.tokens)
            }),
            simulated("ours QoE, energy per token over Oracle", "%", 2, lines, |l| {
                Some(gain_percent(l.ours.j_per_token(), l.oracle))
            }),
            simulated(
                "95 % of the optimum, energy per token over Oracle, at least",
                "%",
                2,
                lines,
                |l| Some(gain_percent(l.least?, l.oracle)),
            ),
        ],
    }
}

/// The optimum's gain over Ener and the policies' share of the optimum.
///
/// # Errors
/// None for the embedded platform file and survey.
pub fn exhibit() -> Result<Exhibit, LoopError> {
    let cells = cells(Grid::default())?;
    let percent = |s: &Session, c: &Cell| Some(100.0 * s.kept_tokens / c.optimum.tokens);
    let table = DataTable {
        id: "optimum_cells".to_owned(),
        caption: "Tokens before the threshold under QoE".to_owned(),
        columns: vec![
            key("Heat", &cells, |c| c.heat.name().to_owned()),
            simulated("QoE", "tok/s", 0, &cells, |c| Some(c.qoe_tok_per_s)),
            simulated("Ener", "s", 0, &cells, |c| Some(c.ener.kept_s)),
            simulated("Ener", "tokens", 0, &cells, |c| Some(c.ener.kept_tokens)),
            simulated("Optimum", "s", 0, &cells, |c| Some(c.optimum.seconds)),
            simulated("Optimum", "tokens", 0, &cells, |c| Some(c.optimum.tokens)),
            simulated("Optimum over Ener", "%", 1, &cells, |c| {
                Some(gain_percent(c.optimum.tokens, c.ener.kept_tokens))
            }),
            simulated("EnerInfer QoE (paper), of the optimum", "%", 1, &cells, |c| {
                percent(&c.paper, c)
            }),
            simulated("ours QoE, of the optimum", "%", 1, &cells, |c| percent(&c.ours, c)),
            simulated("ours QoE, highest shell", "°C", 2, &cells, |c| {
                Some(c.ours.max_shell_celsius)
            }),
            simulated("ours QoE, transitions", "", 0, &cells, |c| {
                Some(f64::from(c.ours.transitions))
            }),
            key("Thermal control needed", &cells, |c| {
                if c.is_unthreatened() { "no: Ener lasts" } else { "yes" }.to_owned()
            }),
        ],
    };
    let lines = |of: &dyn Fn(&Cell) -> f64| {
        HeatSplit::ALL
            .map(|heat| {
                let points = cells.iter().filter(|c| c.heat == heat);
                let points = points.map(|c| (c.qoe_tok_per_s, of(c)));
                Series::new(heat.name(), Provenance::Simulated, points)
            })
            .to_vec()
    };
    let chart = |id: &str, caption: &str, series| Chart {
        id: id.to_owned(),
        caption: caption.to_owned(),
        drawing: Drawing::Lines {
            x: Axis::new("QoE", "tok/s"),
            y: Axis::new(caption, "%"),
            series,
        },
    };
    let gain = |c: &Cell| gain_percent(c.optimum.tokens, c.ener.kept_tokens);
    let charts = vec![
        chart("optimum_gain", "Optimum over Ener", lines(&gain)),
        chart("optimum_ours", "Ours QoE, of the optimum", lines(&Cell::ours_percent)),
    ];
    Ok(Exhibit {
        id: "optimum".to_owned(),
        title: "Policies and the optimum".to_owned(),
        source: "this project; scenario of EnerInfer Figure 14".to_owned(),
        caption: "The stress test of Figure 14 for other QoE targets, at most 20 minutes. The \
                  optimum is dynamic programming with full knowledge of device and future. Where \
                  Ener lasts to the end, nothing needs thermal control, and ours keeps the most \
                  efficient point. If that never reaches the threshold, tokens before it are \
                  without bound for Ener and the optimum alike; the optimum is faster in any \
                  session, and the second table gives the least that 95 % of its tokens cost in \
                  energy: where that is more than the 2 % over the oracle that ours may take, both \
                  goals exclude each other, and energy goes first."
            .to_owned(),
        tables: vec![table, lasting_table(&lasting(&cells)?)],
        charts,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_mixture_is_cheaper_than_the_oracle_and_speed_costs() -> Result<(), LoopError> {
        let scenario = stress(HeatSplit::Total, 5.0)?;
        let j_per_token = |d: &enerinfer_device::Decode| d.power_w / d.throughput_tok_per_s;
        let fast = scenario.truth.iter().filter(|d| d.throughput_tok_per_s >= 5.0);
        let oracle = fast.min_by(|a, b| j_per_token(a).total_cmp(&j_per_token(b)));
        let Some(oracle) = oracle else { panic!("no point is fast enough") };
        let least = |tok_per_s| least_j_per_token(&scenario, tok_per_s);
        assert_eq!(least(oracle.throughput_tok_per_s), Some(j_per_token(oracle)));
        assert_eq!(least(5.0), Some(j_per_token(oracle)), "slower is not cheaper");
        let fastest = scenario.truth.last().map_or(0.0, |d| d.throughput_tok_per_s);
        let costs: Vec<f64> = [6.0, 8.0, 12.0, fastest].into_iter().filter_map(least).collect();
        assert!(costs.len() == 4 && costs.windows(2).all(|c| c[0] < c[1]), "{costs:?}");
        assert_eq!(least(fastest + 1.0), None);
        Ok(())
    }
}
