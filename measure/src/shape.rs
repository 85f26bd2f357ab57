//! `measure shape`: the shape of a real model, from the file that describes it.

use std::path::PathBuf;

use enerinfer_datasets::{ShapeFault, describe, read_shape};

use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  measure shape model.gguf\n  measure shape Qwen2.5-1.5B/config.json"
)]
pub(crate) struct Args {
    /// GGUF files, config.json files, or folders that hold one
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    for file in &args.files {
        let read = read_shape(file).map_err(|e| match e.fault() {
            ShapeFault::Io(_) => Failure::Failed(e.to_string()),
            _ => Failure::input(e.to_string()),
        })?;
        output::stdout(format!("{}\n", describe(&read)).as_bytes())?;
    }
    Ok(())
}
