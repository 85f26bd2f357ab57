//! From a bundle to the folder of the generated crate.

mod capi;
mod destination;
mod digest;
mod packed;
mod readme;
mod runtime_core;
mod sink;
mod stack;

use std::collections::BTreeMap;
use std::path::Path;

use enerinfer_artifacts::{Bundle, ClockTables, Target};
use serde::Serialize;

use crate::emit;
use crate::emit::points::Points;
use crate::emit::predictor::File;
use crate::passes::estimate_size::{estimate_bytes, tree_leaves};
use crate::{CodegenError, Comparisons, Lowered, Optimise, Options, lower};
use sink::{Folder, Memory, Sink};

pub use capi::{CapiName, generate_capi_to};
pub use destination::check_destination;
pub use packed::size_warning;
pub use sink::MANIFEST;

/// Size of one compiled predictor.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PredictorSize {
    /// Target of the predictor.
    pub target: &'static str,
    /// Trees.
    pub trees: u32,
    /// Nodes after the passes.
    pub nodes: u32,
    /// Leaves after the passes, shared ones counted once.
    pub leaves: u32,
    /// Leaves after the passes, counted in every tree in which they stand.
    pub tree_leaves: u64,
    /// Longest path in splits.
    pub depth: u32,
    /// Comparisons in the worst case.
    pub comparisons: Comparisons,
    /// Estimated flash on thumbv7em, bytes.
    pub est_bytes: u64,
    /// Largest difference from the bundle's predictor by all passes, in tok/s, W or 1.
    pub error_bound: f64,
}

/// A generated crate in memory; for large forests use [`generate_to`].
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedCrate {
    /// Content of every file by its path relative to the crate's folder, with `/`.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Sizes of the predictors.
    pub sizes: Vec<PredictorSize>,
}

impl GeneratedCrate {
    /// Writes the whole folder, or nothing: see [`generate_to`].
    pub fn write_to(&self, folder: &Path) -> Result<(), CodegenError> {
        let mut sink = Folder::beside(folder)?;
        for (path, bytes) in &self.files {
            sink.file(path, &mut |out| out.write_all(bytes))?;
        }
        sink.finish()
    }
}

/// Compiles a bundle into a crate in memory.
pub fn generate(bundle: &Bundle, options: &Options) -> Result<GeneratedCrate, CodegenError> {
    let lowered = lower(bundle, options)?;
    let mut sink = Memory::default();
    emit_crate(bundle, &lowered, &mut sink)?;
    Ok(GeneratedCrate { files: sink.into_files(), sizes: sizes(&lowered, &bundle.clocks) })
}

/// Compiles a bundle into a folder; memory does not grow with the source that is written.
///
/// The folder appears whole or not at all: files are written to a temporary folder beside it,
/// which then takes its place. An existing folder is replaced only if [`check_destination`] allows
/// it, which is asked before anything is compiled.
pub fn generate_to(
    bundle: &Bundle,
    options: &Options,
    folder: &Path,
) -> Result<Lowered, CodegenError> {
    check_destination(folder)?;
    let lowered = lower(bundle, options)?;
    let mut sink = Folder::beside(folder)?;
    emit_crate(bundle, &lowered, &mut sink)?;
    sink.finish()?;
    Ok(lowered)
}

/// Sizes of the lowered predictors, on a platform with these clocks.
pub fn sizes(lowered: &Lowered, clocks: &ClockTables) -> Vec<PredictorSize> {
    lowered
        .predictors
        .iter()
        .map(|p| {
            let stats = p.forest.stats();
            PredictorSize {
                target: p.target.name(),
                trees: stats.trees,
                nodes: stats.nodes,
                leaves: stats.leaves,
                tree_leaves: tree_leaves(&p.forest),
                depth: stats.depth,
                comparisons: Comparisons::of(p, clocks),
                est_bytes: estimate_bytes(&p.forest),
                error_bound: lowered
                    .steps
                    .iter()
                    .filter(|step| step.target == p.target.name())
                    .map(|step| step.error_bound)
                    .sum(),
            }
        })
        .collect()
}

