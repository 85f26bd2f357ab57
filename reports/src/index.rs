//! One page over many records: platform × metric, with the trend over stored records.

use std::borrow::Cow;
use std::collections::BTreeMap;

use enerinfer_artifacts::record::Record;

use crate::document::{Cell, Document, Part, Section, Table, heads};
use crate::metric::Metric;
use crate::sections::is_simulated;
use crate::text::plain;

/// A metric per column.
const COLUMNS: [(&str, Metric); 6] = [
    ("Throughput MAPE, %", Metric::ThroughputMape),
    ("Power MAPE, %", Metric::PowerMape),
    ("Efficiency MAPE, %", Metric::EfficiencyMape),
    ("Mean tau-b", Metric::MeanTau),
    ("Largest mean regret, %", Metric::MeanRegret),
    ("Flash, % of budget", Metric::FlashPercent),
];

/// What an index keeps of one record: metrics only, so that thousands of records fit in memory.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Path of the record relative to the index; entries of a platform are in its order.
    path: String,
    /// Whether a page stands beside the record.
    page: Option<String>,
    platform: [String; 4],
    simulated: bool,
    values: [Option<f64>; COLUMNS.len()],
}

impl Entry {
    /// Of a record at `path`, relative to the index and with `/` between folders, and of the page
    /// beside it.
    pub fn new(path: String, page: Option<String>, record: &Record) -> Self {
        let id = &record.platform;
        Entry {
            path,
            page,
            platform: [&id.name, &id.engine, &id.weight_format, &id.power_domain]
                .map(String::clone),
            simulated: is_simulated(record),
            values: COLUMNS.map(|(_, metric)| metric.value(record, None)),
        }
    }
}

/// The index as a document.
pub(crate) fn document(entries: &[Entry]) -> Document {
    // Simulated and measured values of one platform are two rows: they never share a cell.
    let mut rows: BTreeMap<(&[String; 4], bool), Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        rows.entry((&entry.platform, entry.simulated)).or_default().push(entry);
    }
    for records in rows.values_mut() {
        records.sort_by(|a, b| a.path.cmp(&b.path));
    }
    let any = |simulated| entries.iter().any(|e| e.simulated == simulated);
    let (label, notice) = match (any(true), any(false)) {
        (true, false) => ("SIMULATED", "All values come from simulated devices."),
        (true, true) => (
            "SIMULATED and measured",
            "The column Data says which rows come from simulated devices and which were measured.",
        ),
        (false, _) => ("measured", "Values were measured on the devices."),
    };
    let columns = ["Platform", "Engine", "Format", "Power domain", "Data", "Records"]
        .into_iter()
        .chain(COLUMNS.iter().map(|(name, _)| *name))
        .map(Cow::Borrowed);
    let matrix = rows.into_iter().map(|((platform, simulated), records)| {
        let [name, engine, format, domain] = platform;
        let page = records.last().and_then(|e| e.page.as_deref());
        let first = match page {
            Some(page) => Cell::Link { text: name.clone(), href: href(page) },
            None => Cell::text(name),
        };
        let mut row = vec![
            first,
            Cell::text(engine),
            Cell::text(format),
            Cell::text(domain),
            Cell::text(if simulated { "SIMULATED" } else { "measured" }),
            Cell::Number(Some(records.len() as f64), 0),
        ];
        for (column, (_, metric)) in COLUMNS.iter().enumerate() {
            let values = records.iter().map(|e| e.values.get(column).copied().flatten()).collect();
            row.push(Cell::Trend { values, decimals: metric.decimals() });
        }
        row
    });
    let matrix = Table {
        id: "index".to_owned(),
        caption: "Latest record per platform, and the trend over all stored ones".to_owned(),
        columns: columns.collect(),
        rows: matrix.collect(),
    };
    let sources = Table {
        id: "records".to_owned(),
        caption: "Records read".to_owned(),
        columns: heads(["Record", "Platform", "Data"]),
        rows: entries
            .iter()
            .map(|e| {
                vec![
                    Cell::text(plain(&e.path)),
                    Cell::text(&e.platform[0]),
                    Cell::text(if e.simulated { "SIMULATED" } else { "measured" }),
                ]
            })
            .collect(),
    };
    Document {
        title: format!("EnerInfer predictors: {} records", entries.len()),
        label: label.to_owned(),
        labels: BTreeMap::new(),
        simulated: any(true),
        notice: notice.to_owned(),
        tiles: Vec::new(),
        sections: vec![
            Section {
                id: "matrix".into(),
                title: "Platforms".into(),
                lead: "Errors, regret and flash should be small and tau-b near 1; the lines run \
                       from the oldest record (by file name) to the latest."
                    .to_owned(),
                parts: vec![Part::Table(matrix)],
            },
            Section {
                id: "records".into(),
                title: "Records".into(),
                lead: "Records are in the order of their paths: name them by date to see a trend."
                    .to_owned(),
                parts: vec![Part::Table(sources)],
            },
        ],
    }
}

/// A relative link: everything but unreserved characters and `/` is percent-encoded, so that no
/// file name can be read as a scheme.
fn href(path: &str) -> String {
    let mut out = "./".to_owned();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{SMALL, record};

    #[test]
    fn platforms_are_rows_and_records_a_trend() {
        let mut entries = Vec::new();
        for (seed, path) in [(2, "b/report.json"), (1, "a/report.json")] {
            entries.push(Entry::new(path.to_owned(), None, &record(SMALL, seed)));
        }
        let mut measured = record(SMALL, 3);
        measured.data.simulated = false;
        measured.platform.source = "measured:x".to_owned();
        entries.push(Entry::new("c".to_owned(), Some("javascript:x.html".to_owned()), &measured));
        let document = document(&entries);
        assert_eq!(document.label, "SIMULATED and measured");
        let table = document.tables().next().unwrap();
        assert_eq!(table.rows.len(), 2);
        let expected = [1, 2].map(|s| record(SMALL, s).combined.throughput_mape_percent);
        let trend = table.rows.iter().find_map(|r| match &r[6] {
            Cell::Trend { values, .. } if values.len() == 2 => Some(values.clone()),
            _ => None,
        });
        assert_eq!(trend, Some(expected.map(Some).to_vec()));
        let page = crate::html::render(&document);
        assert!(page.contains("href=\"./javascript%3Ax.html\""));
    }
}
