//! `enerinferd`: runs the controllers beside an engine that reports its tokens.

use std::fs::File;
use std::io::{BufReader, Write as _};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Sender};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, Parser, Subcommand, ValueEnum};
use enerinfer_artifacts::{Bundle, console};
use enerinfer_datasets::{LlmShape, MeasurementTable, ShapeSpec, survey};
use enerinfer_linux::clock::SystemClock;
use enerinfer_linux::cpufreq::{self, CpuPolicy};
use enerinfer_linux::devfreq::Request;
use enerinfer_linux::domain::Domain;
use enerinfer_linux::files::{Files, System};
use enerinfer_linux::journal::Journal;
use enerinfer_linux::sensor::Shell;
use enerinfer_linux::session::{Message, Session, send_lines};
use enerinfer_linux::tables::ModelTables;
use enerinfer_linux::uncontrolled::Uncontrolled;
use enerinfer_linux::{discover, doctor, events, zones};
use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime::driver::{Driver, Platform};
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::units::MicroTokPerS;
use enerinfer_runtime::{energy, thermal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

/// Keeps an on-device LLM at the most energy-efficient clocks that are fast enough and cool.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    /// Folder that stands for `/`, e.g. in a container.
    #[arg(long, global = true, default_value = "/")]
    root: PathBuf,
}

#[derive(Subcommand)]
enum Verb {
    /// Follow an engine's events and set clocks until they end.
    #[command(after_help = "Example:\n  my-engine --token-events | enerinferd run --bundle \
        bundle.enerinfer --model qwen2-1.5b --qoe reading\n\nEvents, one per line: prefill | \
        decode [QOE] | token [MICROSECONDS] | qoe QOE | foreground heavy|light | end")]
    Run(Box<RunArgs>),
    /// Show clocks and temperatures, and what will not work; changes nothing.
    #[command(after_help = "Example:\n  enerinferd doctor")]
    Doctor,
    /// Give back what a killed daemon left behind.
    #[command(after_help = "Example:\n  enerinferd restore")]
    Restore {
        #[command(flatten)]
        journal: JournalArgs,
        /// Wait until the daemon has ended.
        #[arg(long)]
        when_released: bool,
    },
}

#[derive(Args)]
struct JournalArgs {
    /// File in which the values to give back are kept.
    #[arg(long, default_value = "/run/enerinferd.journal")]
    journal: PathBuf,
}

#[derive(Args)]
struct RunArgs {
    /// Bundle of the trained platform.
    #[arg(long, required_unless_present = "measurements", conflicts_with = "measurements")]
    bundle: Option<PathBuf>,
    /// Measurement table instead of a bundle.
    #[arg(long)]
    measurements: Option<PathBuf>,
    /// Model: a name of the survey or of the measurement table.
    #[arg(long, required_unless_present = "shape")]
    model: Option<String>,
    /// Shape of another model: layers,hidden,heads,kv_heads,ffn,vocab.
    #[arg(long, conflicts_with_all = ["model", "measurements"], value_delimiter = ',')]
    shape: Option<Vec<u32>>,
    /// Where events come from; a named pipe is reopened when its writer leaves. Default: stdin.
    #[arg(long)]
    events: Option<PathBuf>,
    /// Needed speed: tokens/s, reading or listening.
    #[arg(long, default_value = "reading", value_parser = qoe)]
    qoe: MicroTokPerS,
    /// Shell temperature that must not be exceeded, in °C.
    #[arg(long, default_value_t = 42.0)]
    t_max: f64,
    /// Temperature becomes the only goal while hot.
    #[arg(long)]
    no_qoe_constraint: bool,
    /// Policy of both controllers.
    #[arg(long, value_enum, default_value_t = Policy::Default)]
    policy: Policy,
    /// Thermal zones that stand for the shell (see `doctor`); may be repeated.
    #[arg(long)]
    zone: Vec<String>,
    /// Accelerator: name of a devfreq device, or policyN for a CPU cluster.
    #[arg(long)]
    accelerator: Option<String>,
    /// How the memory clock is requested.
    #[arg(long, value_enum, default_value_t = Memory::Exactly)]
    memory: Memory,
    /// The memory clock where it can be neither set nor read, in MHz.
    #[arg(long)]
    fixed_mem_mhz: Option<f64>,
    #[command(flatten)]
    journal: JournalArgs,
    /// Start no watchdog that gives clocks back if the daemon is killed.
    #[arg(long)]
    no_watchdog: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Policy {
    /// Ours.
    Default,
    /// The paper's algorithms as printed.
    Paper,
}

#[derive(Clone, Copy, ValueEnum)]
enum Memory {
    /// At the chosen clock.
    Exactly,
    /// At the chosen clock or above: a vote beside those of others.
    AtLeast,
}

fn qoe(word: &str) -> Result<MicroTokPerS, events::ParseError> {
    events::parse_qoe("qoe", word)
}

fn main() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => obey(cli),
        // --help and --version are such "errors", and may be lost like any other output.
        Err(e) if !e.use_stderr() => console::delivered(e.print()).map_err(Into::into),
        Err(e) => e.exit(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            say(&format!("{e:#}"));
            ExitCode::FAILURE
        }
    }
}

