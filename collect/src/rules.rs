//! The rule by which disturbed and throttled runs are discarded.

use serde::{Deserialize, Serialize};

use crate::engine::Span;

/// Limits; `None` where a rule is off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rules {
    /// Least CPU time while decoding, as a share of threads × wall time. An engine whose threads
    /// spin uses all of it unless something else ran on its cores.
    pub min_cpu_share: Option<f64>,
    /// Highest load average (one minute) before a run.
    pub max_load: Option<f64>,
    /// Highest temperature during a run, °C.
    pub max_temp_c: Option<f64>,
}

/// What is known about the circumstances of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circumstances {
    /// Decode phase, where the engine tells it apart.
    pub span: Option<Span>,
    /// Threads of the engine.
    pub threads: u32,
    /// Load average before the run.
    pub load: Option<f64>,
    /// Highest temperature.
    pub max_temp_c: Option<f64>,
    /// A clock that was no longer what had been set: name, wanted and found kHz.
    pub deviation: Option<(&'static str, u32, u32)>,
}

/// Why a run does not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discard {
    /// Something else ran on the engine's cores: CPU share of the decode phase.
    Disturbed(f64),
    /// The machine was busy: load average.
    Busy(f64),
    /// Too hot: °C.
    Hot(f64),
    /// A clock fell while the engine ran.
    Throttled(String),
}

impl Rules {
    /// The first rule that a run breaks.
    pub fn judge(&self, run: &Circumstances) -> Option<Discard> {
        if let Some((what, wanted, found)) = run.deviation {
            return Some(Discard::Throttled(format!("{what} {found} kHz instead of {wanted}")));
        }
        let above = |value: Option<f64>, limit: Option<f64>| {
            value.filter(|v| limit.is_some_and(|l| *v > l))
        };
        if let Some(t) = above(run.max_temp_c, self.max_temp_c) {
            return Some(Discard::Hot(t));
        }
        if let Some(load) = above(run.load, self.max_load) {
            return Some(Discard::Busy(load));
        }
        let share = run.span.map(|s| s.cpu_s / (f64::from(run.threads) * s.wall_s));
        let low = share.filter(|s| self.min_cpu_share.is_some_and(|least| *s < least));
        low.map(Discard::Disturbed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_discards_and_none_does_when_off() {
        let rules = Rules { min_cpu_share: Some(0.9), max_load: Some(2.0), max_temp_c: Some(70.0) };
        let span = Span { begin_unix_s: 0.0, wall_s: 1.0, cpu_s: 1.9 };
        let good = Circumstances {
            span: Some(span),
            threads: 2,
            load: Some(1.0),
            max_temp_c: Some(69.0),
            deviation: None,
        };
        assert_eq!(rules.judge(&good), None);
        let slow = Circumstances { span: Some(Span { cpu_s: 1.5, ..span }), ..good };
        assert_eq!(rules.judge(&slow), Some(Discard::Disturbed(0.75)));
        let busy = Circumstances { load: Some(2.5), ..good };
        assert_eq!(rules.judge(&busy), Some(Discard::Busy(2.5)));
        let hot = Circumstances { max_temp_c: Some(71.0), ..good };
        assert_eq!(rules.judge(&hot), Some(Discard::Hot(71.0)));
        let off = Rules { min_cpu_share: None, max_load: None, max_temp_c: None };
        for run in [slow, busy, hot] {
            assert_eq!(off.judge(&run), None);
        }
        let fell = Circumstances { deviation: Some(("memory", 2, 1)), ..good };
        assert!(matches!(off.judge(&fell), Some(Discard::Throttled(_))));
    }
}
