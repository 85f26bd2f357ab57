//! Checks of a corpus: completeness, digests, records, and the paper's three invariants.
//!
//! A check that could not be made is `Skipped`, and a corpus with a skipped check has not passed
//! (the original counts it as passed).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::HydraPlatform;
use super::corpus::{Backend, Config, Corpus, DECODE, Record, Sweep};
use super::figures::MODELS;
use super::tables::FORMATS;
use crate::sync::{CounterCheck, PhaseTimings};
use crate::{Error, Moments, Prompt, TextTable};

/// Outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Holds.
    Pass,
    /// Could not be made. Not a pass.
    Skipped,
    /// Does not hold.
    Fail,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `pad` keeps to the width of the caller's column.
        f.pad(match self {
            Outcome::Pass => "PASS",
            Outcome::Skipped => "SKIPPED",
            Outcome::Fail => "FAIL",
        })
    }
}

/// One check with its finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What was checked.
    pub name: String,
    /// Result.
    pub outcome: Outcome,
    /// The numbers.
    pub finding: String,
}

fn check(name: impl Into<String>, holds: bool, finding: impl Into<String>) -> Check {
    let outcome = if holds { Outcome::Pass } else { Outcome::Fail };
    Check { name: name.into(), outcome, finding: finding.into() }
}

fn skipped(name: impl Into<String>, why: impl Into<String>) -> Check {
    Check { name: name.into(), outcome: Outcome::Skipped, finding: why.into() }
}

/// What a complete corpus holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// UNIFIED files.
    pub files: usize,
    /// Of these in the main corpus.
    pub main_files: usize,
    /// Records.
    pub records: usize,
    /// Of these in the sweeps.
    pub sensitivity_records: usize,
}

impl Manifest {
    /// The released corpus (artifact appendix of the paper).
    pub const RELEASED: Manifest =
        Manifest { files: 286, main_files: 190, records: 107_110, sensitivity_records: 4_320 };
}

/// The corpus against a manifest.
pub fn check_manifest(corpus: &Corpus, expected: Manifest) -> Vec<Check> {
    let main: Vec<_> = corpus.configs.iter().filter(|c| c.config.sweep == Sweep::Main).collect();
    let main_records: usize = main.iter().map(|c| c.records.len()).sum();
    let count = |name: &str, found: usize, expected: usize| {
        check(name, found == expected, format!("{found} of {expected}"))
    };
    let mut checks = vec![
        count("UNIFIED files", corpus.configs.len(), expected.files),
        count("files of the main corpus", main.len(), expected.main_files),
        count("records", corpus.record_count(), expected.records),
        count(
            "records of the sweeps",
            corpus.record_count() - main_records,
            expected.sensitivity_records,
        ),
        check_columns(corpus),
    ];
    if expected == Manifest::RELEASED {
        checks.push(check_grid(corpus));
    }
    checks
}

/// Configurations that failed on the device: F16 models of 7 to 8 B on Xavier could not allocate
/// (paper §V-A), so 190 of 195 remain.
pub fn known_failures() -> BTreeSet<Config> {
    MODELS
        .iter()
        .filter(|(model, _, billions)| *billions > 8.0 && *model != "Qwen2.5-7B")
        .map(|(model, ..)| Config {
            platform: HydraPlatform::Xavier,
            backend: Backend::LlamaCpp,
            sweep: Sweep::Main,
            model: (*model).to_owned(),
            dtype: "F16".to_owned(),
        })
        .collect()
}

fn check_grid(corpus: &Corpus) -> Check {
    let present: BTreeSet<&Config> = corpus.configs.iter().map(|c| &c.config).collect();
    let mut missing = BTreeSet::new();
    for platform in HydraPlatform::ALL {
        for (model, ..) in MODELS {
            for (_, backend, dtype) in FORMATS {
                let config = Config {
                    platform,
                    backend,
                    sweep: Sweep::Main,
                    model: model.to_owned(),
                    dtype: dtype.to_owned(),
                };
                if !present.contains(&config) {
                    missing.insert(config);
                }
            }
        }
    }
    let known = known_failures();
    let unexplained: Vec<String> = missing.difference(&known).map(Config::to_string).collect();
    let present_after_all = known.difference(&missing).count();
    let mut finding = format!(
        "{} of 195 missing, {} of them the Xavier F16 configurations that failed to load",
        missing.len(),
        missing.len() - unexplained.len()
    );
    if !unexplained.is_empty() {
        let shown: Vec<&str> = unexplained.iter().take(5).map(String::as_str).collect();
        finding.push_str(&format!("; also {}", shown.join(", ")));
        if unexplained.len() > 5 {
            finding.push_str(&format!(" and {} more", unexplained.len() - 5));
        }
    }
    check("main grid", unexplained.is_empty() && present_after_all == 0, finding)
}

