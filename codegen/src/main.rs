//! `compile-forest`: compiles a bundle into the device crate.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser;
use enerinfer_artifacts::Bundle;
use enerinfer_codegen::import::import_bundle;
use enerinfer_codegen::{
    CodegenError, DEFAULT_MAX_NODES, Lowered, Options, generate_capi_to, generate_to, sizes,
};

/// Compile the predictors of a bundle into the Rust crate `enerinfer-runtime`.
#[derive(Parser)]
#[command(
    version,
    after_help = "Example:\n  compile-forest out/orin/bundle.enerinfer --out enerinfer-runtime --explain\n\n\
                  Exit codes: 0 done, 1 failed, 2 bad usage or bad input."
)]
struct Args {
    /// The bundle that `train` wrote, or a `.json` file that names forests trained elsewhere
    bundle: PathBuf,
    /// Folder of the crate; replaced if it is a generated crate, else it must not exist
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Also write the crate of the C API; it refers to the crate in --out
    #[arg(long, value_name = "DIR")]
    capi: Option<PathBuf>,
    /// Print what every pass did
    #[arg(long)]
    explain: bool,
    /// Write the lowered forests as JSON, one file per predictor
    #[arg(long, value_name = "DIR")]
    dump_ir: Option<PathBuf>,
    /// Flash that all predictors together may take on thumbv7em, in KiB; trees are pruned to fit
    #[arg(long, value_name = "KIB")]
    flash_budget: Option<u64>,
    /// Refuse forests with more nodes
    #[arg(long, value_name = "N", default_value_t = DEFAULT_MAX_NODES)]
    max_nodes: u64,
}

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("error: {e:#}");
            let failed = matches!(e.downcast_ref(), Some(CodegenError::Io { .. }))
                || e.downcast_ref::<std::io::Error>().is_some();
            ExitCode::from(if failed { 1 } else { 2 })
        }
    }
}

fn run(args: &Args) -> anyhow::Result<()> {
    let bundle = match args.bundle.extension() {
        Some(extension) if extension == "json" => import_bundle(&args.bundle)?,
        _ => Bundle::read(&args.bundle)?,
    };
    let options = Options {
        max_nodes: args.max_nodes,
        flash_budget: args.flash_budget.map(|kib| kib.saturating_mul(1024)),
    };
    let lowered = generate_to(&bundle, &options, &args.out)?;
    if let Some(folder) = &args.capi {
        let runtime = std::path::absolute(&args.out)?;
        generate_capi_to(&bundle, &runtime, folder)?;
    }
    if args.explain {
        explain(&lowered);
    }
    if let Some(folder) = &args.dump_ir {
        dump(&lowered, folder)?;
    }
    let total: u64 = sizes(&lowered).iter().map(|s| s.est_bytes).sum();
    println!(
        "{}: {} predictors, about {:.1} KiB of flash on thumbv7em",
        args.out.display(),
        lowered.predictors.len(),
        total as f64 / 1024.0
    );
    Ok(())
}

fn explain(lowered: &Lowered) {
    println!(
        "{:<12} {:<20} {:>17} {:>17} {:>10} {:>12}",
        "predictor", "pass", "nodes", "leaves", "est. KiB", "error bound"
    );
    for s in &lowered.steps {
        println!(
            "{:<12} {:<20} {:>8} {:>8} {:>8} {:>8} {:>10.1} {:>12.2e}",
            s.target,
            s.name,
            s.nodes_before,
            s.nodes_after,
            s.leaves_before,
            s.leaves_after,
            s.est_bytes as f64 / 1024.0,
            s.error_bound
        );
    }
}

fn dump(lowered: &Lowered, folder: &std::path::Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for predictor in &lowered.predictors {
        let path = folder.join(format!("{}.json", predictor.target.name()));
        let json = serde_json::to_vec_pretty(predictor)?;
        enerinfer_artifacts::write_atomic(&path, &json)?;
    }
    Ok(())
}
