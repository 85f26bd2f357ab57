//! Figure 15: energy of whole tasks, display and CPU included.

use enerinfer_artifacts::exhibit::{Column, DataTable, Exhibit, Provenance};
use enerinfer_datasets::{WeightFormat, survey};
use enerinfer_device::SimulatedDevice;
use enerinfer_device::thermal::Temperatures;

use super::{SEED, gain_percent, key, published, simulated};
use crate::closed_loop::{
    Beliefs, HeatSplit, LoopError, Policy, Request, Scenario, Stop, Workload, fit_thermal, run,
};

/// QoE that keeps up with the display (EnerInfer §6.4), tokens/s.
const QOE_TOK_PER_S: f64 = 10.0;
/// Share of the task's time that decoding takes; prefill takes about 3 %, displaying the rest.
const DECODE_SHARE: f64 = 0.5;
const PREFILL_SHARE: f64 = 0.03;
/// Prefill processes this many tokens in the time of one decoded token (EnerInfer §3: 15–25).
const PREFILL_SPEED: f64 = 20.0;
const AMBIENT_CELSIUS: f64 = 25.0;
/// "Reduce NPU and Mem power consumption by 44 %" above 10 tokens/s (EnerInfer §1, Figure 1).
const FIG1_CHANGE_PERCENT: f64 = -44.0;

/// A task with its published energies.
struct Task {
    platform: &'static str,
    format: WeightFormat,
    task: &'static str,
    /// The paper's model is Pangu-π on the phones' polishing, whose shape is not published.
    model: &'static str,
    tokens: u32,
    default_j: f64,
    enerinfer_j: f64,
    /// Table 2's efficiencies of the model, Default and EnerInfer at 10 tokens/s, tokens/J.
    table2_tok_per_j: [f64; 2],
}

const fn task(
    platform: &'static str,
    format: WeightFormat,
    task: &'static str,
    tokens: u32,
    default_j: f64,
    enerinfer_j: f64,
    table2_tok_per_j: [f64; 2],
) -> Task {
    let model = "Qwen2-1.5B";
    Task { platform, format, task, model, tokens, default_j, enerinfer_j, table2_tok_per_j }
}

const TASKS: [Task; 6] = [
    task("h_phone", WeightFormat::Q4_0, "polish", 250, 86.7, 77.2, [11.4, 17.1]),
    task("h_phone", WeightFormat::Q4_0, "conversation", 200, 86.2, 80.2, [11.4, 17.1]),
    task("m_phone", WeightFormat::Q4_0, "polish", 250, 110.8, 106.2, [12.8, 16.1]),
    task("m_phone", WeightFormat::Q4_0, "conversation", 200, 86.4, 79.7, [12.8, 16.1]),
    task("laptop", WeightFormat::F16, "polish", 400, 460.8, 439.5, [4.9, 5.3]),
    task("laptop", WeightFormat::F16, "conversation", 180, 176.4, 157.3, [4.9, 5.3]),
];

struct Line {
    of: &'static Task,
    /// Energy of accelerator and memory, J: Default, EnerInfer.
    inference_j: [f64; 2],
    task_s: f64,
    /// Power of display, CPU and the rest that makes Default's total the published one, W.
    rest_w: f64,
}

impl Line {
    fn total_j(&self) -> f64 {
        self.of.default_j - self.inference_j[0] + self.inference_j[1]
    }
}

