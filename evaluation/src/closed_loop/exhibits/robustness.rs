//! The default policies on devices and predictions that are not as they should be.

use enerinfer_artifacts::exhibit::{DataTable, Exhibit};
use enerinfer_device::Decode;
use rayon::prelude::*;

use super::{SEED, key, simulated};
use crate::closed_loop::optimum::{Grid, optimum};
use crate::closed_loop::stress::stress;
use crate::closed_loop::{
    Beliefs, HeatSplit, LoopError, Policy, Scenario, Session, disturbed, fit_thermal, run,
};
use crate::figures::mean;

/// QoE targets, tokens/s.
const TARGETS: [f64; 2] = [6.0, 10.0];
/// Coarser than for the optimum itself: shares of it are shown to a percent.
const GRID: Grid = Grid { shell_cells: 60, gap_cells: 24 };
/// How wrong predictions are, relative.
const PREDICTION_ERROR: f64 = 0.3;
/// How far the device is from the one trained on, relative.
const DEVICE_ERROR: f64 = 0.2;
/// Sessions per row with drawn errors.
const DRAWS: u64 = 20;

/// What is not as it should be.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Every prediction is wrong by up to 30 %.
    Predictions,
    /// The shell's sensor reads tenths of a degree.
    CoarseSensor,
    /// The thermal model knows the accelerator's power only, as the paper's.
    AcceleratorOnly,
    /// Factors on heat capacity and thermal resistance.
    Thermal(f64, f64),
    /// Factors on throughput and power.
    Decode(f64, f64),
}

const LESS: f64 = 1.0 - DEVICE_ERROR;
const MORE: f64 = 1.0 + DEVICE_ERROR;

const FAULTS: [(Fault, &str); 12] = [
    (Fault::None, "none"),
    (Fault::Predictions, "predictions wrong by up to 30 %"),
    (Fault::CoarseSensor, "sensor of 0.1 °C"),
    (Fault::AcceleratorOnly, "thermal model on accelerator power"),
    (Fault::Thermal(LESS, 1.0), "heat capacities −20 %"),
    (Fault::Thermal(MORE, 1.0), "heat capacities +20 %"),
    (Fault::Thermal(1.0, LESS), "thermal resistances −20 %"),
    (Fault::Thermal(1.0, MORE), "thermal resistances +20 %"),
    (Fault::Decode(LESS, 1.0), "throughput −20 %"),
    (Fault::Decode(MORE, 1.0), "throughput +20 %"),
    (Fault::Decode(1.0, LESS), "power −20 %"),
    (Fault::Decode(1.0, MORE), "power +20 %"),
];

struct Line {
    fault: &'static str,
    heat: HeatSplit,
    qoe_tok_per_s: f64,
    /// Shares of the optimum's tokens, one per draw, %.
    shares_percent: Vec<f64>,
    highest_celsius: f64,
    transitions: u32,
}

impl Fault {
    /// What is played, and what the controllers believe.
    fn apply(self, trained: &Scenario, seed: u64) -> Result<(Scenario, Beliefs), LoopError> {
        let mut played = trained.clone();
        let mut predicted = trained.truth.clone();
        let mut regressor = trained.heat;
        match self {
            Fault::None => {}
            Fault::Predictions => predicted = disturbed(&predicted, PREDICTION_ERROR, seed),
            Fault::CoarseSensor => played.sensor_celsius = 0.1,
            Fault::AcceleratorOnly => regressor = HeatSplit::Accelerator,
            Fault::Thermal(capacity, resistance) => {
                played.thermal = trained.thermal.scaled(capacity, resistance, 1.0);
            }
            Fault::Decode(throughput, power) => {
                for decode in &mut played.truth {
                    *decode = Decode {
                        throughput_tok_per_s: decode.throughput_tok_per_s * throughput,
                        power_w: decode.power_w * power,
                        accel_power_w: decode.accel_power_w * power,
                    };
                }
            }
        }
        let thermal = fit_thermal(trained, regressor, SEED)?;
        Ok((played, Beliefs::new(predicted, regressor, thermal)?))
    }

    fn draws(self) -> u64 {
        if self == Fault::Predictions { DRAWS } else { 1 }
    }
}

