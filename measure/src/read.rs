//! `measure read`: any telemetry log as one table of samples.

use std::path::PathBuf;

use clap::ValueEnum;
use enerinfer_telemetry::csv_samples::{ColumnMap, CsvOptions};
use enerinfer_telemetry::{Clock, LogFormat, Row, SampleReader, Zone, open_log, samples_csv};

use crate::distinct::Files;
use crate::failure::Failure;
use crate::output::{self, say};

#[derive(clap::Args)]
#[command(after_help = "Example:\n  measure read power.csv \
--columns 'time=t:ms,total_mw=board power:W' --out samples.csv")]
pub(crate) struct Args {
    /// The log
    log: PathBuf,
    #[command(flatten)]
    source: Source,
    /// Time zone of local stamps: UTC, an IANA name, or an offset such as -04:00
    #[arg(long, value_name = "ZONE", allow_hyphen_values = true)]
    tz: Option<String>,
    /// Table to write; stdout if absent
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Also write the counts of accepted, repaired and refused lines as JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// How a log is read.
#[derive(clap::Args)]
pub(crate) struct Source {
    /// Format of the log; recognised if absent
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// What the columns of a CSV are: `channel=column[:unit],…; time=column[:s|ms|us|ns]`
    #[arg(long, value_name = "MAP")]
    columns: Option<String>,
    /// Rows of this GPU only (index or UUID)
    #[arg(long)]
    gpu: Option<String>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Tegrastats,
    Csv,
    Json,
}

impl Source {
    /// A log whose format is recognised, with the columns of a CSV named if need be.
    pub(crate) fn recognised(columns: Option<String>) -> Self {
        Source { format: None, columns, gpu: None }
    }

    pub(crate) fn open(&self, log: &std::path::Path) -> Result<Box<dyn SampleReader>, Failure> {
        let map = self.columns.as_deref().map_or(Ok(ColumnMap::default()), ColumnMap::parse)?;
        let format = self.format.map(|f| match f {
            Format::Tegrastats => LogFormat::Tegrastats,
            Format::Csv => LogFormat::Csv,
            Format::Json => LogFormat::Json,
        });
        Ok(open_log(log, format, &CsvOptions { map, device: self.gpu.clone() })?)
    }
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    Files::default()
        .read("LOG", [args.log.as_path()])
        .write("--out", args.out.as_deref())
        .write("--report", args.report.as_deref())
        .check()?;
    let mut reader = args.source.open(&args.log)?;
    let mut clock = args.tz.as_deref().map(Zone::parse).transpose()?.map(Clock::new);
    // Channels appear as the log goes on, and a header stands first: two passes, no buffering.
    let mut row = Row::default();
    while reader.read(&mut row)? {}
    let channels = reader.channels().to_vec();
    let tally = reader.tally().clone();
    if tally.accepted == 0 {
        output::tally(&args.log, &tally, args.report.as_deref())?;
        return Err(Failure::input(format!(
            "{}: none of its {} lines is a sample; look at --format, --columns and --gpu",
            args.log.display(),
            tally.refused
        )));
    }
    let mut again = args.source.open(&args.log)?;
    match &args.out {
        Some(out) => {
            let file = samples_csv::to_file(out, &channels, again.as_mut(), clock.as_mut());
            file?;
            say!("wrote {}", out.display());
        }
        None => {
            let stdout = std::io::stdout().lock();
            let written = samples_csv::write(stdout, &channels, again.as_mut(), clock.as_mut());
            // A reader that has closed the pipe has seen enough.
            if let Err(e) = written
                && !e.to_string().contains("Broken pipe")
            {
                return Err(e.into());
            }
        }
    }
    output::tally(&args.log, &tally, args.report.as_deref())
}
