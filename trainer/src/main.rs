//! The `train` command.

use std::process::ExitCode;

use clap::Parser as _;
use enerinfer_artifacts::console;
use enerinfer_trainer::cli::{Cli, Command};
use enerinfer_trainer::{choose, evaluate_all, job};

/// Exit code for usage errors and bad input.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    let result = match Cli::try_parse() {
        Ok(cli) => run(&cli),
        // --help and --version are such "errors", and may be lost like any other output.
        Err(e) if !e.use_stderr() => console::delivered(e.print()).map_err(Into::into),
        Err(e) => e.exit(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            console::say(format_args!("error: {e:#}"));
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

fn run(cli: &Cli) -> anyhow::Result<()> {
    let text = match &cli.command {
        Some(Command::Choose(args)) => choose::run(args),
        Some(Command::Evaluate(args)) => evaluate_all::run(args),
        None => job::run(&cli.train),
    }?;
    Ok(console::print(&text)?)
}
