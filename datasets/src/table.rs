//! The measurement table in memory: one row per model and operating point.

use std::collections::BTreeSet;

use enerinfer_artifacts::{ClockTables, OperatingPoint};

use crate::sheet::SheetRow;
use crate::table_error::{TableError, shown};
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

/// Bounds of a plausible single-stream decode throughput, tokens/s, and power, W. They only keep
/// out values that are certainly wrong or would overflow what is computed from them.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Longest name of a model, engine, power domain or source.
const MAX_NAME_CHARS: usize = 200;

/// A broken invariant of a table in memory: the reader turns row indices into lines.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Index of the row at fault, in the order given.
    pub(crate) row: Option<usize>,
    /// Index of the other row of a contradiction.
    pub(crate) other: Option<usize>,
    /// Column and value at fault.
    pub(crate) cell: Option<(&'static str, String)>,
    /// The rule and what to do.
    pub(crate) message: String,
}

impl Fault {
    fn table(message: String) -> Self {
        Fault { row: None, other: None, cell: None, message }
    }

    fn cell(row: usize, column: &'static str, value: String, message: impl Into<String>) -> Self {
        Fault { row: Some(row), other: None, cell: Some((column, value)), message: message.into() }
    }

    /// The error of a reader, whose rows came from these rows of a file.
    pub(crate) fn in_file(mut self, rows: &[SheetRow<'_>]) -> TableError {
        // The text of the file rather than the number it was read as.
        if let Some((column, value)) = &mut self.cell
            && let Some(text) = self.row.and_then(|r| rows.get(r)?.optional(column))
        {
            text.clone_into(value);
        }
        self.error(|row| rows.get(row).map(|r| r.line))
    }

    /// The error of a caller who has no file: rows are named by their position.
    fn in_memory(self) -> TableError {
        self.error(|row| Some(row as u64 + 1))
    }

    fn error(self, line: impl Fn(usize) -> Option<u64>) -> TableError {
        let mut message = self.message;
        if let Some(other) = self.other.and_then(&line) {
            message.push_str(&format!(" (the other is row {other})"));
        }
        let mut error = TableError::new(message);
        if let Some(line) = self.row.and_then(&line) {
            error = error.at_line(line);
        }
        match self.cell {
            Some((column, value)) => error.in_column(column, &value),
            None => error,
        }
    }
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
        check_names(&platform, &source, &models)?;
        check_values(&platform.clocks, models.len(), &rows)?;
        let names: Vec<String> =
            models.iter().map(|m| format!("model '{}'", shown(&m.name))).collect();
        check_grid(&platform.clocks, &names, &rows, "model", &|point| {
            let (accel, mem) = platform.clocks.clocks_khz(point);
            format!("accel_mhz {}, mem_mhz {}", mhz(accel), mhz(mem))
        })?;
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

/// Names must be there, must differ between models, and must survive being written as text.
fn check_names(platform: &Platform, source: &Source, models: &[Model]) -> Result<(), Fault> {
    if models.is_empty() {
        return Err(Fault::table("has no models; add measurements".to_owned()));
    }
    let (Source::Measured(origin) | Source::Simulated(origin)) = source;
    let common = [
        ("engine", platform.engine.as_str()),
        ("power_domain", platform.power_domain.as_str()),
        ("source", origin.as_str()),
    ];
    let mut names = BTreeSet::new();
    for (what, name) in common.into_iter().chain(models.iter().map(|m| ("model", m.name.as_str())))
    {
        let plain = name.trim() == name && !name.contains(char::is_control);
        if name.is_empty() || !plain || name.chars().count() > MAX_NAME_CHARS {
            return Err(Fault::table(format!(
                "{what} '{}' must be 1 to {MAX_NAME_CHARS} characters without control characters \
                 or outer spaces",
                shown(name)
            )));
        }
        if what == "model" && !names.insert(name) {
            return Err(Fault::table(format!(
                "two models are named '{}'; names must differ",
                shown(name)
            )));
        }
    }
    Ok(())
}

/// Rules of single rows, and of power being there in all rows or in none.
pub(crate) fn check_values(clocks: &ClockTables, models: usize, rows: &[Row]) -> Result<(), Fault> {
    let Some(first) = rows.first() else {
        return Err(Fault::table("has no rows; add measurements".to_owned()));
    };
    for (i, row) in rows.iter().enumerate() {
        if row.model as usize >= models {
            return Err(Fault::cell(i, "model", row.model.to_string(), "there is no such model"));
        }
        if usize::from(row.point.mem) >= clocks.mem_khz.len()
            || usize::from(row.point.accel) >= clocks.accel_khz.len()
        {
            let point = format!("mem {}, accel {}", row.point.mem, row.point.accel);
            return Err(Fault::cell(i, "mem_mhz", point, "the platform has no such level"));
        }
        positive(i, "throughput_tok_per_s", row.throughput_tok_per_s)?;
        for (column, value, in_first) in [
            ("power_w", row.power_w, first.power_w),
            ("accel_power_w", row.accel_power_w, first.accel_power_w),
        ] {
            if let Some(value) = value {
                positive(i, column, value)?;
            }
            if value.is_some() != in_first.is_some() {
                return Err(Fault {
                    row: Some(i),
                    other: Some(0),
                    cell: Some((column, value.map_or_else(String::new, |v| v.to_string()))),
                    message: "power must be filled in every row or in none; complete the column \
                              or empty it"
                        .to_owned(),
                });
            }
        }
        if let (Some(total), Some(accel)) = (row.power_w, row.accel_power_w)
            && accel > total
        {
            return Err(Fault::cell(
                i,
                "accel_power_w",
                accel.to_string(),
                format!(
                    "the accelerator cannot draw more than the total of {total} W in power_w; \
                     check which rail stands in which column"
                ),
            ));
        }
        if row.samples == 0 {
            return Err(Fault::cell(i, "samples", "0".to_owned(), "must be at least 1"));
        }
    }
    Ok(())
}

fn positive(row: usize, column: &'static str, value: f64) -> Result<(), Fault> {
    if PLAUSIBLE.contains(&value) {
        return Ok(());
    }
    let message = if value == 0.0 {
        "must be positive; zero means a failed run, measure again or remove the model".to_owned()
    } else if value.is_finite() && value < 0.0 {
        "must be positive; measure again or remove the model".to_owned()
    } else if value.is_finite() {
        format!(
            "must be from {} to {}; check the unit (tokens/s, W)",
            PLAUSIBLE.start(),
            PLAUSIBLE.end()
        )
    } else {
        "must be a finite number; measure again or remove the model".to_owned()
    };
    Err(Fault::cell(row, column, value.to_string(), message))
}

/// Each model must have exactly one row per operating point. `names` and `describe` say models and
/// points for people; `key` is the column that a doubled row is reported in.
pub(crate) fn check_grid(
    clocks: &ClockTables,
    names: &[String],
    rows: &[Row],
    key: &'static str,
    describe: &dyn Fn(OperatingPoint) -> String,
) -> Result<(), Fault> {
    let points = clocks.len();
    // Sorted rather than a models × points array, which a table of many models with one row each
    // would make enormous.
    let mut order: Vec<(u32, usize, usize)> =
        rows.iter().enumerate().map(|(i, r)| (r.model, clocks.index(r.point), i)).collect();
    order.sort_unstable();
    let doubled =
        order.windows(2).filter(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1)).min_by_key(|w| w[1].2);
    if let Some(w) = doubled {
        let (model, point, row) = w[1];
        return Err(Fault {
            row: Some(row),
            other: Some(w[0].2),
            cell: Some((key, names[model as usize].clone())),
            message: format!(
                "{} is measured twice at {}; keep one row, or their mean with the sum of samples",
                names[model as usize],
                describe(clocks.point(point))
            ),
        });
    }
    let mut at = 0;
    for (m, name) in names.iter().enumerate() {
        let end = at + order[at..].partition_point(|o| o.0 as usize == m);
        let present: Vec<usize> = order[at..end].iter().map(|o| o.1).collect();
        at = end;
        if present.len() == points {
            continue;
        }
        let hole = (0..points).find(|p| present.binary_search(p).is_err()).unwrap_or(0);
        let nowhere = names.len() > 1 && order.iter().all(|o| o.1 != hole);
        return Err(Fault::table(format!(
            "{name} has no row at {} ({} of its {points} operating points are missing{}); \
             every model needs every pair of the {} accelerator and {} memory clocks in the file: \
             measure the missing points, or remove the model or the clock",
            describe(clocks.point(hole)),
            points - present.len(),
            if nowhere { ", and no other model has this one" } else { "" },
            clocks.accel_khz.len(),
            clocks.mem_khz.len(),
        )));
    }
    Ok(())
}

/// A clock in MHz, exact, in the shortest form.
pub(crate) fn mhz(khz: u32) -> String {
    match khz % 1000 {
        0 => (khz / 1000).to_string(),
        rest => format!("{}.{rest:03}", khz / 1000).trim_end_matches('0').to_owned(),
    }
}
