//! Tables 4 to 7 of the Hydra paper.

use super::HydraPlatform;
use super::corpus::{Backend, Corpus, DECODE, PREFILL, Record, Sweep};
use crate::Moments;

/// A table of text cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextGrid {
    /// File stem, as in the released artifact.
    pub name: &'static str,
    /// Column names.
    pub header: Vec<String>,
    /// Rows.
    pub rows: Vec<Vec<String>>,
}

impl TextGrid {
    /// Comma-separated; no cell holds a comma.
    pub fn to_csv(&self) -> String {
        let mut out = self.header.join(",");
        out.push('\n');
        for row in &self.rows {
            out.push_str(&row.join(","));
            out.push('\n');
        }
        out
    }

    /// Markdown.
    pub fn to_markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut out = line(&self.header);
        out.push_str(&format!("|{}\n", "---|".repeat(self.header.len())));
        self.rows.iter().for_each(|r| out.push_str(&line(r)));
        out
    }
}

/// The three models of the tables.
pub const TABLE_MODELS: [&str; 3] = ["Qwen2.5-1.5B", "Qwen2.5-3B", "Qwen2.5-7B"];

/// Formats: heading, backend, dtype.
pub const FORMATS: [(&str, Backend, &str); 5] = [
    ("HF bf16", Backend::Hf, "torch.bfloat16"),
    ("F16", Backend::LlamaCpp, "F16"),
    ("Q8_0", Backend::LlamaCpp, "Q8_0"),
    ("Q6_K", Backend::LlamaCpp, "Q6_K"),
    ("Q4_K_M", Backend::LlamaCpp, "Q4_K_M"),
];

/// Input tiers of S1 by actual tokens: `(low, high]`.
pub const TIERS: [(f64, f64); 3] = [(0.0, 2000.0), (2000.0, 4000.0), (4000.0, f64::INFINITY)];
/// Output lengths of S2.
pub const OUTPUTS: [u32; 3] = [1000, 3000, 5000];

const NEWER: [HydraPlatform; 2] = [HydraPlatform::Orin, HydraPlatform::Thor];

/// `mean(std)` over prompts, or `--` without values.
fn mean_std<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    decimals: usize,
    value: impl Fn(&Record) -> f64,
) -> String {
    let m = Moments::of(records.into_iter().map(value));
    if m.count() == 0 {
        return "--".to_owned();
    }
    let std = if m.std().is_nan() { "nan".to_owned() } else { format!("{:.decimals$}", m.std()) };
    format!("{:.decimals$}({std})", m.mean())
}

fn header(names: &[&str]) -> Vec<String> {
    names.iter().map(|n| (*n).to_owned()).collect()
}

/// All four tables.
pub fn tables(corpus: &Corpus) -> Vec<TextGrid> {
    vec![table4(corpus), table5(corpus), table6(corpus), table7(corpus)]
}

/// GPU utilisation and memory bandwidth on Orin, `prefill/decode`.
fn table4(corpus: &Corpus) -> TextGrid {
    let p = HydraPlatform::Orin;
    let mut names = vec!["Model".to_owned()];
    for (format, ..) in FORMATS {
        names.extend([format!("{format} U_eff"), format!("{format} BW_eff")]);
    }
    let rows = TABLE_MODELS
        .iter()
        .map(|model| {
            let mut row = vec![(*model).to_owned()];
            for (_, backend, dtype) in FORMATS {
                let records = corpus.records(p, backend, Sweep::Main, model, dtype);
                let both = |f: &dyn Fn(&Record, usize) -> f64| {
                    let phase = |ph: usize| mean_std(records, 1, |r| f(r, ph));
                    format!("{}/{}", phase(PREFILL), phase(DECODE))
                };
                row.push(both(&|r, ph| r.phases[ph].effective_utilisation(p)));
                row.push(both(&|r, ph| r.phases[ph].effective_bandwidth(p)));
            }
            row
        })
        .collect();
    TextGrid { name: "table4_gpu_mem_orin", header: names, rows }
}

/// Cells of the six sweep columns.
fn sweep_cells(
    corpus: &Corpus,
    (p, backend, model, dtype): (HydraPlatform, Backend, &str, &str),
    decimals: usize,
    value: impl Fn(&Record) -> f64,
) -> Vec<String> {
    let s1 = corpus.records(p, backend, Sweep::S1, model, dtype);
    let tiers = TIERS.iter().map(|&(low, high)| {
        let inside = |r: &&Record| r.input_tokens() > low && r.input_tokens() <= high;
        mean_std(s1.iter().filter(inside), decimals, &value)
    });
    let outputs = OUTPUTS.iter().map(|&output| {
        let s2 = corpus.records(p, backend, Sweep::S2 { output }, model, dtype);
        mean_std(s2, decimals, &value)
    });
    tiers.chain(outputs).collect()
}

const SWEEP_COLUMNS: [&str; 6] = ["In 1k", "In 3k", "In 5k", "Out 1k", "Out 3k", "Out 5k"];

/// GPU utilisation over the sweeps.
fn table5(corpus: &Corpus) -> TextGrid {
    let mut rows = Vec::new();
    for model in TABLE_MODELS {
        for p in NEWER {
            for (name, phase) in [("Pre", PREFILL), ("Dec", DECODE)] {
                let mut row = header(&[model, p.name(), name]);
                row.extend(sweep_cells(
                    corpus,
                    (p, Backend::Hf, model, "torch.bfloat16"),
                    1,
                    |r| r.phases[phase].effective_utilisation(p),
                ));
                rows.push(row);
            }
        }
    }
    let names = [&["Model", "Platf.", "Phase"][..], &SWEEP_COLUMNS].concat();
    TextGrid { name: "table5_ueff_sweeps", header: header(&names), rows }
}

/// Power, energy per token and temperatures in decode, `Orin/Thor`.
fn table6(corpus: &Corpus) -> TextGrid {
    let mut rows = Vec::new();
    for model in TABLE_MODELS {
        for (format, backend, dtype) in FORMATS {
            let cell = |decimals: usize, f: &dyn Fn(&Record) -> f64| {
                NEWER
                    .map(|p| {
                        mean_std(corpus.records(p, backend, Sweep::Main, model, dtype), decimals, f)
                    })
                    .join("/")
            };
            rows.push(vec![
                model.to_owned(),
                format.to_owned(),
                cell(1, &|r| r.phases[DECODE].power_w()),
                cell(0, &Record::mj_per_token),
                cell(1, &|r| r.phases[DECODE].gpu_temp_c),
                cell(1, &|r| r.phases[DECODE].cpu_temp_c),
            ]);
        }
    }
    let names = ["Model", "Format", "Power (W)", "mJ/tok", "T_GPU (C)", "T_CPU (C)"];
    TextGrid { name: "table6_efficiency", header: header(&names), rows }
}

/// Energy per prompt over the sweeps.
fn table7(corpus: &Corpus) -> TextGrid {
    let formats =
        [("HF bf16", Backend::Hf, "torch.bfloat16"), ("lcpp Q4", Backend::LlamaCpp, "Q4_K_M")];
    let mut rows = Vec::new();
    for model in TABLE_MODELS {
        for p in NEWER {
            for (name, backend, dtype) in formats {
                let mut row = header(&[model, p.name(), name]);
                row.extend(sweep_cells(corpus, (p, backend, model, dtype), 0, Record::energy_j));
                rows.push(row);
            }
        }
    }
    let names = [&["Model", "Plat.", "Format"][..], &SWEEP_COLUMNS].concat();
    TextGrid { name: "table7_total_energy", header: header(&names), rows }
}
