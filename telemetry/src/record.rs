//! The canonical record: one phase of one prompt, the same columns for every device.
//!
//! Power never stands alone: each value carries the definition of what was measured, and values of
//! different definitions are not compared.

use std::collections::BTreeSet;

use crate::fuse::{FuseOptions, Fused, WindowFlag, WindowStats};
use crate::tegrastats::{Board, PowerTotal, rail_column};
use crate::text::python_float;
use crate::{Channel, Error, Moments, Quantity, channel};

/// A phase of a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PromptPhase {
    /// Start to end.
    Whole,
    /// Up to the first token.
    Prefill,
    /// From there on.
    Decode,
}

impl PromptPhase {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            PromptPhase::Whole => "prompt",
            PromptPhase::Prefill => "prefill",
            PromptPhase::Decode => "decode",
        }
    }
}

/// Power and energy of something defined.
#[derive(Clone, Debug, PartialEq)]
pub struct Power {
    /// What was measured: `input:VDD_IN`, `sum:GPU+CPU+…`, `rail:VDD_GPU_SOC (GPU and SoC)`.
    pub definition: String,
    /// Mean over the samples, W.
    pub mean_w: Option<f64>,
    /// Integral over the covered time, J.
    pub energy_j: Option<f64>,
    /// Covered part of the window, 0 to 1.
    pub covered: f64,
}

impl Power {
    /// Energy of `self` in units of `other`'s.
    ///
    /// # Errors
    /// The definitions differ: the values are different quantities.
    pub fn energy_ratio(&self, other: &Power) -> Result<Option<f64>, Error> {
        if self.definition != other.definition {
            return Err(Error::invalid(format!(
                "`{}` and `{}` are different quantities and are not compared",
                self.definition, other.definition
            )));
        }
        Ok(match (self.energy_j, other.energy_j) {
            (Some(a), Some(b)) if b != 0.0 => Some(a / b),
            _ => None,
        })
    }
}

/// One phase of one prompt. Absent values are `None`, never 0.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseRecord {
    /// Row of the timing table, from 1.
    pub prompt: usize,
    /// Model; empty if not stated.
    pub model: String,
    /// Phase.
    pub phase: PromptPhase,
    /// Board, if its rails tell.
    pub board: Option<Board>,
    /// Start, UTC ns, inside.
    pub start_ns: i64,
    /// End, UTC ns, outside.
    pub end_ns: i64,
    /// Tokens of the phase: prompt tokens in prefill, generated ones in decode.
    pub tokens: Option<f64>,
    /// Throughput of the phase, tokens/s; of the whole prompt: none.
    pub tok_per_s: Option<f64>,
    /// Samples inside.
    pub samples: u64,
    /// Doubts.
    pub flags: BTreeSet<WindowFlag>,
    /// Total power by the board's definition.
    pub total: Option<Power>,
    /// The accelerator's rail.
    pub accelerator: Option<Power>,
    /// Every rail: name, mean W.
    pub rails: Vec<(String, f64)>,
    /// Means, in the order of [`PhaseRecord::MEANS`].
    pub means: [Option<f64>; 13],
}

impl PhaseRecord {
    /// Names of [`PhaseRecord::means`]; units in the names, loads in %.
    pub const MEANS: [&str; 13] = [
        "gpu_load",
        "gpu_mhz",
        "emc_load",
        "emc_mhz",
        "cpu_load_mean",
        "cpu_load_max",
        "cpu_mhz_mean",
        "cpu_online",
        "temp_gpu_c",
        "temp_cpu_c",
        "temp_max_c",
        "ram_used_mb",
        "nvml_gpu_load",
    ];

    /// A mean by name.
    pub fn mean(&self, name: &str) -> Option<f64> {
        let i = PhaseRecord::MEANS.iter().position(|n| *n == name)?;
        self.means[i]
    }
}

/// Zones that report a constant or the board's regulator, not a temperature of the chip.
const NOT_A_CHIP_ZONE: [&str; 1] = ["temp_pmic_c"];

/// Where the canonical quantities stand among a log's channels.
struct Plan<'a> {
    channels: &'a [Channel],
    board: Option<Board>,
    total: Option<(String, Vec<usize>)>,
    accelerator: Option<(String, usize)>,
    rails: Vec<(String, usize)>,
    cpu_load: Vec<usize>,
    cpu_mhz: Vec<usize>,
    zones: Vec<usize>,
}

