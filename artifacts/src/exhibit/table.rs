//! Tables of exhibits, column by column.

use serde::{Deserialize, Serialize};

use super::Provenance;

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataTable {
    /// Name in lower case, digits and `_`, unique in the evaluation.
    pub id: String,
    /// What the rows are.
    pub caption: String,
    /// The columns, all of one length.
    pub columns: Vec<Column>,
}

/// A column; all its values are of one provenance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// What the values are.
    pub name: String,
    /// Their unit; empty without one.
    pub unit: String,
    /// Where they come from; `null` if they only name the row.
    pub provenance: Option<Provenance>,
    /// The values.
    pub values: Values,
}

/// Values of a column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Words.
    Text(Vec<String>),
    /// Numbers; `null` where there is none.
    Numbers {
        /// Decimals to show.
        decimals: u8,
        /// The numbers.
        values: Vec<Option<f64>>,
    },
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Text(texts) => texts.len(),
            Values::Numbers { values, .. } => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Column {
    /// A column that names the rows.
    pub fn key<T: Into<String>>(name: &str, texts: impl IntoIterator<Item = T>) -> Self {
        let values = Values::Text(texts.into_iter().map(Into::into).collect());
        Column { name: name.to_owned(), unit: String::new(), provenance: None, values }
    }

    /// A column of words with a provenance.
    pub fn text<T: Into<String>>(
        name: &str,
        provenance: Provenance,
        texts: impl IntoIterator<Item = T>,
    ) -> Self {
        Column { provenance: Some(provenance), ..Column::key(name, texts) }
    }

    /// A column of numbers that are all present.
    pub fn numbers(
        name: &str,
        unit: &str,
        provenance: Provenance,
        decimals: u8,
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        Self::optional(name, unit, provenance, decimals, values.into_iter().map(Some))
    }

    /// A column of numbers.
    pub fn optional(
        name: &str,
        unit: &str,
        provenance: Provenance,
        decimals: u8,
        values: impl IntoIterator<Item = Option<f64>>,
    ) -> Self {
        Column {
            name: name.to_owned(),
            unit: unit.to_owned(),
            provenance: Some(provenance),
            values: Values::Numbers { decimals, values: values.into_iter().collect() },
        }
    }

    /// Name, unit and provenance, as headings have them.
    pub fn heading(&self) -> String {
        let mut out = self.name.clone();
        if !self.unit.is_empty() {
            out.push_str(", ");
            out.push_str(&self.unit);
        }
        if let Some(provenance) = self.provenance {
            out.push_str(" (");
            out.push_str(provenance.label());
            out.push(')');
        }
        out
    }
}

impl DataTable {
    /// Provenances of its columns.
    pub fn provenances(&self) -> Vec<Provenance> {
        self.columns.iter().filter_map(|c| c.provenance).collect()
    }

    pub(super) fn validate(&self) -> Result<(), String> {
        let id = &self.id;
        let Some(first) = self.columns.first() else {
            return Err(format!("table {id:?} has no columns"));
        };
        for column in &self.columns {
            let (name, length) = (&column.name, column.values.len());
            if length != first.values.len() {
                return Err(format!(
                    "table {id:?}: column {name:?} has {length} values, the first column {}",
                    first.values.len()
                ));
            }
            if let Values::Numbers { values, .. } = &column.values {
                if column.provenance.is_none() {
                    return Err(format!(
                        "table {id:?}: column {name:?} does not say where its numbers come from"
                    ));
                }
                if values.iter().flatten().any(|v| !v.is_finite()) {
                    return Err(format!("table {id:?}: column {name:?} has a number not finite"));
                }
            }
        }
        Ok(())
    }
}
