//! The papers' figures and tables for our devices (`evaluation.json`): exhibits in which every
//! value says where it comes from.
//!
//! A column or a series has exactly one [`Provenance`]: published and simulated values cannot
//! share one. Numbers are finite or absent (`null`), never NaN; field order is the order of the
//! structs, so the same evaluation gives the same bytes.

mod chart;
mod table;

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::record::{parse_versioned, read_text};

pub use chart::{Axis, Bar, Chart, Drawing, FiveNumbers, NamedBox, Series};
pub use table::{Column, DataTable, Values};

/// Version of the evaluation's schema.
pub const EVALUATION_VERSION: u32 = 1;

/// Where the values of a column or series come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provenance {
    /// Printed in a paper.
    Published,
    /// Computed on a simulated device, or predicted by what was learnt from one.
    Simulated,
    /// Measured on hardware.
    Measured,
    /// Computed from values of different provenance, e.g. their difference.
    Compared,
}

impl Provenance {
    /// How headings and captions call it.
    pub fn label(self) -> &'static str {
        match self {
            Provenance::Published => "published",
            Provenance::Simulated => "SIMULATED",
            Provenance::Measured => "measured",
            Provenance::Compared => "compared",
        }
    }
}

/// One figure or table of a paper, for our devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exhibit {
    /// Name in lower case, digits and `_`, unique in the evaluation, e.g. `fig13`.
    pub id: String,
    /// Heading, e.g. `Speed and efficiency over QoE targets`.
    pub title: String,
    /// What it reproduces, e.g. `EnerInfer Figure 13`.
    pub source: String,
    /// What to see in it, and under which conditions its values were computed.
    pub caption: String,
    /// Its numbers.
    pub tables: Vec<DataTable>,
    /// Its pictures.
    pub charts: Vec<Chart>,
}

/// All exhibits of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// [`EVALUATION_VERSION`] of the writer.
    pub schema_version: u32,
    /// Version of the tool that wrote it.
    pub tool_version: String,
    /// Command that gives the same evaluation.
    pub command: String,
    /// Seed of everything random.
    pub seed: u64,
    /// Random-search trials per target and family behind the predictors; 0 if none were searched.
    pub trials: u32,
    /// The exhibits in the order of the report.
    pub exhibits: Vec<Exhibit>,
    /// What a reader should know, each a sentence (skipped parts, deviations).
    pub notes: Vec<String>,
}

impl Exhibit {
    /// Provenances of all its values, each once.
    pub fn provenances(&self) -> Vec<Provenance> {
        let mut all: Vec<Provenance> = self
            .tables
            .iter()
            .flat_map(DataTable::provenances)
            .chain(self.charts.iter().flat_map(Chart::provenances))
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn validate(&self) -> Result<(), Error> {
        let fault = |what: String| Err(Error::invalid(format!("exhibit {:?}: {what}", self.id)));
        if self.source.is_empty() {
            return fault("names no source".to_owned());
        }
        if self.tables.is_empty() && self.charts.is_empty() {
            return fault("has neither tables nor charts".to_owned());
        }
        let faults = self.tables.iter().map(DataTable::validate);
        for result in faults.chain(self.charts.iter().map(Chart::validate)) {
            if let Err(what) = result {
                return fault(what);
            }
        }
        Ok(())
    }

    fn ids(&self) -> impl Iterator<Item = &str> {
        let tables = self.tables.iter().map(|t| t.id.as_str());
        let charts = self.charts.iter().map(|c| c.id.as_str());
        std::iter::once(self.id.as_str()).chain(tables).chain(charts)
    }
}

impl Evaluation {
    /// Checks what the types do not say.
    ///
    /// # Errors
    /// A name that is not unique or no anchor, an exhibit without source or content, columns of
    /// different lengths, a number that is not finite.
    pub fn validate(&self) -> Result<(), Error> {
        let mut seen = std::collections::BTreeSet::new();
        for id in self.exhibits.iter().flat_map(Exhibit::ids) {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
            if id.is_empty() || !id.chars().all(plain) {
                return Err(Error::invalid(format!(
                    "exhibit or part {id:?}: a name is of lower-case letters, digits and `_`"
                )));
            }
            if !seen.insert(id) {
                return Err(Error::invalid(format!("two exhibits or parts are called {id:?}")));
            }
        }
        self.exhibits.iter().try_for_each(Exhibit::validate)
    }

    /// Pretty JSON with a final newline.
    ///
    /// # Errors
    /// As [`Evaluation::validate`]: what cannot be read back is not written.
    pub fn to_json(&self) -> Result<String, Error> {
        self.validate()?;
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|e| Error::invalid(format!("cannot encode the evaluation: {e}")))?;
        text.push('\n');
        Ok(text)
    }

