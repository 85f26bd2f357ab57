//! Energy and QoE beside foreground apps that come and go.

use enerinfer_artifacts::exhibit::{DataTable, Exhibit};
use enerinfer_datasets::survey;
use enerinfer_device::SimulatedDevice;
use enerinfer_device::interference::{FOREGROUND_APPS, ForegroundApp};

use super::{SEED, gain_percent, key, simulated};
use crate::closed_loop::{
    Beliefs, HeatSplit, LoopError, Policy, Scenario, Session, Stop, fit_thermal, run,
};

const MODEL: &str = "Qwen2-1.5B";
/// QoE targets, tokens/s.
const TARGETS: [f64; 3] = [5.0, 8.0, 10.0];
/// The app is in the foreground from and to, s; the session's end.
const APP_S: (f64, f64) = (200.0, 400.0);
const END_S: f64 = 600.0;
/// Cool enough that no thermal control is needed.
const AMBIENT_CELSIUS: f64 = 10.0;

/// A session of ours beside an app, and the oracle's.
pub struct Beside {
    /// The app.
    pub app: ForegroundApp,
    /// QoE, tokens/s.
    pub qoe_tok_per_s: f64,
    /// Whether some point meets the QoE beside the app.
    pub reachable: bool,
    /// The default policies.
    pub ours: Session,
    /// The truly best point at every moment.
    pub oracle: Session,
    /// When the last change of the point came after the last change of conditions, s.
    pub settled_s: f64,
}

impl Beside {
    /// Energy per token over the oracle's, %.
    pub fn loss_percent(&self) -> f64 {
        gain_percent(self.ours.j_per_token(), self.oracle.j_per_token())
    }
}

/// Ours and the oracle beside every app.
///
/// # Errors
/// None for the embedded platform file and survey.
pub fn sessions() -> Result<Vec<Beside>, LoopError> {
    let device = SimulatedDevice::builtin("h_phone", None)?;
    let shape = &survey::find(MODEL).ok_or(LoopError::UnknownModel { name: MODEL })?.shape;
    let mut out = Vec::new();
    for app in FOREGROUND_APPS {
        for qoe in TARGETS {
            let scenario = Scenario {
                ambient_celsius: AMBIENT_CELSIUS,
                apps: vec![(0.0, None), (APP_S.0, Some(app)), (APP_S.1, None)],
                stop: Stop { after_s: END_S, at_shell_celsius: None },
                ..Scenario::new(&device, shape, qoe)
            };
            let thermal = fit_thermal(&scenario, HeatSplit::Total, SEED)?;
            let beliefs = Beliefs::new(scenario.truth.clone(), HeatSplit::Total, thermal)?;
            let ours = run(&scenario, &beliefs, Policy::OursQoe)?;
            let beside = scenario.truth_beside(Some(app));
            out.push(Beside {
                app,
                qoe_tok_per_s: qoe,
                reachable: beside.iter().any(|d| d.throughput_tok_per_s >= qoe),
                oracle: run(&scenario, &beliefs, Policy::Oracle)?,
                settled_s: (ours.last_transition_s - APP_S.1).max(0.0),
                ours,
            });
        }
    }
    Ok(out)
}

/// Every app of Table 1 and a memory-heavy one.
///
/// # Errors
/// None for the embedded platform file and survey.
pub fn exhibit() -> Result<Exhibit, LoopError> {
    let rows = sessions()?;
    let table = DataTable {
        id: "interference_apps".to_owned(),
        caption: "A session of 600 s, the app in the foreground from 200 to 400 s".to_owned(),
        columns: vec![
            key("App", &rows, |r| r.app.name.to_owned()),
            simulated("QoE", "tok/s", 0, &rows, |r| Some(r.qoe_tok_per_s)),
            simulated("Oracle", "mJ/token", 2, &rows, |r| Some(1e3 * r.oracle.j_per_token())),
            simulated("ours QoE", "mJ/token", 2, &rows, |r| Some(1e3 * r.ours.j_per_token())),
            simulated("ours over Oracle", "%", 2, &rows, |r| Some(r.loss_percent())),
            simulated("QoE met, seconds", "%", 1, &rows, |r| r.ours.qoe_met_percent()),
            simulated("QoE missed", "s", 0, &rows, |r| {
                Some(f64::from(r.ours.windows - r.ours.windows_met))
            }),
            simulated("Transitions", "", 0, &rows, |r| Some(f64::from(r.ours.transitions))),
            simulated("Settled after the app's end", "s", 1, &rows, |r| Some(r.settled_s)),
            key("QoE reachable", &rows, |r| if r.reachable { "yes" } else { "no" }.to_owned()),
        ],
    };
    Ok(Exhibit {
        id: "interference".to_owned(),
        title: "Beside foreground apps".to_owned(),
        source: "EnerInfer Table 1 and §4.6".to_owned(),
        caption:
            "Qwen2-1.5B on the high-end phone, cool enough that no thermal control is needed. \
                  The apps act by the published factors of Table 1; the memory-heavy app is \
                  assumed. Ours is told noiseless tables of a run alone, the oracle the truth at \
                  every moment. Energy is that of accelerator and memory, the app's own memory \
                  accesses included."
                .to_owned(),
        tables: vec![table],
        charts: Vec::new(),
    })
}
