//! Temperature traces: what a thermal model is fitted on, second by second.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use crate::sheet::{self, Sheet, SheetRow};
use crate::table_error::{TableError, Warning, shown};

/// Columns that a file must have; `ambient_celsius` is optional.
const COLUMNS: [&str; 5] = ["session", "model", "time_s", "shell_celsius", "accel_power_w"];
/// Optional columns.
const OPTIONAL: [&str; 1] = ["ambient_celsius"];
/// Rows further apart than this are not joined by a straight line: the trace is cut there.
const LONGEST_GAP_S: f64 = 2.5;
/// Temperatures outside are of another unit or from a failed sensor, °C.
const PLAUSIBLE_CELSIUS: (f64, f64) = (-40.0, 150.0);
/// Powers outside are of another unit, W.
const PLAUSIBLE_W: (f64, f64) = (0.0, 1_000.0);

/// A second of a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceSecond {
    /// Shell temperature at its beginning, °C; on boards, of the hottest surface.
    pub shell_celsius: f64,
    /// Mean accelerator power during it, W.
    pub accel_power_w: f64,
}

/// An unbroken stretch of one session: one model at one ambient temperature.
#[derive(Clone, Debug, PartialEq)]
pub struct TemperatureTrace {
    /// Name of the session.
    pub session: String,
    /// Model that decoded.
    pub model: String,
    /// Temperature of the air, °C, if it is known.
    pub ambient_celsius: Option<f64>,
    /// One entry per second.
    pub seconds: Vec<TraceSecond>,
}

impl TemperatureTrace {
    /// Reads traces from a CSV file.
    ///
    /// | column | meaning |
    /// |---|---|
    /// | `session` | name of an uninterrupted recording |
    /// | `model` | model that decoded, one per session |
    /// | `time_s` | seconds, rising within a session; any rate of at least one row per 2.5 s |
    /// | `shell_celsius` | shell temperature at that time; on boards, of the hottest surface |
    /// | `accel_power_w` | accelerator power from that time on; 0 while nothing is decoded |
    /// | `ambient_celsius` | temperature of the air, one per session; the column or its cells may be left out |
    ///
    /// Power is the quantity that the platform's measurement table calls `accel_power_w`, or its
    /// `power_w` if it has no other: the device predicts temperatures from what it predicts
    /// there. Columns may stand in any order, sessions may be interleaved, and unknown columns
    /// are left out with a warning. Rows are resampled to full seconds: temperatures on the
    /// straight line between rows, powers as means. Where rows are more than 2.5 s apart the
    /// session is cut in two.
    ///
    /// # Errors
    /// The first fault, with file, row, column and value: a missing column, text or no finite
    /// number, values that no sensor gives, time that does not rise, or a session with two models
    /// or ambient temperatures.
    pub fn read(path: &Path) -> Result<(Vec<Self>, Vec<Warning>), TableError> {
        Self::read_from(sheet::open(path)?, &path.display().to_string())
    }

    /// [`TemperatureTrace::read`] from any reader; `display_name` stands for the file in errors.
    ///
    /// # Errors
    /// As [`TemperatureTrace::read`].
    pub fn read_from(
        reader: impl Read,
        display_name: &str,
    ) -> Result<(Vec<Self>, Vec<Warning>), TableError> {
        sheet::read_text(reader).and_then(|text| parse(&text)).map_err(|e| e.in_file(display_name))
    }
}

fn parse(text: &str) -> Result<(Vec<TemperatureTrace>, Vec<Warning>), TableError> {
    let sheet = Sheet::parse(text, &COLUMNS, &OPTIONAL)?;
    let mut sessions: Vec<Session<'_>> = Vec::new();
    let mut index_of: BTreeMap<&str, usize> = BTreeMap::new();
    for row in sheet.rows() {
        let name = row.text("session")?;
        let index = *index_of.entry(name).or_insert(sessions.len());
        if index == sessions.len() {
            sessions.push(Session::begin(name, row)?);
        }
        sessions[index].add(row)?;
    }
    let traces = sessions.iter().flat_map(Session::traces).collect();
    Ok((traces, sheet.unknown_columns().into_iter().collect()))
}

/// A row as it stands in the file.
#[derive(Clone, Copy)]
struct Sample {
    time_s: f64,
    shell_celsius: f64,
    accel_power_w: f64,
}

struct Session<'a> {
    name: &'a str,
    model: &'a str,
    ambient_celsius: Option<f64>,
    first: SheetRow<'a>,
    samples: Vec<Sample>,
}

impl<'a> Session<'a> {
    fn begin(name: &'a str, first: SheetRow<'a>) -> Result<Self, TableError> {
        let ambient_celsius = first
            .optional_number("ambient_celsius")?
            .map(|t| within(&first, "ambient_celsius", t, PLAUSIBLE_CELSIUS, "°C"))
            .transpose()?;
        let model = first.text("model")?;
        Ok(Session { name, model, ambient_celsius, first, samples: Vec::new() })
    }

    fn add(&mut self, row: SheetRow<'a>) -> Result<(), TableError> {
        for column in ["model", "ambient_celsius"] {
            let (a, b) = (self.first.optional(column), row.optional(column));
            if a != b {
                return Err(row.error(
                    column,
                    b.unwrap_or(""),
                    format!(
                        "differs from '{}' in row {}: a session is of one model at one ambient \
                         temperature; give these rows another session name",
                        shown(a.unwrap_or("")),
                        self.first.line
                    ),
                ));
            }
        }
        let time_s = row.number("time_s")?;
        if let Some(last) = self.samples.last()
            && time_s <= last.time_s
        {
            return Err(row.error(
                "time_s",
                &time_s.to_string(),
                format!(
                    "is not after {} s of the session's row before: sort the rows by time, or \
                     give each recording its own session name",
                    last.time_s
                ),
            ));
        }
        let number = |column, range, unit| within(&row, column, row.number(column)?, range, unit);
        self.samples.push(Sample {
            time_s,
            shell_celsius: number("shell_celsius", PLAUSIBLE_CELSIUS, "°C")?,
            accel_power_w: number("accel_power_w", PLAUSIBLE_W, "W")?,
        });
        Ok(())
    }

