//! Table III: what quantisation costs in quality.
//!
//! Perplexity and accuracies come from lm-eval-harness, not from telemetry; here they become the
//! paper's summary: mean and worst change of each format against F16 over models.

use super::tables::TextGrid;
use crate::{Error, Moments, TextTable};

const REFERENCE: &str = "F16";
/// Measure, heading, and whether higher is worse.
const MEASURES: [(&str, &str, bool); 3] =
    [("ppl", "PPL", true), ("winogrande", "Wino.", false), ("hellaswag", "Hella.", false)];

/// Summarises `model,format,ppl,winogrande,hellaswag` (accuracies in %), one row per model and
/// format. The worst change is printed as a positive size, as in the paper.
///
/// # Errors
/// A column or a model's F16 row is missing, or a value is no number.
pub fn quality_table(table: &TextTable) -> Result<TextGrid, Error> {
    let (model, format) = (table.require("model")?, table.require("format")?);
    let measures = MEASURES.iter().map(|m| table.require(m.0)).collect::<Result<Vec<_>, _>>()?;
    let value = |row: usize, column: usize| {
        table.number(row, column).ok_or_else(|| {
            Error::invalid(format!(
                "row {}, column {}: `{}` is not a number",
                row + 2,
                table.header[column],
                table.rows[row][column]
            ))
        })
    };
    let rows = || 0..table.rows.len();
    let mut formats: Vec<&str> = Vec::new();
    for f in rows().map(|r| table.rows[r][format].as_str()) {
        if f != REFERENCE && !formats.contains(&f) {
            formats.push(f);
        }
    }
    let mut header = vec!["Format".to_owned()];
    for (_, name, worse_up) in MEASURES {
        let worst = if worse_up { format!("Max d{name}") } else { "Max drop".to_owned() };
        header.extend([format!("Mean d{name}"), worst]);
    }
    let mut out = Vec::new();
    for f in formats {
        let mut cells = vec![f.to_owned()];
        for (&column, (_, _, worse_up)) in measures.iter().zip(MEASURES) {
            let mut changes = Vec::new();
            for row in rows().filter(|&r| table.rows[r][format] == f) {
                let name = &table.rows[row][model];
                let reference = rows()
                    .find(|&r| table.rows[r][model] == *name && table.rows[r][format] == REFERENCE)
                    .ok_or_else(|| Error::invalid(format!("model `{name}` has no F16 row")))?;
                changes.push(value(row, column)? - value(reference, column)?);
            }
            let worst = changes
                .iter()
                .map(|c| if worse_up { *c } else { -c })
                .fold(f64::NEG_INFINITY, f64::max);
            cells.extend([format!("{:+.2}", Moments::of(changes).mean()), format!("{worst:.2}")]);
        }
        out.push(cells);
    }
    Ok(TextGrid { name: "table3_quality", header, rows: out })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_against_f16_of_the_same_model() {
        // Invented values; published summary for orientation: Q4_K_M +0.36/0.91 PPL.
        let text = "model,format,ppl,winogrande,hellaswag\n\
                    a,F16,10.0,60.0,70.0\na,Q4_K_M,10.5,59.0,69.5\n\
                    b,F16,8.0,62.0,72.0\nb,Q4_K_M,8.1,62.5,71.0\n";
        let t = quality_table(&TextTable::read(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(t.rows, [["Q4_K_M", "+0.30", "0.50", "-0.25", "1.00", "-0.75", "1.00"]]);
        let missing = "model,format,ppl,winogrande,hellaswag\na,Q8_0,1,1,1\n";
        assert!(quality_table(&TextTable::read(missing.as_bytes()).unwrap()).is_err());
    }
}
