//! The `train` command.

use std::process::ExitCode;

use clap::Parser as _;
use enerinfer_trainer::cli::{Cli, Command};
use enerinfer_trainer::{choose, job};

/// Exit code for usage errors and bad input.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        Some(Command::Choose(args)) => choose::run(args),
        None => job::run(&cli.train),
    };
    match result {
        Ok(text) => {
            // A closed pipe (`train … | head`) is the reader's choice, not a failure.
            use std::io::Write as _;
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("error: {e:#}");
            let bad_input = e.chain().any(|cause| {
                cause.is::<enerinfer_datasets::TableError>()
                    || cause.is::<enerinfer_device::DeviceError>()
                    || cause.is::<job::BadInput>()
                    || cause.downcast_ref::<enerinfer_trainer::TrainError>().is_some_and(|e| {
                        matches!(e, enerinfer_trainer::TrainError::TooFewModels { .. })
                    })
            });
            ExitCode::from(if bad_input { BAD_INPUT } else { 1 })
        }
    }
}
