//! What the optimum gains over Ener, and how much of the optimum the policies obtain.

use enerinfer_artifacts::exhibit::{Axis, Chart, DataTable, Drawing, Exhibit, Provenance, Series};
use rayon::prelude::*;

use super::{SEED, gain_percent, key, simulated};
use crate::closed_loop::optimum::{Grid, Optimum, optimum};
use crate::closed_loop::stress::{LIMIT_S, stress};
use crate::closed_loop::{Beliefs, HeatSplit, LoopError, Policy, Session, fit_thermal, run};

/// QoE targets, tokens/s.
const TARGETS: std::ops::RangeInclusive<u32> = 5..=13;

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

/// Every heat split and QoE.
///
/// # Errors
/// None for the embedded platform file and survey.
pub fn cells(grid: Grid) -> Result<Vec<Cell>, LoopError> {
    let mut jobs = Vec::new();
    for heat in HeatSplit::ALL {
        let scenario = stress(heat, f64::from(*TARGETS.start()))?;
        let thermal = fit_thermal(&scenario, heat, SEED)?;
        let beliefs = Beliefs::new(scenario.truth.clone(), heat, thermal)?;
        for qoe in TARGETS {
            let mut scenario = scenario.clone();
            scenario.qoe_tok_per_s = vec![(0.0, f64::from(qoe))];
            jobs.push((scenario, beliefs.clone()));
        }
    }
    let cell = |(scenario, beliefs): &(_, Beliefs)| {
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
                  Ener lasts to the end, nothing needs thermal control: ours then keeps the most \
                  efficient point, and its share of the optimum's tokens says only that nobody \
                  asked for more speed."
            .to_owned(),
        tables: vec![table],
        charts,
    })
}