/// Energy per task beside the published one.
///
/// # Errors
/// None for the embedded platform files and survey.
pub fn exhibit() -> Result<Exhibit, LoopError> {
    let lines = TASKS.iter().map(line).collect::<Result<Vec<_>, LoopError>>()?;
    let saved = |l: &Line| gain_percent(l.total_j(), l.of.default_j);
    let table = DataTable {
        id: "fig15_tasks".to_owned(),
        caption: "Energy of a task".to_owned(),
        columns: vec![
            key("Device", &lines, |l| l.of.platform.to_owned()),
            key("Task", &lines, |l| l.of.task.to_owned()),
            published("Tokens", "", 0, &lines, |l| Some(f64::from(l.of.tokens))),
            published("Default, total", "J", 1, &lines, |l| Some(l.of.default_j)),
            published("EnerInfer, total", "J", 1, &lines, |l| Some(l.of.enerinfer_j)),
            simulated("EnerInfer, total", "J", 1, &lines, |l| Some(l.total_j())),
            published("Change of the total", "%", 1, &lines, |l| {
                Some(gain_percent(l.of.enerinfer_j, l.of.default_j))
            }),
            simulated("Change of the total", "%", 1, &lines, |l| Some(saved(l))),
            published("Saved", "J", 1, &lines, |l| Some(l.of.default_j - l.of.enerinfer_j)),
            Column::numbers(
                "Saved by Table 2's efficiencies",
                "J",
                Provenance::Published,
                1,
                lines.iter().map(|l| {
                    let [default, enerinfer] = l.of.table2_tok_per_j.map(f64::recip);
                    f64::from(l.of.tokens) * (default - enerinfer)
                }),
            ),
            simulated("Saved", "J", 1, &lines, |l| Some(l.inference_j[0] - l.inference_j[1])),
            simulated("Default, accelerator and memory", "J", 1, &lines, |l| {
                Some(l.inference_j[0])
            }),
            simulated("EnerInfer, accelerator and memory", "J", 1, &lines, |l| {
                Some(l.inference_j[1])
            }),
            simulated("Task", "s", 1, &lines, |l| Some(l.task_s)),
            simulated("Rest of the device", "W", 2, &lines, |l| Some(l.rest_w)),
        ],
    };
    Ok(Exhibit {
        id: "fig15".to_owned(),
        title: "Energy of whole tasks".to_owned(),
        source: "EnerInfer Figures 1 and 15".to_owned(),
        caption: "Accelerator and memory are simulated in the closed loop (ours QoE, 10 tok/s, \
                  prefill at the highest clocks). The rest of the device (display, CPU, GPU) is \
                  the same for both policies, as the display's rate fixes the task's length; its \
                  power is what makes Default's total the published one, so Default's total is not \
                  a result. A task lasts twice the decoding at 10 tok/s (decoding about 50 %, \
                  prefill about 3 %, both published). Polishing on phones uses Pangu-π in the \
                  paper, whose shape is not published: Qwen2-1.5B stands for it. On the laptop and in \
                  conversation on the mid-tier phone the published saving is more than twice what \
                  the paper's own Table 2 allows for the model; the simulation follows Table 2."
            .to_owned(),
        tables: vec![table, components(&lines)],
        charts: Vec::new(),
    })
}

/// Figure 1: mean power of the components while a phone polishes text.
fn components(lines: &[Line]) -> DataTable {
    let mean_w = |l: &Line, policy: usize| l.inference_j[policy] / l.task_s;
    DataTable {
        id: "fig1_components".to_owned(),
        caption:
            "Mean power of the components during a task (Figure 1 draws a phone that polishes \
                  text)"
                .to_owned(),
        columns: vec![
            key("Device", lines, |l| l.of.platform.to_owned()),
            key("Task", lines, |l| l.of.task.to_owned()),
            simulated("Rest of the device", "W", 2, lines, |l| Some(l.rest_w)),
            simulated("Default, accelerator and memory", "W", 2, lines, |l| Some(mean_w(l, 0))),
            simulated("EnerInfer, accelerator and memory", "W", 2, lines, |l| Some(mean_w(l, 1))),
            published("Change of accelerator and memory", "%", 0, lines, |l| {
                let drawn = (l.of.platform, l.of.task) == ("h_phone", "polish");
                drawn.then_some(FIG1_CHANGE_PERCENT)
            }),
            simulated("Change of accelerator and memory", "%", 0, lines, |l| {
                Some(gain_percent(l.inference_j[1], l.inference_j[0]))
            }),
        ],
    }
}

fn line(of: &'static Task) -> Result<Line, LoopError> {
    let device = SimulatedDevice::builtin(of.platform, Some(of.format))?;
    let shape = &survey::find(of.model).ok_or(LoopError::UnknownModel { name: of.model })?.shape;
    let task_s = f64::from(of.tokens) / QOE_TOK_PER_S / DECODE_SHARE;
    let fastest = device.decode(shape, device.platform().clocks.highest()).throughput_tok_per_s;
    let prompt = PREFILL_SHARE * task_s * PREFILL_SPEED * fastest;
    let mut scenario = Scenario {
        ambient_celsius: AMBIENT_CELSIUS,
        workload: Workload::Requests(vec![Request {
            arrival_s: 0.0,
            prompt_tokens: prompt as u32,
            tokens: of.tokens,
        }]),
        stop: Stop { after_s: 10.0 * task_s, at_shell_celsius: None },
        ..Scenario::new(&device, shape, QOE_TOK_PER_S)
    };
    let Temperatures { core_celsius, shell_celsius } =
        scenario.thermal.steady(0.0, AMBIENT_CELSIUS);
    scenario.start = Temperatures { core_celsius, shell_celsius };
    let thermal = fit_thermal(&scenario, HeatSplit::Total, SEED)?;
    let beliefs = Beliefs::new(scenario.truth.clone(), HeatSplit::Total, thermal)?;
    let default_j = run(&scenario, &beliefs, Policy::Default)?.energy_j;
    let ours_j = run(&scenario, &beliefs, Policy::OursQoe)?.energy_j;
    Ok(Line {
        of,
        inference_j: [default_j, ours_j],
        task_s,
        rest_w: (of.default_j - default_j) / task_s,
    })
}
