//! `--thermal FILE`: temperature traces, or a thermal model that was fitted elsewhere.

use std::path::Path;

use anyhow::{Context as _, Result};
use enerinfer_artifacts::ThermalModel;
use enerinfer_datasets::TemperatureTrace;

use crate::job::BadInput;
use crate::thermal::{self, Thermal};

/// Reads a file by its extension: `.json` is a fitted model, anything else are traces.
///
/// # Errors
/// The first fault, with its place.
pub fn read(path: &Path, seed: u64) -> Result<Thermal> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("json")) {
        return fitted(path);
    }
    let (traces, warnings) = TemperatureTrace::read(path)?;
    for warning in warnings {
        eprintln!("warning: {}: {warning}", path.display());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    thermal::from_traces(&traces, &name, seed).with_context(|| path.display().to_string())
}

/// Largest file of a fitted model, bytes: far above forty numbers.
const MOST_BYTES: u64 = 1 << 20;

/// A model as JSON, by the field names of the bundle's [`ThermalModel`].
fn fitted(path: &Path) -> Result<Thermal> {
    let bad = |why: String| BadInput(format!("{}: {why}", path.display()));
    let length = std::fs::metadata(path).map_err(|e| bad(format!("cannot be read: {e}")))?.len();
    if length > MOST_BYTES {
        return Err(bad(format!("{length} bytes are too many for a fitted thermal model")).into());
    }
    let text = std::fs::read_to_string(path).map_err(|e| bad(format!("cannot be read: {e}")))?;
    let model: ThermalModel = serde_json::from_str(&text)
        .map_err(|e| bad(format!("is no fitted thermal model: {e}; see docs/thermal.md")))?;
    model.to_int().map_err(|e| bad(e.to_string()))?;
    Ok(Thermal { model, accuracy: None })
}
