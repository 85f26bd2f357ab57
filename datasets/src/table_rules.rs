//! The rules of a measurement table, shared by everything that builds or reads one.

use std::collections::BTreeSet;

use enerinfer_artifacts::{ClockTables, OperatingPoint, is_printable};

use crate::sheet::SheetRow;
use crate::table_error::TableError;
use crate::{Model, Platform, Row, Source};

/// Bounds of a plausible single-stream decode throughput, tokens/s, and power, W. They only keep
/// out values that are certainly wrong or would overflow what is computed from them.
pub const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-6..=1e6;

/// Longest name of a model, engine, power domain or source.
const MAX_NAME_CHARS: usize = 200;

/// Rows that a fault is about, beside the one at fault.
#[derive(Debug)]
pub(crate) enum Related {
    /// None.
    Nothing,
    /// The other side of a contradiction.
    Other(usize),
    /// All rows of what is incomplete, in the order given.
    Present(Vec<usize>),
}

/// A broken invariant of a table in memory: the reader turns row indices into lines.
#[derive(Debug)]
pub(crate) struct Fault {
    /// Index of the row at fault, in the order given.
    pub(crate) row: Option<usize>,
    /// Rows that a reader needs beside it.
    pub(crate) related: Related,
    /// Column and value at fault.
    pub(crate) cell: Option<(&'static str, String)>,
    /// The rule and what to do.
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn table(message: String) -> Self {
        Fault { row: None, related: Related::Nothing, cell: None, message }
    }

    fn cell(row: usize, column: &'static str, value: String, message: impl Into<String>) -> Self {
        Fault {
            row: Some(row),
            related: Related::Nothing,
            cell: Some((column, value)),
            message: message.into(),
        }
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
        match self.related {
            Related::Nothing => {}
            Related::Other(other) => {
                if let Some(other) = line(other) {
                    message.push_str(&format!(" (the other is row {other})"));
                }
            }
            Related::Present(rows) => {
                let lines: Vec<u64> = rows.into_iter().filter_map(&line).collect();
                message.push_str(&format!(" (its rows: {})", ranges(&lines)));
            }
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

/// Longest list of row ranges in a message.
const SHOWN_RANGES: usize = 8;

/// Lines as ranges, shortened: `2–46, 52`.
fn ranges(lines: &[u64]) -> String {
    let mut list: Vec<(u64, u64)> = Vec::new();
    for &line in lines {
        match list.last_mut() {
            Some((_, end)) if *end + 1 == line => *end = line,
            _ => list.push((line, line)),
        }
    }
    let mut shown: Vec<String> = list
        .iter()
        .take(SHOWN_RANGES)
        .map(|(a, b)| if a == b { a.to_string() } else { format!("{a}–{b}") })
        .collect();
    if list.len() > SHOWN_RANGES {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

/// Names must be there, must differ between models, and must survive being written as text.
pub(crate) fn check_names(
    platform: &Platform,
    source: &Source,
    models: &[Model],
    rows: &[Row],
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
    // What all rows share stands in the first as in any.
    let common =
        common.into_iter().map(|(what, name)| (what, name, (!rows.is_empty()).then_some(0)));
    let models = (0..)
        .zip(models)
        .map(|(m, model)| ("model", model.name.as_str(), rows.iter().position(|r| r.model == m)));
    for (what, name, row) in common.chain(models) {
        let fault = |message: String| Fault {
            row,
            related: Related::Nothing,
            cell: Some((what, name.to_owned())),
            message,
        };
        let length = name.chars().count();
        if length == 0 || length > MAX_NAME_CHARS {
            return Err(fault(format!("must be 1 to {MAX_NAME_CHARS} characters, has {length}")));
        }
        if name.trim() != name || !name.chars().all(is_printable) {
            return Err(fault(
                "must not contain outer spaces, control characters, or marks that hide or reorder \
                 text"
                    .to_owned(),
            ));
        }
        if what == "model" && !names.insert(name) {
            return Err(fault("two models have this name; names must differ".to_owned()));
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
                    related: Related::Other(0),
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

/// One of the two clocks of operating points, as people know it.
pub(crate) struct Axis {
    /// Column that holds it.
    pub(crate) column: &'static str,
    /// Text of each level.
    pub(crate) levels: Vec<String>,
    /// The level of a point.
    pub(crate) of: fn(OperatingPoint) -> u8,
}

impl Axis {
    /// The level that stands in less than half as many rows as its column's levels usually do:
    /// more likely mistyped than measured. Its rows, and the level.
    fn odd_one_out(&self, rows: &[Row]) -> Option<(usize, Vec<usize>)> {
        let mut rows_of = vec![Vec::new(); self.levels.len()];
        for (i, row) in rows.iter().enumerate() {
            rows_of[usize::from((self.of)(row.point))].push(i);
        }
        let mut counts: Vec<usize> = rows_of.iter().map(Vec::len).collect();
        counts.sort_unstable();
        let usual = counts[counts.len() / 2];
        let (level, few) = rows_of.into_iter().enumerate().min_by_key(|(_, rows)| rows.len())?;
        (!few.is_empty() && 2 * few.len() < usual).then_some((level, few))
    }
}

/// Each model must have exactly one row per operating point. `names` and `axes` say models and
/// points for people; `key` is the column that a doubled row is reported in.
pub(crate) fn check_grid(
    clocks: &ClockTables,
    names: &[String],
    rows: &[Row],
    key: &'static str,
    axes: &[Axis; 2],
) -> Result<(), Fault> {
    let describe = |point: OperatingPoint| {
        axes.each_ref()
            .map(|a| format!("{} {}", a.column, a.levels[usize::from((a.of)(point))]))
            .join(", ")
    };
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
            related: Related::Other(w[0].2),
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
        let of_model = &order[at..end];
        at = end;
        if of_model.len() == points {
            continue;
        }
        // A clock that hardly any row has makes a hole in every other model: name it, not them.
        for axis in axes {
            if let Some((level, few)) = axis.odd_one_out(rows) {
                return Err(Fault {
                    row: few.first().copied(),
                    cell: Some((axis.column, axis.levels[level].clone())),
                    message: format!(
                        "only {} of {} rows {} this clock, and every model needs every pair of \
                         clocks: correct it if it is mistyped, else measure the others at it too",
                        few.len(),
                        rows.len(),
                        if few.len() == 1 { "has" } else { "have" },
                    ),
                    related: Related::Present(few),
                });
            }
        }
        let present: Vec<usize> = of_model.iter().map(|o| o.1).collect();
        let hole = (0..points).find(|p| present.binary_search(p).is_err()).unwrap_or(0);
        let nowhere = names.len() > 1 && order.iter().all(|o| o.1 != hole);
        let mut of_model: Vec<usize> = of_model.iter().map(|o| o.2).collect();
        of_model.sort_unstable();
        return Err(Fault {
            row: None,
            cell: None,
            message: format!(
                "{name} has no row at {} ({} of its {points} operating points are missing{}); \
                 every model needs every pair of the {} accelerator and {} memory clocks in the \
                 file: measure the missing points, or remove the model or the clock",
                describe(clocks.point(hole)),
                points - present.len(),
                if nowhere { ", and no other model has this one" } else { "" },
                clocks.accel_khz.len(),
                clocks.mem_khz.len(),
            ),
            related: Related::Present(of_model),
        });
    }
    Ok(())
}