impl<'a> Plan<'a> {
    fn new(channels: &'a [Channel]) -> Self {
        let find = |name: &str| channel(channels, name);
        let rails: Vec<(String, usize)> = channels
            .iter()
            .enumerate()
            .filter(|(_, c)| c.quantity == Quantity::Power && !c.name.ends_with("_avg_mw"))
            .filter(|(_, c)| c.name != "total_mw")
            .filter_map(|(i, c)| Some((c.name.strip_suffix("_mw")?.to_ascii_uppercase(), i)))
            .collect();
        let board = Board::detect(rails.iter().map(|r| r.0.as_str()));
        let by_board = board.and_then(|b| {
            let parts: Option<Vec<usize>> = match b.total() {
                PowerTotal::Input(rail) => find(&rail_column(rail)).map(|i| vec![i]),
                PowerTotal::Sum(rails) => rails.iter().map(|r| find(&rail_column(r))).collect(),
            };
            parts.map(|p| (b.total().to_string(), p))
        });
        let given = || {
            let names = [
                ("total_mw", "given:total"),
                ("module_mw", "input:module"),
                ("gpu_board_mw", "input:gpu_board"),
                ("gpu_board_instant_mw", "input:gpu_board"),
                ("gpu_board_average_mw", "input:gpu_board (trailing average)"),
            ];
            names.iter().find_map(|(n, d)| Some(((*d).to_owned(), vec![find(n)?])))
        };
        let accelerator = board.and_then(|b| {
            let (rail, holds) = b.accelerator_rail();
            Some((format!("rail:{rail} ({holds})"), find(&rail_column(rail))?))
        });
        let cores = |suffix: &str| {
            (0..).map_while(|i| find(&format!("cpu{i}_{suffix}"))).collect::<Vec<_>>()
        };
        let zones = channels
            .iter()
            .enumerate()
            .filter(|(_, c)| c.quantity == Quantity::Temperature)
            .filter(|(_, c)| !NOT_A_CHIP_ZONE.contains(&c.name.as_str()))
            .map(|(i, _)| i)
            .collect();
        Plan {
            channels,
            board,
            total: by_board.or_else(given),
            accelerator,
            rails,
            cpu_load: cores("load"),
            cpu_mhz: cores("mhz"),
            zones,
        }
    }

    fn mean(&self, w: &WindowStats, name: &str) -> Option<f64> {
        channel(self.channels, name).and_then(|c| w.mean(c))
    }

    fn power(definition: &str, parts: &[usize], w: &WindowStats) -> Power {
        // A part that is missing makes the sum unknown, not smaller.
        let mean_w = parts.iter().map(|&c| w.mean(c)).sum::<Option<f64>>().map(|mw| mw / 1000.0);
        let energies: Option<Vec<(f64, f64)>> = parts.iter().map(|&c| w.energy_j(c)).collect();
        let covered =
            energies.as_ref().map_or(0.0, |e| e.iter().map(|x| x.1).fold(f64::INFINITY, f64::min));
        Power {
            definition: definition.to_owned(),
            mean_w,
            energy_j: energies.map(|e| e.iter().map(|x| x.0).sum()),
            covered,
        }
    }

    fn means(&self, w: &WindowStats) -> [Option<f64>; 13] {
        let over = |channels: &[usize]| {
            let m = Moments::of(channels.iter().filter_map(|&c| w.mean(c)));
            (m.count() > 0).then(|| m.mean())
        };
        let highest =
            |channels: &[usize]| channels.iter().filter_map(|&c| w.mean(c)).reduce(f64::max);
        let any = |names: &[&str]| names.iter().find_map(|n| self.mean(w, n));
        let cpu_zone = ["temp_mcpu_c", "temp_bcpu_c"].map(|n| self.mean(w, n));
        [
            any(&["gpu_load", "nvml_gpu_load"]),
            any(&["gpu_mhz", "graphics_mhz"]),
            // JetPack 5 reports up to about 107 %.
            self.mean(w, "emc_load").map(|v| v.clamp(0.0, 100.0)),
            any(&["emc_mhz", "mem_mhz"]),
            over(&self.cpu_load),
            highest(&self.cpu_load),
            over(&self.cpu_mhz),
            self.mean(w, "cpu_online"),
            self.mean(w, "temp_gpu_c"),
            self.mean(w, "temp_cpu_c").or_else(|| cpu_zone.into_iter().flatten().reduce(f64::max)),
            highest(&self.zones),
            self.mean(w, "ram_used_mb"),
            self.mean(w, "nvml_gpu_load"),
        ]
    }
}

