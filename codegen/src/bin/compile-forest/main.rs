//! `compile-forest`: compiles a bundle into the device crate.

mod dump;
mod explain;
mod failure;
mod outputs;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use enerinfer_artifacts::{Bundle, console};
use enerinfer_codegen::import::import_bundle;
use enerinfer_codegen::{
    CapiName, DEFAULT_MAX_NODES, Optimise, Options, generate_capi_to, generate_to, size_warning,
    sizes,
};

use failure::Failure;
use outputs::Outputs;

/// Compile the predictors of a bundle into the Rust crate `enerinfer-runtime`.
#[derive(Parser)]
#[command(
    name = "compile-forest",
    version,
    after_help = "\
Examples:
  compile-forest out/orin/bundle.enerinfer --out enerinfer-runtime
                                       compile
  compile-forest out/orin/bundle.enerinfer --out enerinfer-runtime --explain
                                       … and show what every pass did
  compile-forest out/orin/bundle.enerinfer --out enerinfer-runtime --dump-ir ir
                                       … and write the lowered forests to ir/peak.json etc.
  compile-forest out/orin/bundle.enerinfer --out enerinfer-runtime --flash-budget 64
                                       prune trees until the predictors fit 64 KiB
  compile-forest out/orin/bundle.enerinfer --out enerinfer-runtime --optimise speed
                                       fast rather than small
  compile-forest out/orin/bundle.enerinfer --out enerinfer-runtime --capi enerinfer-runtime-capi
                                       … and the crate of the C API
  compile-forest forests.json --out enerinfer-runtime
                                       compile forests of scikit-learn or LightGBM

Exit codes: 0 done, 1 failed, 2 bad usage or bad input."
)]
struct Args {
    /// The bundle that `train` wrote, or a `.json` file that names forests trained elsewhere
    bundle: PathBuf,
    /// Folder of the crate: new, empty, or a generated crate without changes, which is replaced
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Also write the crate of the C API; it refers to the crate in --out
    #[arg(long, value_name = "DIR")]
    capi: Option<PathBuf>,
    /// Part of the names of the C API (enerinfer_NAME_predict), for programs with several models
    #[arg(long, value_name = "NAME", requires = "capi")]
    capi_name: Option<CapiName>,
    /// Print what every pass did
    #[arg(long)]
    explain: bool,
    /// Write the lowered forests as JSON, one file per predictor, to a folder of their own
    #[arg(long, value_name = "DIR")]
    dump_ir: Option<PathBuf>,
    /// Flash that all predictors together may take on thumbv7em by estimate, in KiB; trees are
    /// pruned to fit, without the training data: `train --flash-budget` does better
    #[arg(long, value_name = "KIB", value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    flash_budget: Option<u64>,
    /// Whether the code shall be small or fast; predictions are the same
    #[arg(long, value_name = "GOAL", value_enum, default_value_t = Optimise::Size)]
    optimise: Optimise,
    /// Refuse forests with more nodes
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_NODES)]
    max_nodes: u64,
}

fn main() -> ExitCode {
    let done = match Args::try_parse() {
        Ok(args) => run(&args).and_then(|text| Ok(console::print(&text)?)),
        // --help and --version are such "errors", and may be lost like any other output.
        Err(e) if !e.use_stderr() => console::delivered(e.print()).map_err(Into::into),
        Err(e) => e.exit(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console::say(format_args!("error: {failure}"));
            failure.exit_code()
        }
    }
}

/// Does the work, after everything that can be refused; returns what goes to stdout.
fn run(args: &Args) -> Result<String, Failure> {
    let outputs = Outputs::of(args)?;
    let bundle = read(args)?;
    let options = Options {
        max_nodes: args.max_nodes,
        flash_budget: args.flash_budget.map(|kib| kib << 10),
        optimise: args.optimise,
    };
    let lowered = generate_to(&bundle, &options, &outputs.krate.place)?;
    if let Some(capi) = &outputs.capi {
        let name = args.capi_name.clone().unwrap_or_default();
        generate_capi_to(&bundle, &capi.way_to(&outputs.krate), &name, &capi.place)?;
    }
    if let Some(dumps) = &outputs.dumps {
        dump::write(&lowered, &dumps.place)?;
    }
    if let Some(warning) = size_warning(&outputs.krate.place)? {
        console::say(format_args!("warning: {}: {warning}", args.out.display()));
    }
    let mut text = if args.explain { explain::table(&lowered) } else { String::new() };
    if let Some(pruning) = &lowered.pruning {
        let _ = writeln!(text, "{pruning}.");
    }
    let total: u64 = sizes(&lowered, &bundle.clocks).iter().map(|s| s.est_bytes).sum();
    let _ = writeln!(
        text,
        "{}: {} predictors, about {:.1} KiB of flash on thumbv7em",
        args.out.display(),
        lowered.predictors.len(),
        total as f64 / 1024.0
    );
    Ok(text)
}

fn read(args: &Args) -> Result<Bundle, Failure> {
    let path = &args.bundle;
    // What does not exist is left to `Bundle::read`; devices and pipes may never end.
    if let Ok(metadata) = path.metadata() {
        if metadata.is_dir() {
            return Err(Failure::Input(format!(
                "{}: is a folder; name the bundle file that `train` wrote, \
                 e.g. out/orin/bundle.enerinfer",
                path.display()
            )));
        }
        if !metadata.is_file() {
            return Err(Failure::Input(format!("{}: is not a regular file", path.display())));
        }
    }
    if path.extension().is_some_and(|extension| extension == "json") {
        return import_bundle(path).map_err(|e| Failure::Input(failure::with_causes(&e)));
    }
    Bundle::read(path).map_err(|e| Failure::Input(failure::with_causes(&e)))
}
