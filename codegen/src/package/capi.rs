//! The crate `enerinfer-runtime-capi`: a static library around a generated crate.

use std::path::Path;
use std::str::FromStr;

use enerinfer_artifacts::Bundle;

use super::sink::{Folder, MANIFEST, Sink};
use crate::CodegenError;

/// Part of the names of a C API, so that several can stand in one program: of `board`,
/// `enerinfer_board_predict`, `ENERINFER_BOARD_POINTS`, `enerinfer_board.h` and
/// `libenerinfer_board.a`. C has one space for all names, and a linker takes the first of two equal
/// ones from libraries without a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CapiName(String);

impl CapiName {
    /// Longest name: compilers need to tell apart only so many characters.
    const MAX_LEN: usize = 24;
}

impl FromStr for CapiName {
    type Err = CodegenError;

    fn from_str(name: &str) -> Result<Self, CodegenError> {
        let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_';
        match name.len() {
            1..=CapiName::MAX_LEN if name.bytes().all(allowed) => Ok(CapiName(name.to_owned())),
            _ => Err(CodegenError::CapiName { name: name.to_owned(), max_len: CapiName::MAX_LEN }),
        }
    }
}

/// Writes the C API of the crate at `runtime`, a path relative to `folder` or absolute; the default
/// `name` adds nothing to names. The same rules as for [`crate::generate_to`] hold for an existing
/// folder.
pub fn generate_capi_to(
    bundle: &Bundle,
    runtime: &Path,
    name: &CapiName,
    folder: &Path,
) -> Result<(), CodegenError> {
    bundle.validate()?;
    let infix = if name.0.is_empty() { String::new() } else { format!("_{}", name.0) };
    // In C all names; in Rust those that C sees.
    let in_c = |text: &str| {
        text.replace("enerinfer_", &format!("enerinfer{infix}_"))
            .replace("ENERINFER_", &format!("ENERINFER{}_", infix.to_uppercase()))
            .replace("enerinfer.h", &format!("enerinfer{infix}.h"))
            .replace("libenerinfer.a", &format!("libenerinfer{infix}.a"))
    };
    let in_rust = |text: &str| {
        // As exported: names in Rust stay, so that rustfmt breaks lines alike for every name.
        text.replace("\"enerinfer_", &format!("\"enerinfer{infix}_"))
            .replace("`enerinfer_", &format!("`enerinfer{infix}_"))
            .replace("/enerinfer.h", &format!("/enerinfer{infix}.h"))
    };
    // Forward slashes and escapes, so that the path is a TOML string on every system.
    let runtime = runtime.display().to_string().replace('\\', "/").replace('"', "\\\"");
    let points = bundle.clocks.len().to_string();
    let mut sink = Folder::beside(folder)?;
    let manifest = include_str!("capi/Cargo.toml.in")
        .replace("@RUNTIME@", &runtime)
        .replace("@LIBRARY@", &format!("enerinfer{infix}"));
    sink.text("Cargo.toml", &manifest)?;
    let source = in_rust(include_str!("capi/lib.rs")).replace("@POINTS@", &points);
    sink.text("src/lib.rs", &source)?;
    let header = in_c(include_str!("capi/enerinfer.h")).replace("@POINTS@", &points);
    sink.text(&format!("include/enerinfer{infix}.h"), &header)?;
    sink.text("examples/token_callback.c", &in_c(include_str!("capi/token_callback.c")))?;
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
