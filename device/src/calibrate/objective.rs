//! The cost of a set of parameters against the published figures.

use std::collections::BTreeMap;

use enerinfer_datasets::WeightFormat;

use super::Bound;
use super::knob;
use crate::parameters::PlatformFile;
use crate::policy::Policy;
use crate::published::{self, Figure, PolicyRow};
use crate::{DeviceError, SimulatedDevice};

/// Tolerance of an efficiency gain, percentage points.
const GAIN_TOLERANCE: f64 = 5.0;
/// Tolerance of the gain of a policy whose operating point is not published.
const DEADLINE_TOLERANCE: f64 = 20.0;
/// Relative tolerance of a policy's speed: the operating points of Table 2 are not published.
const POLICY_SPEED_TOLERANCE: f64 = 0.3;
/// Error, in tolerances, of a policy that finds no point fast enough.
const NO_POINT: f64 = 4.0;

/// What a calibration minimises.
pub(super) struct Objective {
    file: PlatformFile,
    bounds: Vec<Bound>,
    figures: Vec<Figure>,
    policies: Vec<PolicyRow>,
}

impl Objective {
    pub(super) fn new(file: PlatformFile, bounds: Vec<Bound>) -> Result<Self, DeviceError> {
        let mut figures = published::figures(&file.name)?;
        figures.retain(|figure| figure.quantity.is_fitted());
        let policies = published::policy_rows(&file.name)?;
        Ok(Objective { file, bounds, figures, policies })
    }

    pub(super) fn bounds(&self) -> &[Bound] {
        &self.bounds
    }

    /// Whether the parameters are entries of a table of levels.
    pub(super) fn is_table(&self, block: &[usize]) -> bool {
        block.iter().all(|index| self.bounds[*index].knob.table().is_some())
    }

    pub(super) fn published_values(&self) -> usize {
        self.figures.len() + self.policies.len()
    }

    /// The platform file with parameters at a position of the unit cube.
    pub(super) fn file_at(&self, position: &[f64]) -> PlatformFile {
        let mut file = self.file.clone();
        let values =
            self.bounds.iter().zip(position).map(|(bound, z)| (bound.knob, bound.value(*z)));
        knob::apply(&mut file, values.collect());
        file
    }

    /// Cost at a position. Positions outside the unit cube and tables that fall with the clock
    /// are charged for how far they do, so that the search finds its way back.
    pub(super) fn cost(&self, position: &[f64]) -> f64 {
        let outside = position.iter().map(|z| z - z.clamp(0.0, 1.0));
        let falls = self.bounds.windows(2).zip(position.windows(2)).filter_map(|(bounds, z)| {
            let same_table = bounds[0].knob.table()? == bounds[1].knob.table()?;
            same_table.then(|| (z[0] - z[1]).max(0.0))
        });
        let charge: f64 = outside.chain(falls).map(|d| d * d).sum();
        self.cost_of(&self.file_at(position)) + 100.0 * charge
    }

    /// Cost of the platform file as it is.
    pub(super) fn committed_cost(&self) -> f64 {
        self.cost_of(&self.file)
    }

    fn cost_of(&self, file: &PlatformFile) -> f64 {
        let devices: BTreeMap<WeightFormat, SimulatedDevice> = file
            .formats
            .keys()
            .filter_map(|format| Some((*format, SimulatedDevice::of_file(file, *format)?)))
            .collect();
        let figures = self.figures.iter().filter_map(|figure| {
            let simulated = figure.simulate(devices.get(&figure.format)?);
            Some((simulated / figure.value).ln() / (figure.tolerance_percent / 100.0))
        });
        let mut tables = BTreeMap::new();
        let gains = self.policies.iter().filter_map(|row| {
            let device = devices.get(&row.format)?;
            let table = tables
                .entry((row.format, row.shape))
                .or_insert_with(|| device.decode_all(&row.shape));
            let tolerance =
                if row.policy == Policy::Enerinfer { GAIN_TOLERANCE } else { DEADLINE_TOLERANCE };
            Some(match row.simulate(table) {
                None => NO_POINT,
                Some((_, gain, decode)) => {
                    let speed = decode.throughput_tok_per_s / row.throughput_tok_per_s;
                    f64::hypot(
                        (gain - row.gain_percent) / tolerance,
                        speed.ln() / POLICY_SPEED_TOLERANCE,
                    )
                }
            })
        });
        // The sixth power keeps the worst figure inside its tolerance where the mean alone would
        // sacrifice it.
        let total: f64 = figures.chain(gains).map(|r| r * r + r.powi(6).min(1e6)).sum();
        total / self.published_values() as f64
    }
}
