//! The rules of a measurement table, shared by everything that builds or reads one.

use std::collections::BTreeSet;

use enerinfer_artifacts::{ClockTables, OperatingPoint};

use crate::sheet::SheetRow;
use crate::table_error::{TableError, shown};
use crate::{Model, Platform, Row, Source};

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
    pub(crate) fn table(message: String) -> Self {
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
    pub(crate) fn in_memory(self) -> TableError {
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

/// Names must be there, must differ between models, and must survive being written as text.
pub(crate) fn check_names(
    platform: &Platform,
    source: &Source,
    models: &[Model],
) -> Result<(), Fault> {
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
