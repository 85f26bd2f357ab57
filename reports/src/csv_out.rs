//! Tables as CSV files with full precision.

use enerinfer_artifacts::record::Record;

use crate::document::{Cell, Document, Table, heads};
use crate::sections::{model_name, search};
use crate::text::plain;

/// Tables of the document, then the two that are too long for it.
pub(crate) fn render(record: &Record, document: &Document) -> Vec<(String, String)> {
    let (scatter, trials) = (scatter(record), trials(record));
    document
        .tables()
        .chain([&scatter, &trials])
        .map(|table| (format!("{}.csv", table.id), csv(document.label_of(&table.id), table)))
        .collect()
}

/// Every held-out row.
fn scatter(record: &Record) -> Table {
    Table {
        id: "scatter".to_owned(),
        caption: String::new(),
        columns: heads([
            "Model",
            "Memory level",
            "Accelerator level",
            "Measured, tok/s",
            "Predicted, tok/s",
            "Measured, W",
            "Predicted, W",
        ]),
        rows: record
            .scatter
            .iter()
            .map(|row| {
                vec![
                    Cell::text(model_name(record, row.model)),
                    Cell::count(row.point.mem),
                    Cell::count(row.point.accel),
                    Cell::number(row.measured_tok_per_s, 3),
                    Cell::number(row.predicted_tok_per_s, 3),
                    Cell::Number(row.measured_w, 3),
                    Cell::Number(row.predicted_w, 3),
                ]
            })
            .collect(),
    }
}

/// Every trial of every target.
fn trials(record: &Record) -> Table {
    let rows = record.targets.iter().flat_map(|target| {
        (1u32..).zip(&target.trials).map(|(i, trial)| {
            vec![
                Cell::text(target.target.name()),
                Cell::count(i),
                Cell::Number(trial.cv_mape_percent, 3),
                Cell::Number(trial.est_bytes.map(|b| b as f64), 0),
                Cell::text(search::params(&trial.params)),
            ]
        })
    });
    Table {
        id: "trials".to_owned(),
        caption: String::new(),
        columns: heads([
            "Target",
            "Trial",
            "CV MAPE, %",
            "Bytes, estimated from the folds",
            "Parameters",
        ]),
        rows: rows.collect(),
    }
}

fn csv(label: &str, table: &Table) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    // Rows as long as the heads, written to memory, cannot fail.
    let _ = writer.write_record(table.columns.iter().map(|head| &**head).chain(["Source"]));
    for row in &table.rows {
        let cells = row.iter().map(|cell| match cell {
            Cell::Text(text) | Cell::Link { text, .. } => field(text),
            Cell::Number(value, _) => number(*value),
            Cell::Trend { values, .. } => number(values.last().copied().flatten()),
        });
        let _ = writer.write_record(cells.chain([label.to_owned()]));
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// All digits; empty if absent.
fn number(value: Option<f64>) -> String {
    value.filter(|v| v.is_finite()).map(|v| v.to_string()).unwrap_or_default()
}

/// A text field. Spreadsheets run text that starts like a formula, so such text gets a leading
/// apostrophe.
fn field(text: &str) -> String {
    let mut text = plain(text);
    if text.starts_with(['=', '+', '-', '@']) {
        text.insert(0, '\'');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields() {
        assert_eq!(field("a\n\u{1b}[2J"), "a\u{fffd}\u{fffd}[2J");
        assert_eq!(field("=cmd|' /C calc'!A0"), "'=cmd|' /C calc'!A0");
    }
}
