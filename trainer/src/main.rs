//! The `train` command.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use enerinfer_trainer::cli::{Cli, Command};
use enerinfer_trainer::{choose, evaluate_all, job};

/// Exit code for usage errors and bad input.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match &cli.command {
        Some(Command::Choose(args)) => choose::run(args),
        Some(Command::Evaluate(args)) => evaluate_all::run(args),
        None => job::run(&cli.train),
    };
    match result {
        Ok(text) => print(&text),
        Err(e) => {
            eprintln!("error: {e:#}");
            let bad_input = e.chain().any(|cause| {
                cause.is::<enerinfer_datasets::TableError>()
                    || cause.is::<enerinfer_device::DeviceError>()
                    || cause.is::<job::BadInput>()
                    || cause.is::<enerinfer_trainer::JournalError>()
                    || matches!(
                        cause.downcast_ref(),
                        Some(
                            enerinfer_codegen::CodegenError::NotOurs { .. }
                                | enerinfer_codegen::CodegenError::NotAFolder { .. }
                        )
                    )
                    || cause.downcast_ref::<enerinfer_trainer::TrainError>().is_some_and(|e| {
                        use enerinfer_trainer::TrainError as E;
                        matches!(
                            e,
                            E::TooFewModels { .. }
                                | E::TooFewSegments { .. }
                                | E::ShortTraces { .. }
                                | E::NothingFits { .. }
                                | E::PickedTwice { .. }
                                | E::PickedUnmeasured { .. }
                                | E::PickedTooSmall { .. }
                        )
                    })
            });
            ExitCode::from(if bad_input { BAD_INPUT } else { 1 })
        }
    }
}

/// Prints a result; one that cannot be delivered is a failure, except that a closed pipe
/// (`train … | head`) is the reader's choice.
fn print(text: &str) -> ExitCode {
    let mut stdout = std::io::stdout();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write to standard output: {e}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
