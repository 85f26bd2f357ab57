//! Writes untrained models of sampled shapes as GGUF files.
//!
//! ```text
//! cargo run --release -p enerinfer-datasets --example synthesize -- 10 q4_0 models
//! ```

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use enerinfer_datasets::synthesize::{GgufOptions, Vocabulary, gguf_files};
use enerinfer_datasets::{Model, WeightFormat, sampler};

/// Larger models are left out, as in the collection on a small machine.
const MAX_PARAMS: u64 = 1_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [count, format, folder] = arguments.as_slice() else {
        return Err("usage: synthesize COUNT FORMAT FOLDER".into());
    };
    let format = WeightFormat::parse(format).ok_or("formats: f16, q8_0, q6_k, q4_k_m, q4_0")?;
    let models: Vec<Model> = sampler::sample(sampler::MAX_SAMPLE / 10, 1)?
        .into_iter()
        .filter(|model| model.shape.total_params() <= MAX_PARAMS)
        .take(count.parse()?)
        .collect();
    let options = GgufOptions { vocabulary: Vocabulary::Dummy, ..GgufOptions::default() };
    std::fs::create_dir_all(folder)?;
    let start = Instant::now();
    let mut bytes = 0;
    for written in gguf_files(&models, format, options, Path::new(folder)) {
        let written = written?;
        println!("{} {}", written.path.display(), written.bytes);
        bytes += written.bytes;
    }
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("{bytes} bytes in {seconds:.1} s, {:.0} MB/s", bytes as f64 / seconds / 1e6);
    Ok(())
}
