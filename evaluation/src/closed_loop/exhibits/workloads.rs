//! Requests back to back and at random, at several ambient temperatures.

use enerinfer_artifacts::exhibit::{DataTable, Exhibit};
use enerinfer_datasets::survey;
use enerinfer_device::SimulatedDevice;
use enerinfer_device::thermal::Temperatures;
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::{SEED, key, simulated};
use crate::closed_loop::{
    Beliefs, HeatSplit, LoopError, Policy, Request, Scenario, Session, Stop, Workload, fit_thermal,
    run,
};

const MODEL: &str = "Qwen2-1.5B";
const QOE_TOK_PER_S: f64 = 8.0;
/// Half an hour of use.
const END_S: f64 = 1800.0;
const AMBIENTS_CELSIUS: [f64; 3] = [20.0, 25.0, 27.0];
/// Tokens of prompts and answers.
const PROMPT_TOKENS: std::ops::Range<u32> = 50..500;
const ANSWER_TOKENS: std::ops::Range<u32> = 100..400;
/// Mean pause between random arrivals, s.
const MEAN_PAUSE_S: f64 = 60.0;

#[derive(Clone, Copy)]
enum Arrivals {
    BackToBack,
    Random,
}

impl Arrivals {
    fn name(self) -> &'static str {
        match self {
            Arrivals::BackToBack => "back to back",
            Arrivals::Random => "random arrivals",
        }
    }

    fn requests(self) -> Vec<Request> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(SEED);
        let mut arrival_s = 0.0;
        let mut out = Vec::new();
        // No answer is faster than a tenth of its tokens in seconds on this device.
        while arrival_s < END_S && out.len() < 1_000 {
            out.push(Request {
                arrival_s,
                prompt_tokens: rng.random_range(PROMPT_TOKENS),
                tokens: rng.random_range(ANSWER_TOKENS),
            });
            if let Arrivals::Random = self {
                // Memoryless, by the inverse of the distribution.
                arrival_s -= MEAN_PAUSE_S * (1.0 - rng.random::<f64>()).ln();
            }
        }
        out
    }
}

struct Line {
    arrivals: Arrivals,
    ambient_celsius: f64,
    policy: Policy,
    session: Session,
}

/// All policies under all workloads.
///
/// # Errors
/// None for the embedded platform file and survey.
pub fn exhibit() -> Result<Exhibit, LoopError> {
    let device = SimulatedDevice::builtin("h_phone", None)?;
    let shape = &survey::find(MODEL).ok_or(LoopError::UnknownModel { name: MODEL })?.shape;
    let mut jobs = Vec::new();
    for arrivals in [Arrivals::BackToBack, Arrivals::Random] {
        for ambient in AMBIENTS_CELSIUS {
            let mut scenario = Scenario {
                ambient_celsius: ambient,
                workload: Workload::Requests(arrivals.requests()),
                stop: Stop { after_s: END_S, at_shell_celsius: None },
                ..Scenario::new(&device, shape, QOE_TOK_PER_S)
            };
            let Temperatures { core_celsius, shell_celsius } =
                scenario.thermal.steady(0.0, ambient);
            scenario.start = Temperatures { core_celsius, shell_celsius };
            let thermal = fit_thermal(&scenario, HeatSplit::Total, SEED)?;
            let beliefs = Beliefs::new(scenario.truth.clone(), HeatSplit::Total, thermal)?;
            jobs.push((arrivals, scenario, beliefs));
        }
    }
    let lines: Vec<Line> = jobs
        .par_iter()
        .flat_map(|job| Policy::ALL.into_par_iter().map(move |policy| (job, policy)))
        .map(|((arrivals, scenario, beliefs), policy)| {
            Ok(Line {
                arrivals: *arrivals,
                ambient_celsius: scenario.ambient_celsius,
                policy,
                session: run(scenario, beliefs, policy)?,
            })
        })
        .collect::<Result<_, LoopError>>()?;
    let of = |f: fn(&Session) -> Option<f64>| move |l: &Line| f(&l.session);
    let table = DataTable {
        id: "workloads_policies".to_owned(),
        caption: "Half an hour of requests".to_owned(),
        columns: vec![
            key("Requests", &lines, |l| l.arrivals.name().to_owned()),
            simulated("Ambient", "°C", 0, &lines, |l| Some(l.ambient_celsius)),
            key("Policy", &lines, |l| l.policy.name().to_owned()),
            simulated("Answered", "requests", 0, &lines, of(|s| Some(f64::from(s.requests)))),
            simulated("Tokens", "", 0, &lines, of(|s| Some(s.tokens))),
            simulated("Energy", "mJ/token", 1, &lines, of(|s| Some(1e3 * s.j_per_token()))),
            simulated("QoE met, seconds", "%", 1, &lines, of(Session::qoe_met_percent)),
            simulated("Highest shell", "°C", 2, &lines, of(|s| Some(s.max_shell_celsius))),
            simulated("Prefill, mean", "s", 2, &lines, of(mean_prefill_s)),
            simulated("Transitions", "", 0, &lines, of(|s| Some(f64::from(s.transitions)))),
        ],
    };
    Ok(Exhibit {
        id: "workloads".to_owned(),
        title: "Sessions of requests".to_owned(),
        source: "EnerInfer §6.3 (back-to-back inference); this project (arrivals, ambients)"
            .to_owned(),
        caption:
            "Qwen2-1.5B on the high-end phone, QoE 8 tok/s, threshold 42 °C, prompts of 50 to \
                  500 tokens and answers of 100 to 400. Prefill is 20 times as fast as decoding \
                  (EnerInfer: 15 to 25 times). Energy is that of accelerator and memory, prefill \
                  included. Temperature wins over QoE: where ours misses the QoE, no point keeps \
                  both. (Above 28 °C ambient not even \
                  the lowest clocks would keep 42 °C.)"
                .to_owned(),
        tables: vec![table],
        charts: Vec::new(),
    })
}

fn mean_prefill_s(session: &Session) -> Option<f64> {
    let n = session.prefill_s.len();
    (n > 0).then(|| session.prefill_s.iter().sum::<f64>() / n as f64)
}
