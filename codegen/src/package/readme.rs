//! `README.md` of the generated crate.

use std::io::{self, Write};

use enerinfer_artifacts::{Bundle, Domain, Target};

use super::stack::estimate_stack_bytes;
use super::{is_simulated, sizes, skipped};
use crate::emit::model::ranges;
use crate::import::IMPORTED;
use crate::{Comparisons, Lowered, Optimise};

/// `examples/control.rs`, which the README shows.
pub(super) const CONTROL_EXAMPLE: &str = include_str!("skeleton/control.rs");

/// Writes the file.
pub(crate) fn write(
    out: &mut dyn Write,
    bundle: &Bundle,
    lowered: &Lowered,
    digest: &str,
) -> io::Result<()> {
    introduction(out, bundle, lowered)?;
    writeln!(out, "```rust\n{}```\n", example())?;
    numbers(out, bundle, lowered)?;
    valid_ranges(out, lowered)?;
    controllers(out, bundle, lowered)?;
    if !bundle.accuracy.is_empty() {
        accuracy(out, bundle, lowered)?;
    }
    cost(out, bundle, lowered)?;
    writeln!(out, "## Trust\n")?;
    writeln!(
        out,
        "`cargo test` repeats the compiler's own predictions bit for bit (`tests/vectors.rs`). \
         `MANIFEST.json` lists a BLAKE3 digest of every file. Model digest: `{digest}`.\n"
    )?;
    writeln!(
        out,
        "## Upgrading\n\nThe version is 0.`model::SCHEMA_VERSION`.0, with the model as build \
         metadata. A crate regenerated with the same schema version has the same API and units: \
         replace the folder, and let cargo write `Cargo.lock` anew (`--locked` refuses a new \
         version). In one workspace two such crates need `exclude`. Its predictions differ as \
         `model::MODEL_DIGEST` does; tables that were stored belong to the digest they were made \
         with. A higher schema version may break code: `CHANGELOG.md` says how to change it.\n"
    )?;
    regenerate(out, bundle, lowered)?;
    writeln!(
        out,
        "## Licence\n\nMIT or Apache-2.0, at your choice; that includes the generated files."
    )
}

fn introduction(out: &mut dyn Write, bundle: &Bundle, lowered: &Lowered) -> io::Result<()> {
    let p = &bundle.platform;
    writeln!(out, "# enerinfer-runtime for {}\n", plain(&p.name))?;
    if is_simulated(bundle) {
        writeln!(
            out,
            "> **SIMULATED: trained on a simulated device ({}).** No number here was measured \
             on hardware; train on measurements of your device before you rely on it.\n",
            plain(&p.source)
        )?;
    }
    let (predicts, chooses) = if lowered.predictor(Target::Power).is_some() {
        ("throughput and power", "the most energy-efficient one that is fast enough")
    } else {
        ("throughput", "the slowest one that is fast enough")
    };
    writeln!(
        out,
        "Predicts the decode {predicts} of a language model at each of the {} operating points of \
         {} ({}, weights {}), chooses {chooses}, and carries the controllers that keep to it. \
         `no_std`, no dependencies, no floating point, no allocation, no `unsafe`.\n",
        bundle.clocks.len(),
        plain(&p.name),
        plain(&p.engine),
        plain(&p.weight_format)
    )
}

fn numbers(out: &mut dyn Write, bundle: &Bundle, lowered: &Lowered) -> io::Result<()> {
    let p = &bundle.platform;
    writeln!(out, "## What the numbers mean\n")?;
    writeln!(out, "- Throughput is in µtok/s (`MicroTokPerS`).")?;
    if lowered.predictor(Target::Power).is_some() {
        writeln!(out, "- Power is in µW (`MicroWatt`) and comprises: {}.", plain(&p.power_domain))?;
    } else {
        writeln!(
            out,
            "- The bundle has no watts: `model::HAS_POWER` is false, all `MicroWatt` are zero."
        )?;
    }
    writeln!(out, "- Trained on: {}.", plain(&p.source))?;
    writeln!(out, "- Accelerator clocks: {}.", mhz(&bundle.clocks.accel_khz))?;
    writeln!(out, "- Memory clocks: {}.\n", mhz(&bundle.clocks.mem_khz))
}

fn controllers(out: &mut dyn Write, bundle: &Bundle, lowered: &Lowered) -> io::Result<()> {
    writeln!(out, "## Controllers\n")?;
    writeln!(
        out,
        "- `energy`: corrects the choice by the tokens' real times.\n\
         - `thermal`: keeps the shell below a temperature, by a model of the device (`model::THERMAL`).\n\
         - `coordinator`: both together, for one request after the other.\n\
         - `hal`, `driver`: traits for a clock, a temperature sensor and frequencies, and what \
         connects them to the coordinator.\n\
         - `votes`: several holders of one clock domain; the highest minimum wins, a cap beats \
         it.\n"
    )?;
    if bundle.thermal.is_none() {
        writeln!(
            out,
            "No thermal model was fitted: `model::THERMAL` is `None`, so `thermal` reacts to the \
             shell's temperature but foresees nothing.\n"
        )?;
    }
    if lowered.predictor(Target::AccelPower).is_none() {
        writeln!(
            out,
            "`model::HAS_ACCEL_POWER` is false: to `thermal`, every operating point here is as \
             warm as any other.\n"
        )?;
    }
    let code = CONTROL_EXAMPLE.lines().skip_while(|line| !line.starts_with("use "));
    writeln!(out, "`examples/control.rs`:\n\n```rust")?;
    code.into_iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out, "```\n")
}

