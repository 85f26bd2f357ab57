//! Reading a measurement table from CSV, with one clear error per bad file.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use enerinfer_artifacts::{ClockTables, MAX_LEVELS};

use crate::sheet::{self, Sheet, SheetRow};
use crate::table_error::{TableError, Warning, shown};
use crate::table_write::COLUMNS;
use crate::{
    LlmShape, MeasurementTable, Model, Platform, Row, ShapeError, ShapeSpec, Source, WeightFormat,
    Workload,
};

/// Columns that a table may do without; the others must be named in its header, though cells of
/// `kv_heads`, `total_params`, `power_w` and `accel_power_w` may be empty.
const OPTIONAL: [&str; 8] = [
    "head_dim",
    "ffn_kind",
    "tied",
    "experts",
    "active_experts",
    "power_domain",
    "prompt_tokens",
    "context_tokens",
];

/// What `power_w` means unless the table says otherwise (EnerInfer: accelerator + memory).
const DEFAULT_POWER_DOMAIN: &str = "accel+mem";

/// Highest clock that is taken for MHz: above it the column is in kHz or Hz.
const MAX_CLOCK_MHZ: f64 = 20_000.0;

impl MeasurementTable {
    /// Reads a table; `platform_name` names its platform, since files do not.
    ///
    /// The clock tables are the distinct clocks of the file. `#` is not a comment sign, columns
    /// may stand in any order, and unknown ones are left out with a warning.
    ///
    /// # Errors
    /// The first fault, with file, row, column and value; see [`MeasurementTable::new`] for the
    /// rules, to which come those of the format: text where numbers belong, clocks that are no
    /// whole kHz, one model with two shapes, several formats, engines, power domains, workloads
    /// or sources, and sparse or speculative decoding.
    pub fn read(path: &Path, platform_name: &str) -> Result<(Self, Vec<Warning>), TableError> {
        Self::read_from(sheet::open(path)?, &path.display().to_string(), platform_name)
    }

    /// [`MeasurementTable::read`] from any reader; `display_name` stands for the file in errors.
    ///
    /// # Errors
    /// As [`MeasurementTable::read`].
    pub fn read_from(
        reader: impl Read,
        display_name: &str,
        platform_name: &str,
    ) -> Result<(Self, Vec<Warning>), TableError> {
        sheet::read_text(reader)
            .and_then(|text| Self::parse(&text, platform_name))
            .map_err(|e| e.in_file(display_name))
    }

    /// [`MeasurementTable::read`] from text.
    pub(crate) fn parse(
        text: &str,
        platform_name: &str,
    ) -> Result<(Self, Vec<Warning>), TableError> {
        let required: Vec<&'static str> =
            COLUMNS.into_iter().filter(|c| !OPTIONAL.contains(c)).collect();
        let sheet = Sheet::parse(text, &required, &OPTIONAL)?;
        let common = Common::read(&sheet)?;
        let clocks = clock_tables(&sheet)?;
        let mut models = Models::default();
        let mut rows = Vec::new();
        let mut cells_of = Vec::new();
        for cells in sheet.rows() {
            let model = models.index_of(&sheet, &cells)?;
            let (accel_khz, mem_khz) = (khz(&cells, "accel_mhz")?, khz(&cells, "mem_mhz")?);
            let Some(point) = clocks.find(accel_khz, mem_khz) else {
                return Err(TableError::new("its clocks are in no clock table").at_line(cells.line));
            };
            rows.push(Row {
                model,
                point,
                throughput_tok_per_s: cells.number("throughput_tok_per_s")?,
                power_w: cells.optional_number("power_w")?,
                accel_power_w: cells.optional_number("accel_power_w")?,
                samples: cells.whole("samples")?,
            });
            cells_of.push(cells);
        }
        let platform = Platform {
            name: platform_name.to_owned(),
            description: String::new(),
            engine: common.engine,
            format: common.format,
            power_domain: common.power_domain,
            clocks,
        };
        let models = models.list;
        let table = MeasurementTable::build(platform, common.source, common.workload, models, rows)
            .map_err(|fault| fault.in_file(&cells_of))?;
        let warnings = warnings(&sheet, &table);
        Ok((table, warnings))
    }
}