/// Columns of a UNIFIED file.
pub fn expected_columns(platform: HydraPlatform, backend: Backend) -> usize {
    let parsed = match platform {
        HydraPlatform::Xavier => 52,
        HydraPlatform::Orin => 56,
        HydraPlatform::Thor => 63,
    };
    let info = match backend {
        Backend::Hf => 25,
        Backend::LlamaCpp => 29,
    };
    info + 6 * (parsed + 2)
}

fn check_columns(corpus: &Corpus) -> Check {
    let odd: Vec<String> = corpus
        .configs
        .iter()
        .filter(|c| c.columns != expected_columns(c.config.platform, c.config.backend))
        .map(|c| format!("{} has {}", c.config, c.columns))
        .collect();
    let finding = match odd.first() {
        None => "every file has those of its platform and backend".to_owned(),
        Some(first) => format!("{} files differ, e.g. {first}", odd.len()),
    };
    check("columns (349 to 419)", odd.is_empty(), finding)
}

/// Files of `folder` against its `SHA256SUMS`.
///
/// # Errors
/// A file cannot be read.
pub fn check_digests(folder: &Path) -> Result<Check, Error> {
    let sums = folder.join("SHA256SUMS");
    let text = match std::fs::read_to_string(&sums) {
        Ok(t) => t,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
            return Ok(skipped("SHA-256", "there is no SHA256SUMS"));
        }
        Err(e) => return Err(Error::io(&sums, e)),
    };
    let (mut checked, mut wrong) = (0, Vec::new());
    for line in text.lines().filter(|l| !l.trim().is_empty()) {
        let Some((sum, name)) = line.split_once(char::is_whitespace) else {
            return Err(Error::invalid(format!(
                "{}: `{line}` is not a digest line",
                sums.display()
            )));
        };
        let name = name.trim_start().trim_start_matches('*');
        checked += 1;
        match sha256_file(&folder.join(name)) {
            Ok(found) if found.eq_ignore_ascii_case(sum) => {}
            Ok(_) => wrong.push(format!("{name} differs")),
            Err(_) => wrong.push(format!("{name} cannot be read")),
        }
    }
    let finding = match wrong.first() {
        None => format!("{checked} files"),
        Some(first) => format!("{} of {checked} files, e.g. {first}", wrong.len()),
    };
    Ok(check("SHA-256", wrong.is_empty() && checked > 0, finding))
}

fn sha256_file(path: &Path) -> Result<String, Error> {
    let mut file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    let mut hash = Sha256::new();
    std::io::copy(&mut file, &mut hash).map_err(|e| Error::io(path, e))?;
    Ok(hash.finalize().iter().map(|b| format!("{b:02x}")).collect())
}

/// Mean values of one format on one platform (`ae_quick_compare` of the artifact).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuickCell {
    /// Decode power, W.
    pub power_w: f64,
    /// Inter-token latency, ms.
    pub itl_ms: f64,
    /// Energy per token, mJ: the product of the two means.
    pub mj_per_token: f64,
    /// Generation, tokens/s.
    pub tok_per_s: f64,
}

impl QuickCell {
    /// `None` without records.
    pub fn of(records: &[Record]) -> Option<Self> {
        let mean = |f: fn(&Record) -> f64| Moments::of(records.iter().map(f)).mean();
        let power_w = mean(|r| r.phases[DECODE].power_w());
        let itl_ms = 1000.0 * mean(|r| r.prompt.itl_s.unwrap_or(f64::NAN));
        (!records.is_empty()).then(|| QuickCell {
            power_w,
            itl_ms,
            mj_per_token: power_w * itl_ms,
            tok_per_s: mean(|r| r.generation_tok_per_s),
        })
    }
}

/// The model of the quick check.
pub const QUICK_MODEL: &str = "Qwen2.5-7B";

