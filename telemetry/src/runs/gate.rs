//! The data-quality gate.

use std::collections::{BTreeMap, BTreeSet};

use super::Run;
use crate::Tally;

/// A doubt about a run that is used all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RunFlag {
    /// Throughput does not change over clocks: they were probably not applied.
    ConstantOverClocks,
    /// Fewer samples than asked for.
    FewSamples,
    /// Deviation above 20 % of the mean.
    Noisy,
    /// Energy is not power × time: computed from a nominal interval?
    EnergyDisagrees,
    /// Prompt and decode columns are equal: one was copied.
    CopiedColumns,
    /// The prompt was cached: no prefill throughput.
    CachedPrompt,
}

impl RunFlag {
    /// The flag as a sentence.
    pub fn reason(self) -> &'static str {
        match self {
            RunFlag::ConstantOverClocks => "throughput is constant over clocks: were they applied?",
            RunFlag::FewSamples => "too few samples",
            RunFlag::Noisy => "deviation above 20 % of the mean",
            RunFlag::EnergyDisagrees => {
                "energy is not power × time (computed from a nominal interval?)"
            }
            RunFlag::CopiedColumns => "prompt and decode columns are identical",
            RunFlag::CachedPrompt => "prompt tokens unknown (cached prompt): no prefill throughput",
        }
    }
}

/// Settings of [`gate`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GateOptions {
    /// Below this number of samples a run is flagged.
    pub min_samples: u32,
    /// Clocks may differ by this part from what was set.
    pub clock_tolerance: f64,
}

impl Default for GateOptions {
    fn default() -> Self {
        GateOptions { min_samples: 3, clock_tolerance: 0.03 }
    }
}

/// Runs that passed, with their doubts, and what became of the others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gated {
    /// Usable runs.
    pub runs: Vec<(Run, BTreeSet<RunFlag>)>,
    /// Counts and reasons.
    pub tally: Tally,
}

/// Passes runs through the gate.
pub fn gate(runs: Vec<Run>, options: &GateOptions) -> Gated {
    let constant = constant_models(&runs);
    let milliwatts = mixed_units(&runs);
    let mut out = Gated::default();
    for mut run in runs {
        let mut flags = BTreeSet::new();
        let verdict = if milliwatts.contains(&run.line) {
            Err("power about 1000 × that of its neighbours: mixed units (mW and W)")
        } else {
            judge(&mut run, &mut flags, options)
        };
        if let Err(reason) = verdict {
            let text = match run.decode_tok_per_s {
                Some(t) => format!("{} {t} tok/s", run.model),
                None => run.model.clone(),
            };
            out.tally.refuse(run.line, reason, text.as_bytes());
            continue;
        }
        if constant.contains(&run.model) {
            flags.insert(RunFlag::ConstantOverClocks);
        }
        let reasons: Vec<&str> = flags.iter().map(|f| f.reason()).collect();
        out.tally.accept(&reasons);
        out.runs.push((run, flags));
    }
    out
}

