//! What a record must satisfy, read from `gates.toml`.
//!
//! ```toml
//! confidence = 0.95   # of the paired bootstrap behind `max_loss`; these three are the defaults
//! resamples = 2000
//! seed = 1
//!
//! [[gate]]
//! metric = "throughput_mape_percent"
//! max = 6.0           # absolute: the value itself
//! max_loss = 0.3      # against the baseline: by how much it may get worse, in its own unit
//!
//! [[gate]]
//! metric = "mean_tau_b"
//! platform = "orin"   # only there
//! min = 0.9
//! max_loss_percent = 2.0
//!
//! [[gate]]
//! metric = "thumbv7em.predictors_bytes" # measured; needs `report attach`
//! max = 131072
//!
//! [[slice]]
//! name = "low-memory"
//! mem_mhz = [0, 700]  # also accel_mhz, total_params_m, model_prefix
//!
//! [[gate]]
//! metric = "power_mape_percent"
//! slice = "low-memory"
//! max = 5.0
//! ```

use serde::Deserialize;

use crate::Error;
use crate::bootstrap::Settings;
use crate::metric::Metric;
use crate::slice::Slice;

/// A checked policy.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) confidence: f64,
    pub(crate) bootstrap: Settings,
    pub(crate) gates: Vec<Gate>,
}

/// One gate with at least one limit.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) metric: Metric,
    pub(crate) platform: Option<String>,
    pub(crate) slice: Option<Slice>,
    pub(crate) min: Option<f64>,
    pub(crate) max: Option<f64>,
    pub(crate) loss: Option<MaxLoss>,
}

