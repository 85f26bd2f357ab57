//! What compiled code costs, as quantities that are shown, compared and gated alike.

use enerinfer_artifacts::compiled_code::{Architecture, CompiledCode};

/// One quantity, measured per architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Code of the program with both controllers, bytes.
    ProgramText,
    /// Its constants, bytes.
    ProgramRodata,
    /// Code of the predictors in it, bytes.
    PredictorsText,
    /// Their constants, bytes.
    PredictorsRodata,
    /// Both, bytes.
    Predictors,
    /// Code of the predictors per leaf, bytes.
    TextPerLeaf,
    /// Code and constants of the predictors per leaf, bytes.
    PerLeaf,
    /// Stack of a table, bytes.
    TableStack,
    /// Stack from a shape to the choice, bytes.
    ChoiceStack,
    /// Instructions of a table.
    TableInstructions,
}

impl Quantity {
    /// In the order in which they are shown.
    pub(crate) const ALL: [Quantity; 10] = [
        Quantity::ProgramText,
        Quantity::ProgramRodata,
        Quantity::PredictorsText,
        Quantity::PredictorsRodata,
        Quantity::Predictors,
        Quantity::TextPerLeaf,
        Quantity::PerLeaf,
        Quantity::TableStack,
        Quantity::ChoiceStack,
        Quantity::TableInstructions,
    ];

    /// Its name in policies, behind the architecture's.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Quantity::ProgramText => "program_text_bytes",
            Quantity::ProgramRodata => "program_rodata_bytes",
            Quantity::PredictorsText => "predictors_text_bytes",
            Quantity::PredictorsRodata => "predictors_rodata_bytes",
            Quantity::Predictors => "predictors_bytes",
            Quantity::TextPerLeaf => "text_bytes_per_leaf",
            Quantity::PerLeaf => "bytes_per_leaf",
            Quantity::TableStack => "table_stack_bytes",
            Quantity::ChoiceStack => "choice_stack_bytes",
            Quantity::TableInstructions => "table_instructions",
        }
    }

    /// What it is, for a reader.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Quantity::ProgramText => "Program with both controllers, .text, bytes",
            Quantity::ProgramRodata => "Program with both controllers, .rodata, bytes",
            Quantity::PredictorsText => "Predictors in it, .text, bytes",
            Quantity::PredictorsRodata => "Predictors in it, .rodata, bytes",
            Quantity::Predictors => "Predictors, .text and .rodata, bytes",
            Quantity::TextPerLeaf => "Predictors, .text, bytes per leaf",
            Quantity::PerLeaf => "Predictors, .text and .rodata, bytes per leaf",
            Quantity::TableStack => "Stack of a table, deepest of many shapes, bytes",
            Quantity::ChoiceStack => "Stack from shape to choice, deepest of many shapes, bytes",
            Quantity::TableInstructions => "Instructions of a table, mean of many shapes",
        }
    }

    /// Decimals to print.
    pub(crate) fn decimals(self) -> usize {
        match self {
            Quantity::TextPerLeaf | Quantity::PerLeaf => 2,
            _ => 0,
        }
    }

    /// The value; `None` if it was not measured.
    pub(crate) fn value(self, code: &CompiledCode, on: Architecture) -> Option<f64> {
        let cost = code.on(on)?;
        let per_leaf = |bytes: u64| bytes as f64 / code.leaves as f64;
        let count = |value: Option<u64>| value.map(|v| v as f64);
        match self {
            Quantity::ProgramText => count(cost.program_text_bytes),
            Quantity::ProgramRodata => count(cost.program_rodata_bytes),
            Quantity::PredictorsText => count(cost.predictors_text_bytes),
            Quantity::PredictorsRodata => count(cost.predictors_rodata_bytes),
            Quantity::Predictors => count(cost.predictors_bytes()),
            Quantity::TextPerLeaf => cost.predictors_text_bytes.map(per_leaf),
            Quantity::PerLeaf => cost.predictors_bytes().map(per_leaf),
            Quantity::TableStack => count(cost.table_stack_bytes),
            Quantity::ChoiceStack => count(cost.choice_stack_bytes),
            Quantity::TableInstructions => count(cost.table_instructions),
        }
    }
}
