//! The streaming fusion itself. Memory: prompts × channels; the log only passes through.

use std::collections::BTreeSet;

use crate::sync::PhaseTimings;
use crate::{Channel, Clock, Error, Moments, Prompt, Quantity, Row, SampleReader, Tally, Zone};

/// Where prefill ends and decode begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Boundary {
    /// The profiler's prefill time, unless its timers were not synchronised; then the first token.
    #[default]
    Auto,
    /// Tokenisation + prefill after the start, as in Hydra.
    Prefill,
    /// The first token.
    FirstToken,
}

/// What is done with negative readings (calibration offsets of idle rails).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NegativePower {
    /// Used as printed.
    #[default]
    Keep,
    /// Taken as 0 mW.
    ClampToZero,
}

/// Settings of [`fuse`].
#[derive(Clone, Debug, PartialEq)]
pub struct FuseOptions {
    /// Zone of civil stamps in the log.
    pub zone: Zone,
    /// Phase boundary.
    pub boundary: Boundary,
    /// Longest time between two samples over which power is integrated, s.
    pub max_gap_s: f64,
    /// A sample describes the time up to this long before it (trailing averages), s: samples this
    /// soon after a window's start are not counted in it.
    pub lag_s: f64,
    /// Below this number of samples a window is flagged.
    pub min_samples: u64,
    /// Negative power.
    pub negative_power: NegativePower,
}

impl FuseOptions {
    /// Defaults for a log in `zone`.
    pub fn new(zone: Zone) -> Self {
        FuseOptions {
            zone,
            boundary: Boundary::Auto,
            max_gap_s: 2.0,
            lag_s: 0.0,
            min_samples: 3,
            negative_power: NegativePower::Keep,
        }
    }
}

/// A doubt about a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum WindowFlag {
    /// No sample inside: there are no means.
    NoSamples,
    /// Fewer samples than asked for.
    FewSamples,
    /// Less than 90 % of the window lies between samples.
    PartlyCovered,
    /// The boundary is the first token because the timers did not wait for the GPU.
    UnsynchronisedTimers,
    /// The prompt overlaps another one: no telemetry is attributed to it.
    Overlap,
}

impl WindowFlag {
    /// Name in tables.
    pub fn name(self) -> &'static str {
        match self {
            WindowFlag::NoSamples => "no_samples",
            WindowFlag::FewSamples => "few_samples",
            WindowFlag::PartlyCovered => "partly_covered",
            WindowFlag::UnsynchronisedTimers => "unsynchronised_timers",
            WindowFlag::Overlap => "overlap",
        }
    }
}

/// Statistics of a channel in a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Series {
    /// Mean and deviation.
    pub moments: Moments,
    /// Largest value; -∞ without values.
    pub max: f64,
    /// Integral over time, unit of the channel × s; only for power.
    pub integral: f64,
    /// Part of the window over which was integrated, s.
    pub covered_s: f64,
}

impl Default for Series {
    fn default() -> Self {
        Series {
            moments: Moments::default(),
            max: f64::NEG_INFINITY,
            integral: 0.0,
            covered_s: 0.0,
        }
    }
}

impl Series {
    /// Mean; `None` without values.
    pub fn mean(&self) -> Option<f64> {
        (self.moments.count() > 0).then(|| self.moments.mean())
    }
}

/// One window of one prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowStats {
    /// Start, UTC ns, inside.
    pub start_ns: i64,
    /// End, UTC ns, outside.
    pub end_ns: i64,
    /// Samples inside.
    pub samples: u64,
    /// Per channel; shorter than the channels when the last ones never had a value here.
    pub series: Vec<Series>,
}

impl WindowStats {
    fn new(start_ns: i64, end_ns: i64) -> Self {
        WindowStats { start_ns, end_ns, samples: 0, series: Vec::new() }
    }

