//! `report`: renders, compares and gates evaluation records, and attaches what was measured later.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use enerinfer_artifacts::compiled_code::CompiledCode;
use enerinfer_artifacts::exhibit::Evaluation;
use enerinfer_artifacts::record::read_text;
use enerinfer_artifacts::{console, write_atomic};
use enerinfer_reports::{Entry, Policy, Record, plain};

mod folder;
mod written;

/// Renders, compares and gates evaluation records (`report.json`) of `train`.
///
/// Exit codes: 0 done, 1 failed, 2 usage or bad input, 3 a gate is not met.
#[derive(Parser)]
#[command(
    version,
    after_help = "\
Examples:
  report render out/orin/report.json --out public/orin            page, Markdown, CSV, pictures
  report compare main/report.json out/orin/report.json            what changed
  report gate --policy gates.toml out/orin/report.json            exit code 3 beyond the limits
  report attach out/orin/report.json code.json --out measured.json  adds measured code sizes
  report index out                                                a page over all records
  report schema > report.schema.json                              the format of records"
)]
struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Write a record as page, Markdown, JUnit XML, CSV tables and SVG pictures.
    ///
    /// Tables and pictures that an earlier render left in the folder, and this one does not write,
    /// are removed; report.files.txt lists them. Other files stay.
    #[command(after_help = "Example: report render out/orin/report.json --out public/orin")]
    Render {
        /// The record.
        report: PathBuf,
        /// Folder for the files; made if missing.
        #[arg(long)]
        out: PathBuf,
        /// A previous record: adds what changed since.
        #[arg(long)]
        baseline: Option<PathBuf>,
        /// Gates behind junit.xml; without, only flash against its budget is checked.
        #[arg(long)]
        policy: Option<PathBuf>,
    },
    /// Explain what changed between two records of one platform.
    #[command(after_help = "Example: report compare main/report.json out/orin/report.json")]
    Compare {
        /// The earlier record.
        before: PathBuf,
        /// The later record.
        after: PathBuf,
    },
    /// Fail with exit code 3 if a record breaks the limits of a policy.
    #[command(after_help = "Example: report gate --policy gates.toml --baseline main/report.json \
                            out/orin/report.json")]
    Gate {
        /// The record.
        report: PathBuf,
        /// The limits (TOML).
        #[arg(long)]
        policy: PathBuf,
        /// A previous record; needed if the policy limits a loss.
        #[arg(long)]
        baseline: Option<PathBuf>,
        /// Also write the checks as JUnit XML.
        #[arg(long)]
        junit: Option<PathBuf>,
    },
    /// Add to a record what its predictors cost as compiled code, measured by
    /// `codegen/checks/measure.sh --json`.
    ///
    /// Code of another bundle than the record's is refused.
    #[command(after_help = "Example: report attach out/orin/report.json code.json --out \
                            measured.json")]
    Attach {
        /// The record; stays as it is.
        report: PathBuf,
        /// What `measure.sh --json` wrote.
        code: PathBuf,
        /// File for the record with both.
        #[arg(long)]
        out: PathBuf,
    },
    /// Write a page over all `report.json` and `*.report.json` below a folder.
    #[command(after_help = "Example: report index out")]
    Index {
        /// The folder; `index.html` is written into it.
        folder: PathBuf,
    },
    /// Print the JSON Schema of records.
    #[command(after_help = "Example: report schema > report.schema.json")]
    Schema,
}

/// Why the program ends without success.
enum Failure {
    /// Exit code 1.
    Failed(anyhow::Error),
    /// Exit code 2.
    BadInput(anyhow::Error),
    /// Exit code 3; breaches are printed already.
    Breach,
}

/// Errors of outputs; those of inputs are mapped where they are read.
impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Failure::Failed(error)
    }
}

