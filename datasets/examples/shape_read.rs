//! Prints the shape of each model file given: GGUF, `config.json`, or a folder that holds one.
//!
//! ```text
//! cargo run -p enerinfer-datasets --example shape_read -- Qwen3-4B/config.json
//! ```

use std::path::Path;
use std::process::ExitCode;

use enerinfer_datasets::{describe, read_shape};

fn main() -> ExitCode {
    let files: Vec<_> = std::env::args_os().skip(1).collect();
    if files.is_empty() {
        eprintln!("usage: shape_read FILE...");
        return ExitCode::from(2);
    }
    let mut code = ExitCode::SUCCESS;
    for file in files {
        match read_shape(Path::new(&file)) {
            Ok(read) => println!("{}", describe(&read)),
            Err(error) => {
                eprintln!("{error}");
                code = ExitCode::from(2);
            }
        }
    }
    code
}
