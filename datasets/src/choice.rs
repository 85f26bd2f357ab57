//! Measured operating points to choose from without training.

use std::collections::BTreeSet;
use std::path::Path;

use enerinfer_artifacts::{ClockTables, MAX_LEVELS};

use crate::sheet::{self, Sheet};
use crate::table::mhz;
use crate::table_error::{TableError, Warning};
use crate::table_rules::{Axis, check_grid, check_values};
use crate::{MeasurementTable, OperatingPoint, Row};

/// Measured operating points of one model or several.
///
/// Two layouts are read: a full measurement table, and the layout in which EnerInfer's Figure 4 is
/// published, one nameless model by level: `mem_level,npu_level,throughput_tok_per_s,power_w`
/// (`accel_level` may stand for `npu_level`).
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceTable {
    /// What the accelerator is called: `npu` in the published layout, else `accel`.
    pub accel_name: &'static str,
    /// Models in file order; at least one.
    pub models: Vec<ChoiceModel>,
}

/// The measured points of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoiceModel {
    /// Name; `None` in the layout by level.
    pub name: Option<String>,
    /// One per operating point, memory-major: the last has both clocks at their highest.
    pub points: Vec<ChoicePoint>,
}

/// One measured operating point.
#[derive(Clone, Debug, PartialEq)]
pub struct ChoicePoint {
    /// Levels, 0 being the lowest clock.
    pub point: OperatingPoint,
    /// Memory clock for people: `2133 MHz`; `level 6` in the layout by level.
    pub mem: String,
    /// Accelerator clock for people.
    pub accel: String,
    /// Decode throughput, tokens/s.
    pub throughput_tok_per_s: f64,
    /// Power, W.
    pub power_w: f64,
}

impl ChoiceTable {
    /// Reads either layout; the header tells which.
    ///
    /// # Errors
    /// The first fault with its place, by the rules of [`MeasurementTable::read`]; power must be
    /// there, since efficiency is tokens per joule.
    pub fn read(path: &Path) -> Result<(Self, Vec<Warning>), TableError> {
        let display_name = path.display().to_string();
        sheet::open(path)
            .and_then(sheet::read_text)
            .and_then(|text| Self::parse(&text))
            .map_err(|e| e.in_file(&display_name))
    }

    fn parse(text: &str) -> Result<(Self, Vec<Warning>), TableError> {
        if sheet::header(text)?.iter().any(|c| c == "mem_level") {
            return by_level(text);
        }
        // The platform's name appears nowhere in a choice.
        let (table, warnings) = MeasurementTable::parse(text, "measured")?;
        Ok((Self::from_table(&table)?, warnings))
    }

    /// The points of a measurement table.
    ///
    /// # Errors
    /// If the table has no power.
    pub fn from_table(table: &MeasurementTable) -> Result<Self, TableError> {
        let clocks = &table.platform.clocks;
        let mut models = Vec::new();
        for (m, model) in table.models.iter().enumerate() {
            let mut points = Vec::new();
            for row in table.rows_of(m) {
                let (accel_khz, mem_khz) = clocks.clocks_khz(row.point);
                let clock = |khz| format!("{} MHz", mhz(khz));
                points.push(choice_point(row, clock(mem_khz), clock(accel_khz))?);
            }
            models.push(ChoiceModel { name: Some(model.name.clone()), points });
        }
        Ok(ChoiceTable { accel_name: "accel", models })
    }
}

fn by_level(text: &str) -> Result<(ChoiceTable, Vec<Warning>), TableError> {
    let has_accel = sheet::header(text)?.iter().any(|c| c == "accel_level");
    let (accel_name, accel_column) =
        if has_accel { ("accel", "accel_level") } else { ("npu", "npu_level") };
    let required = ["mem_level", accel_column, "throughput_tok_per_s", "power_w"];
    // The efficiency is published beside the others, and follows from them.
    let sheet = Sheet::parse(text, &required, &["efficiency_tok_per_j"])?;

    let (mem, accel) = (levels(&sheet, "mem_level")?, levels(&sheet, accel_column)?);
    // Levels have no clocks; ranks stand in for them, so that the checks are those of clocks.
    let ranks = |levels: &[u8]| (1..).take(levels.len()).collect::<Vec<u32>>();
    let clocks = ClockTables { accel_khz: ranks(&accel), mem_khz: ranks(&mem) };
    clocks.validate().map_err(|e| TableError::new(e.to_string()))?;
    let rank = |levels: &[u8], level: u8| levels.partition_point(|l| *l < level) as u8;
    let label = |levels: &[u8], rank: u8| format!("level {}", levels[usize::from(rank)]);

    let mut rows = Vec::new();
    let mut cells_of = Vec::new();
    for row in sheet.rows() {
        rows.push(Row {
            model: 0,
            point: OperatingPoint {
                mem: rank(&mem, row.whole("mem_level")?),
                accel: rank(&accel, row.whole(accel_column)?),
            },
            throughput_tok_per_s: row.number("throughput_tok_per_s")?,
            power_w: Some(row.number("power_w")?),
            accel_power_w: None,
            samples: 1,
        });
        cells_of.push(row);
    }
    check_values(&clocks, 1, &rows)
        .and_then(|()| {
            let text = |levels: &[u8]| levels.iter().map(u8::to_string).collect();
            let axes = [
                Axis { column: "mem_level", levels: text(&mem), of: |p| p.mem },
                Axis { column: accel_column, levels: text(&accel), of: |p| p.accel },
            ];
            check_grid(&clocks, &["the model".to_owned()], &rows, "mem_level", &axes)
        })
        .map_err(|fault| fault.in_file(&cells_of))?;
    rows.sort_by_key(|r| r.point);

    let points = rows
        .iter()
        .map(|row| choice_point(row, label(&mem, row.point.mem), label(&accel, row.point.accel)))
        .collect::<Result<_, _>>()?;
    let warnings = sheet.unknown_columns().into_iter().collect();
    Ok((ChoiceTable { accel_name, models: vec![ChoiceModel { name: None, points }] }, warnings))
}

fn choice_point(row: &Row, mem: String, accel: String) -> Result<ChoicePoint, TableError> {
    Ok(ChoicePoint {
        point: row.point,
        mem,
        accel,
        throughput_tok_per_s: row.throughput_tok_per_s,
        power_w: row.power_w.ok_or_else(|| {
            TableError::new("column power_w is empty; choosing by tokens per joule needs power")
        })?,
    })
}

/// The distinct levels of a column, ascending.
fn levels(sheet: &Sheet, column: &'static str) -> Result<Vec<u8>, TableError> {
    let mut levels = BTreeSet::new();
    for row in sheet.rows() {
        levels.insert(row.whole::<u8>(column)?);
        if levels.len() > MAX_LEVELS {
            let message = format!("is one more than the {MAX_LEVELS} levels a clock may have");
            return Err(row.error(column, row.text(column)?, message));
        }
    }
    Ok(levels.into_iter().collect())
}