/// Canonical records of a fusion: three per prompt.
pub fn phase_records(fused: &Fused, options: &FuseOptions) -> Vec<PhaseRecord> {
    let plan = Plan::new(&fused.channels);
    let first_total = plan.total.as_ref().and_then(|t| t.1.first().copied());
    let mut records = Vec::with_capacity(3 * fused.prompts.len());
    for p in &fused.prompts {
        let whole = p.whole();
        for (phase, w) in [
            (PromptPhase::Whole, &whole),
            (PromptPhase::Prefill, &p.prefill),
            (PromptPhase::Decode, &p.decode),
        ] {
            let (tokens, tok_per_s) = match phase {
                PromptPhase::Whole => (None, None),
                PromptPhase::Prefill => {
                    (p.prompt.input_tokens, p.prompt.prefill_tok_per_s(w.seconds()))
                }
                PromptPhase::Decode => (p.prompt.output_tokens, p.prompt.decode_tok_per_s()),
            };
            records.push(PhaseRecord {
                prompt: p.prompt.row,
                model: p.prompt.model.clone(),
                phase,
                board: plan.board,
                start_ns: w.start_ns,
                end_ns: w.end_ns,
                tokens,
                tok_per_s,
                samples: w.samples,
                flags: p.window_flags(w, first_total, options),
                total: plan.total.as_ref().map(|(d, parts)| Plan::power(d, parts, w)),
                accelerator: plan.accelerator.as_ref().map(|(d, c)| Plan::power(d, &[*c], w)),
                rails: plan
                    .rails
                    .iter()
                    .filter_map(|(name, c)| Some((name.clone(), w.mean(*c)? / 1000.0)))
                    .collect(),
                means: plan.means(w),
            });
        }
    }
    records
}

/// Columns of [`records_csv`] before the means.
const HEAD: [&str; 20] = [
    "prompt",
    "model",
    "phase",
    "board",
    "start_ns",
    "end_ns",
    "seconds",
    "tokens",
    "tok_per_s",
    "samples",
    "flags",
    "total_definition",
    "total_power_w",
    "total_energy_j",
    "total_covered",
    "accel_definition",
    "accel_power_w",
    "accel_energy_j",
    "accel_covered",
    "rails_w",
];

/// Records as CSV. Empty cells are absent values.
pub fn records_csv(records: &[PhaseRecord]) -> Result<Vec<u8>, Error> {
    let mut csv = csv::Writer::from_writer(Vec::new());
    let fail = |e: csv::Error| Error::invalid(format!("cannot write the records: {e}"));
    let head = HEAD.iter().chain(&PhaseRecord::MEANS);
    csv.write_record(head).map_err(fail)?;
    for r in records {
        let mut row = vec![
            r.prompt.to_string(),
            r.model.clone(),
            r.phase.name().to_owned(),
            r.board.map_or(String::new(), |b| b.name().to_owned()),
            r.start_ns.to_string(),
            r.end_ns.to_string(),
            number(Some((r.end_ns - r.start_ns) as f64 / 1e9)),
            number(r.tokens),
            number(r.tok_per_s),
            r.samples.to_string(),
            flag_text(&r.flags),
        ];
        for power in [&r.total, &r.accelerator] {
            match power {
                Some(p) => row.extend([
                    p.definition.clone(),
                    number(p.mean_w),
                    number(p.energy_j),
                    number(Some(p.covered)),
                ]),
                None => row.extend(std::iter::repeat_n(String::new(), 4)),
            }
        }
        row.push(rails_text(&r.rails));
        row.extend(r.means.iter().map(|m| number(*m)));
        csv.write_record(&row).map_err(fail)?;
    }
    csv.into_inner().map_err(|e| Error::invalid(format!("cannot write the records: {e}")))
}

/// `VDD_IN=5.3 VDD_SOC=1.4`.
pub(crate) fn rails_text(rails: &[(String, f64)]) -> String {
    let parts: Vec<String> =
        rails.iter().map(|(name, w)| format!("{name}={}", number(Some(*w)))).collect();
    parts.join(" ")
}

/// `few_samples partly_covered`.
pub(crate) fn flag_text(flags: &BTreeSet<WindowFlag>) -> String {
    flags.iter().map(|f| f.name()).collect::<Vec<_>>().join(" ")
}

fn number(v: Option<f64>) -> String {
    let mut out = Vec::new();
    if let Some(v) = v {
        python_float(v, &mut out);
    }
    String::from_utf8_lossy(&out).into_owned()
}
