//! The crate `enerinfer-runtime-capi`: a static library around a generated crate.

use std::path::Path;

use enerinfer_artifacts::Bundle;

use super::sink::{Folder, MANIFEST, Sink};
use crate::CodegenError;

/// Writes the C API of the crate at `runtime`, a path relative to `folder` or absolute. The same
/// rules as for [`crate::generate_to`] hold for an existing folder.
pub fn generate_capi_to(
    bundle: &Bundle,
    runtime: &Path,
    folder: &Path,
) -> Result<(), CodegenError> {
    bundle.validate()?;
    // Forward slashes and escapes, so that the path is a TOML string on every system.
    let runtime = runtime.display().to_string().replace('\\', "/").replace('"', "\\\"");
    let points = bundle.clocks.len().to_string();
    let mut sink = Folder::beside(folder)?;
    let manifest = include_str!("capi/Cargo.toml.in").replace("@RUNTIME@", &runtime);
    sink.text("Cargo.toml", &manifest)?;
    sink.text("src/lib.rs", include_str!("capi/lib.rs"))?;
    let header = include_str!("capi/enerinfer.h").replace("@POINTS@", &points);
    sink.text("include/enerinfer.h", &header)?;
    sink.text("examples/token_callback.c", include_str!("capi/token_callback.c"))?;
    sink.text("rustfmt.toml", include_str!("skeleton/rustfmt.toml"))?;
    sink.text("LICENSE-MIT", include_str!("../../../LICENSE-MIT"))?;
    sink.text("LICENSE-APACHE", include_str!("../../../LICENSE-APACHE"))?;
    let digests = sink.digests().clone();
    sink.file(MANIFEST, &mut |out| {
        let manifest = serde_json::json!({
            "generator": env!("CARGO_PKG_NAME"),
            "generator_version": env!("CARGO_PKG_VERSION"),
            "files": digests,
        });
        serde_json::to_writer_pretty(&mut *out, &manifest)?;
        out.write_all(b"\n")
    })?;
    sink.finish()
}
