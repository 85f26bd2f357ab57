//! Writing a measurement table as CSV, exactly.

use std::path::Path;

use enerinfer_artifacts::write_atomic;

use crate::table::mhz;
use crate::{MeasurementTable, Model, Row};

/// How many of the first [`COLUMNS`] describe the model.
pub(crate) const MODEL_COLUMNS: usize = 13;

/// All columns, in the order in which they are written.
pub(crate) const COLUMNS: [&str; 25] = [
    "model",
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "ffn",
    "vocab",
    "ffn_kind",
    "tied",
    "experts",
    "active_experts",
    "total_params",
    "format",
    "engine",
    "power_domain",
    "prompt_tokens",
    "context_tokens",
    "accel_mhz",
    "mem_mhz",
    "throughput_tok_per_s",
    "power_w",
    "accel_power_w",
    "samples",
    "source",
];

impl MeasurementTable {
    /// The table as CSV. Reading it back gives the same table, but for the platform's description,
    /// which files do not hold.
    pub fn to_csv(&self) -> String {
        let mut text = String::new();
        push_record(&mut text, COLUMNS.iter().map(|c| (*c).to_owned()));
        for row in &self.rows {
            push_record(&mut text, self.cells(row));
        }
        text
    }

    /// The cells of a row, in the order of [`COLUMNS`].
    fn cells(&self, row: &Row) -> [String; COLUMNS.len()] {
        let model = &self.models[row.model as usize];
        let (accel_khz, mem_khz) = self.platform.clocks.clocks_khz(row.point);
        // Display of f64 is the shortest text that reads back as the same value.
        let or_empty = |v: Option<f64>| v.map_or_else(String::new, |v| v.to_string());
        let tokens = |v: Option<u32>| v.map_or_else(String::new, |v| v.to_string());
        let measured = [
            self.platform.format.to_string(),
            self.platform.engine.clone(),
            self.platform.power_domain.clone(),
            tokens(self.workload.prompt_tokens),
            tokens(self.workload.context_tokens),
            mhz(accel_khz),
            mhz(mem_khz),
            row.throughput_tok_per_s.to_string(),
            or_empty(row.power_w),
            or_empty(row.accel_power_w),
            row.samples.to_string(),
            self.source.to_string(),
        ];
        let mut cells = model_cells(model).into_iter().chain(measured);
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    }

    /// Writes the table as CSV, whole or not at all.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), enerinfer_artifacts::Error> {
        write_atomic(path, self.to_csv().as_bytes())
    }
}

/// The cells of a model, in the order of the first columns of [`COLUMNS`].
pub(crate) fn model_cells(model: &Model) -> [String; MODEL_COLUMNS] {
    let d = model.shape.dims();
    [
        model.name.clone(),
        d.layers.to_string(),
        d.hidden.to_string(),
        d.heads.to_string(),
        d.kv_heads.to_string(),
        d.head_dim.to_string(),
        d.ffn.to_string(),
        d.vocab.to_string(),
        if d.gated { "gated" } else { "plain" }.to_owned(),
        d.tied.to_string(),
        d.experts.to_string(),
        d.active_experts.to_string(),
        d.total_params.to_string(),
    ]
}

/// Appends a CSV record, quoting where needed.
pub(crate) fn push_record(text: &mut String, cells: impl IntoIterator<Item = String>) {
    for (i, cell) in cells.into_iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            text.push('"');
            text.push_str(&cell.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(&cell);
        }
    }
    text.push('\n');
}