/// By how much a metric may be worse than the baseline's.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MaxLoss {
    /// In units of the metric.
    Absolute(f64),
    /// In percent of the baseline's value.
    Percent(f64),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PolicyFile {
    #[serde(default = "default_confidence")]
    confidence: f64,
    #[serde(default = "default_resamples")]
    resamples: u32,
    #[serde(default = "default_seed")]
    seed: u64,
    #[serde(default)]
    gate: Vec<GateEntry>,
    #[serde(default)]
    slice: Vec<Slice>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GateEntry {
    metric: String,
    platform: Option<String>,
    slice: Option<String>,
    min: Option<f64>,
    max: Option<f64>,
    max_loss: Option<f64>,
    max_loss_percent: Option<f64>,
}

fn default_confidence() -> f64 {
    0.95
}

fn default_resamples() -> u32 {
    2000
}

fn default_seed() -> u64 {
    1
}

impl Default for Policy {
    /// What holds for every platform: flash within its budget.
    fn default() -> Self {
        Policy {
            confidence: default_confidence(),
            bootstrap: Settings { resamples: default_resamples(), seed: default_seed() },
            gates: vec![Gate {
                metric: Metric::FlashPercent,
                platform: None,
                slice: None,
                min: None,
                max: Some(100.0),
                loss: None,
            }],
        }
    }
}

impl Policy {
    /// Parses `gates.toml`. Unknown keys, metrics and slices are refused, as are a gate without a
    /// limit, a slice of everything or nothing, two of one name, and a slice of a metric that is
    /// not known for its rows: a typing error must not switch a gate off.
    pub fn parse(text: &str) -> Result<Policy, Error> {
        let file: PolicyFile =
            toml::from_str(text).map_err(|e| Error::Policy(e.to_string().trim().to_owned()))?;
        if !(file.confidence > 0.5 && file.confidence < 1.0) {
            return Err(Error::Policy(format!(
                "confidence is {}; it must lie between 0.5 and 1",
                file.confidence
            )));
        }
        if !(100..=1_000_000).contains(&file.resamples) {
            return Err(Error::Policy(format!(
                "resamples is {}; 100 to 1000000 are possible",
                file.resamples
            )));
        }
        if file.gate.is_empty() {
            return Err(Error::Policy("it has no [[gate]]".to_owned()));
        }
        for (i, slice) in file.slice.iter().enumerate() {
            let refused = |why: String| {
                Error::Policy(format!("[[slice]] number {}, {:?}: {why}", i + 1, slice.name))
            };
            slice.check().map_err(refused)?;
            if let Some(first) = file.slice[..i].iter().position(|s| s.name == slice.name) {
                return Err(refused(format!(
                    "number {} has the same name; give every slice one of its own",
                    first + 1
                )));
            }
        }
        let gates = file
            .gate
            .into_iter()
            .map(|entry| entry.check(&file.slice))
            .collect::<Result<_, _>>()?;
        Ok(Policy {
            confidence: file.confidence,
            bootstrap: Settings { resamples: file.resamples, seed: file.seed },
            gates,
        })
    }

    /// Whether some gate needs a baseline.
    pub fn needs_baseline(&self) -> bool {
        self.gates.iter().any(|g| g.loss.is_some())
    }
}

impl GateEntry {
    fn check(self, slices: &[Slice]) -> Result<Gate, Error> {
        let name = &self.metric;
        let metric = Metric::parse(name).ok_or_else(|| {
            let known: Vec<String> = Metric::all().iter().map(Metric::to_string).collect();
            Error::Policy(format!("unknown metric {name:?}; known are {}", known.join(", ")))
        })?;
        let limits = [self.min, self.max, self.max_loss, self.max_loss_percent];
        if limits.iter().all(Option::is_none) {
            return Err(Error::Policy(format!(
                "the gate on {name} has no limit; give min, max, max_loss or max_loss_percent"
            )));
        }
        if limits.iter().flatten().any(|v| !v.is_finite()) {
            return Err(Error::Policy(format!("a limit of the gate on {name} is not finite")));
        }
        let loss = match (self.max_loss, self.max_loss_percent) {
            (Some(_), Some(_)) => {
                return Err(Error::Policy(format!(
                    "the gate on {name} has both max_loss and max_loss_percent; give one"
                )));
            }
            (Some(v), None) => Some(MaxLoss::Absolute(v)),
            (None, Some(v)) => Some(MaxLoss::Percent(v)),
            (None, None) => None,
        };
        let slice = match self.slice {
            None => None,
            Some(wanted) => match slices.iter().find(|s| s.name == wanted) {
                Some(slice) if !metric.has(slice) => {
                    let able = Metric::all().into_iter().filter(|m| m.has(slice));
                    let able: Vec<String> = able.map(|m| m.to_string()).collect();
                    let clocks = match slice.selects_points() {
                        true => ", which selects by clocks",
                        false => "",
                    };
                    return Err(Error::Policy(format!(
                        "{name} is not known for slice {wanted:?}{clocks}; drop the slice, or \
                         gate one of {}",
                        able.join(", ")
                    )));
                }
                Some(slice) => Some(slice.clone()),
                None => {
                    return Err(Error::Policy(format!(
                        "the gate on {name} names slice {wanted:?}, which no [[slice]] defines"
                    )));
                }
            },
        };
        Ok(Gate { metric, platform: self.platform, slice, min: self.min, max: self.max, loss })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_example_parses() {
        let source = include_str!("policy.rs");
        let example: String = source
            .lines()
            .skip_while(|l| *l != "//! ```toml")
            .skip(1)
            .take_while(|l| *l != "//! ```")
            .map(|l| format!("{}\n", l.trim_start_matches("//!").trim_start()))
            .collect();
        let policy = Policy::parse(&example).unwrap();
        assert_eq!(policy.gates.len(), 4);
        assert!(policy.needs_baseline());
        assert!(policy.gates[3].slice.is_some());
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("", "no [[gate]]"),
            ("[[gate]]\nmetric = \"mape\"\nmax = 1", "unknown metric \"mape\""),
            ("[[gate]]\nmetric = \"mean_tau_b\"", "no limit"),
            ("[[gate]]\nmetric = \"mean_tau_b\"\nmin = nan", "not finite"),
            ("[[gate]]\nmetric = \"mean_tau_b\"\nmaximum = 1", "maximum"),
            ("[[gate]]\nmetric = \"mean_tau_b\"\nmin = 0.9\nslice = \"x\"", "\"x\""),
            ("[[gate]]\nmetric = \"mean_tau_b\"\nmax_loss = 1\nmax_loss_percent = 1", "both"),
            ("confidence = 1.0\n[[gate]]\nmetric = \"mean_tau_b\"\nmin = 0.9", "confidence"),
            ("[[gate]", "line 1"),
        ] {
            let error = Policy::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    /// A gate on throughput, and slices.
    fn with_slices(slices: &[&str]) -> Result<Policy, Error> {
        let gate = "[[gate]]\nmetric = \"throughput_mape_percent\"\nmax = 1\n".to_owned();
        let slices = slices.iter().map(|slice| format!("[[slice]]\n{slice}\n"));
        Policy::parse(&slices.fold(gate, |text, slice| text + &slice))
    }

    #[test]
    fn slices_that_select_nothing_or_everything_are_refused() {
        let good = "name = \"good\"\nmem_mhz = [0, inf]";
        assert!(with_slices(&[good, "name = \"b\"\nmodel_prefix = \"q\""]).is_ok());
        assert!(with_slices(&[good, "name = \"b\"\naccel_mhz = [306, 306]"]).is_ok());
        let mut bad = vec![("".to_owned(), "no condition"), ("model_prefix = \"\"".into(), "\"\"")];
        // An empty prefix is no condition beside another one either.
        bad.push(("mem_mhz = [0, 1]\nmodel_prefix = \"\"".into(), "model_prefix is \"\""));
        for range in ["mem_mhz", "accel_mhz", "total_params_m"] {
            bad.push((format!("{range} = [nan, 700]"), "give two numbers"));
            bad.push((format!("{range} = [0, nan]"), "give two numbers"));
            bad.push((format!("{range} = [700, 0]"), "lower end first"));
        }
        for (condition, says) in bad {
            let slice = format!("name = \"low\"\n{condition}");
            let error = with_slices(&[good, &slice]).unwrap_err().to_string();
            assert!(error.contains("[[slice]] number 2, \"low\": "), "{error}");
            assert!(error.contains(says), "{error}");
        }
        let error = with_slices(&[good, "name = \"b\"\nmem_mhz = [0, 1]", good]);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("[[slice]] number 3, \"good\": number 1 has the same"), "{error}");
    }

    /// Known when the policy is read, so not left to be "missing" in every record.
    #[test]
    fn a_slice_that_no_record_knows_a_metric_for_is_refused() {
        let record = crate::fixture::record(crate::fixture::SMALL, 1);
        for (condition, able) in [
            ("mem_mhz = [0, 4000]", 3),
            ("accel_mhz = [0, 4000]\nmodel_prefix = \"syn\"", 3),
            ("model_prefix = \"syn\"", 6),
            ("total_params_m = [0, inf]", 6),
        ] {
            let mut accepted = 0;
            for metric in Metric::all() {
                let policy = Policy::parse(&format!(
                    "[[slice]]\nname = \"s\"\n{condition}\n\
                     [[gate]]\nmetric = \"{metric}\"\nslice = \"s\"\nmin = -1"
                ));
                match policy {
                    Ok(policy) => {
                        accepted += 1;
                        let checks = crate::check(&policy, &record, None).unwrap();
                        assert!(!checks[0].detail.contains("missing"), "{metric} {condition}");
                    }
                    Err(error) => {
                        let error = error.to_string();
                        let says = format!("{metric} is not known for slice \"s\"");
                        assert!(error.contains(&says), "{error}");
                        assert!(error.contains("throughput_mape_percent"), "{error}");
                    }
                }
            }
            assert_eq!(accepted, able, "{condition}");
        }
    }
}
