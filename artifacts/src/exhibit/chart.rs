//! Charts of exhibits as data.

use serde::{Deserialize, Serialize};

use super::Provenance;

/// A chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// Name in lower case, digits and `_`, unique in the evaluation.
    pub id: String,
    /// What is drawn.
    pub caption: String,
    /// The drawing.
    pub drawing: Drawing,
}

/// A value axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// What is drawn along it.
    pub label: String,
    /// Its unit; empty without one.
    pub unit: String,
    /// Whether it is logarithmic.
    #[serde(default)]
    pub log: bool,
}

/// Forms of charts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Drawing {
    /// Lines through the points of each series, in their order.
    Lines {
        /// Horizontal axis.
        x: Axis,
        /// Vertical axis.
        y: Axis,
        /// What is drawn.
        series: Vec<Series>,
    },
    /// The points alone.
    Points {
        /// Horizontal axis.
        x: Axis,
        /// Vertical axis.
        y: Axis,
        /// What is drawn.
        series: Vec<Series>,
    },
    /// Horizontal bars from top to bottom.
    Bars {
        /// Axis of the lengths.
        value: Axis,
        /// Decimals to show beside a bar.
        decimals: u8,
        /// The bars.
        bars: Vec<Bar>,
    },
    /// Horizontal boxes from quartile to quartile, with whiskers to the extremes.
    Boxes {
        /// Axis of the values.
        value: Axis,
        /// The boxes from top to bottom.
        boxes: Vec<NamedBox>,
    },
}

/// Points of one provenance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Name for the legend.
    pub name: String,
    /// Where its values come from.
    pub provenance: Provenance,
    /// `(x, y)` in the units of the axes.
    pub points: Vec<(f64, f64)>,
}

/// A bar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// Name beside it.
    pub name: String,
    /// Where its value comes from.
    pub provenance: Provenance,
    /// Length, not negative.
    pub value: f64,
}

/// A box of a box plot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NamedBox {
    /// Name beside it.
    pub name: String,
    /// Where its values come from.
    pub provenance: Provenance,
    /// The values summed up.
    pub summary: FiveNumbers,
}

/// Extremes, quartiles and median.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FiveNumbers {
    /// Smallest.
    pub min: f64,
    /// First quartile.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
    /// Largest.
    pub max: f64,
}

impl FiveNumbers {
    /// Of `values`; quartiles interpolate between order statistics (type 7). `None` without
    /// values.
    pub fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let at = |q: f64| {
            let at = q * last as f64;
            let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
            below + (above - below) * at.fract()
        };
        Some(FiveNumbers {
            min: at(0.0),
            q1: at(0.25),
            median: at(0.5),
            q3: at(0.75),
            max: at(1.0),
        })
    }

    fn all(&self) -> [f64; 5] {
        [self.min, self.q1, self.median, self.q3, self.max]
    }
}

impl Axis {
    /// A linear axis.
    pub fn new(label: &str, unit: &str) -> Self {
        Axis { label: label.to_owned(), unit: unit.to_owned(), log: false }
    }

    /// A logarithmic axis.
    pub fn log(label: &str, unit: &str) -> Self {
        Axis { log: true, ..Axis::new(label, unit) }
    }

    /// Label and unit.
    pub fn heading(&self) -> String {
        if self.unit.is_empty() {
            self.label.clone()
        } else {
            format!("{}, {}", self.label, self.unit)
        }
    }
}

impl Series {
    /// A series of points.
    pub fn new(
        name: &str,
        provenance: Provenance,
        points: impl IntoIterator<Item = (f64, f64)>,
    ) -> Self {
        Series { name: name.to_owned(), provenance, points: points.into_iter().collect() }
    }

    /// The cumulative distribution of `values`: the share of values, in percent, up to each.
    pub fn cdf(name: &str, provenance: Provenance, values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as f64;
        let points = sorted.into_iter().enumerate().map(|(i, v)| (v, 100.0 * (i as f64 + 1.0) / n));
        Series::new(name, provenance, points)
    }
}

impl Chart {
    /// Provenances of what it draws.
    pub fn provenances(&self) -> Vec<Provenance> {
        match &self.drawing {
            Drawing::Lines { series, .. } | Drawing::Points { series, .. } => {
                series.iter().map(|s| s.provenance).collect()
            }
            Drawing::Bars { bars, .. } => bars.iter().map(|b| b.provenance).collect(),
            Drawing::Boxes { boxes, .. } => boxes.iter().map(|b| b.provenance).collect(),
        }
    }

    pub(super) fn validate(&self) -> Result<(), String> {
        let fault = |what: &str| Err(format!("chart {:?} {what}", self.id));
        let (axes, finite, empty) = match &self.drawing {
            Drawing::Lines { x, y, series } | Drawing::Points { x, y, series } => {
                let mut points = series.iter().flat_map(|s| &s.points);
                let finite = points.all(|(x, y)| x.is_finite() && y.is_finite());
                (vec![x, y], finite, series.is_empty())
            }
            Drawing::Bars { value, bars, .. } => {
                if bars.iter().any(|b| b.value < 0.0) {
                    return fault("has a bar of negative length");
                }
                (vec![value], bars.iter().all(|b| b.value.is_finite()), bars.is_empty())
            }
            Drawing::Boxes { value, boxes } => {
                let mut sides = boxes.iter().map(|b| b.summary.all());
                if sides.clone().any(|s| !s.is_sorted()) {
                    return fault("has a box whose quartiles are not in order");
                }
                (vec![value], sides.all(|s| s.iter().all(|v| v.is_finite())), boxes.is_empty())
            }
        };
        if axes.iter().any(|a| a.label.is_empty()) {
            return fault("has an axis without label");
        }
        if empty {
            return fault("draws nothing");
        }
        if !finite {
            return fault("has a number not finite");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries() {
        assert_eq!(FiveNumbers::of(&[]), None);
        let five = FiveNumbers::of(&[5.0, 1.0, 2.0, 4.0, 3.0]).unwrap();
        assert_eq!(five.all(), [1.0, 2.0, 3.0, 4.0, 5.0]);
        let cdf = Series::cdf("x", Provenance::Simulated, &[2.0, 1.0]);
        assert_eq!(cdf.points, [(1.0, 50.0), (2.0, 100.0)]);
    }
}