    /// Parses and checks an evaluation; another schema version is refused by number.
    ///
    /// # Errors
    /// Anything but an evaluation of [`EVALUATION_VERSION`] that [`Evaluation::validate`] accepts.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let evaluation: Evaluation = parse_versioned(
            text,
            EVALUATION_VERSION,
            ("an evaluation of exhibits", "the evaluation.json of `train evaluate`"),
            |e: &Evaluation| e.schema_version,
        )?;
        evaluation.validate()?;
        Ok(evaluation)
    }

    /// Reads an evaluation file.
    ///
    /// # Errors
    /// The file cannot be read or is too large, or as [`Evaluation::from_json`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::from_json(&read_text(path)?)
            .map_err(|e| Error::invalid(format!("{}: {e}", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluation() -> Evaluation {
        Evaluation {
            schema_version: EVALUATION_VERSION,
            tool_version: "0".to_owned(),
            command: "train evaluate --all".to_owned(),
            seed: 1,
            trials: 2,
            exhibits: vec![Exhibit {
                id: "table2".to_owned(),
                title: "Policies".to_owned(),
                source: "EnerInfer Table 2".to_owned(),
                caption: String::new(),
                tables: vec![DataTable {
                    id: "table2_h_phone".to_owned(),
                    caption: "h_phone".to_owned(),
                    columns: vec![
                        Column::key("Model", ["a", "b"]),
                        Column::numbers("Speed", "tok/s", Provenance::Published, 1, [1.0, 2.0]),
                        Column::numbers("Speed", "tok/s", Provenance::Simulated, 1, [1.1, 2.1]),
                        Column::optional("Gap", "%", Provenance::Compared, 1, [Some(10.0), None]),
                    ],
                }],
                charts: vec![Chart {
                    id: "table2_chart".to_owned(),
                    caption: "Speed".to_owned(),
                    drawing: Drawing::Points {
                        x: Axis::new("Model", ""),
                        y: Axis::new("Speed", "tok/s"),
                        series: vec![Series::new(
                            "ours",
                            Provenance::Simulated,
                            [(1.0, 1.1), (2.0, 2.1)],
                        )],
                    },
                }],
            }],
            notes: Vec::new(),
        }
    }

    #[test]
    fn survives_the_file() {
        let before = evaluation();
        let text = before.to_json().unwrap();
        assert_eq!(Evaluation::from_json(&text).unwrap(), before);
        assert_eq!(
            before.exhibits[0].provenances(),
            [Provenance::Published, Provenance::Simulated, Provenance::Compared]
        );
    }

    #[test]
    fn another_version_is_refused_by_number() {
        let text = evaluation()
            .to_json()
            .unwrap()
            .replace("\"schema_version\": 1", "\"schema_version\": 7");
        let error = Evaluation::from_json(&text).unwrap_err().to_string();
        assert!(error.contains('7') && error.contains('1'), "{error}");
        assert!(Evaluation::from_json("[1]").unwrap_err().to_string().contains("evaluation.json"));
    }

    type Edit = fn(&mut Exhibit);

    #[test]
    fn faults_are_refused_in_reading_and_writing() {
        let edits: [(Edit, &str); 9] = [
            (|e| e.id = "Table 2".to_owned(), "lower-case"),
            (|e| e.charts[0].id = "table2".to_owned(), "called \"table2\""),
            (|e| e.source.clear(), "source"),
            (
                |e| {
                    e.tables.clear();
                    e.charts.clear();
                },
                "neither",
            ),
            (
                |e| e.tables[0].columns[0] = Column::key("Model", ["a"]),
                "\"Speed\" has 2 values, the first column 1",
            ),
            (|e| e.tables[0].columns.clear(), "no columns"),
            (
                |e| {
                    e.tables[0].columns[1] =
                        Column::numbers("x", "", Provenance::Measured, 1, [f64::NAN, 1.0]);
                },
                "not finite",
            ),
            (
                |e| {
                    e.tables[0].columns[1] =
                        Column { provenance: None, ..e.tables[0].columns[1].clone() }
                },
                "where its numbers come from",
            ),
            (
                |e| {
                    if let Drawing::Points { series, .. } = &mut e.charts[0].drawing {
                        series[0].points[0].1 = f64::INFINITY;
                    }
                },
                "not finite",
            ),
        ];
        for (edit, part) in edits {
            let mut bad = evaluation();
            edit(&mut bad.exhibits[0]);
            let error = bad.to_json().unwrap_err().to_string();
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}