fn accuracy(out: &mut dyn Write, bundle: &Bundle, lowered: &Lowered) -> io::Result<()> {
    writeln!(out, "## Accuracy on held-out models\n")?;
    if is_simulated(bundle) {
        writeln!(out, "SIMULATED: compared with the simulated device, not with hardware.\n")?;
    }
    writeln!(out, "| predicted | mean absolute percentage error |\n|---|---|")?;
    for a in &bundle.accuracy {
        writeln!(out, "| {} | {:.2} % |", a.what, a.mape_percent)?;
    }
    writeln!(out)?;
    if lowered.pruning.is_some() {
        writeln!(out, "These errors are from before trees were pruned; see Cost.\n")?;
    }
    Ok(())
}

/// What a shape may be, by the training data.
fn valid_ranges(out: &mut dyn Write, lowered: &Lowered) -> io::Result<()> {
    writeln!(out, "## Valid ranges\n")?;
    writeln!(
        out,
        "A shape outside is answered all the same, and flagged: `Prediction::coverage` is then \
         `Coverage::Extrapolated {{ feature }}`, which names the first feature outside. There \
         forests repeat the values of their edge.{}\n",
        match lowered.predictor(Target::Peak).and_then(|peak| peak.normaliser) {
            Some(n) => format!(
                " Peak throughput is such a value divided by the shape's own `{0}`, so it goes on \
                 falling as `{0}` grows, by rule and not by data.",
                n.feature.name()
            ),
            None => String::new(),
        }
    )?;
    writeln!(out, "| feature | from | to |\n|---|---|---|")?;
    for (feature, Domain { min, max }) in ranges(lowered) {
        match (min, max) {
            // Imported without a domain.
            (0, u32::MAX) => writeln!(out, "| `{}` | not known | not known |", feature.name())?,
            _ => writeln!(out, "| `{}` | {min} | {max} |", feature.name())?,
        }
    }
    writeln!(out)
}

fn cost(out: &mut dyn Write, bundle: &Bundle, lowered: &Lowered) -> io::Result<()> {
    writeln!(out, "## Cost\n")?;
    writeln!(
        out,
        "Flash is an estimate for thumbv7em with `opt-level = \"z\"`{}. Comparisons are computed from \
         the trees: no shape takes more than these to look up ranks, then in the trees of all \
         operating points.\n",
        match lowered.optimise {
            Optimise::Size => ", as in this crate's own profile",
            Optimise::Speed => {
                "; this crate's own profile says `3`, which takes more. `Predictor::at_point` has \
                 code of its own for every operating point, which is not counted here, and linked \
                 only where it is called"
            }
        }
    )?;
    writeln!(
        out,
        "| predictor | trees | leaves | look-up | in trees | flash (estimate) |\n\
         |---|---|---|---|---|---|"
    )?;
    for s in sizes(lowered, &bundle.clocks) {
        let Comparisons { lookup, in_trees } = s.comparisons;
        writeln!(
            out,
            "| {} | {} | {} | {lookup} | {in_trees} | {:.1} KiB |",
            s.target,
            s.trees,
            s.tree_leaves,
            s.est_bytes as f64 / 1024.0
        )?;
    }
    let points = bundle.clocks.len();
    writeln!(
        out,
        "\nStack from a shape to a choice: about {} bytes (estimate). Tables take {} bytes, a front \
         {} bytes, in the caller's memory; nothing is allocated, and no RAM is static.",
        estimate_stack_bytes(lowered, &bundle.clocks),
        12 * points,
        12 * points + 8
    )?;
    if let Some(pruning) = &lowered.pruning {
        writeln!(out, "\n{pruning}.")?;
    }
    let skipped = skipped(bundle);
    if !skipped.is_empty() {
        writeln!(out, "\nNot compiled, since the device does not use it: {}.", skipped.join(", "))?;
    }
    writeln!(out)
}

/// The commands as they work where `train` was run with its default output folder, or beside the
/// file by which forests were imported; its name is not known.
fn regenerate(out: &mut dyn Write, bundle: &Bundle, lowered: &Lowered) -> io::Result<()> {
    let command = &bundle.provenance.command;
    writeln!(out, "## Regenerate\n")?;
    let (from, to) = if command == IMPORTED {
        writeln!(
            out,
            "The forests were trained elsewhere. `forests.json` stands for the file that names them \
             and describes the platform, from which this crate was compiled.\n"
        )?;
        ("forests.json".to_owned(), "enerinfer-runtime".to_owned())
    } else {
        let folder = format!("out/{}", bundle.platform.name);
        (
            shell(&format!("{folder}/bundle.enerinfer"))?,
            shell(&format!("{folder}/enerinfer-runtime"))?,
        )
    };
    // Nothing in the commands ends the block.
    let ticks = [command, &from].into_iter().flat_map(|text| text.split(|c| c != '`'));
    let fence = "`".repeat(ticks.map(str::len).max().map_or(3, |longest| 3.max(longest + 1)));
    writeln!(out, "{fence}sh\n{command}")?;
    write!(out, "compile-forest {from} --out {to}")?;
    if let Some(pruning) = &lowered.pruning {
        write!(out, " --flash-budget {}", pruning.budget_bytes / 1024)?;
    }
    if lowered.optimise == Optimise::Speed {
        write!(out, " --optimise speed")?;
    }
    writeln!(out, "\n{fence}\n")
}

/// A word of a command, without meaning to a shell.
fn shell(word: &str) -> io::Result<String> {
    let quoted = shlex::Quoter::new().allow_nul(true).quote(word).map_err(io::Error::other)?;
    Ok(quoted.into_owned())
}

/// A text of the bundle, without meaning to Markdown: names and sources are anybody's words.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*<>|[]#&".contains(c) {
            out.push('\\');
        }
        out.push(if c.is_control() { ' ' } else { c });
    }
    out
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
