//! The data of Figures 1 and 3 to 7 of the Hydra paper.

use super::HydraPlatform;
use super::corpus::{Backend, Corpus, DECODE, PREFILL, Record, Sweep};
use super::tables::{OUTPUTS, TABLE_MODELS};
use crate::Moments;
use crate::text::python_float;

/// Registry name, code in the figures, parameters in billions; by parameters.
pub const MODELS: [(&str, &str, f64); 13] = [
    ("Llama-3.2-1B", "L-1B", 1.24),
    ("Qwen2.5-1.5B", "QW-1.5B", 1.54),
    ("gemma-2B", "GE-2B", 2.51),
    ("granite-3.3-2B", "GR-2B", 2.53),
    ("Qwen2.5-3B", "QW-3B", 3.09),
    ("Llama-3.2-3B", "L-3B", 3.21),
    ("Phi-3.5-mini", "PH-4B", 3.82),
    ("Qwen2.5-7B", "QW-7B", 7.62),
    ("Ministral-8B", "MI-8B", 8.02),
    ("Llama-3.1-8B", "L-8B", 8.03),
    ("moxin-7B", "MO-7B", 8.11),
    ("granite-3.3-8B", "GR-8B", 8.17),
    ("gemma-7B", "GE-7B", 8.54),
];

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drawn {
    /// A bar; NaN where there is none; a deviation where the figure has error bars.
    Bar {
        /// Height.
        value: f64,
        /// Error bar.
        std: Option<f64>,
    },
    /// A box: quartiles by linear interpolation, whiskers at the last values within 1.5 IQR.
    Box {
        /// First quartile, median, third quartile.
        quartiles: [f64; 3],
        /// Ends of the whiskers.
        whiskers: [f64; 2],
        /// Values.
        n: usize,
    },
}

/// One bar or box.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Label under it.
    pub at: String,
    /// What it is.
    pub drawn: Drawn,
}

/// One series of marks, drawn in one call.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkSeries {
    /// Panel, counted by rows.
    pub panel: usize,
    /// Legend; empty where the figure has none.
    pub label: &'static str,
    /// By position.
    pub marks: Vec<Mark>,
}

/// A panel's texts.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Title.
    pub title: String,
    /// Quantity and unit.
    pub unit: &'static str,
    /// Logarithmic axis.
    pub log: bool,
}

/// A figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// `fig1`, `fig3`, …
    pub name: &'static str,
    /// Caption.
    pub title: &'static str,
    /// Panels per row.
    pub per_row: usize,
    /// Panels.
    pub panels: Vec<Panel>,
    /// Series in drawing order.
    pub series: Vec<MarkSeries>,
}

/// All figures.
pub fn figures(corpus: &Corpus) -> Vec<Figure> {
    vec![
        figure1(corpus),
        figure3(corpus),
        figure4(corpus),
        figure5(corpus),
        figure6(corpus),
        figure7(corpus),
    ]
}

/// The figures' data, one row per mark:
/// `figure,axes_index,draw_call,label,position,kind,value,std`.
pub fn figure_values_csv(figures: &[Figure]) -> String {
    let number = |v: f64| {
        let mut out = Vec::new();
        python_float(v, &mut out);
        if v.is_nan() { "nan".to_owned() } else { String::from_utf8_lossy(&out).into_owned() }
    };
    let mut out = "figure,axes_index,draw_call,label,position,kind,value,std\n".to_owned();
    for f in figures {
        for (call, s) in f.series.iter().enumerate() {
            for (position, mark) in s.marks.iter().enumerate() {
                let (kind, value, std) = match mark.drawn {
                    Drawn::Bar { value, std } => {
                        let std = std.filter(|s| !s.is_nan()).map_or(String::new(), number);
                        ("bar", number(value), std)
                    }
                    Drawn::Box { quartiles, n, .. } => {
                        let q = quartiles.map(number).join("|");
                        ("box q1|median|q3|n", format!("{q}|{n}"), String::new())
                    }
                };
                out.push_str(&format!(
                    "{},{},{call},{},{position},{kind},{value},{std}\n",
                    f.name, s.panel, s.label
                ));
            }
        }
    }
    out
}

