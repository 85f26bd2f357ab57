//! What a bundle's predictors cost as compiled code: what `codegen/checks/measure.sh --json` writes,
//! and what an evaluation record keeps of it.
//!
//! What was not measured, for want of a tool, is absent (`null`), never zero.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::record::{parse_versioned, read_text};

/// Version of the schema of [`CompiledCode`].
pub const CODE_VERSION: u32 = 1;

/// The crate generated from one bundle, compiled for several architectures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CompiledCode {
    /// [`CODE_VERSION`] of the writer.
    pub schema_version: u32,
    /// `MODEL_DIGEST` of the crate: [`Bundle::digest`](crate::Bundle::digest) of the bundle, unless a
    /// flash budget pruned it.
    pub model_digest: String,
    /// Options of `compile-forest`, as on its command line; empty for its defaults.
    pub options: String,
    /// Optimisation level of the compiler, e.g. `z`.
    pub opt_level: String,
    /// Leaves of all trees, shared ones counted in each.
    pub leaves: u64,
    /// Comparisons to look up the ranks of a shape's inputs, at most (computed).
    pub lookup_comparisons: u64,
    /// Comparisons in all trees, at most (computed).
    pub tree_comparisons: u64,
    /// Per architecture, each once.
    pub costs: Vec<CodeCost>,
}

/// What the compiled crate costs on one architecture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CodeCost {
    /// The architecture.
    pub architecture: Architecture,
    /// Version of the compiler.
    pub rustc: Option<String>,
    /// Code of a program with predictors and both controllers, without an operating system, bytes.
    pub program_text_bytes: Option<u64>,
    /// Constants of that program, bytes.
    pub program_rodata_bytes: Option<u64>,
    /// Code of the predictors in it, bytes.
    pub predictors_text_bytes: Option<u64>,
    /// Constants of the predictors in it, bytes.
    pub predictors_rodata_bytes: Option<u64>,
    /// Stack of a table of all operating points, the deepest over many shapes, bytes.
    pub table_stack_bytes: Option<u64>,
    /// Stack from a shape to the chosen operating point, likewise, bytes.
    pub choice_stack_bytes: Option<u64>,
    /// Instructions of a table, the mean over many shapes: counted by callgrind on x86-64, by QEMU
    /// elsewhere.
    pub table_instructions: Option<u64>,
}

/// What code is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Architecture {
    /// 64-bit PCs.
    #[serde(rename = "x86-64")]
    X86_64,
    /// 64-bit Arm.
    #[serde(rename = "aarch64")]
    Aarch64,
    /// Cortex-M4 and M7.
    #[serde(rename = "thumbv7em")]
    Thumbv7em,
}

impl Architecture {
    /// Every architecture that is measured.
    pub const ALL: [Architecture; 3] =
        [Architecture::X86_64, Architecture::Aarch64, Architecture::Thumbv7em];
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Architecture::X86_64 => "x86-64",
            Architecture::Aarch64 => "aarch64",
            Architecture::Thumbv7em => "thumbv7em",
        })
    }
}

impl CodeCost {
    /// Code and constants of the predictors, bytes.
    pub fn predictors_bytes(&self) -> Option<u64> {
        self.predictors_text_bytes?.checked_add(self.predictors_rodata_bytes?)
    }
}

impl CompiledCode {
    /// The costs on an architecture.
    pub fn on(&self, architecture: Architecture) -> Option<&CodeCost> {
        self.costs.iter().find(|c| c.architecture == architecture)
    }