/// `MANIFEST.json`.
#[derive(Serialize)]
struct Manifest<'a> {
    generator: &'static str,
    generator_version: &'static str,
    schema_version: u32,
    model_digest: &'a str,
    data_digest: &'a str,
    predictors: Vec<PredictorSize>,
    est_stack_bytes: u64,
    /// BLAKE3 of every other file.
    files: BTreeMap<String, String>,
}

fn emit_crate(bundle: &Bundle, lowered: &Lowered, sink: &mut dyn Sink) -> Result<(), CodegenError> {
    let digest = digest::model_digest(bundle, lowered)?;
    sink.text("Cargo.toml", &cargo_toml(&digest, lowered.optimise))?;
    for (path, text) in [
        ("rustfmt.toml", include_str!("skeleton/rustfmt.toml")),
        ("CHANGELOG.md", include_str!("skeleton/CHANGELOG.md")),
        ("examples/choose.rs", include_str!("skeleton/choose.rs")),
        ("examples/control.rs", readme::CONTROL_EXAMPLE),
        ("LICENSE-MIT", include_str!("../../../LICENSE-MIT")),
        ("LICENSE-APACHE", include_str!("../../../LICENSE-APACHE")),
    ] {
        sink.text(path, text)?;
    }
    for (name, text) in runtime_core::FILES {
        sink.text(&format!("src/{name}"), text)?;
    }
    emit_model(bundle, lowered, &digest, sink)?;
    sink.file("tests/vectors.rs", &mut |out| emit::vectors::write(out, bundle, lowered))?;
    sink.file("README.md", &mut |out| readme::write(out, bundle, lowered, &digest))?;
    let manifest = Manifest {
        generator: env!("CARGO_PKG_NAME"),
        generator_version: env!("CARGO_PKG_VERSION"),
        schema_version: emit::model::SCHEMA_VERSION,
        model_digest: &digest,
        data_digest: &bundle.provenance.data_digest,
        predictors: sizes(lowered, &bundle.clocks),
        est_stack_bytes: stack::estimate_stack_bytes(lowered, &bundle.clocks),
        files: sink.digests().clone(),
    };
    sink.file(MANIFEST, &mut |out| {
        serde_json::to_writer_pretty(&mut *out, &manifest)?;
        out.write_all(b"\n")
    })
}

/// The version is that of the schema. The model follows as build metadata, which versions do not
/// compare, so that crates of several models can stand in one program. The profile holds where the
/// crate is built alone; a firmware's own decides.
fn cargo_toml(model_digest: &str, optimise: Optimise) -> String {
    let version = format!("0.{}.0+model.{:.8}", emit::model::SCHEMA_VERSION, model_digest);
    let profile = match optimise {
        Optimise::Size => "\"z\" # measured smaller than \"s\" on thumbv7em and x86-64",
        Optimise::Speed => "3",
    };
    include_str!("skeleton/Cargo.toml.in")
        .replace("@VERSION@", &version)
        .replace("@OPT_LEVEL@", profile)
}

/// Writes `src/model/`.
fn emit_model(
    bundle: &Bundle,
    lowered: &Lowered,
    digest: &str,
    sink: &mut dyn Sink,
) -> Result<(), CodegenError> {
    let mut with_points = Vec::new();
    for predictor in &lowered.predictors {
        let name = predictor.target.name();
        let points = match lowered.optimise {
            Optimise::Size => None,
            Optimise::Speed => Points::of(predictor, &bundle.clocks),
        };
        let file = File::of(bundle, predictor, points.as_ref());
        sink.file(&format!("src/model/{name}.rs"), &mut |out| file.write(out))?;
        if points.is_some() {
            sink.file(&format!("src/model/{name}_at.rs"), &mut |out| file.write_points(out))?;
            with_points.push(predictor.target);
        }
    }
    sink.file("src/model/mod.rs", &mut |out| {
        emit::model::write(out, bundle, lowered, &with_points, digest)
    })
}

/// Whether the training data came from a simulated device.
pub(crate) fn is_simulated(bundle: &Bundle) -> bool {
    bundle.platform.source.starts_with("simulated:")
}

/// The predictors of a bundle that the device does not run.
pub(crate) fn skipped(bundle: &Bundle) -> Vec<&'static str> {
    bundle
        .predictors
        .iter()
        .map(|p| p.target)
        .filter(|t| !Target::COMPILED.contains(t))
        .map(Target::name)
        .collect()
}
