//! The measurement table in memory: one row per model and operating point.

use enerinfer_artifacts::OperatingPoint;

use crate::table_error::{TableError, shown};
use crate::table_rules::{Axis, Fault, check_grid, check_names, check_values};
use crate::{LlmShape, Platform};

/// A model of the table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Name, unique in the table.
    pub name: String,
    /// Structure.
    pub shape: LlmShape,
}

/// One measurement: a model at an operating point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// Index into [`MeasurementTable::models`].
    pub model: u32,
    /// Operating point.
    pub point: OperatingPoint,
    /// Decode throughput, tokens/s; positive and finite.
    pub throughput_tok_per_s: f64,
    /// Accelerator + memory power, W.
    pub power_w: Option<f64>,
    /// Accelerator power, W.
    pub accel_power_w: Option<f64>,
    /// Samples behind the values.
    pub samples: u32,
}

/// Where the values of a table come from; a report never mixes them unlabelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// `measured:<how>`.
    Measured(String),
    /// `simulated:<device>`.
    Simulated(String),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Source::Measured(how) => write!(f, "measured:{how}"),
            Source::Simulated(device) => write!(f, "simulated:{device}"),
        }
    }
}

/// Prompt and context lengths that decode was measured at; `None` where the source does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Workload {
    /// Tokens of the prompt.
    pub prompt_tokens: Option<u32>,
    /// Tokens in the key/value cache while decoding.
    pub context_tokens: Option<u32>,
}

/// Measurements of one platform: every row belongs to it, models are distinct, and each model
/// has exactly one row per operating point. Rows are sorted by model, then operating point.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasurementTable {
    /// What was measured on.
    pub platform: Platform,
    /// Source of all rows.
    pub source: Source,
    /// Lengths that all rows were measured at.
    pub workload: Workload,
    /// Models in the order of first appearance.
    pub models: Vec<Model>,
    /// Rows.
    pub rows: Vec<Row>,
}

impl MeasurementTable {
    /// Builds a table from rows in any order.
    ///
    /// # Errors
    /// Clock tables out of bounds; no model or no row; two models of one name; a row of an unknown
    /// model or operating point; throughput or power that is not positive, finite and plausible;
    /// accelerator power above total power; a power column filled in some rows only; two rows, or
    /// none, for a model and operating point. Rows are named from 1, in the order given.
    pub fn new(
        platform: Platform,
        source: Source,
        models: Vec<Model>,
        rows: Vec<Row>,
    ) -> Result<Self, TableError> {
        Self::build(platform, source, Workload::default(), models, rows).map_err(Fault::in_memory)
    }

    /// The table with the workload set.
    #[must_use]
    pub fn with_workload(mut self, workload: Workload) -> Self {
        self.workload = workload;
        self
    }

    /// [`MeasurementTable::new`] with faults that still know their row.
    pub(crate) fn build(
        platform: Platform,
        source: Source,
        workload: Workload,
        models: Vec<Model>,
        mut rows: Vec<Row>,
    ) -> Result<Self, Fault> {
        platform.clocks.validate().map_err(|e| Fault::table(e.to_string()))?;
        check_names(&platform, &source, &models, &rows)?;
        check_values(&platform.clocks, models.len(), &rows)?;
        let names: Vec<String> =
            models.iter().map(|m| format!("model '{}'", shown(&m.name))).collect();
        let in_mhz = |khz: &[u32]| khz.iter().map(|&k| mhz(k)).collect();
        let clocks = &platform.clocks;
        let axes = [
            Axis { column: "accel_mhz", levels: in_mhz(&clocks.accel_khz), of: |p| p.accel },
            Axis { column: "mem_mhz", levels: in_mhz(&clocks.mem_khz), of: |p| p.mem },
        ];
        check_grid(clocks, &names, &rows, "model", &axes)?;
        rows.sort_by_key(|r| (r.model, r.point));
        Ok(MeasurementTable { platform, source, workload, models, rows })
    }

    /// The rows of a model, one per operating point in index order: `rows_of(m)[i]` is the row of
    /// `platform.clocks.point(i)`. Empty if there is no such model.
    pub fn rows_of(&self, model: usize) -> &[Row] {
        let points = self.platform.clocks.len();
        let start = model.saturating_mul(points);
        self.rows.get(start..start.saturating_add(points)).unwrap_or(&[])
    }

    /// The table of some models, in the order given; indices that name no model are left out, and
    /// so are repetitions.
    #[must_use]
    pub fn subset(&self, models: &[usize]) -> MeasurementTable {
        let mut kept: Vec<usize> = Vec::with_capacity(models.len());
        let mut seen = vec![false; self.models.len()];
        for &m in models {
            if let Some(seen) = seen.get_mut(m)
                && !std::mem::replace(seen, true)
            {
                kept.push(m);
            }
        }
        let rows = kept
            .iter()
            .zip(0u32..)
            .flat_map(|(&old, new)| self.rows_of(old).iter().map(move |r| Row { model: new, ..*r }))
            .collect();
        MeasurementTable {
            platform: self.platform.clone(),
            source: self.source.clone(),
            workload: self.workload,
            models: kept.iter().map(|&m| self.models[m].clone()).collect(),
            rows,
        }
    }

    /// Whether total power was measured (then it was in every row).
    pub fn has_power(&self) -> bool {
        self.rows.first().is_some_and(|r| r.power_w.is_some())
    }

    /// Whether accelerator power was measured (then it was in every row).
    pub fn has_accel_power(&self) -> bool {
        self.rows.first().is_some_and(|r| r.accel_power_w.is_some())
    }

    /// BLAKE3 of the table as CSV: equal for equal tables, wherever they were read from.
    pub fn digest(&self) -> String {
        enerinfer_artifacts::digest(self.to_csv().as_bytes())
    }
}

/// A clock in MHz, exact, in the shortest form.
pub(crate) fn mhz(khz: u32) -> String {
    match khz % 1000 {
        0 => (khz / 1000).to_string(),
        rest => format!("{}.{rest:03}", khz / 1000).trim_end_matches('0').to_owned(),
    }
}