    /// Parses and checks a file of `measure.sh --json`.
    ///
    /// # Errors
    /// If it is none, or of another version, or [`validate`](Self::validate) refuses it.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let code: CompiledCode = parse_versioned(
            text,
            CODE_VERSION,
            ("a measurement of compiled code", "what `codegen/checks/measure.sh --json` writes"),
            |c: &CompiledCode| c.schema_version,
        )?;
        code.validate()?;
        Ok(code)
    }

    /// Reads such a file.
    ///
    /// # Errors
    /// As [`from_json`](Self::from_json), and if it cannot be read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::from_json(&read_text(path)?)
            .map_err(|e| Error::invalid(format!("{}: {e}", path.display())))
    }

    /// Checks that each architecture stands once, and that no value is one that only a failed
    /// measurement gives.
    ///
    /// # Errors
    /// What does not hold.
    pub fn validate(&self) -> Result<(), Error> {
        if self.leaves == 0 {
            return Err(Error::invalid("compiled code of no leaf".to_owned()));
        }
        for (i, cost) in self.costs.iter().enumerate() {
            let on = cost.architecture;
            if self.costs[..i].iter().any(|c| c.architecture == on) {
                return Err(Error::invalid(format!("compiled code: {on} stands twice")));
            }
            // Predictors may have no constant.
            for (name, value) in [
                ("program_text_bytes", cost.program_text_bytes),
                ("predictors_text_bytes", cost.predictors_text_bytes),
                ("table_stack_bytes", cost.table_stack_bytes),
                ("choice_stack_bytes", cost.choice_stack_bytes),
                ("table_instructions", cost.table_instructions),
            ] {
                if value == Some(0) {
                    return Err(Error::invalid(format!(
                        "compiled code on {on}: `{name}` is 0; what was not measured is null"
                    )));
                }
            }
            for (name, part, whole) in [
                ("text", cost.predictors_text_bytes, cost.program_text_bytes),
                ("rodata", cost.predictors_rodata_bytes, cost.program_rodata_bytes),
            ] {
                if let Some((part, whole)) = part.zip(whole).filter(|(part, whole)| part > whole) {
                    return Err(Error::invalid(format!(
                        "compiled code on {on}: the predictors have {part} bytes of `.{name}`, \
                         the program that has them {whole}"
                    )));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file as the script writes it, with one architecture measured and one not.
    const CODE: &str = r#"{
  "schema_version": 1, "model_digest": "d", "options": "", "opt_level": "z",
  "leaves": 100, "lookup_comparisons": 20, "tree_comparisons": 30,
  "costs": [
    {"architecture": "x86-64", "rustc": "1.95.0",
     "program_text_bytes": 900, "program_rodata_bytes": 90,
     "predictors_text_bytes": 800, "predictors_rodata_bytes": 80,
     "table_stack_bytes": 500, "choice_stack_bytes": 600, "table_instructions": 7000},
    {"architecture": "thumbv7em", "rustc": null,
     "program_text_bytes": null, "program_rodata_bytes": null,
     "predictors_text_bytes": null, "predictors_rodata_bytes": null,
     "table_stack_bytes": null, "choice_stack_bytes": null, "table_instructions": null}
  ]
}"#;

    #[test]
    fn what_is_null_is_absent() {
        let code = CompiledCode::from_json(CODE).unwrap();
        let bytes = |on| code.on(on).map(CodeCost::predictors_bytes);
        assert_eq!(bytes(Architecture::X86_64), Some(Some(880)));
        assert_eq!(bytes(Architecture::Thumbv7em), Some(None));
        assert_eq!(bytes(Architecture::Aarch64), None);
    }

    #[test]
    fn names_are_those_of_the_file() {
        for architecture in Architecture::ALL {
            let json = serde_json::to_string(&architecture).unwrap();
            assert_eq!(json, format!("\"{architecture}\""));
        }
    }

    #[test]
    fn what_no_measurement_gives_is_refused() {
        for (from, to, says) in [
            ("\"leaves\": 100", "\"leaves\": 0", "no leaf"),
            ("_text_bytes\": 900", "_text_bytes\": 0", "what was not measured is null"),
            ("\"table_instructions\": 7000", "\"table_instructions\": 0", "`table_instructions`"),
            ("_text_bytes\": 900", "_text_bytes\": 799", "800 bytes of `.text`"),
            ("_rodata_bytes\": 80", "_rodata_bytes\": 91", "91 bytes of `.rodata`"),
            ("\"thumbv7em\"", "\"x86-64\"", "x86-64 stands twice"),
            ("\"thumbv7em\"", "\"z80\"", "z80"),
            ("\"schema_version\": 1", "\"schema_version\": 2", "schema 2"),
            ("\"choice_stack_bytes\": 600", "\"choice_stack_bytes\": -", "not a measurement"),
            ("{", "[", "measure.sh --json"),
        ] {
            assert!(CODE.contains(from), "{from}");
            let error = CompiledCode::from_json(&CODE.replacen(from, to, 1)).unwrap_err();
            assert!(error.to_string().contains(says), "{to}: {error}");
        }
    }
}
