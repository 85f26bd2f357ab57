//! Gated runs to a measurement table.

use std::collections::{BTreeMap, BTreeSet};

use enerinfer_artifacts::ClockTables;
use enerinfer_datasets::{
    LlmShape, MeasurementTable, Model, Platform, Row, Source, WeightFormat, Workload,
};

use super::{Gated, Run};
use crate::Error;

/// What the runs do not say themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSpec {
    /// Platform name.
    pub platform: String,
    /// Inference engine.
    pub engine: String,
    /// Weight format.
    pub format: WeightFormat,
    /// What the power is of; needed when the runs have power and do not say.
    pub power_domain: Option<String>,
    /// How it was measured, for the `source` column.
    pub how: String,
}

/// Makes a table of decode runs. Repeated runs of a model at a point become their median.
///
/// # Errors
/// Power of several definitions; a model without a known shape; a run without clocks; rules of the
/// table itself, such as a point that is missing for a model.
pub fn measurement_table(
    gated: &Gated,
    spec: &TableSpec,
    shape: &dyn Fn(&str) -> Option<LlmShape>,
) -> Result<MeasurementTable, Error> {
    let runs: Vec<&Run> =
        gated.runs.iter().map(|(r, _)| r).filter(|r| r.decode_tok_per_s.is_some()).collect();
    if runs.is_empty() {
        return Err(Error::invalid("no run with a decode throughput passed the gate"));
    }
    let power_domain = power_domain(&runs, spec)?;
    let clocks = clock_tables(&runs)?;
    let mut models: Vec<Model> = Vec::new();
    let mut cells: BTreeMap<(u32, usize), Vec<&Run>> = BTreeMap::new();
    for run in &runs {
        let index = match models.iter().position(|m| m.name == run.model) {
            Some(i) => i,
            None => {
                let shape = shape(&run.model).ok_or_else(|| {
                    Error::invalid(format!(
                        "line {}: the shape of model `{}` is not known; give it in a shapes file",
                        run.line, run.model
                    ))
                })?;
                models.push(Model { name: run.model.clone(), shape });
                models.len() - 1
            }
        };
        let (accel, mem) = clocks_khz(run)?;
        let point = clocks.find(accel, mem).ok_or_else(|| {
            Error::invalid(format!("line {}: its clocks are in no clock table", run.line))
        })?;
        let model = u32::try_from(index).map_err(|_| Error::invalid("too many models"))?;
        cells.entry((model, clocks.index(point))).or_default().push(run);
    }
    let rows = cells
        .into_iter()
        .map(|((model, point), runs)| Row {
            model,
            point: clocks.point(point),
            throughput_tok_per_s: median(&runs, |r| r.decode_tok_per_s).unwrap_or(f64::NAN),
            power_w: median(&runs, |r| r.power_w),
            accel_power_w: median(&runs, |r| r.accel_power_w),
            samples: runs
                .iter()
                .map(|r| r.samples.unwrap_or(1).max(1))
                .fold(0, u32::saturating_add),
        })
        .collect();
    let platform = Platform {
        name: spec.platform.clone(),
        description: format!("measured: {}", spec.how),
        engine: spec.engine.clone(),
        format: spec.format,
        power_domain,
        clocks,
    };
    let workload = Workload {
        prompt_tokens: common(&runs, |r| r.prompt_tokens),
        context_tokens: common(&runs, |r| Some(r.prompt_tokens? + r.output_tokens?)),
    };
    let table = MeasurementTable::new(platform, Source::Measured(spec.how.clone()), models, rows)
        .map_err(|e| Error::invalid(e.to_string()))?;
    Ok(table.with_workload(workload))
}

fn power_domain(runs: &[&Run], spec: &TableSpec) -> Result<String, Error> {
    let stated: BTreeSet<&str> =
        runs.iter().filter_map(|r| r.power_definition.as_deref()).collect();
    let mut stated = stated.into_iter();
    match (stated.next(), stated.next(), &spec.power_domain) {
        (Some(a), Some(b), _) => Err(Error::invalid(format!(
            "the runs hold power of different definitions (`{a}`, `{b}`): they are not comparable"
        ))),
        (Some(a), None, Some(given)) if a != given => {
            Err(Error::invalid(format!("the runs state power of `{a}`, not `{given}`")))
        }
        (Some(a), None, _) => Ok(a.to_owned()),
        (None, _, Some(given)) => Ok(given.clone()),
        (None, _, None) if runs.iter().any(|r| r.power_w.is_some()) => Err(Error::invalid(
            "the runs have power but nothing says of what: give the power domain",
        )),
        (None, _, None) => Ok("none".to_owned()),
    }
}

fn clocks_khz(run: &Run) -> Result<(u32, u32), Error> {
    let khz = |mhz: Option<f64>, what: &str| match mhz {
        Some(m) if m > 0.0 && m < 1e6 => Ok((m * 1000.0).round() as u32),
        Some(m) => Err(Error::invalid(format!("line {}: {what} clock of {m} MHz", run.line))),
        None => {
            Err(Error::invalid(format!("line {}: no {what} clock; give it for all runs", run.line)))
        }
    };
    Ok((khz(run.accel_mhz, "accelerator")?, khz(run.mem_mhz, "memory")?))
}

fn clock_tables(runs: &[&Run]) -> Result<ClockTables, Error> {
    let (mut accel, mut mem) = (BTreeSet::new(), BTreeSet::new());
    for run in runs {
        let (a, m) = clocks_khz(run)?;
        accel.insert(a);
        mem.insert(m);
    }
    let tables =
        ClockTables { accel_khz: accel.into_iter().collect(), mem_khz: mem.into_iter().collect() };
    tables.validate()?;
    Ok(tables)
}

/// Median of those present: the mean of the middle two for an even number.
fn median(runs: &[&Run], f: impl Fn(&Run) -> Option<f64>) -> Option<f64> {
    let mut v: Vec<f64> = runs.iter().filter_map(|r| f(r)).collect();
    v.sort_by(f64::total_cmp);
    let middle = v.len() / 2;
    match v.len() {
        0 => None,
        n if n % 2 == 1 => Some(v[middle]),
        _ => Some((v[middle - 1] + v[middle]) / 2.0),
    }
}

/// A length that all runs share.
fn common(runs: &[&Run], f: impl Fn(&Run) -> Option<f64>) -> Option<u32> {
    let first = f(runs.first()?)?;
    let same = runs.iter().all(|r| f(r) == Some(first));
    (same && first >= 0.0 && first < f64::from(u32::MAX)).then_some(first as u32)
}
