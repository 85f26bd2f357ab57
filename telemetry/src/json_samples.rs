//! Sampled telemetry in one JSON document: an array of objects, alone or as `raw_data` beside
//! statistics, as NVML loggers in Python write it. Such files are small; they are read whole.

use serde_json::{Map, Value};

use crate::csv_samples::{Recognised, number, recognise_column};
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
        let mut tally = Tally::default();
        let document = document(bytes, &mut tally)?;
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

    fn take(
        &mut self,
        cells: &Map<String, Value>,
        row: &mut Row,
        repairs: &mut Vec<&'static str>,
    ) -> Result<(), &'static str> {
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
                    let quantity = self.channels[at].quantity;
                    row.values[at] = number(text.trim().as_bytes(), quantity, scale, repairs);
                }
                Recognised::Other => {}
            }
        }
        if row.values.iter().all(|v| v.is_nan()) { Err("no known quantity") } else { Ok(()) }
    }
}

/// The document, or the array of the objects of JSON lines.
fn document(bytes: &[u8], tally: &mut Tally) -> Result<Value, Error> {
    let fail = |e| Error::invalid(format!("not a JSON document: {e}"));
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Value>();
    let first = values.next().transpose().map_err(fail)?.unwrap_or(Value::Null);
    let mut rows = vec![first];
    for value in values {
        match value {
            Ok(row) if rows[0].is_object() => rows.push(row),
            // Not lines of samples: what follows the document is a fault.
            Ok(_) => return Err(Error::invalid("not a JSON document: more than one value")),
            Err(e) if rows.len() == 1 => return Err(fail(e)),
            Err(e) => {
                tally.warn(format!("the log is torn after sample {}: {e}", rows.len()));
                break;
            }
        }
    }
    Ok(match rows.pop() {
        Some(only) if rows.is_empty() => only,
        Some(last) => {
            rows.push(last);
            Value::Array(rows)
        }
        None => Value::Null,
    })
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
            let mut repairs = Vec::new();
            let outcome = match &value {
                Value::Object(cells) => self.take(cells, row, &mut repairs),
                _ => Err("not an object"),
            };
            match outcome {
                Ok(()) => {
                    repairs.sort_unstable();
                    repairs.dedup();
                    self.tally.accept(&repairs);
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

    fn powers(text: &str) -> (Vec<Option<f64>>, Tally) {
        let mut r = JsonSamples::new(text.as_bytes()).unwrap();
        let (mut row, mut powers) = (Row::default(), Vec::new());
        while r.read(&mut row).unwrap() {
            let at = crate::channel(r.channels(), "gpu_board_mw").unwrap();
            powers.push(row.get(at));
        }
        (powers, r.tally().clone())
    }

    #[test]
    fn lines_of_objects_are_samples_and_a_torn_last_one_is_named() {
        let (found, tally) =
            powers("{\"t\":1,\"power_draw\":5}\n{\"t\":2,\"power_draw\":\"6.5 W\"}\n{\"t\":3,\"po");
        assert_eq!(found, [Some(5000.0), Some(6500.0)]);
        assert!(tally.warnings[0].contains("torn after sample 2"), "{:?}", tally.warnings);
    }

    #[test]
    fn text_for_no_value_is_counted() {
        let (found, tally) = powers(
            "[{\"t\":1,\"power_draw\":\"[N/A]\",\"temperature\":50},\
             {\"t\":2,\"power_draw\":1e12,\"temperature\":50},\
             {\"t\":3,\"power_draw\":null,\"temperature\":50}]",
        );
        assert_eq!(found, [None; 3]);
        assert_eq!(tally.repairs.values().sum::<u64>(), 2, "{tally:?}");
    }

    #[test]
    fn other_documents_are_refused() {
        for bad in ["", "3", "{\"a\":1}", "[1", "[1] [2]", "{\"t\":1} x"] {
            assert!(JsonSamples::new(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