fn bar<'a>(
    at: &str,
    records: impl IntoIterator<Item = &'a Record>,
    with_std: bool,
    f: impl Fn(&Record) -> f64,
) -> Mark {
    let m = Moments::of(records.into_iter().map(f));
    let drawn = Drawn::Bar { value: m.mean(), std: with_std.then(|| m.std()) };
    Mark { at: at.to_owned(), drawn }
}

fn panel(title: impl Into<String>, unit: &'static str, log: bool) -> Panel {
    Panel { title: title.into(), unit, log }
}

const HF: (Backend, &str) = (Backend::Hf, "torch.bfloat16");
const F16: (Backend, &str) = (Backend::LlamaCpp, "F16");
const Q4: (Backend, &str) = (Backend::LlamaCpp, "Q4_K_M");

/// Motivation: phases differ. HF bf16, two size classes, prompts pooled.
fn figure1(corpus: &Corpus) -> Figure {
    let bins = [("1-4B", 0.0..4.0), ("5-8B", 4.0..9.0)];
    let mut series = Vec::new();
    for (i, p) in HydraPlatform::ALL.into_iter().enumerate() {
        let marks = |f: &dyn Fn(&Record) -> f64| -> Vec<Mark> {
            bins.iter()
                .map(|(name, range)| {
                    let models = MODELS.iter().filter(|m| range.contains(&m.2));
                    let pooled =
                        models.flat_map(|m| corpus.records(p, HF.0, Sweep::Main, m.0, HF.1));
                    bar(name, pooled, false, f)
                })
                .collect()
        };
        let bandwidth = |r: &Record, phase: usize| {
            let c = &r.phases[phase];
            // Without a memory clock the peak is assumed.
            if c.emc_freq.is_nan() {
                p.peak_bandwidth_gb_per_s() * c.emc_load / 100.0
            } else {
                c.effective_bandwidth(p)
            }
        };
        let per_token =
            |seconds: f64, tokens: Option<f64>| seconds / tokens.unwrap_or(f64::NAN) * 1e3;
        let prefill_ms = marks(&|r| per_token(r.prompt.prefill_s, r.prompt.input_tokens));
        let decode_ms = marks(&|r| {
            per_token(r.prompt.total_generation_s.unwrap_or(f64::NAN), r.prompt.output_tokens)
        });
        let mut add = |panel: usize, label: &'static str, marks: Vec<Mark>| {
            series.push(MarkSeries { panel, label, marks });
        };
        add(i, "Prefill", prefill_ms);
        add(i, "Decode", decode_ms);
        for phase in [PREFILL, DECODE] {
            add(3 + i, "", marks(&|r| bandwidth(r, phase)));
        }
        for phase in [PREFILL, DECODE] {
            add(6 + i, "", marks(&|r| r.phases[phase].gpu_power_mw / 1000.0));
        }
    }
    let rows = [
        ("time per token", "ms/token", true),
        ("memory bandwidth", "GB/s", false),
        ("GPU rail", "W", false),
    ];
    let panels = rows
        .iter()
        .flat_map(|&(what, unit, log)| {
            HydraPlatform::ALL.map(|p| panel(format!("{p}: {what}"), unit, log))
        })
        .collect();
    let title = "Prefill and decode by platform and model size (HF bf16)";
    Figure { name: "fig1", title, per_row: 3, panels, series }
}

/// One bar per model with error bars.
fn by_model(
    corpus: &Corpus,
    p: HydraPlatform,
    (backend, dtype): (Backend, &str),
    f: impl Fn(&Record) -> f64,
) -> Vec<Mark> {
    MODELS
        .iter()
        .map(|m| bar(m.1, corpus.records(p, backend, Sweep::Main, m.0, dtype), true, &f))
        .collect()
}