/// What all rows of a table share.
struct Common {
    format: WeightFormat,
    engine: String,
    power_domain: String,
    workload: Workload,
    source: Source,
}

impl Common {
    fn read(sheet: &Sheet) -> Result<Self, TableError> {
        let mut first: Option<SheetRow<'_>> = None;
        for row in sheet.rows() {
            refuse_unsupported_decoding(&row)?;
            for column in ["format", "engine", "source"] {
                row.text(column)?;
            }
            let Some(first) = first else {
                first = Some(row);
                continue;
            };
            for (column, split) in [
                ("format", "predictors are trained per weight format"),
                ("engine", "one table holds one engine"),
                ("power_domain", "powers of different domains are never compared"),
                ("prompt_tokens", "all rows must be measured alike"),
                ("context_tokens", "all rows must be measured alike"),
                ("source", "measured and simulated values, or two origins, never mix"),
            ] {
                let (a, b) = (first.optional(column), row.optional(column));
                if a != b {
                    return Err(row.error(
                        column,
                        b.unwrap_or(""),
                        format!(
                            "differs from '{}' in row {}: {split}; split the file",
                            shown(a.unwrap_or("")),
                            first.line
                        ),
                    ));
                }
            }
        }
        let first = first.ok_or_else(|| TableError::new("has no rows; add measurements"))?;
        let format = first.text("format")?;
        let known = WeightFormat::ALL.map(WeightFormat::name).join(", ");
        Ok(Common {
            format: WeightFormat::parse(format).ok_or_else(|| {
                first.error("format", format, format!("unknown weight format; known: {known}"))
            })?,
            engine: first.text("engine")?.to_owned(),
            power_domain: first.optional("power_domain").unwrap_or(DEFAULT_POWER_DOMAIN).to_owned(),
            workload: Workload {
                prompt_tokens: first.optional_whole("prompt_tokens")?,
                context_tokens: first.optional_whole("context_tokens")?,
            },
            source: source(&first)?,
        })
    }
}

fn source(row: &SheetRow<'_>) -> Result<Source, TableError> {
    let text = row.text("source")?;
    let parsed = text.split_once(':').and_then(|(kind, rest)| match (kind, rest.trim()) {
        (_, "") => None,
        ("measured", how) => Some(Source::Measured(how.to_owned())),
        ("simulated", device) => Some(Source::Simulated(device.to_owned())),
        _ => None,
    });
    parsed.ok_or_else(|| {
        let how = match text.split_once(':') {
            Some((_, rest)) if !rest.trim().is_empty() => rest.trim(),
            Some(_) => "power meter",
            None => text,
        };
        let message = format!(
            "must be measured:<how> or simulated:<device>; write 'measured:{}' if it was measured",
            shown(how)
        );
        row.error("source", text, message)
    })
}

