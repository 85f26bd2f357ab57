//! Results of llama.cpp's `llama-bench`, in each of its output formats.

mod formats;
mod row;

pub use formats::{BenchFormat, read_bench};
pub use row::{BenchFlag, BenchRow, ModelKey, Phase};