    /// Length, s.
    pub fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }

    /// Mean of a channel.
    pub fn mean(&self, channel: usize) -> Option<f64> {
        self.series.get(channel)?.mean()
    }

    /// Energy of a power channel (mW), J, and the part of the window it covers; `None` when no
    /// part is covered.
    pub fn energy_j(&self, channel: usize) -> Option<(f64, f64)> {
        let s = self.series.get(channel)?;
        (s.covered_s > 0.0).then(|| (s.integral / 1e3, s.covered_s / self.seconds()))
    }

    fn series_mut(&mut self, channel: usize) -> &mut Series {
        if self.series.len() <= channel {
            self.series.resize_with(channel + 1, Series::default);
        }
        &mut self.series[channel]
    }

    /// The window that consists of two that meet.
    fn joined(a: &WindowStats, b: &WindowStats) -> WindowStats {
        let none = Series::default();
        let n = a.series.len().max(b.series.len());
        let series = (0..n)
            .map(|i| {
                let (x, y) = (a.series.get(i).unwrap_or(&none), b.series.get(i).unwrap_or(&none));
                Series {
                    moments: x.moments.merged(&y.moments),
                    max: x.max.max(y.max),
                    integral: x.integral + y.integral,
                    covered_s: x.covered_s + y.covered_s,
                }
            })
            .collect();
        WindowStats {
            start_ns: a.start_ns,
            end_ns: b.end_ns,
            samples: a.samples + b.samples,
            series,
        }
    }
}

/// A prompt with the telemetry of its phases.
#[derive(Clone, Debug, PartialEq)]
pub struct FusedPrompt {
    /// Timing.
    pub prompt: Prompt,
    /// `[start, boundary)`.
    pub prefill: WindowStats,
    /// `[boundary, end)`.
    pub decode: WindowStats,
    /// Doubts about the prompt as a whole.
    pub flags: BTreeSet<WindowFlag>,
}

impl FusedPrompt {
    /// `[start, end)`: prefill and decode together.
    pub fn whole(&self) -> WindowStats {
        WindowStats::joined(&self.prefill, &self.decode)
    }

    /// Doubts about a window, those about the prompt included.
    pub fn window_flags(
        &self,
        window: &WindowStats,
        power: Option<usize>,
        options: &FuseOptions,
    ) -> BTreeSet<WindowFlag> {
        let mut flags = self.flags.clone();
        if window.samples == 0 {
            flags.insert(WindowFlag::NoSamples);
        } else if window.samples < options.min_samples {
            flags.insert(WindowFlag::FewSamples);
        }
        if let Some(p) = power
            && window.energy_j(p).is_none_or(|(_, covered)| covered < 0.9)
        {
            flags.insert(WindowFlag::PartlyCovered);
        }
        flags
    }
}

/// Result of a fusion.
#[derive(Clone, Debug)]
pub struct Fused {
    /// Channels of the log.
    pub channels: Vec<Channel>,
    /// One per prompt, in the order of the timing records.
    pub prompts: Vec<FusedPrompt>,
    /// Lines of the log.
    pub tally: Tally,
    /// Samples that lay in a window.
    pub samples_used: u64,
    /// Samples outside every window.
    pub samples_outside: u64,
}

