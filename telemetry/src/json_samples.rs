//! Sampled telemetry in one JSON document: an array of objects, alone or as `raw_data` beside
//! statistics, as NVML loggers in Python write it. Such files are small; they are read whole.

use serde_json::{Map, Value};

use crate::csv_samples::{Recognised, recognise_column};
use crate::time::parse_stamp;
use crate::{Channel, Error, Row, SampleReader, Stamp, Tally};

/// What the logger itself says of its run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stated {
    /// Sampling interval asked for, s.
    pub interval_s: f64,
    /// Length of the run, s.
    pub duration_s: f64,
    /// Samples taken.
    pub samples: f64,
    /// Mean power, W.
    pub mean_w: f64,
    /// Energy as stated, in whatever unit.
    pub energy: f64,
}

impl Stated {
    /// Energy of the run by its real length, J.
    pub fn energy_j(&self) -> f64 {
        self.mean_w * self.duration_s
    }

    /// The fault, if the stated energy is not that of the run: usually mean power × samples ×
    /// *nominal* interval, though real samples lay further apart.
    pub fn fault(&self) -> Option<String> {
        let near = |a: f64, b: f64| (a - b).abs() <= 0.02 * b.abs();
        let in_any_unit =
            |j: f64| [1.0, 1e3, 3.6e3, 3.6e6].iter().any(|u| near(self.energy, j / u));
        let (real, nominal) = (self.energy_j(), self.mean_w * self.samples * self.interval_s);
        if in_any_unit(real) {
            return None;
        }
        let cause = if in_any_unit(nominal) {
            format!(
                "is mean power × {} samples × the nominal interval of {} s",
                self.samples, self.interval_s
            )
        } else {
            "fits neither the length of the run nor the nominal interval".to_owned()
        };
        Some(format!(
            "the stated energy {} {cause}; over the {} s of the run it is {:.1} kJ",
            self.energy,
            self.duration_s,
            real / 1e3
        ))
    }
}

/// Reader of a JSON document; see [`SampleReader`].
#[derive(Debug)]
pub struct JsonSamples {
    rows: std::vec::IntoIter<Value>,
    number: u64,
    channels: Vec<Channel>,
    tally: Tally,
    stated: Option<Stated>,
}

impl JsonSamples {
    /// Reads a document.
    ///
    /// # Errors
    /// Not JSON, or no array of objects in it.
    pub fn new(bytes: &[u8]) -> Result<Self, Error> {
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
        let document: Value = serde_json::from_slice(bytes)
            .map_err(|e| Error::invalid(format!("not a JSON document: {e}")))?;
        let mut tally = Tally::default();
        let stated = stated(&document);
        if let Some(fault) = stated.and_then(|s| s.fault()) {
            tally.warn(fault);
        }
        let rows = match document {
            Value::Array(rows) => Some(rows),
            Value::Object(mut o) => {
                ["raw_data", "samples", "data"].iter().find_map(|k| match o.remove(*k) {
                    Some(Value::Array(rows)) => Some(rows),
                    _ => None,
                })
            }
            _ => None,
        };
        let rows = rows.ok_or_else(|| {
            Error::invalid("no array of samples (alone, or as raw_data, samples or data)")
        })?;
        Ok(JsonSamples { rows: rows.into_iter(), number: 0, channels: Vec::new(), tally, stated })
    }

    /// What the logger says of its run, if it does.
    pub fn stated(&self) -> Option<Stated> {
        self.stated
    }

    fn take(&mut self, cells: &Map<String, Value>, row: &mut Row) -> Result<(), &'static str> {
        row.stamp = Stamp::Absent;
        row.values.clear();
        row.values.resize(self.channels.len(), f64::NAN);
        for (key, value) in cells {
            let text = match value {
                Value::Number(n) => n.to_string(),
                Value::String(s) => s.clone(),
                _ => continue,
            };
            match recognise_column(key) {
                Recognised::Time(unit) => {
                    row.stamp =
                        parse_stamp(text.as_bytes(), unit).ok_or("the time cannot be read")?;
                }
                Recognised::Value(channel, scale) => {
                    let at = match crate::channel(&self.channels, &channel.name) {
                        Some(i) => i,
                        None => {
                            self.channels.push(channel);
                            row.values.push(f64::NAN);
                            self.channels.len() - 1
                        }
                    };
                    if let Some(v) = crate::text::float(text.trim().as_bytes()) {
                        row.values[at] = v * scale;
                    }
                }
                Recognised::Other => {}
            }
        }
        if row.values.iter().all(|v| v.is_nan()) { Err("no known quantity") } else { Ok(()) }
    }
}

fn stated(document: &Value) -> Option<Stated> {
    let statistics = document.get("statistics")?;
    let power = statistics.get("power_draw")?;
    Some(Stated {
        interval_s: document.get("interval")?.as_f64()?,
        duration_s: statistics.get("monitoring_duration")?.as_f64()?,
        samples: statistics.get("sample_count")?.as_f64()?,
        mean_w: power.get("avg")?.as_f64()?,
        energy: power.get("total_energy")?.as_f64()?,
    })
}

impl SampleReader for JsonSamples {
    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn read(&mut self, row: &mut Row) -> Result<bool, Error> {
        while let Some(value) = self.rows.next() {
            self.number += 1;
            row.line = self.number;
            let outcome = match &value {
                Value::Object(cells) => self.take(cells, row),
                _ => Err("not an object"),
            };
            match outcome {
                Ok(()) => {
                    self.tally.accept(&[]);
                    return Ok(true);
                }
                Err(reason) => {
                    self.tally.refuse(self.number, reason, value.to_string().as_bytes());
                }
            }
        }
        Ok(false)
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_by_nominal_interval_is_found() {
        let bytes = include_bytes!("../tests/data/cases/nvml/nominal_interval.json");
        let mut r = JsonSamples::new(bytes).unwrap();
        let stated = r.stated().unwrap();
        assert!((stated.energy_j() - 51683.0).abs() < 1.0);
        let fault = stated.fault().unwrap();
        assert!(
            fault.contains("nominal interval of 0.1 s") && fault.contains("51.7 kJ"),
            "{fault}"
        );
        assert_eq!(r.tally().warnings, [fault]);
        let mut row = Row::default();
        let mut n = 0;
        while r.read(&mut row).unwrap() {
            let power = crate::channel(r.channels(), "gpu_board_mw").unwrap();
            assert_eq!(row.get(power), Some(80700.0));
            n += 1;
        }
        assert_eq!(n, 5);
        let right = Stated { energy: 51.683, ..stated };
        assert_eq!(right.fault(), None);
    }

    #[test]
    fn other_documents_are_refused() {
        for bad in ["", "3", "{\"a\":1}", "[1"] {
            assert!(JsonSamples::new(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