/// End-to-end latency of every model.
fn figure3(corpus: &Corpus) -> Figure {
    let (mut series, mut panels) = (Vec::new(), Vec::new());
    for (name, format) in [("HF bf16", HF), ("llama.cpp F16", F16)] {
        for p in HydraPlatform::ALL {
            let marks = by_model(corpus, p, format, |r| r.prompt.end_to_end_s.unwrap_or(f64::NAN));
            series.push(MarkSeries { panel: panels.len(), label: "", marks });
            panels.push(panel(format!("{p}, {name}"), "s", false));
        }
    }
    let title = "End-to-end latency";
    Figure { name: "fig3", title, per_row: 3, panels, series }
}

/// Decode throughput at Q4_K_M.
fn figure4(corpus: &Corpus) -> Figure {
    let series = HydraPlatform::ALL
        .into_iter()
        .zip(["Xavier", "Orin", "Thor"])
        .map(|(p, label)| MarkSeries {
            panel: 0,
            label,
            marks: by_model(corpus, p, Q4, |r| r.generation_tok_per_s),
        })
        .collect();
    let panels = vec![panel("llama.cpp Q4_K_M", "tokens/s", false)];
    Figure { name: "fig4", title: "Decode throughput at Q4_K_M", per_row: 1, panels, series }
}