    /// The session's stretches without a gap, by seconds.
    fn traces(&self) -> impl Iterator<Item = TemperatureTrace> {
        self.samples.chunk_by(|a, b| b.time_s - a.time_s <= LONGEST_GAP_S).map(|samples| {
            TemperatureTrace {
                session: self.name.to_owned(),
                model: self.model.to_owned(),
                ambient_celsius: self.ambient_celsius,
                seconds: resampled(samples),
            }
        })
    }
}

fn within(
    row: &SheetRow<'_>,
    column: &'static str,
    value: f64,
    (low, high): (f64, f64),
    unit: &str,
) -> Result<f64, TableError> {
    if (low..=high).contains(&value) {
        return Ok(value);
    }
    let message = format!("must be from {low} to {high} {unit}; check the unit, or drop the row");
    Err(row.error(column, &value.to_string(), message))
}

/// Full seconds from the first sample on.
fn resampled(samples: &[Sample]) -> Vec<TraceSecond> {
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else { return Vec::new() };
    let count = (last.time_s - first.time_s).floor() as usize + 1;
    let mut seconds = vec![TraceSecond { shell_celsius: 0.0, accel_power_w: 0.0 }; count];
    for (i, from) in samples.iter().enumerate() {
        let begin = from.time_s - first.time_s;
        // The last sample's power is taken to hold to the end of its second.
        let to = samples.get(i + 1).unwrap_or(from);
        let end = samples.get(i + 1).map_or(count as f64, |to| to.time_s - first.time_s);
        let reached = (end.ceil() as usize).min(count);
        for (second, slot) in seconds.iter_mut().enumerate().take(reached).skip(begin as usize) {
            let at = second as f64;
            slot.accel_power_w += from.accel_power_w * (end.min(at + 1.0) - begin.max(at));
            if at >= begin {
                let rise = (to.shell_celsius - from.shell_celsius) / (end - begin);
                slot.shell_celsius = from.shell_celsius + rise * (at - begin);
            }
        }
    }
    seconds
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test's way to fail
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEADER: &str = "session,model,time_s,shell_celsius,accel_power_w\n";

    fn read(rows: &str) -> Vec<TemperatureTrace> {
        TemperatureTrace::read_from(format!("{HEADER}{rows}").as_bytes(), "t.csv").unwrap().0
    }

    fn seconds(trace: &TemperatureTrace) -> Vec<(f64, f64)> {
        trace.seconds.iter().map(|s| (s.shell_celsius, s.accel_power_w)).collect()
    }

    #[test]
    fn rows_of_any_rate_become_seconds() {
        // 1.5 s apart: temperatures on the line, powers as means.
        let traces = read("a,m,10,40,1\na,m,11.5,43,3\na,m,13,40,5\n");
        assert_eq!(seconds(&traces[0]), [(40.0, 1.0), (42.0, 2.0), (42.0, 3.0), (40.0, 5.0)]);
        // Several rows within a second.
        let traces = read("a,m,0,40,1\na,m,0.25,40.5,2\na,m,0.75,41.5,4\na,m,1,42,6\n");
        assert_eq!(seconds(&traces[0]), [(40.0, 2.25), (42.0, 6.0)]);
        // One row is one second.
        assert_eq!(seconds(&read("a,m,5,40,1\n")[0]), [(40.0, 1.0)]);
    }

    #[test]
    fn gaps_and_sessions_part_traces() {
        let traces = read("a,m,0,40,1\nb,n,0,30,2\na,m,1,41,1\na,m,3.6,39,1\nb,n,2.5,31,2\n");
        let of: Vec<(&str, &str, usize)> = traces
            .iter()
            .map(|t| (t.session.as_str(), t.model.as_str(), t.seconds.len()))
            .collect();
        assert_eq!(of, [("a", "m", 2), ("a", "m", 1), ("b", "n", 3)]);
        assert_eq!(traces[0].ambient_celsius, None);
    }

    proptest! {
        /// However a straight line and a constant power are sampled, they are read as they were.
        #[test]
        fn sampling_does_not_matter(steps in prop::collection::vec(0.05..2.4f64, 1..60)) {
            let mut time = 3.0;
            let mut rows = format!("a,m,{time},40,2\n");
            for step in &steps {
                time += step;
                rows += &format!("a,m,{time},{},2\n", 40.0 + 0.01 * (time - 3.0));
            }
            let traces = read(&rows);
            prop_assert_eq!(traces.len(), 1);
            prop_assert_eq!(traces[0].seconds.len(), (time - 3.0).floor() as usize + 1);
            for (second, (shell, power)) in seconds(&traces[0]).into_iter().enumerate() {
                prop_assert!((shell - 40.0 - 0.01 * second as f64).abs() < 1e-6, "{shell}");
                prop_assert!((power - 2.0).abs() < 1e-6, "{power}");
            }
        }

        /// Any text is read or refused.
        #[test]
        fn any_rows_end_well(rows in "([a-b],m,[0-9eE.+-]{0,8},[0-9eE.+-]{0,8},[0-9eE.+-]{0,8}\n){0,6}") {
            let _ = TemperatureTrace::read_from(format!("{HEADER}{rows}").as_bytes(), "t.csv");
        }
    }
}
