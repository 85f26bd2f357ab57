//! A model's tables for the controllers: from a bundle's predictors or from measurements.

use enerinfer_artifacts::{Bundle, ClockTables, MAX_POINTS, ShapeDims, Target};
use enerinfer_datasets::MeasurementTable;
use enerinfer_runtime::attainable::keep_attainable;
use enerinfer_runtime::tables::Tables;
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::units::{MicroTokPerS, MicroWatt};

use crate::domain::Domain;

/// Room for the largest platform. Points beyond the platform's own are not attainable.
pub const POINTS: usize = MAX_POINTS;

/// A clock of the device counts as a level of the tables if it is within this part of it: boards
/// round tables differently.
const TOLERANCE: u32 = 100;

/// What the controllers know of a model on a platform.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTables {
    /// Clock levels.
    pub clocks: ClockTables,
    /// Values per operating point.
    pub tables: Box<Tables<POINTS>>,
    /// The thermal model.
    pub thermal: ThermalModel,
    /// Whether a thermal model was trained; else the threshold alone controls.
    pub has_thermal: bool,
    /// A feature of the model that lies outside what the predictors were trained on.
    pub extrapolated: Option<&'static str>,
}

/// Why tables cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TablesError {
    /// The bundle or its thermal model breaks a rule.
    #[error(transparent)]
    Bundle(#[from] enerinfer_artifacts::Error),
    /// The table has no such model.
    #[error("the table has no model {wanted:?}; it has {there}")]
    NoModel {
        /// What was asked for.
        wanted: String,
        /// The models of the table.
        there: String,
    },
    /// No operating point of the tables can be run on this device.
    #[error(
        "none of the operating points can be run here: the tables have accelerator clocks \
         {accel_khz:?} and memory clocks {mem_khz:?} kHz. Were they made for this device and kernel?"
    )]
    NothingAttainable {
        /// Accelerator levels.
        accel_khz: Vec<u32>,
        /// Memory levels.
        mem_khz: Vec<u32>,
    },
}

fn empty() -> Box<Tables<POINTS>> {
    Box::new(Tables {
        throughput: [MicroTokPerS(0); POINTS],
        // Keeps unused points off the front.
        power: [MicroWatt(u32::MAX); POINTS],
        accel_power: [MicroWatt(u32::MAX); POINTS],
    })
}

/// Float to cast saturating, never zero: a point that exists has a speed and a power.
fn micro(value: f64) -> u32 {
    ((value * 1e6).round() as u32).max(1)
}

impl ModelTables {
    /// Predicts the tables of a model, as the generated crate does.
    ///
    /// # Errors
    /// If the bundle's thermal model does not fit the device's fixed point.
    pub fn predict(bundle: &Bundle, shape: &ShapeDims) -> Result<Self, TablesError> {
        let clocks = bundle.clocks.clone();
        let highest = clocks.highest();
        let mut tables = empty();
        let at = |target: Target, khz| bundle.predictor(target).map(|p| p.predict(shape, khz));
        for (i, point) in clocks.points().enumerate() {
            let khz = clocks.clocks_khz(point);
            let peak = at(Target::Peak, clocks.clocks_khz(highest)).unwrap_or(0.0);
            let scale = match point == highest {
                // By definition.
                true => 1.0,
                false => at(Target::Scale, khz).unwrap_or(0.0).min(1.0),
            };
            tables.throughput[i] = MicroTokPerS(micro(peak * scale));
            tables.power[i] = MicroWatt(at(Target::Power, khz).map_or(0, micro));
            tables.accel_power[i] = MicroWatt(at(Target::AccelPower, khz).map_or(0, micro));
        }
        let extrapolated = bundle.predictors.iter().find_map(|p| {
            let inputs = p.forest.features.iter().zip(&p.domain);
            let outside =
                inputs.filter(|(f, d)| shape.feature(**f).is_some_and(|v| v < d.min || v > d.max));
            outside.map(|(f, _)| f.name()).next()
        });
        let (thermal, has_thermal) = match &bundle.thermal {
            None => (ThermalModel::PERSISTENCE, false),
            Some(model) => {
                let int = model.to_int()?;
                let model = ThermalModel {
                    intercept_uc: int.intercept_uc,
                    history_q24: int.history_q24,
                    power_uc_per_w: int.power_uc_per_w,
                    time_uc_per_s: int.time_uc_per_s,
                    time_power_uc_per_ws: int.time_power_uc_per_ws,
                    time_history_q24: int.time_history_q24,
                };
                (model, true)
            }
        };
        Ok(ModelTables { clocks, tables, thermal, has_thermal, extrapolated })
    }

    /// Takes the measured values of a model.
    ///
    /// # Errors
    /// If the table has no model of that name.
    pub fn measured(table: &MeasurementTable, name: &str) -> Result<Self, TablesError> {
        let model = table.models.iter().position(|m| m.name.eq_ignore_ascii_case(name));
        let model = model.ok_or_else(|| TablesError::NoModel {
            wanted: name.to_owned(),
            there: table.models.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", "),
        })?;
        let clocks = table.platform.clocks.clone();
        let mut tables = empty();
        for row in table.rows_of(model) {
            let i = clocks.index(row.point);
            tables.throughput[i] = MicroTokPerS(micro(row.throughput_tok_per_s));
            tables.power[i] = MicroWatt(row.power_w.map_or(0, micro));
            tables.accel_power[i] = MicroWatt(row.accel_power_w.map_or(0, micro));
        }
        Ok(ModelTables {
            clocks,
            tables,
            thermal: ThermalModel::PERSISTENCE,
            has_thermal: false,
            extrapolated: None,
        })
    }

    /// Takes out the points whose clocks these domains do not reach: levels that a device's table
    /// lacks, and those above what it allows. Returns how many are left.
    ///
    /// # Errors
    /// If none is.
    pub fn keep_attainable(&mut self, accel: &Domain, mem: &Domain) -> Result<usize, TablesError> {
        let clocks = &self.clocks;
        let mut left = 0;
        keep_attainable(&mut self.tables, |point| {
            let point = usize::from(point);
            if point >= clocks.len() {
                return false;
            }
            let (accel_khz, mem_khz) = clocks.clocks_khz(clocks.point(point));
            let attainable = reaches(accel, accel_khz) && reaches(mem, mem_khz);
            left += usize::from(attainable);
            attainable
        });
        if left == 0 {
            return Err(TablesError::NothingAttainable {
                accel_khz: clocks.accel_khz.clone(),
                mem_khz: clocks.mem_khz.clone(),
            });
        }
        Ok(left)
    }
}

fn reaches(domain: &Domain, khz: u32) -> bool {
    let slack = khz / TOLERANCE;
    let listed = match domain.available_khz() {
        Some(table) => table.iter().any(|f| f.abs_diff(khz) <= slack),
        None => true,
    };
    listed && khz <= domain.highest_khz().saturating_add(slack)
}
