//! Parameters that a calibration may turn.

use enerinfer_datasets::WeightFormat;

use super::{Bound, Fitted};
use crate::parameters::{Parameters, PlatformFile};

/// A free parameter. Curves (`…Top`, `…Low`, `…Exponent`) set a whole table of levels from the
/// clocks, so that devices with few published values do not get a parameter per level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Knob {
    /// Overlap exponent.
    Overlap,
    /// Launch cost, µs.
    LaunchUs,
    /// One ramp for rows and columns of memory and accelerator alike; row cycles follow.
    Ramp,
    /// Accelerator ramp, rows.
    RampRows,
    /// Fixed cycles per row.
    RowCycles,
    /// Bandwidth of one level, GB/s.
    Bandwidth(usize),
    /// Bandwidth at the highest memory clock, GB/s.
    BandwidthTop,
    /// Bandwidth falls with the clock to this power.
    BandwidthExponent,
    /// Effective clock of one level, MHz.
    Effective(usize),
    /// Background power of one level, W.
    Background(usize),
    /// Background power at the lowest memory clock, W.
    BackgroundLow,
    /// Background power at the highest memory clock, W.
    BackgroundTop,
    /// Background power rises between its ends with the clock to this power.
    BackgroundExponent,
    /// Energy per byte, pJ.
    AccessPj,
    /// Busy power of one level, W.
    Busy(usize),
    /// Busy power at the highest clock, W.
    BusyTop,
    /// Relative voltage at the lowest clock; linear in the clock.
    VoltageLow,
    /// Stall fraction.
    StallFraction,
    /// Idle fraction.
    IdleFraction,
    /// Weights per cycle of a format.
    WeightsPerCycle(WeightFormat),
    /// Energy per weight of a format, pJ.
    PjPerWeight(WeightFormat),
}

impl Knob {
    /// The table of levels that the knob is an entry of.
    pub(super) fn table(self) -> Option<&'static str> {
        match self {
            Knob::Bandwidth(_) => Some("bandwidth"),
            Knob::Effective(_) => Some("effective"),
            Knob::Background(_) => Some("background"),
            Knob::Busy(_) => Some("busy"),
            _ => None,
        }
    }
}

/// Share of leakage in busy power at the highest clock (assumed): it follows the voltage, the
/// rest the clock and the voltage squared.
const LEAKAGE: f64 = 0.25;

