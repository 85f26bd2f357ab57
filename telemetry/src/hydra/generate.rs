//! An invented corpus in the released layout, at any size: timing records and raw logs.
//!
//! Values are invented and measure nothing. What is real is the shape: files, columns, line
//! formats, sampling interval. The same specification gives the same bytes on any number of
//! threads: every file has its own generator.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use rayon::prelude::*;

use super::HydraPlatform;
use super::check::known_failures;
use super::corpus::{Backend, Config, Sweep};
use super::figures::MODELS;
use super::tables::{FORMATS, OUTPUTS};
use crate::Error;

const MS: i64 = 1_000_000;
const S: i64 = 1_000 * MS;
/// 2025-06-15 14:00 UTC; New York is four hours behind all summer.
const START_NS: i64 = 1_749_996_000 * S;
const NEW_YORK_SUMMER_NS: i64 = -4 * 3600 * S;
/// Models of the sweeps.
const SWEEP_MODELS: [&str; 6] =
    ["Llama-3.2-1B", "Qwen2.5-1.5B", "Llama-3.2-3B", "Qwen2.5-3B", "Qwen2.5-7B", "Llama-3.1-8B"];

/// Size of a generated corpus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GenerateSpec {
    /// Prompts per file of the main corpus (released: 541).
    pub main_prompts: usize,
    /// Prompts per file of S1 (released: 90).
    pub s1_prompts: usize,
    /// Prompts per file of S2 (released: 30).
    pub s2_prompts: usize,
    /// Sampling interval, ms (released: 10).
    pub interval_ms: u32,
    /// Factor on all durations; 1 is real time, and then the logs are as large as real ones.
    pub time_scale: f64,
    /// Write at most this many files.
    pub max_files: usize,
    /// Seed.
    pub seed: u64,
}

impl GenerateSpec {
    /// The released corpus.
    pub const RELEASED: GenerateSpec = GenerateSpec {
        main_prompts: 541,
        s1_prompts: 90,
        s2_prompts: 30,
        interval_ms: 10,
        time_scale: 1.0,
        max_files: usize::MAX,
        seed: 1,
    };
}

/// What was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Generated {
    /// INFO files (and as many logs).
    pub files: usize,
    /// Timing records.
    pub records: usize,
    /// Log lines.
    pub lines: u64,
    /// Log bytes.
    pub bytes: u64,
}

/// All configurations of the released corpus with their prompts: 190 of the main corpus, 24 of S1,
/// 72 of S2.
pub fn released_configs(spec: &GenerateSpec) -> Vec<(Config, usize)> {
    let failed = known_failures();
    let mut out = Vec::new();
    for platform in HydraPlatform::ALL {
        for (model, ..) in MODELS {
            for (_, backend, dtype) in FORMATS {
                let config = config(platform, backend, Sweep::Main, model, dtype);
                if !failed.contains(&config) {
                    out.push((config, spec.main_prompts));
                }
            }
        }
    }
    let sweeps = [(Backend::Hf, "torch.bfloat16"), (Backend::LlamaCpp, "Q4_K_M")];
    for platform in [HydraPlatform::Orin, HydraPlatform::Thor] {
        for (backend, dtype) in sweeps {
            for model in SWEEP_MODELS {
                out.push((config(platform, backend, Sweep::S1, model, dtype), spec.s1_prompts));
                for output in OUTPUTS {
                    let sweep = Sweep::S2 { output };
                    out.push((config(platform, backend, sweep, model, dtype), spec.s2_prompts));
                }
            }
        }
    }
    out
}

fn config(
    platform: HydraPlatform,
    backend: Backend,
    sweep: Sweep,
    model: &str,
    dtype: &str,
) -> Config {
    Config { platform, backend, sweep, model: model.to_owned(), dtype: dtype.to_owned() }
}

/// Folder of a configuration in the released layout.
fn folder(root: &Path, c: &Config) -> PathBuf {
    let (p, b) = (c.platform, c.backend.name());
    let sensitivity = |name: String| root.join("results_sensitivity").join(name);
    match (c.sweep, c.backend) {
        (Sweep::Main, _) => root.join(p.name()).join(format!("results_{b}_{p}")),
        (Sweep::S1, Backend::Hf) => sensitivity(format!("S1_{p}_{b}_bf16")),
        (Sweep::S1, Backend::LlamaCpp) => sensitivity(format!("S1_{p}_{b}_{}", c.dtype)),
        (Sweep::S2 { output }, Backend::Hf) => {
            sensitivity(format!("S2_{p}_{b}_bfloat16_out{output}"))
        }
        (Sweep::S2 { output }, Backend::LlamaCpp) => {
            sensitivity(format!("S2_{p}_{b}_{}_out{output}", c.dtype))
        }
    }
}