fn main() -> ExitCode {
    let result = match Args::try_parse() {
        Ok(args) => run(args.verb),
        // --help and --version are such "errors", and may be lost like any other output.
        Err(e) if !e.use_stderr() => delivered(e.print()),
        Err(e) => e.exit(),
    };
    let (error, code) = match result {
        Ok(()) => return ExitCode::SUCCESS,
        Err(Failure::Breach) => return ExitCode::from(3),
        Err(Failure::BadInput(error)) => (error, 2),
        Err(Failure::Failed(error)) => (error, 1),
    };
    // Messages may quote a hostile input, but keep their line breaks.
    for line in format!("error: {error:#}").lines() {
        console::say(format_args!("{}", plain(line)));
    }
    ExitCode::from(code)
}

fn run(verb: Verb) -> Result<(), Failure> {
    match verb {
        Verb::Render { report, out, baseline, policy } => {
            render(&report, &out, baseline.as_deref(), policy.as_deref())
        }
        Verb::Compare { before, after } => {
            let (before, after) = (read(&before)?, read(&after)?);
            let text = enerinfer_reports::comparison(&before, &after).map_err(bad)?;
            print(&text)
        }
        Verb::Gate { report, policy, baseline, junit } => {
            gate(&report, &policy, baseline.as_deref(), junit.as_deref())
        }
        Verb::Attach { report, code, out } => attach(&report, &code, &out),
        Verb::Index { folder } => index(&folder),
        Verb::Schema => print(enerinfer_reports::SCHEMA),
    }
}

fn render(
    report: &Path,
    out: &Path,
    baseline: Option<&Path>,
    policy: Option<&Path>,
) -> Result<(), Failure> {
    let inputs = [Some(report), baseline, policy];
    let record = read(report)?;
    let baseline = baseline.map(read).transpose()?;
    let policy = policy.map(read_policy).transpose()?.unwrap_or_default();
    let (html, markdown) = match &baseline {
        None => (enerinfer_reports::html(&record), enerinfer_reports::markdown(&record)),
        Some(baseline) => (
            enerinfer_reports::html_with_baseline(&record, baseline).map_err(bad)?,
            enerinfer_reports::markdown_with_baseline(&record, baseline).map_err(bad)?,
        ),
    };
    let checks = enerinfer_reports::check(&policy, &record, baseline.as_ref()).map_err(bad)?;
    for name in ["report.html", "report.md", "junit.xml", written::LIST] {
        keep_inputs(&out.join(name), inputs.iter().copied().flatten())?;
    }
    let in_folder = |folder: &'static str, files: Vec<(String, String)>| {
        files.into_iter().map(move |(name, text)| (format!("{folder}/{name}"), text))
    };
    let files: BTreeMap<String, String> = in_folder("csv", enerinfer_reports::csv_tables(&record))
        .chain(in_folder("svg", enerinfer_reports::pictures(&record)))
        .collect();
    let earlier: BTreeSet<String> = written::listed(out)?.into_iter().collect();
    let list = |names: &mut dyn Iterator<Item = &String>| {
        names.flat_map(|name| [name.as_str(), "\n"]).collect::<String>()
    };
    // Both first: stopped halfway, the folder still tells which files are of a render.
    let both: BTreeSet<&String> = earlier.iter().chain(files.keys()).collect();
    write(&out.join(written::LIST), &list(&mut both.into_iter()))?;
    write(&out.join("report.html"), &html)?;
    write(&out.join("report.md"), &markdown)?;
    write(&out.join("junit.xml"), &enerinfer_reports::junit(&record, &checks))?;
    for (name, text) in &files {
        write(&out.join(name), text)?;
    }
    written::remove(out, earlier.iter().filter(|name| !files.contains_key(*name)))?;
    write(&out.join(written::LIST), &list(&mut files.keys()))?;
    print(&format!("{}\n", plain(&out.join("report.html").to_string_lossy())))
}