/// Faults in every heat split, at some QoE targets.
///
/// # Errors
/// None for the embedded platform file and survey.
pub fn exhibit() -> Result<Exhibit, LoopError> {
    let mut jobs = Vec::new();
    for (fault, name) in FAULTS {
        for heat in HeatSplit::ALL {
            jobs.extend(TARGETS.map(|qoe| (fault, name, heat, qoe)));
        }
    }
    let lines: Vec<Line> = jobs
        .into_par_iter()
        .map(|(fault, name, heat, qoe)| line(fault, name, heat, qoe))
        .collect::<Result<_, LoopError>>()?;
    let table = DataTable {
        id: "robustness_faults".to_owned(),
        caption: "Ours QoE in the stress test of Figure 14".to_owned(),
        columns: vec![
            key("Fault", &lines, |l| l.fault.to_owned()),
            key("Heat", &lines, |l| l.heat.name().to_owned()),
            simulated("QoE", "tok/s", 0, &lines, |l| Some(l.qoe_tok_per_s)),
            simulated("Of the optimum, least", "%", 1, &lines, |l| {
                l.shares_percent.iter().copied().reduce(f64::min)
            }),
            simulated("Of the optimum, mean", "%", 1, &lines, |l| {
                mean(l.shares_percent.iter().copied())
            }),
            simulated("Highest shell", "°C", 2, &lines, |l| Some(l.highest_celsius)),
            simulated("Transitions", "", 0, &lines, |l| Some(f64::from(l.transitions))),
        ],
    };
    Ok(Exhibit {
        id: "robustness".to_owned(),
        title: "Controllers that were told wrong".to_owned(),
        source: "this project; scenario of EnerInfer Figure 14".to_owned(),
        caption: "Tokens of ours QoE before the threshold and under QoE, as a share of the optimum \
                  of the device as it is. Wrong predictions are drawn 20 times, every value by itself. \
                  Tokens count from the first second that keeps the QoE. Speed is measured and fed \
                  back; power is not, so nothing corrects wrong predictions of heat: of many points \
                  those look best whose heat is underestimated most. Where power or thermal \
                  resistances are 20 % lower, Ener lasts in some cells: no thermal control is \
                  needed then, and the share says what it says there in the table of the optimum. \
                  Sessions go on after the threshold, so the highest shell temperature is that of \
                  20 minutes; at the ambient temperature of the accelerator-only split (32.9 °C) \
                  even the lowest clocks exceed the threshold."
            .to_owned(),
        tables: vec![table],
        charts: Vec::new(),
    })
}

fn line(fault: Fault, name: &'static str, heat: HeatSplit, qoe: f64) -> Result<Line, LoopError> {
    let mut trained = stress(heat, qoe)?;
    trained.stop.at_shell_celsius = None;
    let mut out = Line {
        fault: name,
        heat,
        qoe_tok_per_s: qoe,
        shares_percent: Vec::new(),
        highest_celsius: f64::NEG_INFINITY,
        transitions: 0,
    };
    // What is drawn are predictions; the device, and so its optimum, is the same in every draw.
    let (device, _) = fault.apply(&trained, SEED)?;
    let best = optimum(&device, GRID);
    for draw in 0..fault.draws() {
        let (played, beliefs) = fault.apply(&trained, SEED + draw)?;
        let session = run(&played, &beliefs, Policy::OursQoe)?;
        if let Some(best) = &best {
            out.shares_percent.push(100.0 * met_tokens(&session, qoe) / best.tokens);
        }
        out.highest_celsius = out.highest_celsius.max(session.max_shell_celsius);
        out.transitions = out.transitions.max(session.transitions);
    }
    Ok(out)
}

/// Tokens before the threshold, of seconds that met the QoE, until it is given up for good: for
/// three seconds in a row after it was first met.
fn met_tokens(session: &Session, qoe: f64) -> f64 {
    let (mut tokens, mut missed, mut begun) = (0.0, 0, false);
    for sample in session.samples.iter().skip(1) {
        if session.threshold_s.is_some_and(|t| sample.at_s > t) {
            break;
        }
        if sample.tokens >= qoe * (1.0 - 1e-9) {
            begun = true;
            missed = 0;
            tokens += sample.tokens;
        } else if begun {
            missed += 1;
            if missed >= 3 {
                break;
            }
        }
    }
    tokens
}
