//! The released corpus: its layout and its records.

use std::fmt;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::HydraPlatform;
use super::canonical::{Canonical, CanonicalColumns, PHASES};
use crate::info::refuse_doubled;
use crate::{Error, Prompt};

/// Inference backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Backend {
    /// HuggingFace Transformers.
    Hf,
    /// llama.cpp.
    LlamaCpp,
}

impl Backend {
    /// Name in paths.
    pub fn name(self) -> &'static str {
        match self {
            Backend::Hf => "hf",
            Backend::LlamaCpp => "llamacpp",
        }
    }
}

/// The corpus a configuration belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Sweep {
    /// IFEval prompts, 500 tokens out.
    Main,
    /// Input lengths of about 1, 3 and 5 thousand tokens.
    S1,
    /// Output lengths.
    S2 {
        /// Tokens asked for.
        output: u32,
    },
}

/// One file of the corpus: a model in a format on a backend of a platform.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Config {
    /// Platform.
    pub platform: HydraPlatform,
    /// Backend.
    pub backend: Backend,
    /// Main corpus or sweep.
    pub sweep: Sweep,
    /// Registry name of the model.
    pub model: String,
    /// `torch.bfloat16`, `F16`, `Q8_0`, `Q6_K`, `Q4_K_M`.
    pub dtype: String,
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}/{}", self.platform, self.backend.name(), self.model, self.dtype)?;
        match self.sweep {
            Sweep::Main => Ok(()),
            Sweep::S1 => f.write_str("/S1"),
            Sweep::S2 { output } => write!(f, "/S2-{output}"),
        }
    }
}

/// One prompt: timing, and canonical telemetry of the three windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Timing.
    pub prompt: Prompt,
    /// Tokens/s of generation as Hydra counts them (the first token included).
    pub generation_tok_per_s: f64,
    /// Prompt, prefill, decode.
    pub phases: [Canonical; 3],
    /// Per core over the prompt: load (%), clock (MHz).
    pub cores: Vec<(f64, f64)>,
}

/// Index of the prompt window in [`Record::phases`].
pub const PROMPT: usize = 0;
/// Index of the prefill window.
pub const PREFILL: usize = 1;
/// Index of the decode window.
pub const DECODE: usize = 2;

impl Record {
    /// Energy per decoded token, mJ: mean decode power × inter-token latency.
    pub fn mj_per_token(&self) -> f64 {
        self.phases[DECODE].power_w() * self.prompt.itl_s.unwrap_or(f64::NAN) * 1000.0
    }

    /// Energy of the prompt, J: mean power × end-to-end latency.
    pub fn energy_j(&self) -> f64 {
        self.phases[PROMPT].power_w() * self.prompt.end_to_end_s.unwrap_or(f64::NAN)
    }

    /// Prompt tokens; NaN if not stated.
    pub fn input_tokens(&self) -> f64 {
        self.prompt.input_tokens.unwrap_or(f64::NAN)
    }
}

/// A file with its records.
#[derive(Clone, Debug)]
pub struct ConfigData {
    /// What it is.
    pub config: Config,
    /// Where it is.
    pub path: PathBuf,
    /// Columns of the file.
    pub columns: usize,
    /// Records in file order.
    pub records: Vec<Record>,
}

/// A corpus in memory: what the analysis needs of it, about 700 bytes per record.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// Sorted by configuration.
    pub configs: Vec<ConfigData>,
}

const DTYPES: [&str; 7] =
    ["torch.bfloat16", "torch.float16", "torch.float32", "Q4_K_M", "Q8_0", "Q6_K", "F16"];

impl Corpus {
    /// Loads every UNIFIED file below `root` (its released layout), in parallel.
    ///
    /// # Errors
    /// No UNIFIED file, or one that cannot be read.
    pub fn load(root: &Path) -> Result<Self, Error> {
        let files = unified_files(root)?;
        if files.is_empty() {
            return Err(Error::invalid(format!(
                "{}: no UNIFIED_*.csv below <platform>/results_<backend>_<platform>/ or \
                 results_sensitivity/; fuse the logs first (`measure fuse --mode hydra`)",
                root.display()
            )));
        }
        let mut configs = files
            .into_par_iter()
            .map(|(config, path)| load(config, &path).map_err(|e| e.in_file(&path)))
            .collect::<Result<Vec<_>, _>>()?;
        configs.sort_by(|a, b| a.config.cmp(&b.config));
        Ok(Corpus { configs })
    }

    /// Records of a configuration; none if it is missing.
    pub fn records(
        &self,
        platform: HydraPlatform,
        backend: Backend,
        sweep: Sweep,
        model: &str,
        dtype: &str,
    ) -> &[Record] {
        let wanted = |c: &Config| {
            (c.platform, c.backend, c.sweep) == (platform, backend, sweep)
                && c.model == model
                && c.dtype == dtype
        };
        self.configs.iter().find(|c| wanted(&c.config)).map_or(&[], |c| &c.records)
    }

    /// Records in all files.
    pub fn record_count(&self) -> usize {
        self.configs.iter().map(|c| c.records.len()).sum()
    }
}

/// UNIFIED files below `root` with what their paths say, sorted.
pub fn unified_files(root: &Path) -> Result<Vec<(Config, PathBuf)>, Error> {
    layout_files(root, "UNIFIED_")
}

