//! Phase records as partitioned Parquet, for fleets beyond one machine.
//!
//! Layout: Hive partitions `platform=…/backend=…/model=…/format=…/sweep=…/part-0.parquet`, so any
//! engine that knows the convention prunes by folder. The columns are [`COLUMNS`]; nothing of the
//! layout needs this crate to be read. A file holds one run and is written at once: memory is
//! bounded by the largest run, not by the fleet.

use std::path::{Path, PathBuf};

use polars::prelude::{Column, DataFrame, DataType, IntoColumn, NamedFrom, Series};
use polars_io::SerReader as _;
use polars_io::parquet::read::ParquetReader;
use polars_io::parquet::write::{ParquetCompression, ParquetWriter};

use crate::record::{flag_text, rails_text};
use crate::{Error, PhaseRecord, Power, TextTable};

/// Columns of a file: name, Parquet type, meaning. Every column but the first five may be null:
/// absent is null, never 0.
pub const COLUMNS: [(&str, &str, &str); 33] = [
    ("prompt", "INT64", "row of the timing table, from 1"),
    ("phase", "STRING", "prompt, prefill or decode; prompt is both together, do not add it up"),
    ("start_ns", "INT64", "UTC ns, inside"),
    ("end_ns", "INT64", "UTC ns, outside"),
    ("samples", "INT64", "telemetry samples inside"),
    ("board", "STRING", "Jetson board by its rails"),
    ("tokens", "DOUBLE", "tokens of the phase"),
    ("tok_per_s", "DOUBLE", "throughput of the phase, tokens/s"),
    ("flags", "STRING", "doubts, blank-separated"),
    ("total_definition", "STRING", "what the total power is of; compare equal definitions only"),
    ("total_power_w", "DOUBLE", "mean over samples, W"),
    ("total_energy_j", "DOUBLE", "integral over real times, J"),
    ("total_covered", "DOUBLE", "part of the window that was integrated, 0 to 1"),
    ("accel_definition", "STRING", "the accelerator's rail and what else it holds"),
    ("accel_power_w", "DOUBLE", "W"),
    ("accel_energy_j", "DOUBLE", "J"),
    ("accel_covered", "DOUBLE", "0 to 1"),
    ("rails_w", "STRING", "NAME=W of every rail, blank-separated"),
    ("gpu_load", "DOUBLE", "%"),
    ("gpu_mhz", "DOUBLE", "MHz"),
    ("emc_load", "DOUBLE", "memory controller, %, clipped to 0…100"),
    ("emc_mhz", "DOUBLE", "memory clock, MHz"),
    ("cpu_load_mean", "DOUBLE", "mean over cores, %"),
    ("cpu_load_max", "DOUBLE", "highest core, %"),
    ("cpu_mhz_mean", "DOUBLE", "mean over cores, MHz"),
    ("cpu_online", "DOUBLE", "cores online"),
    ("temp_gpu_c", "DOUBLE", "°C"),
    ("temp_cpu_c", "DOUBLE", "°C"),
    ("temp_max_c", "DOUBLE", "hottest zone of the chip, °C"),
    ("ram_used_mb", "DOUBLE", "MB"),
    ("nvml_gpu_load", "DOUBLE", "NVML utilisation, %"),
    ("model_name", "STRING", "model as the timing table names it"),
    ("record_schema", "INT64", "version of these columns: 1"),
];

/// Version of [`COLUMNS`].
pub const RECORD_SCHEMA: i64 = 1;

/// Where a run belongs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Partition {
    /// Platform.
    pub platform: String,
    /// Backend or engine.
    pub backend: String,
    /// Model.
    pub model: String,
    /// Weight format.
    pub format: String,
    /// Sweep, e.g. `main`.
    pub sweep: String,
}

impl Partition {
    /// Path of the partition's file below a root; characters that folders or URLs cannot hold are
    /// written as `%XX`.
    pub fn path(&self, root: &Path) -> PathBuf {
        let parts = [
            ("platform", &self.platform),
            ("backend", &self.backend),
            ("model", &self.model),
            ("format", &self.format),
            ("sweep", &self.sweep),
        ];
        let mut path = root.to_owned();
        for (key, value) in parts {
            path.push(format!("{key}={}", escaped(value)));
        }
        path.join("part-0.parquet")
    }
}

fn escaped(value: &str) -> String {
    let mut out = String::new();
    for b in value.bytes() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(char::from(b)),
            _ => out.push_str(&format!("%{b:02X}")),
        }
    }
    out
}

/// Writes the records of one run, atomically. The same records give the same bytes.
///
/// # Errors
/// The file cannot be written.
pub fn write_partition(
    root: &Path,
    partition: &Partition,
    records: &[PhaseRecord],
) -> Result<PathBuf, Error> {
    let path = partition.path(root);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, e))?;
    }
    let fail = |e: polars::prelude::PolarsError| Error::invalid(format!("{}: {e}", path.display()));
    let mut frame = frame(records).map_err(fail)?;
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_compression(ParquetCompression::Uncompressed)
        .finish(&mut frame)
        .map_err(fail)?;
    enerinfer_artifacts::write_atomic(&path, &bytes)?;
    Ok(path)
}