fn judge(
    run: &mut Run,
    flags: &mut BTreeSet<RunFlag>,
    options: &GateOptions,
) -> Result<(), &'static str> {
    for phase in [run.prefill_s, run.decode_s].into_iter().flatten() {
        if run.total_s.is_some_and(|total| phase > total * 1.001) {
            return Err("a phase takes longer than the whole run: mixed units");
        }
    }
    if run.prefill_s.is_some() && run.prefill_s == run.decode_s {
        flags.insert(RunFlag::CopiedColumns);
        run.prefill_tok_per_s = None;
    }
    if let (None, Some(n), Some(s)) = (run.decode_tok_per_s, run.output_tokens, run.decode_s)
        && s > 0.0
    {
        run.decode_tok_per_s = Some(n / s);
    }
    match (run.prompt_tokens, run.prefill_s) {
        (Some(n), Some(s)) if run.prefill_tok_per_s.is_none() && n > 0.0 && s > 0.0 => {
            run.prefill_tok_per_s = Some(n / s);
        }
        (None, Some(_)) => {
            flags.insert(RunFlag::CachedPrompt);
            run.prefill_tok_per_s = None;
        }
        _ => {}
    }
    end_to_end(run)?;
    match run.decode_tok_per_s {
        Some(t) if (1e-6..=1e6).contains(&t) => {}
        Some(t) if t > 1.0 => return Err("throughput is beyond what a device can have"),
        Some(_) => return Err("throughput is zero: a failed run"),
        None if run.prefill_tok_per_s.is_some_and(|t| t > 0.0) => {}
        None => return Err("no throughput"),
    }
    if run.power_w.is_some_and(|p| !(p > 0.0 && p.is_finite())) {
        return Err("power is not positive");
    }
    if run.power_w.is_some_and(|p| p > 1e4) {
        return Err("power is beyond what a device can have");
    }
    for (set, seen, what) in [
        (run.accel_mhz, run.accel_mhz_achieved, "accelerator clock differs from the one set"),
        (run.mem_mhz, run.mem_mhz_achieved, "memory clock differs from the one set"),
    ] {
        if let (Some(set), Some(seen)) = (set, seen)
            && (seen - set).abs() > options.clock_tolerance * set
        {
            return Err(what);
        }
    }
    if run.throttled.is_some_and(|n| n > 0.0) {
        return Err("the device throttled");
    }
    if run.samples.is_some_and(|n| n > 0 && n < options.min_samples) {
        flags.insert(RunFlag::FewSamples);
    }
    if run.samples == Some(0) && run.power_w.is_some() {
        return Err("power without any sample");
    }
    if let (Some(std), Some(mean)) = (run.decode_std, run.decode_tok_per_s)
        && std > 0.2 * mean
    {
        flags.insert(RunFlag::Noisy);
    }
    if let (Some(e), Some(p), Some(s)) = (run.energy_j, run.power_w, run.decode_s)
        && (e - p * s).abs() > 0.2 * p * s
    {
        flags.insert(RunFlag::EnergyDisagrees);
    }
    Ok(())
}

/// Throughput over wall time includes prefill and is no decode throughput.
fn end_to_end(run: &Run) -> Result<(), &'static str> {
    if let (Some(rate), Some(n), Some(wall)) =
        (run.decode_tok_per_s, run.output_tokens, run.total_s)
        && run.decode_s.is_none()
        && run.prefill_s.is_none()
        && wall > 0.0
        && (rate - n / wall).abs() <= 0.02 * rate
    {
        return Err("end-to-end throughput (tokens over wall time, prefill included): no decode \
                    target without the time to first token");
    }
    Ok(())
}

/// Models whose throughput moves by less than 1 % while a clock moves by half or more.
fn constant_models(runs: &[Run]) -> BTreeSet<String> {
    let mut by_model: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
    for r in runs.iter().filter(|r| r.decode_tok_per_s.is_some_and(|t| t > 0.0)) {
        by_model.entry(&r.model).or_default().push(r);
    }
    let spread = |v: &mut dyn Iterator<Item = f64>| {
        let (low, high) = v.fold((f64::INFINITY, 0.0f64), |(l, h), x| (l.min(x), h.max(x)));
        if low > 0.0 && low.is_finite() { high / low } else { 1.0 }
    };
    let constant = |runs: &[&Run]| {
        let clocks = spread(&mut runs.iter().filter_map(|r| r.accel_mhz))
            .max(spread(&mut runs.iter().filter_map(|r| r.mem_mhz)));
        clocks >= 1.5 && spread(&mut runs.iter().filter_map(|r| r.decode_tok_per_s)) < 1.01
    };
    by_model.into_iter().filter(|(_, r)| constant(r)).map(|(m, _)| m.to_owned()).collect()
}

/// Lines whose power is 300 times the median of their table's or more: milliwatts among watts.
fn mixed_units(runs: &[Run]) -> BTreeSet<u64> {
    let mut powers: Vec<f64> = runs.iter().filter_map(|r| r.power_w).filter(|p| *p > 0.0).collect();
    powers.sort_by(f64::total_cmp);
    // The lower median: half of the rows may be wrong.
    let Some(&median) = powers.get(powers.len().saturating_sub(1) / 2) else {
        return BTreeSet::new();
    };
    runs.iter().filter(|r| r.power_w.is_some_and(|p| p > 300.0 * median)).map(|r| r.line).collect()
}
