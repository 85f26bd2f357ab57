//! From runs to measurement tables and to a sheet of their spread.

use enerinfer_artifacts::ClockTables;
use enerinfer_datasets::{
    MeasurementTable, OperatingPoint, PLAUSIBLE, Platform, Row, Source, WeightFormat, Workload,
};

use crate::confidence::{median, relative_ci_percent, spread_percent};
use crate::error::CollectError;
use crate::journal::Run;
use crate::plan::{Cell, Plan};
use crate::results::{CellResults, Results};
use crate::timing::StageTiming;

/// What a table says beside its values.
#[derive(Clone, Debug)]
pub struct TableLabels {
    /// Platform.
    pub platform: String,
    /// What the power columns mean.
    pub power_domain: String,
    /// How it was measured: the text after `measured:`.
    pub how: String,
}

/// Mean power of a run, from wherever it is known.
pub type PowerOf<'a> = &'a dyn Fn(&Run) -> Option<f64>;

/// The measurement table of one weight format: medians of the runs that count, for the models all
/// of whose operating points have at least `least` of them. `None` if there is no such model.
///
/// # Errors
/// If the values break a rule of measurement tables.
pub fn measurement_table(
    plan: &Plan,
    results: &Results,
    format: WeightFormat,
    least: u32,
    labels: &TableLabels,
    power_of: PowerOf<'_>,
) -> Result<Option<MeasurementTable>, CollectError> {
    let levels = |of: fn(&crate::setting::Setting) -> u32| {
        let mut khz: Vec<u32> = plan.settings.iter().map(of).collect();
        khz.sort_unstable();
        khz.dedup();
        khz
    };
    let clocks = ClockTables { accel_khz: levels(|s| s.accel_khz), mem_khz: levels(|s| s.mem_khz) };
    let (mut models, mut rows) = (Vec::new(), Vec::new());
    for (model, candidate) in plan.models.iter().enumerate() {
        let cells: Vec<(OperatingPoint, &CellResults)> = (0..plan.settings.len())
            .filter_map(|setting| {
                let s = plan.settings[setting];
                let point = clocks.find(s.accel_khz, s.mem_khz)?;
                let of = &results.cells[plan.index(Cell { model, setting })];
                (of.kept.len() >= least.max(1) as usize).then_some((point, of))
            })
            .collect();
        if candidate.format != format || cells.len() < plan.settings.len() {
            continue;
        }
        for (point, of) in cells {
            let median_of = |value: &dyn Fn(&Run) -> Option<f64>| {
                // Power of some runs only is not power of the cell; nor is a sensor's zero.
                let believed = |r| value(r).filter(|w| PLAUSIBLE.contains(w));
                let values: Option<Vec<f64>> = of.kept.iter().map(believed).collect();
                values.and_then(|v| median(&v))
            };
            let Some(throughput_tok_per_s) = median(&of.throughputs()) else { continue };
            rows.push(Row {
                model: models.len() as u32,
                point,
                throughput_tok_per_s,
                power_w: median_of(&|r| power_of(r)),
                accel_power_w: median_of(&|r| r.sampled.accel_power_w),
                samples: of.kept.len() as u32,
            });
        }
        models.push(candidate.model.clone());
    }
    if models.is_empty() {
        return Ok(None);
    }
    // A table has power in every row or in none.
    if rows.iter().any(|r| r.power_w.is_none()) {
        rows.iter_mut().for_each(|r| r.power_w = None);
    }
    if rows.iter().any(|r| r.accel_power_w.is_none() || r.power_w.is_none()) {
        rows.iter_mut().for_each(|r| r.accel_power_w = None);
    }
    let platform = Platform {
        name: labels.platform.clone(),
        description: String::new(),
        engine: plan.engine.clone(),
        format,
        power_domain: labels.power_domain.clone(),
        clocks,
    };
    let prompt = plan.request.prompt_tokens;
    let generated = plan.request.generate_tokens;
    let workload = Workload {
        prompt_tokens: Some(prompt),
        // Mean fill of the key/value cache while decoding.
        context_tokens: Some(prompt + generated / 2),
    };
    let table =
        MeasurementTable::new(platform, Source::Measured(labels.how.clone()), models, rows)?;
    Ok(Some(table.with_workload(workload)))
}

/// Formats of a plan, each once, in order of appearance.
pub fn formats(plan: &Plan) -> Vec<WeightFormat> {
    let mut out = Vec::new();
    for m in &plan.models {
        if !out.contains(&m.format) {
            out.push(m.format);
        }
    }
    out
}

/// Spread of every cell as CSV: what medians hide.
pub fn spread_csv(plan: &Plan, results: &Results) -> String {
    let mut out = String::from(
        "model,format,threads,accel_mhz,mem_mhz,runs,discarded,failures,median_tok_per_s,\
         min_tok_per_s,max_tok_per_s,spread_percent,ci_percent,median_cpu_share,ttft_ms,\
         prefill_ms,max_temp_c,tokenize_ms,itl_ms,detokenize_ms\n",
    );
    for (model, candidate) in plan.models.iter().enumerate() {
        for (setting, s) in plan.settings.iter().enumerate() {
            let of = &results.cells[plan.index(Cell { model, setting })];
            let speeds = of.throughputs();
            let number = |v: Option<f64>, digits: usize| {
                v.map_or_else(String::new, |v| format!("{v:.digits$}"))
            };
            let each = |f: &dyn Fn(&Run) -> Option<f64>| -> Vec<f64> {
                of.kept.iter().filter_map(f).collect()
            };
            let share = each(&|r| {
                Some(r.engine.span.cpu_s / (r.engine.span.wall_s * f64::from(s.threads)))
            });
            let stage = |f: fn(&StageTiming) -> Option<f64>| {
                let ms = each(&|r| f(&r.engine.timing).map(|s| s * 1e3));
                // A token's text takes less than a microsecond.
                number(median(&ms), 5)
            };
            let heat = each(&|r| r.sampled.max_temp_c);
            let mhz = |khz: u32| f64::from(khz) / 1e3;
            let cells = [
                quoted(&candidate.model.name),
                candidate.format.name().to_owned(),
                s.threads.to_string(),
                mhz(s.accel_khz).to_string(),
                mhz(s.mem_khz).to_string(),
                of.kept.len().to_string(),
                of.discarded.to_string(),
                of.failures.to_string(),
                number(median(&speeds), 4),
                number(speeds.iter().copied().reduce(f64::min), 4),
                number(speeds.iter().copied().reduce(f64::max), 4),
                number(spread_percent(&speeds), 2),
                number(relative_ci_percent(&speeds), 2),
                number(median(&share), 3),
                stage(StageTiming::ttft_s),
                stage(|t| t.prefill_s),
                number(heat.into_iter().reduce(f64::max), 1),
                stage(|t| t.tokenization_s),
                stage(|t| Some(t.itl_s())),
                stage(|t| t.detokenization_s),
            ];
            out += &cells.join(",");
            out.push('\n');
        }
    }
    out
}

fn quoted(name: &str) -> String {
    if name.contains([',', '"']) {
        format!("\"{}\"", name.replace('"', "\"\""))
    } else {
        name.to_owned()
    }
}