/// Files of a kind (`INFO_`, `TGS_`, `UNIFIED_`) below `root`, sorted by configuration.
pub fn layout_files(root: &Path, kind: &str) -> Result<Vec<(Config, PathBuf)>, Error> {
    let mut found = Vec::new();
    for platform in HydraPlatform::ALL {
        for backend in [Backend::Hf, Backend::LlamaCpp] {
            let folder =
                root.join(platform.name()).join(format!("results_{}_{platform}", backend.name()));
            files_of(&folder, kind, (platform, backend, Sweep::Main), &mut found)?;
        }
    }
    let sensitivity = root.join("results_sensitivity");
    for folder in folder_entries(&sensitivity)? {
        let Some(what) = folder.file_name().and_then(|n| n.to_str()).and_then(sweep_folder) else {
            continue;
        };
        files_of(&folder, kind, what, &mut found)?;
    }
    found.sort();
    Ok(found)
}

/// `S1_<platform>_<backend>_<tag>`, `S2_<platform>_<backend>_<tag>_out<n>`.
fn sweep_folder(name: &str) -> Option<(HydraPlatform, Backend, Sweep)> {
    let mut parts = name.split('_');
    let kind = parts.next()?;
    let platform = HydraPlatform::parse(parts.next()?).ok()?;
    let backend = match parts.next()? {
        "hf" => Backend::Hf,
        "llamacpp" => Backend::LlamaCpp,
        _ => return None,
    };
    let sweep = match kind {
        "S1" => Sweep::S1,
        "S2" => Sweep::S2 { output: name.rsplit_once("_out")?.1.parse().ok()? },
        _ => return None,
    };
    Some((platform, backend, sweep))
}

fn folder_entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = match std::fs::read_dir(folder) {
        Ok(e) => e,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io(folder, e)),
    };
    let mut paths = entries
        .map(|e| e.map(|e| e.path()).map_err(|e| Error::io(folder, e)))
        .collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    Ok(paths)
}

fn files_of(
    folder: &Path,
    kind: &str,
    (platform, backend, sweep): (HydraPlatform, Backend, Sweep),
    found: &mut Vec<(Config, PathBuf)>,
) -> Result<(), Error> {
    for path in folder_entries(folder)? {
        let name = path.file_name().and_then(|n| n.to_str());
        let Some((model, dtype)) = name.and_then(|n| split_name(n, kind)) else { continue };
        let config =
            Config { platform, backend, sweep, model: model.to_owned(), dtype: dtype.to_owned() };
        found.push((config, path));
    }
    Ok(())
}

/// `UNIFIED_<model>_<dtype>_.csv` → (model, dtype).
pub fn split_name<'a>(name: &'a str, kind: &str) -> Option<(&'a str, &'a str)> {
    let stem = name.strip_prefix(kind)?.strip_suffix("_.csv")?;
    DTYPES.iter().find_map(|d| {
        let model = stem.strip_suffix(d)?.strip_suffix('_')?;
        (!model.is_empty()).then(|| (model, &stem[model.len() + 1..]))
    })
}

fn load(config: Config, path: &Path) -> Result<ConfigData, Error> {
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    let mut reader = csv::Reader::from_reader(std::io::BufReader::with_capacity(1 << 16, file));
    let fail = |e: csv::Error| Error::invalid(e.to_string());
    let header: Vec<String> = reader.headers().map_err(fail)?.iter().map(str::to_owned).collect();
    refuse_doubled(1, header.iter().map(String::as_str))?;
    // Names to indices once: a linear search per column would cost more than the file.
    let index: std::collections::HashMap<&str, usize> =
        header.iter().enumerate().map(|(i, h)| (h.as_str(), i)).collect();
    let find = |name: &str| index.get(name).copied();
    let canonical = PHASES.map(|phase| CanonicalColumns::new(config.platform, phase, find));
    let timing = crate::prompts::Columns::from_names(find)?;
    let tok_per_s = find("generation_tokens_per_sec");
    let mut records = Vec::new();
    let mut row = csv::ByteRecord::new();
    while reader.read_byte_record(&mut row).map_err(fail)? {
        let get = |c: Option<usize>| c.and_then(|c| row.get(c)).map_or(f64::NAN, cell);
        let number = records.len() + 1;
        let (prompt, _) = timing
            .prompt_from(number, &|c| row.get(c).unwrap_or_default())
            .map_err(|reason| Error::invalid(format!("record {number}: {reason}")))?;
        let cores = canonical[PROMPT]
            .cpu_load
            .iter()
            .zip(&canonical[PROMPT].cpu_freq)
            .map(|(l, f)| (get(*l), get(*f)))
            .collect();
        records.push(Record {
            prompt,
            generation_tok_per_s: get(tok_per_s),
            phases: [0, 1, 2].map(|i: usize| canonical[i].read(get)),
            cores,
        });
    }
    Ok(ConfigData { config, path: path.to_owned(), columns: header.len(), records })
}

/// A cell as pandas reads it: empty is NaN, `inf` is infinite.
fn cell(s: &[u8]) -> f64 {
    match s {
        b"inf" => f64::INFINITY,
        b"-inf" => f64::NEG_INFINITY,
        s => crate::text::float(s).unwrap_or(f64::NAN),
    }
}