fn frame(records: &[PhaseRecord]) -> Result<DataFrame, polars::prelude::PolarsError> {
    let whole = |name: &str, f: &dyn Fn(&PhaseRecord) -> i64| -> Column {
        let v: Vec<i64> = records.iter().map(f).collect();
        Series::new(name.into(), v).into_column()
    };
    let number = |name: &str, f: &dyn Fn(&PhaseRecord) -> Option<f64>| -> Column {
        let v: Vec<Option<f64>> = records.iter().map(f).collect();
        Series::new(name.into(), v).into_column()
    };
    let text = |name: &str, f: &dyn Fn(&PhaseRecord) -> Option<String>| -> Column {
        let v: Vec<Option<String>> = records.iter().map(f).collect();
        Series::new(name.into(), v).into_column()
    };
    let mut columns = vec![
        whole("prompt", &|r| r.prompt as i64),
        text("phase", &|r| Some(r.phase.name().to_owned())),
        whole("start_ns", &|r| r.start_ns),
        whole("end_ns", &|r| r.end_ns),
        whole("samples", &|r| i64::try_from(r.samples).unwrap_or(i64::MAX)),
        text("board", &|r| r.board.map(|b| b.name().to_owned())),
        number("tokens", &|r| r.tokens),
        number("tok_per_s", &|r| r.tok_per_s),
        text("flags", &|r| Some(flag_text(&r.flags))),
    ];
    type Pick = fn(&PhaseRecord) -> Option<&Power>;
    let powers: [(&str, Pick); 2] =
        [("total", |r| r.total.as_ref()), ("accel", |r| r.accelerator.as_ref())];
    for (prefix, pick) in powers {
        let name = |what: &str| format!("{prefix}_{what}");
        columns.push(text(&name("definition"), &|r| pick(r).map(|p| p.definition.clone())));
        columns.push(number(&name("power_w"), &|r| pick(r)?.mean_w));
        columns.push(number(&name("energy_j"), &|r| pick(r)?.energy_j));
        columns.push(number(&name("covered"), &|r| pick(r).map(|p| p.covered)));
    }
    columns.push(text("rails_w", &|r| Some(rails_text(&r.rails))));
    for (i, name) in PhaseRecord::MEANS.iter().enumerate() {
        columns.push(number(name, &|r| r.means[i]));
    }
    columns.push(text("model_name", &|r| Some(r.model.clone())));
    columns.push(whole("record_schema", &|_| RECORD_SCHEMA));
    DataFrame::new(records.len(), columns)
}

/// Reads a Parquet file of anyone as text cells: null is an empty cell and stays apart from 0,
/// decimals become numbers, the index column that pandas adds is left out.
///
/// # Errors
/// The file cannot be read or has a column that is neither number nor text.
pub fn read_table(path: &Path) -> Result<TextTable, Error> {
    let file = std::fs::File::open(path).map_err(|e| Error::io(path, e))?;
    let fail = |e: polars::prelude::PolarsError| Error::invalid(format!("{}: {e}", path.display()));
    let frame = ParquetReader::new(file).finish().map_err(fail)?;
    let mut table = TextTable { header: Vec::new(), rows: vec![Vec::new(); frame.height()] };
    for column in frame.columns() {
        let name = column.name().as_str();
        if name.starts_with("__index_level_") {
            continue;
        }
        table.header.push(name.to_owned());
        let cells = cells(column).map_err(fail)?;
        table.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
    }
    Ok(table)
}

fn cells(column: &Column) -> Result<Vec<String>, polars::prelude::PolarsError> {
    let text = |v: Option<String>| v.unwrap_or_default();
    match column.dtype() {
        DataType::String => Ok(column.str()?.iter().map(|v| text(v.map(str::to_owned))).collect()),
        DataType::Null => Ok(vec![String::new(); column.len()]),
        dtype if dtype.is_integer() => {
            let column = column.cast(&DataType::Int64)?;
            Ok(column.i64()?.iter().map(|v| text(v.map(|v| v.to_string()))).collect())
        }
        _ => {
            let column = column.cast(&DataType::Float64)?;
            let finite = |v: f64| v.is_finite().then(|| v.to_string());
            Ok(column.f64()?.iter().map(|v| text(v.and_then(finite))).collect())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_decimals_and_index_columns_of_other_writers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.parquet");
        let decimal = Series::new("power_w".into(), [12.25, 9.5, 0.0])
            .cast(&DataType::Decimal(10, 2))
            .unwrap();
        let columns = vec![
            Series::new("model".into(), ["a", "b", "c"]).into_column(),
            Series::new("accel_mhz".into(), [Some(306i64), None, Some(0)]).into_column(),
            decimal.into_column(),
            Series::new_null("note".into(), 3).into_column(),
            Series::new("__index_level_0__".into(), [0i64, 1, 2]).into_column(),
        ];
        let mut frame = DataFrame::new(3, columns).unwrap();
        ParquetWriter::new(std::fs::File::create(&path).unwrap())
            .with_compression(ParquetCompression::Uncompressed)
            .finish(&mut frame)
            .unwrap();
        let t = read_table(&path).unwrap();
        assert_eq!(t.header, ["model", "accel_mhz", "power_w", "note"]);
        assert_eq!(t.rows[0], ["a", "306", "12.25", ""]);
        assert_eq!(t.rows[1], ["b", "", "9.5", ""]);
        assert_eq!(t.rows[2], ["c", "0", "0", ""]);
        assert_eq!((t.number(1, 1), t.number(2, 1)), (None, Some(0.0)));
    }

    #[test]
    fn partitions_hold_any_name() {
        let p = Partition {
            platform: "orin".to_owned(),
            backend: "hf".to_owned(),
            model: "a/b c=%".to_owned(),
            format: "torch.bfloat16".to_owned(),
            sweep: "main".to_owned(),
        };
        let path = p.path(Path::new("root"));
        assert!(path.ends_with(
            "platform=orin/backend=hf/model=a%2Fb%20c%3D%25/format=torch.bfloat16/sweep=main/part-0.parquet"
        ));
    }
}
