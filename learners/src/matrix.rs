//! Integer features, coded by the rank of their distinct values.

use enerinfer_artifacts::Feature;

use crate::LearnError;

/// Most feature columns; trees keep sets of columns in one word.
pub const MAX_FEATURES: usize = 32;

/// Columns of whole numbers, each stored as its sorted distinct values and a 16-bit rank per row.
///
/// Trees are grown on ranks; thresholds go back to values, exactly. Subsets of rows are passed as
/// index slices, so that folds and bootstrap samples copy nothing.
#[derive(Clone, Debug)]
pub struct CodedMatrix {
    features: Vec<Feature>,
    columns: Vec<Column>,
    rows: usize,
}

#[derive(Clone, Debug)]
struct Column {
    /// Distinct values, ascending.
    values: Vec<u32>,
    /// Rank of each row's value.
    codes: Vec<u16>,
}

impl CodedMatrix {
    /// Codes `columns`, one per entry of `features` and all of one length.
    ///
    /// # Errors
    ///
    /// No column or more than [`MAX_FEATURES`], a feature twice, columns of different length, or
    /// more than 65,536 distinct values in a column. No rows is allowed here; fitting refuses it.
    pub fn new(features: Vec<Feature>, columns: Vec<Vec<u32>>) -> Result<Self, LearnError> {
        if features.is_empty() || features.len() > MAX_FEATURES {
            return Err(LearnError::FeatureCount { features: features.len(), max: MAX_FEATURES });
        }
        if columns.len() != features.len() {
            return Err(LearnError::Length {
                what: "the list of columns".to_owned(),
                found: columns.len(),
                expected: features.len(),
            });
        }
        for (i, feature) in features.iter().enumerate() {
            if features[..i].contains(feature) {
                return Err(LearnError::DuplicateFeature(feature.name()));
            }
        }
        let rows = columns[0].len();
        let columns = features
            .iter()
            .zip(columns)
            .map(|(feature, column)| {
                if column.len() != rows {
                    return Err(LearnError::Length {
                        what: format!("column `{}`", feature.name()),
                        found: column.len(),
                        expected: rows,
                    });
                }
                Column::new(*feature, &column)
            })
            .collect::<Result<_, _>>()?;
        Ok(CodedMatrix { features, columns, rows })
    }

    /// Meaning of the columns.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.rows
    }

    /// Sorted distinct values of a column.
    pub fn distinct(&self, feature: usize) -> &[u32] {
        &self.columns[feature].values
    }

    /// Rank per row of a column.
    pub fn codes(&self, feature: usize) -> &[u16] {
        &self.columns[feature].codes
    }

    /// Value of a cell.
    pub fn value(&self, row: usize, feature: usize) -> u32 {
        let column = &self.columns[feature];
        column.values[usize::from(column.codes[row])]
    }

    /// A row's values, as `Forest::predict` takes them.
    pub fn row(&self, row: usize) -> Vec<u32> {
        (0..self.features.len()).map(|f| self.value(row, f)).collect()
    }

    /// The same rows with the columns of `features` only, in that order.
    ///
    /// # Errors
    ///
    /// A feature that the matrix does not have, or the rules of [`CodedMatrix::new`].
    pub fn select(&self, features: &[Feature]) -> Result<Self, LearnError> {
        if features.is_empty() {
            return Err(LearnError::FeatureCount { features: 0, max: MAX_FEATURES });
        }
        let mut columns = Vec::with_capacity(features.len());
        for (i, feature) in features.iter().enumerate() {
            if features[..i].contains(feature) {
                return Err(LearnError::DuplicateFeature(feature.name()));
            }
            let at = self.features.iter().position(|f| f == feature);
            let at = at.ok_or_else(|| LearnError::UnknownFeature(feature.name().to_owned()))?;
            columns.push(self.columns[at].clone());
        }
        Ok(CodedMatrix { features: features.to_vec(), columns, rows: self.rows })
    }

    /// Threshold that separates the values of two ranks `left < right`: the midpoint, rounded
    /// down, so `a ≤ t < b` and `x ≤ t` goes left.
    pub(crate) fn threshold(&self, feature: usize, left: u16, right: u16) -> u32 {
        let values = &self.columns[feature].values;
        let (a, b) = (values[usize::from(left)], values[usize::from(right)]);
        a + (b - a) / 2
    }

    /// Checks that every index of `rows` is inside and that there is one.
    pub(crate) fn check_rows(&self, rows: &[u32]) -> Result<(), LearnError> {
        if rows.is_empty() {
            return Err(LearnError::NoRows);
        }
        match rows.iter().find(|&&r| r as usize >= self.rows) {
            Some(&row) => Err(LearnError::RowIndex { row, rows: self.rows }),
            None => Ok(()),
        }
    }
}

impl Column {
    fn new(feature: Feature, column: &[u32]) -> Result<Self, LearnError> {
        let mut values = column.to_vec();
        values.sort_unstable();
        values.dedup();
        if values.len() > 1 << 16 {
            return Err(LearnError::TooManyDistinct {
                feature: feature.name(),
                distinct: values.len(),
            });
        }
        // Every value of the column is among its distinct values.
        let codes = column.iter().map(|v| values.partition_point(|d| d < v) as u16).collect();
        Ok(Column { values, codes })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn wrong_columns_are_named() {
        let error = |features: &[Feature], columns: Vec<Vec<u32>>| {
            CodedMatrix::new(features.to_vec(), columns).unwrap_err().to_string()
        };
        use Feature::{Heads, Hidden};
        assert!(error(&[], vec![]).starts_with("0 feature columns"));
        assert!(error(&[Heads], vec![]).contains("list of columns has 0"));
        assert!(error(&[Heads, Heads], vec![vec![1], vec![1]]).contains("`heads` stands twice"));
        assert_eq!(
            error(&[Heads, Hidden], vec![vec![1], vec![1, 2]]),
            "column `hidden` has 2 values, expected 1"
        );
        assert!(error(&[Heads], vec![(0..65_537).collect()]).contains("65537 distinct"));
        assert!(CodedMatrix::new(vec![Heads], vec![(0..65_536).collect()]).is_ok());
    }

    #[test]
    fn thresholds_do_not_overflow() {
        let m = CodedMatrix::new(vec![Feature::Heads], vec![vec![u32::MAX, u32::MAX - 1, 0, 3]]);
        let m = m.unwrap();
        assert_eq!(m.threshold(0, 2, 3), u32::MAX - 1);
        assert_eq!(m.threshold(0, 0, 3), u32::MAX / 2);
        assert_eq!(m.threshold(0, 0, 1), 1);
    }

    proptest! {
        #[test]
        fn codes_keep_values_and_order(column in prop::collection::vec(any::<u32>(), 1..60)) {
            let m = CodedMatrix::new(vec![Feature::Ffn], vec![column.clone()]).unwrap();
            for (i, &x) in column.iter().enumerate() {
                prop_assert_eq!(m.value(i, 0), x);
                prop_assert_eq!(m.row(i), vec![x]);
                for (j, &y) in column.iter().enumerate() {
                    prop_assert_eq!(m.codes(0)[i].cmp(&m.codes(0)[j]), x.cmp(&y));
                    if x < y {
                        let t = m.threshold(0, m.codes(0)[i], m.codes(0)[j]);
                        prop_assert!(x <= t && t < y);
                    }
                }
            }
        }
    }
}