/// Time per stage on Thor.
fn figure5(corpus: &Corpus) -> Figure {
    type Stage = (&'static str, fn(&Record) -> f64);
    const OUTER: [Stage; 3] = [
        ("Tokenization", |r| r.prompt.tokenization_s),
        ("Prefill", |r| r.prompt.prefill_s),
        ("TTFT", |r| r.prompt.ttft_s.unwrap_or(f64::NAN)),
    ];
    const INNER: [Stage; 3] = [
        ("Generation", |r| r.prompt.generation_s.unwrap_or(f64::NAN)),
        ("De-tokenization", |r| r.prompt.detokenization_s.unwrap_or(f64::NAN)),
        ("ITL", |r| r.prompt.itl_s.unwrap_or(f64::NAN)),
    ];
    let mut series = Vec::new();
    for (column, (backend, dtype)) in [HF, F16].into_iter().enumerate() {
        for (row, stages) in [OUTER, INNER].into_iter().enumerate() {
            for (label, f) in stages {
                let marks = TABLE_MODELS
                    .iter()
                    .map(|m| {
                        let records =
                            corpus.records(HydraPlatform::Thor, backend, Sweep::Main, m, dtype);
                        bar(m, records, true, |r| f(r) * 1e3)
                    })
                    .collect();
                series.push(MarkSeries { panel: 2 * row + column, label, marks });
            }
        }
    }
    let panels = [
        "HF: to the first token",
        "llama.cpp: to the first token",
        "HF: per token",
        "llama.cpp: per token",
    ]
    .map(|t| panel(t, "ms", false))
    .into();
    Figure { name: "fig5", title: "Stages on Thor", per_row: 2, panels, series }
}

/// Sensitivity to input and output length.
fn figure6(corpus: &Corpus) -> Figure {
    const SIX: [&str; 6] = [
        "Llama-3.2-1B",
        "Qwen2.5-1.5B",
        "Llama-3.2-3B",
        "Qwen2.5-3B",
        "Qwen2.5-7B",
        "Llama-3.1-8B",
    ];
    // The figure's own upper end: longer inputs are left out.
    const TIERS: [(f64, f64); 3] = [(0.0, 2000.0), (2000.0, 4000.0), (4000.0, 9999.0)];
    const INPUTS: [&str; 3] = ["Inp 1k (out 500)", "Inp 3k (out 500)", "Inp 5k (out 500)"];
    const OUT: [&str; 3] =
        ["Out 1k (in $\\sim$50)", "Out 3k (in $\\sim$50)", "Out 5k (in $\\sim$50)"];
    let newer = [HydraPlatform::Orin, HydraPlatform::Thor];
    let (mut series, mut panels) = (Vec::new(), Vec::new());
    for p in newer {
        for (label, (low, high)) in INPUTS.into_iter().zip(TIERS) {
            let marks = SIX
                .iter()
                .map(|m| {
                    let records = corpus.records(p, Q4.0, Sweep::S1, m, Q4.1);
                    let tier = records
                        .iter()
                        .filter(|r| r.input_tokens() > low && r.input_tokens() <= high);
                    bar(m, tier, true, |r| r.prompt.ttft_s.unwrap_or(f64::NAN) * 1e3)
                })
                .collect();
            series.push(MarkSeries { panel: panels.len(), label, marks });
        }
        panels.push(panel(format!("{p}: time to first token"), "ms", false));
    }
    for p in newer {
        for (label, output) in OUT.into_iter().zip(OUTPUTS) {
            let marks = SIX
                .iter()
                .map(|m| {
                    let records = corpus.records(p, Q4.0, Sweep::S2 { output }, m, Q4.1);
                    bar(m, records, true, |r| r.generation_tok_per_s)
                })
                .collect();
            series.push(MarkSeries { panel: panels.len(), label, marks });
        }
        panels.push(panel(format!("{p}: decode"), "tokens/s", false));
    }
    let title = "Sensitivity to lengths (llama.cpp Q4_K_M)";
    Figure { name: "fig6", title, per_row: 2, panels, series }
}

/// Load and clock of every core, Qwen2.5-7B.
fn figure7(corpus: &Corpus) -> Figure {
    let mut series = Vec::new();
    let mut panels: Vec<Panel> = vec![panel("", "", false); 12];
    for (b, (name, (backend, dtype))) in
        [("HF bf16", HF), ("llama.cpp F16", F16)].into_iter().enumerate()
    {
        for (i, p) in HydraPlatform::ALL.into_iter().enumerate() {
            let records = corpus.records(p, backend, Sweep::Main, "Qwen2.5-7B", dtype);
            let boxes = |f: &dyn Fn((f64, f64)) -> f64| -> Vec<Mark> {
                (0..p.cores())
                    .map(|core| {
                        let values =
                            records.iter().filter_map(|r| r.cores.get(core)).map(|c| f(*c));
                        Mark { at: core.to_string(), drawn: box_of(values) }
                    })
                    .collect()
            };
            let load = 6 * b + i;
            series.push(MarkSeries { panel: load, label: "", marks: boxes(&|c| c.0) });
            panels[load] = panel(format!("{p}, {name}: core load"), "%", false);
            series.push(MarkSeries { panel: load + 3, label: "", marks: boxes(&|c| c.1 / 1000.0) });
            panels[load + 3] = panel(format!("{p}, {name}: core clock"), "GHz", false);
        }
    }
    let title = "CPU cores (Qwen2.5-7B)";
    Figure { name: "fig7", title, per_row: 3, panels, series }
}

fn box_of(values: impl Iterator<Item = f64>) -> Drawn {
    let mut v: Vec<f64> = values.filter(|v| !v.is_nan()).collect();
    v.sort_by(f64::total_cmp);
    let quartiles = [0.25, 0.5, 0.75].map(|q| quantile(&v, q));
    let reach = 1.5 * (quartiles[2] - quartiles[0]);
    let low = v.iter().copied().find(|x| *x >= quartiles[0] - reach);
    let high = v.iter().rev().copied().find(|x| *x <= quartiles[2] + reach);
    let whiskers = [low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN)];
    Drawn::Box { quartiles, whiskers, n: v.len() }
}

/// Quantile of sorted values by linear interpolation; NaN without values.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = q * last as f64;
    let low = at.floor() as usize;
    let high = (low + 1).min(last);
    sorted[low] + (sorted[high] - sorted[low]) * (at - low as f64)
}
