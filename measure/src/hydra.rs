//! `measure hydra`: analysis of a corpus in the released layout.

use std::path::PathBuf;

use clap::Subcommand;
use enerinfer_artifacts::write_atomic;
use enerinfer_telemetry::TextTable;
use enerinfer_telemetry::hydra::check::{
    Check, Manifest, Outcome, check_digests, check_invariants, check_manifest, doubts, quick_cells,
    read_quick_reference,
};
use enerinfer_telemetry::hydra::corpus::Corpus;
use enerinfer_telemetry::hydra::figures::{figure_values_csv, figures};
use enerinfer_telemetry::hydra::generate::{GenerateSpec, generate};
use enerinfer_telemetry::hydra::quality::quality_table;
use enerinfer_telemetry::hydra::tables::tables;
use enerinfer_telemetry::hydra::{HydraPlatform, figure_svg};

use crate::failure::Failure;
use crate::output::{self, say};
use crate::values;

#[derive(Subcommand)]
#[command(after_help = "Example:\n  measure hydra tables corpus/ --out tables/")]
pub(crate) enum Verb {
    /// Tables 4 to 7, as CSV and Markdown
    Tables {
        /// The corpus
        corpus: PathBuf,
        /// Folder to write to; Markdown to stdout if absent
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Table 3 from quality results: model,format,ppl,winogrande,hellaswag (accuracies in %)
    Quality {
        /// The results, with an F16 row per model
        results: PathBuf,
    },
    /// Figures 1 and 3 to 7: their values as CSV, and pictures
    Figures {
        /// The corpus
        corpus: PathBuf,
        /// Folder to write to; values to stdout if absent
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Writes an invented corpus in the released layout: timing records and raw logs of any size
    Generate {
        /// Folder to write to
        corpus: PathBuf,
        /// Prompts per file of the main corpus
        #[arg(long, default_value_t = GenerateSpec::RELEASED.main_prompts)]
        prompts: usize,
        /// Sampling interval, ms
        #[arg(long, default_value_t = GenerateSpec::RELEASED.interval_ms)]
        interval_ms: u32,
        /// Factor on all durations; at 1 the logs are as large as real ones (hundreds of GB)
        #[arg(long, default_value_t = GenerateSpec::RELEASED.time_scale, allow_negative_numbers = true, value_parser = values::number(1e-6..=1e3))]
        time_scale: f64,
        /// Write only the first files
        #[arg(long)]
        files: Option<usize>,
        /// Seed
        #[arg(long, default_value_t = GenerateSpec::RELEASED.seed)]
        seed: u64,
    },
    /// Completeness, digests, and the paper's three invariants on each platform
    Check {
        /// The corpus
        corpus: PathBuf,
        /// Folder with SHA256SUMS; the corpus itself if absent
        #[arg(long, value_name = "DIR")]
        digests: Option<PathBuf>,
        /// Published cells to print deviations from (columns of ae_quick_reference)
        #[arg(long, value_name = "FILE")]
        reference: Option<PathBuf>,
        /// Expected UNIFIED files, files of the main corpus, records, records of the sweeps; the
        /// released corpus's numbers if absent
        #[arg(long, value_name = "N", num_args = 4)]
        expect: Option<Vec<usize>>,
    },
}

pub(crate) fn run(verb: &Verb) -> Result<(), Failure> {
    match verb {
        Verb::Tables { corpus, out } => {
            let tables = tables(&Corpus::load(corpus)?);
            let Some(out) = out else {
                let text: Vec<String> =
                    tables.iter().map(|t| format!("{}\n\n{}", t.name, t.to_markdown())).collect();
                return output::stdout(text.join("\n").as_bytes());
            };
            output::folder(out)?;
            for t in tables {
                write_atomic(&out.join(format!("{}.csv", t.name)), t.to_csv().as_bytes())?;
                write_atomic(&out.join(format!("{}.md", t.name)), t.to_markdown().as_bytes())?;
            }
            say!("wrote {}", out.display());
            Ok(())
        }
        Verb::Quality { results } => {
            let table = quality_table(&TextTable::open(results)?)?;
            output::stdout(table.to_markdown().as_bytes())
        }
        Verb::Figures { corpus, out } => {
            let figures = figures(&Corpus::load(corpus)?);
            let values = figure_values_csv(&figures);
            let Some(out) = out else { return output::stdout(values.as_bytes()) };
            output::folder(out)?;
            write_atomic(&out.join("figure_values.csv"), values.as_bytes())?;
            for f in figures {
                write_atomic(&out.join(format!("{}.svg", f.name)), figure_svg(&f).as_bytes())?;
            }
            say!("wrote {}", out.display());
            Ok(())
        }
        Verb::Generate { corpus, prompts, interval_ms, time_scale, files, seed } => {
            let spec = GenerateSpec {
                main_prompts: *prompts,
                // The sweeps in the proportion of the released corpus.
                s1_prompts: (*prompts * 90).div_ceil(541),
                s2_prompts: (*prompts * 30).div_ceil(541),
                interval_ms: *interval_ms,
                time_scale: *time_scale,
                max_files: files.unwrap_or(usize::MAX),
                seed: *seed,
            };
            let g = generate(corpus, &spec)?;
            say!(
                "wrote {} files with {} records; logs of {} lines, {:.1} MB",
                g.files,
                g.records,
                g.lines,
                g.bytes as f64 / 1e6
            );
            Ok(())
        }
        Verb::Check { corpus: root, digests, reference, expect } => {
            let expected = match expect.as_deref() {
                Some([files, main_files, records, sensitivity_records]) => Manifest {
                    files: *files,
                    main_files: *main_files,
                    records: *records,
                    sensitivity_records: *sensitivity_records,
                },
                _ => Manifest::RELEASED,
            };
            let corpus = Corpus::load(root)?;
            let mut checks = check_manifest(&corpus, expected);
            checks.push(check_digests(digests.as_deref().unwrap_or(root))?);
            let reference = reference
                .as_deref()
                .map(|path| read_quick_reference(&TextTable::open(path)?))
                .transpose()?;
            let mut text = String::new();
            for p in HydraPlatform::ALL {
                let cells = quick_cells(&corpus, p);
                checks.extend(check_invariants(p, &cells));
                for (backend, dtype, cell) in &cells {
                    text.push_str(&format!(
                        "{p:6} {:8} {dtype:14} {:6.1} W  {:6.1} ms  {:7.1} mJ/token  {:6.1} tok/s",
                        backend.name(),
                        cell.power_w,
                        cell.itl_ms,
                        cell.mj_per_token,
                        cell.tok_per_s
                    ));
                    let key = (p.name().to_owned(), backend.name().to_owned(), (*dtype).to_owned());
                    if let Some(r) = reference.as_ref().and_then(|r| r.get(&key)) {
                        let deviation = |a: f64, b: f64| 100.0 * (a - b) / b;
                        text.push_str(&format!(
                            "  deviations {:+.1} {:+.1} {:+.1} {:+.1} %",
                            deviation(cell.power_w, r.power_w),
                            deviation(cell.itl_ms, r.itl_ms),
                            deviation(cell.mj_per_token, r.mj_per_token),
                            deviation(cell.tok_per_s, r.tok_per_s)
                        ));
                    }
                    text.push('\n');
                }
            }
            for (config, doubt) in doubts(&corpus) {
                say!("doubt: {config}: {doubt}");
            }
            report(&text, &checks)
        }
    }
}

/// Prints the checks; anything but a pass fails.
fn report(cells: &str, checks: &[Check]) -> Result<(), Failure> {
    let lines: Vec<String> =
        checks.iter().map(|c| format!("{:8} {}: {}\n", c.outcome, c.name, c.finding)).collect();
    output::stdout(format!("{cells}{}", lines.concat()).as_bytes())?;
    let not_passed = checks.iter().filter(|c| c.outcome != Outcome::Pass).count();
    if not_passed > 0 {
        return Err(Failure::Failed(format!(
            "{not_passed} of {} checks did not pass (a skipped check is not a pass)",
            checks.len()
        )));
    }
    Ok(())
}