/// Refuses to write to a file that is read.
fn keep_inputs<'a>(
    output: &Path,
    mut inputs: impl Iterator<Item = &'a Path>,
) -> Result<(), Failure> {
    // What does not exist yet is nobody's input.
    let Ok(output) = output.canonicalize() else { return Ok(()) };
    match inputs.find(|input| input.canonicalize().is_ok_and(|input| input == output)) {
        None => Ok(()),
        Some(input) => Err(Failure::BadInput(anyhow::anyhow!(
            "{}: is read and would be overwritten; name another output",
            input.display()
        ))),
    }
}

fn gate(
    report: &Path,
    policy: &Path,
    baseline: Option<&Path>,
    junit: Option<&Path>,
) -> Result<(), Failure> {
    let inputs = [Some(report), Some(policy), baseline];
    if let Some(path) = junit {
        keep_inputs(path, inputs.into_iter().flatten())?;
    }
    let policy = read_policy(policy)?;
    let record = read(report)?;
    let baseline = baseline.map(read).transpose()?;
    let checks = enerinfer_reports::check(&policy, &record, baseline.as_ref()).map_err(bad)?;
    if let Some(path) = junit {
        write(path, &enerinfer_reports::junit(&record, &checks))?;
    }
    let breaches: Vec<_> = checks.iter().filter(|c| c.breached).collect();
    let mut text = String::new();
    for check in &breaches {
        text.push_str(&format!("BREACH {}: {}\n", check.name, check.detail));
    }
    text.push_str(&format!("{} checks, {} breached\n", checks.len(), breaches.len()));
    print(&text)?;
    if breaches.is_empty() { Ok(()) } else { Err(Failure::Breach) }
}

fn attach(report: &Path, code: &Path, out: &Path) -> Result<(), Failure> {
    keep_inputs(out, [report, code].into_iter())?;
    let record = read(report)?;
    let measured = CompiledCode::read(code).map_err(|e| Failure::BadInput(e.into()))?;
    let record = record
        .with_compiled_code(measured)
        .with_context(|| format!("{} with {}", report.display(), code.display()))
        .map_err(Failure::BadInput)?;
    write(out, &record.to_json().map_err(anyhow::Error::from)?)?;
    print(&format!("{}\n", plain(&out.to_string_lossy())))
}

fn index(folder: &Path) -> Result<(), Failure> {
    let records = folder::records(folder).map_err(Failure::BadInput)?;
    let mut entries = Vec::new();
    for found in records {
        let record = read(&found.path)?;
        entries.push(Entry::new(found.relative, found.page, &record));
    }
    let path = folder.join("index.html");
    write(&path, &enerinfer_reports::index_html(&entries))?;
    print(&format!("{}\n", plain(&path.to_string_lossy())))
}

fn bad(error: enerinfer_reports::Error) -> Failure {
    Failure::BadInput(error.into())
}

fn read(path: &Path) -> Result<Record, Failure> {
    let error = match Record::read(path) {
        Ok(record) => return Ok(record),
        Err(error) => error,
    };
    let error = match Evaluation::read(path) {
        Ok(_) => anyhow::anyhow!(
            "{}: is an evaluation of `train evaluate`, which wrote its page and Markdown beside it \
             (evaluation.html, evaluation.md); this command takes the report.json of a training run",
            path.display()
        ),
        Err(_) => error.into(),
    };
    Err(Failure::BadInput(error))
}

fn read_policy(path: &Path) -> Result<Policy, Failure> {
    let text = read_text(path).map_err(|e| Failure::BadInput(e.into()))?;
    Policy::parse(&text).with_context(|| path.display().to_string()).map_err(Failure::BadInput)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    write_atomic(path, text.as_bytes()).map_err(anyhow::Error::from)?;
    Ok(())
}

/// To stdout; a reader that stops early is no error.
fn print(text: &str) -> Result<(), Failure> {
    use std::io::Write as _;
    delivered(std::io::stdout().write_all(text.as_bytes()))
}

fn delivered(written: std::io::Result<()>) -> Result<(), Failure> {
    console::delivered(written).map_err(|e| Failure::Failed(e.into()))
}
