//! Table 2 played: what feedback makes of the choice.

use enerinfer_artifacts::exhibit::{DataTable, Exhibit};
use enerinfer_device::published::{self, PolicyRow};
use enerinfer_device::{Policy as Choice, SimulatedDevice, names};
use enerinfer_runtime::thermal_model::ThermalModel;

use super::{SEED, cool, gain_percent, key, predicted, published as printed, simulated};
use crate::closed_loop::{Beliefs, HeatSplit, LoopError, Policy, Session, disturbed, run};
use crate::figures::Judged;

/// How wrong disturbed predictions are, relative.
const ERROR: f64 = 0.3;

struct Line {
    device: String,
    row: PolicyRow,
    tables: &'static str,
    ours: Session,
    oracle: Session,
    default: Session,
}

/// Every EnerInfer row of Table 2 in the closed loop: with the device's own tables, with
/// predicted ones where `judged` has them, and with tables that are wrong by up to 30 %.
///
/// # Errors
/// A fault of the published tables.
pub fn exhibit(judged: &[Judged]) -> Result<Exhibit, LoopError> {
    let mut lines = Vec::new();
    for name in names() {
        for row in published::policy_rows(name)? {
            if row.policy == Choice::Enerinfer {
                play(name, &row, judged, &mut lines)?;
            }
        }
    }
    let speed = |s: &Session| Some(s.tokens / s.duration_s);
    let efficiency = |s: &Session| Some(s.tokens / s.energy_j);
    let table = DataTable {
        id: "table2_loop_rows".to_owned(),
        caption: "EnerInfer rows of Table 2, sessions of 120 s".to_owned(),
        columns: vec![
            key("Device", &lines, |l| l.device.clone()),
            key("Model", &lines, |l| l.row.model.clone()),
            printed("QoE", "tok/s", 0, &lines, |l| Some(l.row.qoe_tok_per_s)),
            key("Tables", &lines, |l| l.tables.to_owned()),
            printed("Speed", "tok/s", 1, &lines, |l| Some(l.row.throughput_tok_per_s)),
            simulated("Speed", "tok/s", 1, &lines, |l| speed(&l.ours)),
            printed("Efficiency", "tok/J", 1, &lines, |l| Some(l.row.efficiency_tok_per_j)),
            simulated("Efficiency", "tok/J", 1, &lines, |l| efficiency(&l.ours)),
            printed("Gain over Default", "%", 1, &lines, |l| Some(l.row.gain_percent)),
            simulated("Gain over Default", "%", 1, &lines, |l| {
                Some(gain_percent(efficiency(&l.ours)?, efficiency(&l.default)?))
            }),
            simulated("Energy per token over Oracle", "%", 2, &lines, |l| {
                Some(gain_percent(l.ours.j_per_token(), l.oracle.j_per_token()))
            }),
            simulated("QoE met, seconds", "%", 1, &lines, |l| l.ours.qoe_met_percent()),
            simulated("Transitions", "", 0, &lines, |l| Some(f64::from(l.ours.transitions))),
        ],
    };
    Ok(Exhibit {
        id: "table2_loop".to_owned(),
        title: "Policies for a QoE, played".to_owned(),
        source: "EnerInfer Table 2".to_owned(),
        caption: "The default energy-aware policy of the runtime decodes for 120 s, without \
                  thermal control, beside Default and the oracle. It is told the device's own \
                  tables, predicted tables, or tables in which every value is wrong by up to 30 %."
            .to_owned(),
        tables: vec![table],
        charts: Vec::new(),
    })
}

fn play(
    name: &str,
    row: &PolicyRow,
    judged: &[Judged],
    lines: &mut Vec<Line>,
) -> Result<(), LoopError> {
    let device = SimulatedDevice::builtin(name, Some(row.format))?;
    let scenario = cool(&device, &row.shape, row.qoe_tok_per_s);
    let mut told = vec![
        ("the device's own", scenario.truth.clone()),
        ("wrong by up to 30 %", disturbed(&scenario.truth, ERROR, SEED)),
    ];
    let of_device = judged.iter().find(|j| j.device == device);
    if let Some(model) = of_device.and_then(|j| j.real.iter().find(|model| model.name == row.model))
    {
        told.insert(1, ("predicted", predicted(model)));
    }
    for (tables, predicted) in told {
        let beliefs = Beliefs::new(predicted, HeatSplit::Total, ThermalModel::PERSISTENCE)?;
        lines.push(Line {
            device: name.to_owned(),
            row: row.clone(),
            tables,
            ours: run(&scenario, &beliefs, Policy::OursQoe)?,
            oracle: run(&scenario, &beliefs, Policy::Oracle)?,
            default: run(&scenario, &beliefs, Policy::Default)?,
        });
    }
    Ok(())
}