/// Sparse and speculative decoding read a varying share of the weights per token, so no predictor
/// from the shape holds for them.
fn refuse_unsupported_decoding(row: &SheetRow<'_>) -> Result<(), TableError> {
    const SPARSE: [&str; 4] = ["sparse", "sparsity", "2:4", "powerinfer"];
    const SPECULATIVE: [&str; 6] =
        ["speculative", "spec-dec", "eagle", "medusa", "lookahead", "draft"];
    for column in ["format", "engine"] {
        let Some(cell) = row.optional(column) else { continue };
        let lower = cell.to_ascii_lowercase();
        for (name, marks) in [("sparse", &SPARSE[..]), ("speculative", &SPECULATIVE[..])] {
            if marks.iter().any(|mark| lower.contains(mark)) {
                return Err(row.error(
                    column,
                    cell,
                    format!(
                        "{name} decoding is not supported: its time per token does not follow \
                         from the model's shape; measure dense, one token at a time"
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// The clocks of the file, ascending.
fn clock_tables(sheet: &Sheet) -> Result<ClockTables, TableError> {
    let levels = |column: &'static str| -> Result<Vec<u32>, TableError> {
        let mut set = BTreeSet::new();
        for row in sheet.rows() {
            set.insert(khz(&row, column)?);
            if set.len() > MAX_LEVELS {
                return Err(row.error(
                    column,
                    row.text(column)?,
                    format!(
                        "is one more than the {MAX_LEVELS} levels a clock may have; write the \
                         requested level, not the momentary clock"
                    ),
                ));
            }
        }
        Ok(set.into_iter().collect())
    };
    let clocks = ClockTables { accel_khz: levels("accel_mhz")?, mem_khz: levels("mem_mhz")? };
    clocks.validate().map_err(|e| TableError::new(e.to_string()))?;
    Ok(clocks)
}

/// A clock in MHz as whole kHz.
fn khz(row: &SheetRow<'_>, column: &'static str) -> Result<u32, TableError> {
    let cell = row.text(column)?;
    let clock_mhz = row.number(column)?;
    let fail = |message: String| Err(row.error(column, cell, message));
    if clock_mhz <= 0.0 {
        return fail("a clock must be positive".to_owned());
    }
    if clock_mhz > MAX_CLOCK_MHZ {
        return fail(format!("is above {MAX_CLOCK_MHZ} MHz; is it in kHz or Hz?"));
    }
    let khz = clock_mhz * 1000.0;
    // Decimal MHz such as 665.6 are inexact in binary by far less than this.
    if (khz - khz.round()).abs() > 1e-6 || khz < 1.0 {
        return fail("must be a whole number of kHz: at most three decimals".to_owned());
    }
    Ok(khz.round() as u32)
}

/// The models of a file, by name.
#[derive(Default)]
struct Models<'a> {
    list: Vec<Model>,
    by_name: BTreeMap<&'a str, (u32, SheetRow<'a>)>,
}

const SHAPE_COLUMNS: [&str; 12] = [
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "head_dim",
    "ffn",
    "vocab",
    "ffn_kind",
    "tied",
    "experts",
    "active_experts",
    "total_params",
];

impl<'a> Models<'a> {
    /// The index of the row's model, which is added at its first row and must stay the same.
    fn index_of(&mut self, sheet: &'a Sheet, row: &SheetRow<'a>) -> Result<u32, TableError> {
        let name = row.text("model")?;
        let Some((index, first)) = self.by_name.get(name) else {
            let index = self.list.len() as u32; // Rows of a bounded file fit.
            let spec = spec(row)?;
            let shape = LlmShape::new(spec).map_err(|e| {
                // A cell that other rows of the model contradict is a better clue than the rule
                // that it breaks, which often names another column.
                sheet
                    .rows()
                    .filter(|other| other.optional("model") == Some(name))
                    .find_map(|other| contradiction(name, row, &other))
                    .unwrap_or_else(|| rule_broken(row, e))
            })?;
            self.list.push(Model { name: name.to_owned(), shape });
            self.by_name.insert(name, (index, *row));
            return Ok(index);
        };
        // Equal text is the rule and quick to see; "true" and "1" are the same shape too.
        if SHAPE_COLUMNS.into_iter().any(|c| first.optional(c) != row.optional(c)) {
            let shape = LlmShape::new(spec(row)?);
            if shape.as_ref() != Ok(&self.list[*index as usize].shape) {
                return Err(match (contradiction(name, row, first), shape) {
                    (Some(error), _) => error,
                    (None, Err(e)) => rule_broken(row, e),
                    (None, Ok(_)) => differs(name, row, first, "total_params"),
                });
            }
        }
        Ok(*index)
    }
}

/// The error for two rows of a model that state different shapes, if they do: the first column
/// whose values differ, else the first that only one row fills.
fn contradiction(name: &str, row: &SheetRow<'_>, other: &SheetRow<'_>) -> Option<TableError> {
    let (Ok(a), Ok(b)) = (values(row), values(other)) else { return None };
    let columns = || SHAPE_COLUMNS.into_iter().zip(a.iter().zip(&b));
    let column = columns()
        .find(|(_, (a, b))| a.is_some() && b.is_some() && a != b)
        .or_else(|| columns().find(|(_, (a, b))| a != b))?
        .0;
    Some(differs(name, row, other, column))
}

fn differs(
    name: &str,
    row: &SheetRow<'_>,
    other: &SheetRow<'_>,
    column: &'static str,
) -> TableError {
    row.error(
        column,
        row.optional(column).unwrap_or(""),
        format!(
            "model '{}' has '{}' here in row {}; correct the cell or give the other model another \
             name",
            shown(name),
            shown(other.optional(column).unwrap_or("")),
            other.line
        ),
    )
}

pub(crate) fn rule_broken(row: &SheetRow<'_>, e: ShapeError) -> TableError {
    row.error(e.field, row.optional(e.field).unwrap_or(""), e.message)
}

/// The cells of [`SHAPE_COLUMNS`] as they are meant.
fn values(row: &SheetRow<'_>) -> Result<[Option<u64>; SHAPE_COLUMNS.len()], TableError> {
    let s = spec(row)?;
    Ok([
        Some(s.layers.into()),
        Some(s.hidden.into()),
        Some(s.heads.into()),
        Some(s.kv_heads.into()),
        s.head_dim.map(u64::from),
        Some(s.ffn.into()),
        Some(s.vocab.into()),
        s.gated.map(u64::from),
        s.tied.map(u64::from),
        s.experts.map(u64::from),
        s.active_experts.map(u64::from),
        s.total_params,
    ])
}

pub(crate) fn spec(row: &SheetRow<'_>) -> Result<ShapeSpec, TableError> {
    let heads = row.whole("heads")?;
    Ok(ShapeSpec {
        layers: row.whole("layers")?,
        hidden: row.whole("hidden")?,
        heads,
        // As in model configurations: no number of key/value heads means one per head.
        kv_heads: row.optional_whole("kv_heads")?.unwrap_or(heads),
        head_dim: row.optional_whole("head_dim")?,
        ffn: row.whole("ffn")?,
        vocab: row.whole("vocab")?,
        gated: choice(row, "ffn_kind", &[("gated", true), ("plain", false)])?,
        tied: choice(row, "tied", &[("true", true), ("false", false), ("1", true), ("0", false)])?,
        experts: row.optional_whole("experts")?,
        active_experts: row.optional_whole("active_experts")?,
        total_params: row.optional_whole("total_params")?,
    })
}

fn choice(
    row: &SheetRow<'_>,
    column: &'static str,
    options: &[(&str, bool)],
) -> Result<Option<bool>, TableError> {
    let Some(cell) = row.optional(column) else { return Ok(None) };
    match options.iter().find(|(name, _)| cell.eq_ignore_ascii_case(name)) {
        Some((_, value)) => Ok(Some(*value)),
        None => {
            let names: Vec<&str> = options.iter().map(|o| o.0).collect();
            Err(row.error(column, cell, format!("must be one of {}", names.join(", "))))
        }
    }
}

/// What was assumed or looks odd in a table that is accepted.
fn warnings(sheet: &Sheet, table: &MeasurementTable) -> Vec<Warning> {
    let mut list: Vec<String> = Vec::new();
    let assumed = |column: &'static str| sheet.rows().any(|r| r.optional(column).is_none());
    if assumed("tied") {
        list.push("tied is not given for some models: taken as false (LM head of its own)".into());
    }
    if assumed("ffn_kind") {
        list.push("ffn_kind is not given for some models: taken as gated".into());
    }
    if assumed("kv_heads") {
        list.push("kv_heads is empty for some models: taken as heads".into());
    }
    if !table.has_power() {
        list.push("power_w is empty: only throughput can be predicted".into());
    } else {
        let most_w = table.rows.iter().filter_map(|r| r.power_w).fold(0.0, f64::max);
        if most_w > 1000.0 {
            list.push(format!("power_w reaches {most_w} W: is the column in milliwatts?"));
        }
    }
    let mut shapes: BTreeMap<LlmShape, &str> = BTreeMap::new();
    for model in &table.models {
        if let Some(other) = shapes.insert(model.shape, &model.name) {
            list.push(format!(
                "models '{}' and '{}' have the same shape: predictors cannot tell them apart",
                shown(other),
                shown(&model.name)
            ));
        }
    }
    sheet.unknown_columns().into_iter().chain(list.into_iter().map(Warning)).collect()
}