/// Writes INFO and TGS files.
///
/// # Errors
/// A file cannot be written, or the specification is empty.
pub fn generate(root: &Path, spec: &GenerateSpec) -> Result<Generated, Error> {
    if spec.interval_ms == 0 || spec.time_scale <= 0.0 || !spec.time_scale.is_finite() {
        return Err(Error::invalid("interval and time scale must be positive"));
    }
    let configs = released_configs(spec);
    let count = configs.len().min(spec.max_files);
    let written = configs[..count]
        .par_iter()
        .enumerate()
        .map(|(i, (config, prompts))| {
            // A seed of its own per file, drawn from no shared stream.
            let seed = spec.seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(i as u64);
            write_config(root, config, *prompts, spec, Xoshiro256PlusPlus::seed_from_u64(seed))
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(written.into_iter().fold(Generated::default(), |a, b| Generated {
        files: a.files + b.files,
        records: a.records + b.records,
        lines: a.lines + b.lines,
        bytes: a.bytes + b.bytes,
    }))
}

/// Invented timing of a prompt, s.
struct Timing {
    tokens_in: u32,
    tokens_out: u32,
    tokenization: f64,
    prefill: f64,
    token: f64,
}

impl Timing {
    fn draw(c: &Config, rng: &mut Xoshiro256PlusPlus) -> Self {
        let billions = MODELS.iter().find(|m| m.0 == c.model).map_or(3.0, |m| m.2);
        let bytes_per_weight = match c.dtype.as_str() {
            "Q4_K_M" => 0.61,
            "Q6_K" => 0.82,
            "Q8_0" => 1.06,
            _ => 2.0,
        };
        let bandwidth = 0.6 * c.platform.peak_bandwidth_gb_per_s();
        let tokens_in = match c.sweep {
            Sweep::Main | Sweep::S2 { .. } => rng.random_range(20..120),
            Sweep::S1 => [1000, 3000, 5000][rng.random_range(0..3)] + rng.random_range(0..60),
        };
        Timing {
            tokens_in,
            tokens_out: match c.sweep {
                Sweep::S2 { output } => output,
                _ => 500,
            },
            tokenization: rng.random_range(0.0005..0.003),
            prefill: f64::from(tokens_in) * billions * 1e-4 + 0.02,
            token: billions * bytes_per_weight / bandwidth * rng.random_range(0.97..1.03) + 0.001,
        }
    }
}

fn write_config(
    root: &Path,
    c: &Config,
    prompts: usize,
    spec: &GenerateSpec,
    mut rng: Xoshiro256PlusPlus,
) -> Result<Generated, Error> {
    let folder = folder(root, c);
    std::fs::create_dir_all(&folder).map_err(|e| Error::io(&folder, e))?;
    let path = |kind: &str| folder.join(format!("{kind}_{}_{}_.csv", c.model, c.dtype));
    let (info_path, log_path) = (path("INFO"), path("TGS"));
    let mut info = INFO_COLUMNS.join(",");
    if c.backend == Backend::LlamaCpp {
        info.push_str(",llama_t_p_eval_ms,llama_t_eval_ms,llama_n_p_eval,llama_n_eval");
    }
    info.push('\n');
    let file = std::fs::File::create(&log_path).map_err(|e| Error::io(&log_path, e))?;
    let mut log = Log {
        out: BufWriter::with_capacity(1 << 16, file),
        platform: c.platform,
        line: Vec::with_capacity(1024),
        lines: 0,
        bytes: 0,
    };
    let interval = i64::from(spec.interval_ms) * MS;
    let mut now = START_NS;
    let mut sample = START_NS - S;
    for prompt in 0..prompts {
        let t = Timing::draw(c, &mut rng);
        let scale = |s: f64| s * spec.time_scale;
        let n = f64::from(t.tokens_out);
        let (tok, pre, token) = (scale(t.tokenization), scale(t.prefill), scale(t.token));
        let total = token * n;
        let end_to_end = tok + pre + total;
        let end = now + (end_to_end * 1e9) as i64 + MS;
        push_info(
            &mut info,
            c,
            prompt,
            prompts,
            (now, end),
            &t,
            [tok, pre, token, total, end_to_end],
        );
        let boundary = now + ((tok + pre) * 1e9) as i64;
        while sample < end + 20 * MS {
            let load = if sample < now || sample > end {
                4.0
            } else if sample < boundary {
                75.0
            } else {
                92.0
            };
            log.write(sample, load, &mut rng).map_err(|e| Error::io(&log_path, e))?;
            sample += interval + rng.random_range(-interval / 20..=interval / 20);
        }
        now = end + 30 * MS;
    }
    log.out.flush().map_err(|e| Error::io(&log_path, e))?;
    std::fs::write(&info_path, info).map_err(|e| Error::io(&info_path, e))?;
    Ok(Generated { files: 1, records: prompts, lines: log.lines, bytes: log.bytes })
}

const INFO_COLUMNS: [&str; 25] = [
    "prompt_number",
    "start_time",
    "end_time",
    "model_name",
    "size_of_model",
    "tokenization_time",
    "prefill_time",
    "time_to_first_token",
    "mean_token_generation_time",
    "variance_token_generation_time",
    "mean_token_decode_time",
    "variance_token_decode_time",
    "mean_inter_token_latency",
    "variance_inter_token_latency",
    "end_to_end_latency",
    "estimated_end_to_end_latency",
    "output_length",
    "total_generation_time",
    "total_number_of_prompts",
    "total_number_of_tokens",
    "total_number_of_tokens_in_input",
    "total_number_of_tokens_in_output",
    "total_number_of_tokens_in_input_plus_output",
    "prompt_tokens_per_sec",
    "generation_tokens_per_sec",
];

fn push_info(
    info: &mut String,
    c: &Config,
    prompt: usize,
    prompts: usize,
    (start, end): (i64, i64),
    t: &Timing,
    [tok, pre, token, total, end_to_end]: [f64; 5],
) {
    use std::fmt::Write as _;
    let (m, n) = (t.tokens_in, t.tokens_out);
    let detokenization = 2e-6;
    // Writing to a String cannot fail.
    let _ = write!(
        info,
        "{},{start},{end},{},3087428608,{tok},{pre},{},{},1e-08,{detokenization},1e-14,{token},\
         1e-08,{end_to_end},{end_to_end},{n},{total},{prompts},{},{m},{n},{},{},{}",
        prompt + 1,
        c.model,
        tok + pre + detokenization,
        token - detokenization,
        m + n,
        m + n,
        f64::from(m) / pre,
        f64::from(n) / total,
    );
    if c.backend == Backend::LlamaCpp {
        let eval_ms = (total - f64::from(n) * 7e-5).max(0.0) * 1e3;
        let _ = write!(info, ",{},{eval_ms},{m},{}", pre * 1e3 - 0.03, n - 1);
    }
    info.push('\n');
}

struct Log {
    out: BufWriter<std::fs::File>,
    platform: HydraPlatform,
    line: Vec<u8>,
    lines: u64,
    bytes: u64,
}

impl Log {
    /// Writes one line as tegrastats of the platform prints it.
    fn write(&mut self, t: i64, load: f64, rng: &mut Xoshiro256PlusPlus) -> std::io::Result<()> {
        let civil = t + NEW_YORK_SUMMER_NS;
        let stamp = stamp(civil);
        let l = &mut self.line;
        l.clear();
        let ram = 9000 + rng.random_range(0..50);
        let gpu = (load + rng.random_range(-3.0..3.0f64)).clamp(0.0, 99.0) as u32;
        let mw = |base: f64| (base * (0.15 + load / 100.0)) as u32;
        let c = |base: f64| base + load / 20.0;
        write!(l, "{stamp}.{:09} {stamp} ", civil.rem_euclid(S))?;
        match self.platform {
            HydraPlatform::Xavier => {
                write!(l, "RAM {ram}/31002MB (lfb 5x4MB) SWAP 0/15501MB (cached 0MB) CPU [")?;
                cores(l, 8, 2265, rng)?;
                write!(
                    l,
                    "] EMC_FREQ {}%@2133 GR3D_FREQ {gpu}%@[1377] VIC_FREQ 0%@115 APE 150 AUX@{:.1}C \
                     CPU@{:.1}C thermal@{:.2}C Tboard@46.5C AO@52.5C GPU@{:.1}C Tdiode@49.25C \
                     PMIC@50C GPU {}mW/{}mW CPU {}mW/{}mW SOC 2300mW/2290mW CV 0mW/0mW VDDRQ {}mW/{}mW \
                     SYS5V {}mW/{}mW",
                    gpu / 2,
                    c(50.0),
                    c(51.0),
                    c(51.3),
                    c(52.0),
                    mw(14000.0),
                    mw(13900.0),
                    mw(2000.0),
                    mw(1990.0),
                    mw(1000.0),
                    mw(990.0),
                    mw(3000.0),
                    mw(2990.0)
                )?;
            }
            HydraPlatform::Orin => {
                write!(l, "RAM {ram}/62841MB (lfb 5x4MB) SWAP 0/31421MB (cached 0MB) CPU [")?;
                cores(l, 12, 729, rng)?;
                write!(
                    l,
                    "] EMC_FREQ {}%@3199 GR3D_FREQ {gpu}%@[1300,1299] NVENC off NVDEC off NVJPG off \
                     NVJPG1 off VIC off OFA off NVDLA0 off NVDLA1 off PVA0_FREQ off APE 174 \
                     cpu@{:.1}C tboard@43.5C soc2@{:.1}C tdiode@48.25C soc0@{:.1}C gpu@{:.1}C \
                     tj@{:.1}C soc1@{:.3}C VDD_GPU_SOC {}mW/{}mW VDD_CPU_CV {}mW/{}mW VIN_SYS_5V0 \
                     {}mW/{}mW NC 0mW/0mW VDDQ_VDD2_1V8AO {}mW/{}mW NC 0mW/0mW",
                    gpu / 2,
                    c(51.0),
                    c(50.0),
                    c(49.0),
                    c(52.0),
                    c(53.0),
                    c(50.6),
                    mw(20000.0),
                    mw(19900.0),
                    mw(1500.0),
                    mw(1490.0),
                    mw(6000.0),
                    mw(5990.0),
                    mw(2000.0),
                    mw(1990.0)
                )?;
            }
            HydraPlatform::Thor => {
                write!(l, "RAM {ram}/125772MB (lfb 5x4MB) CPU [")?;
                cores(l, 14, 972, rng)?;
                write!(
                    l,
                    "] EMC_FREQ {}%@4266 GR3D_FREQ @[1574,1574,1573] NVENC0_FREQ @1692 NVENC1_FREQ \
                     @1692 NVDEC0_FREQ @1692 NVDEC1_FREQ @1692 NVJPG0_FREQ @1035 VIC off OFA_FREQ \
                     @1062 PVA0_FREQ off APE 300 cpu@{:.1}C tj@{:.1}C soc012@{:.1}C gpu@{:.1}C \
                     soc345@{:.2}C VDD_GPU {}mW/{}mW VDD_CPU_SOC_MSS {}mW/{}mW VIN_SYS_5V0 {}mW/{}mW \
                     VIN {}mW/{}mW GPU_UTIL {gpu}% MEM_UTIL {}%",
                    gpu / 2,
                    c(51.0),
                    c(53.0),
                    c(50.0),
                    c(52.0),
                    c(50.2),
                    mw(18000.0),
                    mw(18900.0),
                    mw(4900.0),
                    mw(5200.0),
                    mw(7000.0),
                    mw(7010.0),
                    mw(33000.0),
                    mw(39000.0),
                    gpu / 3
                )?;
            }
        }
        l.push(b'\n');
        self.lines += 1;
        self.bytes += l.len() as u64;
        self.out.write_all(l)
    }
}

fn cores(l: &mut Vec<u8>, n: usize, mhz: u32, rng: &mut Xoshiro256PlusPlus) -> std::io::Result<()> {
    for i in 0..n {
        let comma = if i > 0 { "," } else { "" };
        write!(l, "{comma}{}%@{mhz}", rng.random_range(0..31u32))?;
    }
    Ok(())
}

/// `MM-DD-YYYY HH:MM:SS` of a civil time.
fn stamp(civil_ns: i64) -> String {
    let seconds = jiff::Timestamp::from_second(civil_ns.div_euclid(S)).unwrap_or_default();
    let d = jiff::tz::Offset::UTC.to_datetime(seconds);
    format!(
        "{:02}-{:02}-{:04} {:02}:{:02}:{:02}",
        d.month(),
        d.day(),
        d.year(),
        d.hour(),
        d.minute(),
        d.second()
    )
}