/// Sets the parameters of all knobs.
pub(super) fn apply(file: &mut PlatformFile, values: Vec<(Knob, f64)>) {
    let mem = relative(&file.clocks.mem_khz);
    let accel = relative(&file.clocks.accel_khz);
    let get = |knob: Knob| values.iter().find(|(k, _)| *k == knob).map(|(_, v)| *v);

    let p = &mut file.parameters;
    if let Some(top) = get(Knob::BandwidthTop) {
        let exponent = get(Knob::BandwidthExponent).unwrap_or(1.0);
        p.bandwidth_gb_per_s = mem.iter().map(|f| top * f.powf(exponent)).collect();
    }
    if let Some(top) = get(Knob::BackgroundTop) {
        let low = get(Knob::BackgroundLow).unwrap_or(p.background_w[0]).min(top);
        let exponent = get(Knob::BackgroundExponent).unwrap_or(1.0);
        p.background_w = rise(&mem).map(|x| low + (top - low) * x.powf(exponent)).collect();
    }
    if let Some(low) = get(Knob::VoltageLow) {
        p.relative_voltage = rise(&accel).map(|x| low + (1.0 - low) * x).collect();
    }
    if let Some(top) = get(Knob::BusyTop) {
        p.busy_w = accel
            .iter()
            .zip(&p.relative_voltage)
            .map(|(f, v)| top * (LEAKAGE * v + (1.0 - LEAKAGE) * f * v * v))
            .collect();
    }
    for (knob, value) in &values {
        match *knob {
            Knob::Overlap => p.overlap_exponent = *value,
            Knob::LaunchUs => p.launch_us = *value,
            Knob::RampRows => p.ramp_rows = *value,
            Knob::RowCycles => p.row_cycles = *value,
            Knob::Bandwidth(level) => p.bandwidth_gb_per_s[level] = *value,
            Knob::Effective(level) => p.effective_mhz[level] = *value,
            Knob::Background(level) => p.background_w[level] = *value,
            Knob::AccessPj => p.access_pj_per_byte = *value,
            Knob::Busy(level) => p.busy_w[level] = *value,
            Knob::StallFraction => p.stall_fraction = *value,
            Knob::IdleFraction => p.idle_fraction = *value,
            Knob::WeightsPerCycle(format) => {
                if let Some(of) = file.formats.get_mut(&format) {
                    of.weights_per_cycle = *value;
                }
            }
            Knob::PjPerWeight(format) => {
                if let Some(of) = file.formats.get_mut(&format) {
                    of.pj_per_weight = *value;
                }
            }
            // Set above, or below where another parameter is needed first.
            Knob::BandwidthTop
            | Knob::BandwidthExponent
            | Knob::BackgroundLow
            | Knob::BackgroundTop
            | Knob::BackgroundExponent
            | Knob::BusyTop
            | Knob::VoltageLow
            | Knob::Ramp => {}
        }
    }
    if let Some(ramp) = get(Knob::Ramp) {
        p.memory_ramp_rows = ramp;
        p.memory_ramp_columns = ramp;
        p.ramp_rows = ramp;
        if let Some(of) = file.formats.get(&file.default_format) {
            p.row_cycles = ramp / of.weights_per_cycle;
        }
    }
    for levels in
        [&mut p.bandwidth_gb_per_s, &mut p.effective_mhz, &mut p.background_w, &mut p.busy_w]
    {
        for level in 1..levels.len() {
            levels[level] = levels[level].max(levels[level - 1]);
        }
    }
}

/// The value of a knob in a platform file.
pub(super) fn read(file: &PlatformFile, knob: Knob) -> f64 {
    let p = &file.parameters;
    let last = |levels: &[f64]| levels.last().copied().unwrap_or(1.0);
    let mem = relative(&file.clocks.mem_khz);
    match knob {
        Knob::Overlap => p.overlap_exponent,
        Knob::LaunchUs => p.launch_us,
        Knob::Ramp | Knob::RampRows => p.ramp_rows,
        Knob::RowCycles => p.row_cycles,
        Knob::Bandwidth(level) => p.bandwidth_gb_per_s[level],
        Knob::BandwidthTop => last(&p.bandwidth_gb_per_s),
        Knob::BandwidthExponent => {
            (p.bandwidth_gb_per_s[0] / last(&p.bandwidth_gb_per_s)).ln() / mem[0].ln()
        }
        Knob::Effective(level) => p.effective_mhz[level],
        Knob::Background(level) => p.background_w[level],
        Knob::BackgroundLow => p.background_w[0],
        Knob::BackgroundTop => last(&p.background_w),
        Knob::BackgroundExponent => {
            let (low, top) = (p.background_w[0], last(&p.background_w));
            let middle = p.background_w.len() / 2;
            let x = rise(&mem).nth(middle).unwrap_or(1.0);
            ((p.background_w[middle] - low) / (top - low).max(1e-9)).max(1e-9).ln() / x.ln()
        }
        Knob::AccessPj => p.access_pj_per_byte,
        Knob::Busy(level) => p.busy_w[level],
        Knob::BusyTop => last(&p.busy_w),
        Knob::VoltageLow => p.relative_voltage[0],
        Knob::StallFraction => p.stall_fraction,
        Knob::IdleFraction => p.idle_fraction,
        Knob::WeightsPerCycle(format) => {
            file.formats.get(&format).map_or(1.0, |of| of.weights_per_cycle)
        }
        Knob::PjPerWeight(format) => file.formats.get(&format).map_or(1.0, |of| of.pj_per_weight),
    }
}