/// Measured cells of a platform, by `(backend, dtype)` in the order of [`FORMATS`].
pub fn quick_cells(corpus: &Corpus, p: HydraPlatform) -> Vec<(Backend, &'static str, QuickCell)> {
    FORMATS
        .iter()
        .filter_map(|(_, backend, dtype)| {
            let records = corpus.records(p, *backend, Sweep::Main, QUICK_MODEL, dtype);
            QuickCell::of(records).map(|c| (*backend, *dtype, c))
        })
        .collect()
}

/// The three findings that must reproduce on every board.
pub fn check_invariants(p: HydraPlatform, cells: &[(Backend, &str, QuickCell)]) -> Vec<Check> {
    let get = |b: Backend, d: &str| cells.iter().find(|c| c.0 == b && c.1 == d).map(|c| c.2);
    let (hf, q8) = (get(Backend::Hf, "torch.bfloat16"), get(Backend::LlamaCpp, "Q8_0"));
    let (q6, q4) = (get(Backend::LlamaCpp, "Q6_K"), get(Backend::LlamaCpp, "Q4_K_M"));
    let names = [
        format!("{p}: Q6_K draws more decode power than Q8_0"),
        format!("{p}: Q4_K_M needs the least energy per token"),
        format!("{p}: llama.cpp is faster per token than HF bf16"),
    ];
    let [power, energy, latency] = names;
    let missing = "a format is missing";
    vec![
        match (q6, q8) {
            (Some(a), Some(b)) => check(
                power,
                a.power_w > b.power_w,
                format!("{:.1} > {:.1} W", a.power_w, b.power_w),
            ),
            _ => skipped(power, missing),
        },
        match (q4, q6, q8) {
            (Some(a), Some(b), Some(c)) => {
                let least = b.mj_per_token.min(c.mj_per_token);
                check(
                    energy,
                    a.mj_per_token < least,
                    format!("{:.0} < {least:.0} mJ/token", a.mj_per_token),
                )
            }
            _ => skipped(energy, missing),
        },
        match (q8, hf) {
            (Some(a), Some(b)) => {
                check(latency, a.itl_ms < b.itl_ms, format!("{:.1} < {:.1} ms", a.itl_ms, b.itl_ms))
            }
            _ => skipped(latency, missing),
        },
    ]
}

/// Published cells of the quick check by `(platform, backend, dtype)`.
///
/// # Errors
/// A column is missing or a value is no number.
pub fn read_quick_reference(
    table: &TextTable,
) -> Result<BTreeMap<(String, String, String), QuickCell>, Error> {
    let column = |n: &str| table.require(n);
    let keys = [column("platform")?, column("backend")?, column("dtype")?];
    let values = [
        column("decode_power_w_mean")?,
        column("itl_ms_mean")?,
        column("mj_per_token_mean")?,
        column("gen_tok_per_s_mean")?,
    ];
    (0..table.rows.len())
        .map(|row| {
            let [p, b, d] = keys.map(|c| table.rows[row][c].clone());
            let number = |c: usize| {
                table.number(row, c).ok_or_else(|| {
                    Error::invalid(format!(
                        "row {}, column {}: `{}` is not a number",
                        row + 2,
                        table.header[c],
                        table.rows[row][c]
                    ))
                })
            };
            let cell = QuickCell {
                power_w: number(values[0])?,
                itl_ms: number(values[1])?,
                mj_per_token: number(values[2])?,
                tok_per_s: number(values[3])?,
            };
            Ok(((p, b, d), cell))
        })
        .collect()
}

/// Doubts about a corpus that its own checks do not have: timers without synchronisation, engine
/// counters that differ from the profiler.
pub fn doubts(corpus: &Corpus) -> Vec<(Config, String)> {
    let mut found = Vec::new();
    for c in &corpus.configs {
        let prompts: Vec<Prompt> = c.records.iter().map(|r| r.prompt.clone()).collect();
        if let Some(v) = PhaseTimings::of(&prompts).map(|t| t.assess())
            && v.unsynchronised()
        {
            found.push((
                c.config.clone(),
                format!("phase split unreliable: {}", v.evidence.join("; ")),
            ));
        }
        if let Some(k) = CounterCheck::of(&prompts)
            && !k.agrees()
        {
            found.push((
                c.config.clone(),
                format!(
                    "profiler and engine counters differ by {:.3} ms in prefill and {:.3} ms per \
                     token",
                    k.prefill_ms, k.per_token_ms
                ),
            ));
        }
    }
    found
}
