//! `README.md` of the generated crate.

use std::io::{self, Write};

use enerinfer_artifacts::Bundle;

use super::{sizes, skipped};
use crate::Lowered;

/// Writes the file.
pub(crate) fn write(
    out: &mut dyn Write,
    bundle: &Bundle,
    lowered: &Lowered,
    digest: &str,
) -> io::Result<()> {
    let p = &bundle.platform;
    let (accel, mem) = (&bundle.clocks.accel_khz, &bundle.clocks.mem_khz);
    writeln!(
        out,
        "# enerinfer-runtime for {}\n\n\
         Predicts the decode throughput and power of a language model at each of the {} operating \
         points of {} ({}, weights {}), and chooses the most energy-efficient one that is fast \
         enough. `no_std`, no dependencies, no floating point, no allocation, no `unsafe`.\n",
        p.name,
        bundle.clocks.len(),
        p.name,
        p.engine,
        p.weight_format
    )?;
    writeln!(out, "```rust\n{}```\n", example())?;
    writeln!(out, "## What the numbers mean\n")?;
    writeln!(out, "- Throughput is in µtok/s (`MicroTokPerS`), power in µW (`MicroWatt`).")?;
    writeln!(out, "- Power comprises: {}.", p.power_domain)?;
    writeln!(out, "- Trained on: {}.", p.source)?;
    writeln!(out, "- Accelerator clocks: {}.", mhz(accel))?;
    writeln!(out, "- Memory clocks: {}.", mhz(mem))?;
    writeln!(
        out,
        "- `Prediction::coverage` says when a shape lies outside the training data; the answer is \
         then that of the nearest edge.\n"
    )?;
    if !bundle.accuracy.is_empty() {
        writeln!(out, "## Accuracy on held-out models\n")?;
        writeln!(out, "| predicted | mean absolute percentage error |\n|---|---|")?;
        for a in &bundle.accuracy {
            writeln!(out, "| {} | {:.2} % |", a.what, a.mape_percent)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "## Size\n")?;
    writeln!(
        out,
        "Estimated for thumbv7em with `opt-level = \"s\"`; comparisons are the worst case of one prediction.\n"
    )?;
    writeln!(out, "| predictor | trees | leaves | comparisons | flash |\n|---|---|---|---|---|")?;
    for s in sizes(lowered) {
        writeln!(
            out,
            "| {} | {} | {} | {} | {:.1} KiB |",
            s.target,
            s.trees,
            s.leaves,
            u64::from(s.trees) * u64::from(s.depth),
            s.est_bytes as f64 / 1024.0
        )?;
    }
    let skipped = skipped(bundle);
    if !skipped.is_empty() {
        writeln!(out, "\nNot compiled, since the device does not use it: {}.", skipped.join(", "))?;
    }
    writeln!(out, "\n## Trust\n")?;
    writeln!(
        out,
        "`cargo test` repeats the compiler's own predictions bit for bit (`tests/vectors.rs`). \
         `MANIFEST.json` lists a BLAKE3 digest of every file. Model digest: `{digest}`.\n"
    )?;
    writeln!(out, "## Regenerate\n")?;
    writeln!(out, "```sh\n{}", bundle.provenance.command)?;
    writeln!(out, "compile-forest bundle.enerinfer --out enerinfer-runtime\n```\n")?;
    writeln!(
        out,
        "## Licence\n\nMIT or Apache-2.0, at your choice; that includes the generated files."
    )
}

fn mhz(khz: &[u32]) -> String {
    let list: Vec<String> = khz.iter().map(|&k| format!("{}", f64::from(k) / 1000.0)).collect();
    format!("{} MHz", list.join(", "))
}

/// The example of the runtime's documentation, which is compiled and run as a test there.
fn example() -> String {
    let lines = include_str!("../../runtime/src/lib.rs")
        .lines()
        .skip_while(|line| *line != "//! ```")
        .skip(1)
        .take_while(|line| *line != "//! ```");
    lines.map(|line| line.trim_start_matches("//!").trim_start().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_is_found() {
        let example = example();
        assert!(example.starts_with("use enerinfer_runtime::"), "{example}");
        assert!(example.contains("Predictor::tables"), "{example}");
    }
}
