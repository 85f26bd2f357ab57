//! Parts of the held-out rows that a gate looks at.

use enerinfer_artifacts::record::{Record, ScatterPoint};
use serde::Deserialize;

/// Rows that satisfy every condition given. Ranges include both ends.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slice {
    /// Name, which gates refer to.
    pub(crate) name: String,
    /// Range of the memory clock, MHz.
    pub(crate) mem_mhz: Option<[f64; 2]>,
    /// Range of the accelerator clock, MHz.
    pub(crate) accel_mhz: Option<[f64; 2]>,
    /// Range of total parameters, millions; models of unknown shape are outside.
    pub(crate) total_params_m: Option<[f64; 2]>,
    /// What model names begin with.
    pub(crate) model_prefix: Option<String>,
}

impl Slice {
    /// Refuses what selects everything or nothing whatever the record: a mistake, not a wish.
    pub(crate) fn check(&self) -> Result<(), String> {
        let ranges = [
            ("mem_mhz", self.mem_mhz),
            ("accel_mhz", self.accel_mhz),
            ("total_params_m", self.total_params_m),
        ];
        for (name, range) in ranges {
            let Some([lo, hi]) = range else { continue };
            if lo.is_nan() || hi.is_nan() {
                return Err(format!("{name} is [{lo}, {hi}]; give two numbers"));
            }
            if lo > hi {
                return Err(format!(
                    "{name} is [{lo}, {hi}], which is empty; give the lower end first"
                ));
            }
        }
        if self.model_prefix.as_ref().is_some_and(String::is_empty) {
            return Err("model_prefix is \"\", with which every name begins; give what the names \
                        of the wanted models begin with, or leave it out"
                .to_owned());
        }
        if ranges.iter().all(|(_, range)| range.is_none()) && self.model_prefix.is_none() {
            return Err("it has no condition, so it is everything; give mem_mhz, accel_mhz, \
                        total_params_m or model_prefix"
                .to_owned());
        }
        Ok(())
    }

    /// Whether the slice leaves out operating points, so that tau-b over all of them says
    /// nothing about it.
    pub(crate) fn selects_points(&self) -> bool {
        self.mem_mhz.is_some() || self.accel_mhz.is_some()
    }

    /// Whether a model is inside.
    pub(crate) fn has_model(&self, record: &Record, model: &str) -> bool {
        if !self.model_prefix.as_ref().is_none_or(|prefix| model.starts_with(prefix)) {
            return false;
        }
        let Some(range) = self.total_params_m else { return true };
        let shape = record.details.heldout_shapes.iter().find(|s| s.model == model);
        shape.is_some_and(|s| within(range, s.dims.total_params as f64 / 1e6))
    }

    /// Whether a row is inside.
    pub(crate) fn has_row(&self, record: &Record, row: &ScatterPoint) -> bool {
        let clock = |range: Option<[f64; 2]>, table: &[u32], level: u8| {
            let Some(range) = range else { return true };
            let khz = table.get(usize::from(level));
            khz.is_some_and(|&khz| within(range, f64::from(khz) / 1000.0))
        };
        clock(self.mem_mhz, &record.clocks.mem_khz, row.point.mem)
            && clock(self.accel_mhz, &record.clocks.accel_khz, row.point.accel)
            && record
                .ranking
                .per_model
                .get(row.model as usize)
                .is_some_and(|m| self.has_model(record, &m.model))
    }
}

fn within([lo, hi]: [f64; 2], value: f64) -> bool {
    (lo..=hi).contains(&value)
}