fn obey(cli: Cli) -> Result<()> {
    let files: Arc<dyn Files> = Arc::new(System::below(&cli.root));
    match cli.verb {
        Verb::Run(args) => run(&files, &args, &cli.root),
        Verb::Doctor => Ok(console::print(&doctor::examine(&files).to_text())?),
        Verb::Restore { journal, when_released } => restore(&files, &journal, when_released),
    }
}

/// A line for the log. Whoever read it may have gone; the control goes on.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "enerinferd: {line}");
}

fn restore(files: &Arc<dyn Files>, args: &JournalArgs, when_released: bool) -> Result<()> {
    let journal = if when_released {
        // Outlives signals to the whole process group: it is what cleans up after them.
        let _signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
        Journal::wait_open(&args.journal)?
    } else {
        take_journal(&args.journal)?
    };
    if journal.recover(&**files)? {
        say("gave back what a former process had set");
    }
    Ok(())
}

fn take_journal(path: &Path) -> Result<Journal> {
    // The watchdog of a daemon that has just ended may hold the lock for a moment.
    for _ in 0..20 {
        if let Some(journal) = Journal::try_open(path)? {
            return Ok(journal);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    bail!("another enerinferd runs (it holds {}); stop it first", path.display())
}

fn run(files: &Arc<dyn Files>, args: &RunArgs, root: &Path) -> Result<()> {
    let mut model = load(args)?;
    let config = config(args)?;
    let shell = shell(files, args)?;
    if let Some(path) = &args.events {
        check_events(path)?;
    }
    let journal = take_journal(&args.journal.journal)?;
    if journal.recover(&**files)? {
        say("gave back what a former process had set");
    }
    let accel = accelerator(files, args)?;
    let mem = memory(files, args)?;
    let left = model.keep_attainable(&accel, &mem)?;
    if left < model.clocks.len() {
        let all = model.clocks.len();
        say(&format!("{left} of {all} operating points can be run here"));
    }
    if let Some(feature) = model.extrapolated {
        say(&format!("warning: {feature} is outside the training range"));
    }
    if !model.has_thermal {
        say("no thermal model: the threshold alone controls the temperature");
    }

    let mut saved = accel.saved();
    saved.extend(&mem.saved());
    journal.write(&saved)?;
    if !args.no_watchdog {
        start_watchdog(&args.journal.journal, root).context("cannot start the watchdog")?;
    }

    let fronts = Box::new(Fronts::new(&model.tables));
    let control = Coordinator::new(&model.tables, &fronts, &model.thermal, config);
    let clock = SystemClock::start();
    let platform = Platform { clock, temperature: shell, accel, mem };
    let driver = Driver::new(control, platform, &model.clocks.accel_khz, &model.clocks.mem_khz);
    let mut session = Session::new(driver, &model, clock, args.qoe);

    let (to, messages) = mpsc::channel();
    stop_on_signals(to.clone())?;
    let unreadable = read_events(args.events.clone(), to);
    let given_back = session.run(&messages, say);
    drop(session);
    if given_back {
        journal.clear()?;
    } else {
        journal.recover(&**files)?;
    }
    if unreadable.load(Ordering::Relaxed) {
        bail!("stopped, since events could not be read");
    }
    Ok(())
}

fn load(args: &RunArgs) -> Result<ModelTables> {
    if let Some(path) = &args.measurements {
        let (table, warnings) = MeasurementTable::read(path, "this device")?;
        for warning in warnings {
            say(&format!("warning: {warning}"));
        }
        let name = args.model.as_deref().unwrap_or_default();
        return Ok(ModelTables::measured(&table, name)?);
    }
    let path = args.bundle.as_deref().unwrap_or(Path::new("bundle.enerinfer"));
    let bundle = Bundle::read(path)?;
    let shape = match (&args.shape, &args.model) {
        (Some(shape), _) => parse_shape(shape)?,
        (None, Some(name)) => match survey::find(name) {
            Some(model) => model.shape,
            None => bail!("the survey has no model {name:?}; give its --shape instead"),
        },
        (None, None) => bail!("--model or --shape is needed"),
    };
    Ok(ModelTables::predict(&bundle, shape.dims())?)
}

fn parse_shape(values: &[u32]) -> Result<LlmShape> {
    let [layers, hidden, heads, kv_heads, ffn, vocab] = values else {
        bail!("--shape needs 6 numbers: layers,hidden,heads,kv_heads,ffn,vocab");
    };
    let spec = ShapeSpec {
        layers: *layers,
        hidden: *hidden,
        heads: *heads,
        kv_heads: *kv_heads,
        ffn: *ffn,
        vocab: *vocab,
        ..ShapeSpec::default()
    };
    LlmShape::new(spec).context("--shape")
}

fn accelerator(files: &Arc<dyn Files>, args: &RunArgs) -> Result<Domain> {
    let Some(name) = &args.accelerator else { return Ok(discover::accelerator(files)?) };
    if name.starts_with("policy") {
        let dir = Path::new(cpufreq::POLICIES).join(name);
        return Ok(Domain::Cpu(CpuPolicy::open(Arc::clone(files), &dir)?));
    }
    Ok(discover::accelerator_named(files, name)?)
}

fn memory(files: &Arc<dyn Files>, args: &RunArgs) -> Result<Domain> {
    if let Some(mhz) = args.fixed_mem_mhz {
        return Ok(Domain::Uncontrolled(Uncontrolled::at((mhz * 1e3).round() as u32)));
    }
    let request = match args.memory {
        Memory::Exactly => Request::Exactly,
        Memory::AtLeast => Request::AtLeast,
    };
    discover::memory(files, request)
        .context("give --fixed-mem-mhz if the memory clock is known but cannot be set")
}

fn shell(files: &Arc<dyn Files>, args: &RunArgs) -> Result<Shell> {
    let found = zones::discover(&**files);
    if args.zone.is_empty() {
        return Ok(Shell::of(files, &zones::shell(&found)));
    }
    let mut chosen = Vec::new();
    for name in &args.zone {
        let before = chosen.len();
        chosen.extend(found.iter().filter(|z| z.name == *name).cloned());
        if chosen.len() == before {
            let names: Vec<_> = found.iter().map(|z| z.name.as_str()).collect();
            bail!("no thermal zone {name:?}; there are {}", names.join(", "));
        }
    }
    Ok(Shell::of(files, &chosen))
}

fn config(args: &RunArgs) -> Result<Config> {
    if !(0.0..=120.0).contains(&args.t_max) {
        bail!("--t-max is {} °C; give 0 to 120", args.t_max);
    }
    let (energy, thermal) = match args.policy {
        Policy::Default => (energy::Policy::Default, thermal::Policy::Default),
        Policy::Paper => (energy::Policy::Paper, thermal::Policy::Paper),
    };
    let defaults = thermal::Config::default();
    let t_max = MilliCelsius((args.t_max * 1e3).round() as i32);
    // The distance of the defaults, so that another threshold keeps its meaning.
    let t_pre = MilliCelsius(t_max.0 - (defaults.t_max.0 - defaults.t_pre.0));
    let qoe_constraint = !args.no_qoe_constraint;
    let thermal = thermal::Config { policy: thermal, t_max, t_pre, qoe_constraint };
    Ok(Config { energy, thermal })
}

fn start_watchdog(journal: &Path, root: &Path) -> std::io::Result<()> {
    Command::new(std::env::current_exe()?)
        .args(["restore", "--when-released", "--journal"])
        .arg(journal)
        .arg("--root")
        .arg(root)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()?;
    Ok(())
}

fn stop_on_signals(to: Sender<Message>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
    std::thread::spawn(move || {
        for _ in signals.forever() {
            if to.send(Message::Stop).is_err() {
                break;
            }
        }
    });
    Ok(())
}

/// A named pipe cannot be opened to try it: that waits for a writer.
fn check_events(path: &Path) -> Result<()> {
    let metadata = path.metadata().with_context(|| format!("--events {}", path.display()))?;
    if metadata.is_dir() {
        bail!("--events {}: is a folder; give a named pipe or a file", path.display());
    }
    Ok(())
}

/// Reads events in a thread. What it returns is set if that failed, before the last message.
fn read_events(path: Option<PathBuf>, to: Sender<Message>) -> Arc<AtomicBool> {
    let failed = Arc::new(AtomicBool::new(false));
    let unreadable = Arc::clone(&failed);
    std::thread::spawn(move || {
        let result = match path {
            None => send_lines(std::io::stdin().lock(), &to).map(|_| ()),
            Some(path) => read_path(&path, &to),
        };
        if let Err(e) = result {
            say(&format!("cannot read events: {e}"));
            failed.store(true, Ordering::Relaxed);
        }
        // If nobody listens any more, the loop has ended already.
        let _ = to.send(Message::Closed);
    });
    unreadable
}

fn read_path(path: &Path, to: &Sender<Message>) -> std::io::Result<()> {
    loop {
        let file = File::open(path)?;
        let is_pipe = file.metadata()?.file_type().is_fifo();
        let listening = send_lines(BufReader::new(file), to)?;
        if !is_pipe || !listening || to.send(Message::WriterGone).is_err() {
            return Ok(());
        }
    }
}