/// Fuses timing records with a log.
///
/// # Errors
/// When no sample falls into any prompt: the zone is wrong, the log is another run's, or each prompt
/// overlaps another.
pub fn fuse(
    prompts: Vec<Prompt>,
    log: &mut dyn SampleReader,
    options: &FuseOptions,
) -> Result<Fused, Error> {
    let mut engine = Engine::new(prompts, options);
    let mut clock = Clock::new(options.zone.clone());
    let mut row = Row::default();
    let mut untimed = 0u64;
    while log.read(&mut row)? {
        match clock.resolve(row.stamp) {
            Some(t) => engine.sample(t, &row.values, log.channels()),
            None => untimed += 1,
        }
    }
    let mut tally = log.tally().clone();
    if untimed > 0 {
        tally.warn(format!("{untimed} samples without a time were left out"));
    }
    if engine.backward > 0 {
        tally.warn(format!(
            "{} samples lie before the one above them; they count, but power is not integrated \
             across them (sort the log)",
            engine.backward
        ));
    }
    if clock.ambiguous > 0 {
        tally.warn(format!(
            "{} stamps lie in the hour that stands twice when clocks go back; told apart by the \
             order of lines",
            clock.ambiguous
        ));
    }
    tally.warnings.append(&mut engine.warnings);
    let timed = engine.used + engine.outside;
    if engine.used == 0 && timed > 0 && !engine.prompts.is_empty() {
        if engine.windows.is_empty() {
            return Err(Error::invalid(format!(
                "all {} prompts overlap in time with another: no telemetry can be attributed",
                engine.prompts.len()
            )));
        }
        return Err(Error::invalid(format!(
            "none of the {timed} samples falls into any of the {} prompts: the zone ({}) is wrong \
             or the log belongs to another run",
            engine.prompts.len(),
            options.zone.name()
        )));
    }
    Ok(Fused {
        channels: log.channels().to_vec(),
        prompts: engine.prompts,
        tally,
        samples_used: engine.used,
        samples_outside: engine.outside,
    })
}

struct Engine<'a> {
    prompts: Vec<FusedPrompt>,
    /// `(start, boundary, end, prompt)`, sorted, disjoint.
    windows: Vec<(i64, i64, i64, usize)>,
    options: &'a FuseOptions,
    lag_ns: i64,
    max_gap_ns: i64,
    /// Last value of each power channel.
    last: Vec<Option<(i64, f64)>>,
    last_ns: Option<i64>,
    used: u64,
    outside: u64,
    backward: u64,
    warnings: Vec<String>,
}

impl<'a> Engine<'a> {
    fn new(prompts: Vec<Prompt>, options: &'a FuseOptions) -> Self {
        let mut warnings = Vec::new();
        let verdict = PhaseTimings::of(&prompts).map(|t| t.assess());
        let unsynchronised = verdict.as_ref().is_some_and(|v| v.unsynchronised());
        if let Some(v) = verdict.filter(|v| v.unsynchronised()) {
            warnings.push(format!(
                "the profiler's timers did not wait for the GPU, its prefill/decode split is not \
                 reliable: {}",
                v.evidence.join("; ")
            ));
        }
        let first_token = match options.boundary {
            Boundary::Auto => unsynchronised,
            Boundary::FirstToken => true,
            Boundary::Prefill => false,
        };
        let mut windows: Vec<(i64, i64, i64, usize)> = prompts
            .iter()
            .enumerate()
            .map(|(i, p)| {
                let token = p.first_token_ns().filter(|_| first_token);
                let boundary = token.unwrap_or_else(|| p.prefill_end_ns());
                (p.start_ns, boundary.clamp(p.start_ns, p.end_ns), p.end_ns, i)
            })
            .collect();
        let mut fused: Vec<FusedPrompt> = prompts
            .into_iter()
            .zip(&windows)
            .map(|(prompt, &(start, boundary, end, _))| FusedPrompt {
                prompt,
                prefill: WindowStats::new(start, boundary),
                decode: WindowStats::new(boundary, end),
                flags: if unsynchronised {
                    BTreeSet::from([WindowFlag::UnsynchronisedTimers])
                } else {
                    BTreeSet::new()
                },
            })
            .collect();
        windows.sort_unstable();
        for i in overlapping(&windows) {
            fused[i].flags.insert(WindowFlag::Overlap);
        }
        let names: Vec<String> = fused
            .iter()
            .filter(|f| f.flags.contains(&WindowFlag::Overlap))
            .map(|f| f.prompt.row.to_string())
            .collect();
        if !names.is_empty() {
            warnings.push(format!(
                "prompts of rows {} overlap in time: no telemetry is attributed to them",
                names.join(", ")
            ));
        }
        windows.retain(|w| !fused[w.3].flags.contains(&WindowFlag::Overlap));
        Engine {
            prompts: fused,
            windows,
            options,
            lag_ns: (options.lag_s * 1e9) as i64,
            max_gap_ns: (options.max_gap_s * 1e9) as i64,
            last: Vec::new(),
            last_ns: None,
            used: 0,
            outside: 0,
            backward: 0,
            warnings,
        }
    }