/// The parameters of the platform file that the knobs have set.
pub(super) fn fitted(bounds: &[Bound], file: &PlatformFile) -> Vec<Fitted> {
    let mut found: Vec<Fitted> = Vec::new();
    for bound in bounds {
        for (path, values) in places(bound.knob, &file.parameters, file) {
            let path: Vec<String> = path.into_iter().map(str::to_owned).collect();
            if !found.iter().any(|f| f.path == path) {
                found.push(Fitted { path, values: values.into_iter().map(rounded).collect() });
            }
        }
    }
    found
}

fn places(knob: Knob, p: &Parameters, file: &PlatformFile) -> Vec<(Vec<&'static str>, Vec<f64>)> {
    match knob {
        Knob::Overlap => vec![(vec!["time", "overlap_exponent"], vec![p.overlap_exponent])],
        Knob::LaunchUs => vec![(vec!["time", "launch_us"], vec![p.launch_us])],
        Knob::Ramp => vec![
            (vec!["memory", "ramp_rows"], vec![p.memory_ramp_rows]),
            (vec!["memory", "ramp_columns"], vec![p.memory_ramp_columns]),
            (vec!["accelerator", "ramp_rows"], vec![p.ramp_rows]),
            (vec!["accelerator", "row_cycles"], vec![p.row_cycles]),
        ],
        Knob::RampRows => vec![(vec!["accelerator", "ramp_rows"], vec![p.ramp_rows])],
        Knob::RowCycles => vec![(vec!["accelerator", "row_cycles"], vec![p.row_cycles])],
        Knob::Bandwidth(_) | Knob::BandwidthTop | Knob::BandwidthExponent => {
            vec![(vec!["memory", "bandwidth_gb_per_s"], p.bandwidth_gb_per_s.clone())]
        }
        Knob::Effective(_) => {
            vec![(vec!["accelerator", "effective_mhz"], p.effective_mhz.clone())]
        }
        Knob::Background(_)
        | Knob::BackgroundLow
        | Knob::BackgroundTop
        | Knob::BackgroundExponent => {
            vec![(vec!["memory", "background_w"], p.background_w.clone())]
        }
        Knob::AccessPj => vec![(vec!["memory", "access_pj_per_byte"], vec![p.access_pj_per_byte])],
        Knob::Busy(_) | Knob::BusyTop => {
            vec![(vec!["accelerator", "busy_w"], p.busy_w.clone())]
        }
        Knob::VoltageLow => {
            vec![(vec!["accelerator", "relative_voltage"], p.relative_voltage.clone())]
        }
        Knob::StallFraction => {
            vec![(vec!["accelerator", "stall_fraction"], vec![p.stall_fraction])]
        }
        Knob::IdleFraction => vec![(vec!["accelerator", "idle_fraction"], vec![p.idle_fraction])],
        Knob::WeightsPerCycle(format) => {
            vec![(vec!["format", format.name(), "weights_per_cycle"], vec![read(file, knob)])]
        }
        Knob::PjPerWeight(format) => {
            vec![(vec!["format", format.name(), "pj_per_weight"], vec![read(file, knob)])]
        }
    }
}

/// Clocks relative to the highest.
fn relative(khz: &[u32]) -> Vec<f64> {
    let top = khz.last().copied().unwrap_or(1);
    khz.iter().map(|f| f64::from(*f) / f64::from(top)).collect()
}

/// Clocks from 0 (lowest) to 1 (highest).
fn rise(relative: &[f64]) -> impl Iterator<Item = f64> + '_ {
    let low = relative.first().copied().unwrap_or(0.0);
    relative.iter().map(move |f| if low < 1.0 { (f - low) / (1.0 - low) } else { 1.0 })
}

/// Five significant digits: more would claim a precision that no figure has.
fn rounded(value: f64) -> f64 {
    format!("{value:.4e}").parse().unwrap_or(value)
}