    /// Window of the prompt that holds `t`.
    fn find(&self, t: i64) -> Option<(i64, i64, i64, usize)> {
        let after = self.windows.partition_point(|w| w.0 <= t);
        let w = *self.windows.get(after.checked_sub(1)?)?;
        (t < w.2).then_some(w)
    }

    fn sample(&mut self, t: i64, values: &[f64], channels: &[Channel]) {
        let inside = self.find(t).and_then(|(start, boundary, _, prompt)| {
            let in_prefill = t < boundary;
            let window_start = if in_prefill { start } else { boundary };
            (t >= window_start + self.lag_ns).then_some((prompt, in_prefill))
        });
        match inside {
            Some((prompt, in_prefill)) => {
                self.used += 1;
                let p = &mut self.prompts[prompt];
                let window = if in_prefill { &mut p.prefill } else { &mut p.decode };
                window.samples += 1;
                if window.series.len() < values.len() {
                    window.series.resize_with(values.len(), Series::default);
                }
                for (s, &v) in window.series.iter_mut().zip(values) {
                    if !v.is_nan() {
                        s.moments.add(v);
                        s.max = s.max.max(v);
                    }
                }
            }
            None => self.outside += 1,
        }
        self.integrate(t, values, channels);
    }

    /// Adds the trapezoid between the last value and this one to every window it touches.
    fn integrate(&mut self, t: i64, values: &[f64], channels: &[Channel]) {
        if self.last_ns.is_some_and(|last| t < last) {
            self.backward += 1;
            self.last.iter_mut().for_each(|l| *l = None);
        }
        self.last_ns = Some(t);
        self.last.resize(channels.len(), None);
        for (c, (channel, &value)) in channels.iter().zip(values).enumerate() {
            if channel.quantity != Quantity::Power || value.is_nan() {
                continue;
            }
            let v1 = match self.options.negative_power {
                NegativePower::Keep => value,
                NegativePower::ClampToZero => value.max(0.0),
            };
            if let Some((t0, v0)) = self.last[c]
                && t > t0
                && t - t0 <= self.max_gap_ns
            {
                self.segment(c, (t0, v0), (t, v1));
            }
            self.last[c] = Some((t, v1));
        }
    }

    fn segment(&mut self, channel: usize, (t0, v0): (i64, f64), (t1, v1): (i64, f64)) {
        let at = |t: i64| v0 + (v1 - v0) * ((t - t0) as f64 / (t1 - t0) as f64);
        let first = self.windows.partition_point(|w| w.2 <= t0);
        for &(start, boundary, end, prompt) in &self.windows[first..] {
            if start >= t1 {
                break;
            }
            for (a, b, prefill) in [(start, boundary, true), (boundary, end, false)] {
                let (a, b) = (a.max(t0), b.min(t1));
                if a >= b {
                    continue;
                }
                let seconds = (b - a) as f64 / 1e9;
                let p = &mut self.prompts[prompt];
                let window = if prefill { &mut p.prefill } else { &mut p.decode };
                let s = window.series_mut(channel);
                s.integral += (at(a) + at(b)) / 2.0 * seconds;
                s.covered_s += seconds;
            }
        }
    }
}

/// Prompts whose `[start, end)` overlaps another's; `windows` is sorted by start.
fn overlapping(windows: &[(i64, i64, i64, usize)]) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut latest: Option<(i64, usize)> = None;
    for &(start, _, end, i) in windows {
        if let Some((latest_end, j)) = latest
            && start < latest_end
        {
            found.extend([i, j]);
        }
        if latest.is_none_or(|(e, _)| end > e) {
            latest = Some((end, i));
        }
    }
    found
}
