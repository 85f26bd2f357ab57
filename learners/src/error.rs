//! The error type of this crate.

/// Why a matrix, a set of parameters or a fit is impossible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LearnError {
    /// There is nothing to learn from.
    #[error("no rows to learn from")]
    NoRows,
    /// More rows than the exact sums have room for.
    #[error("{rows} rows; at most {max} are possible")]
    TooManyRows {
        /// Rows given.
        rows: usize,
        /// Most rows possible.
        max: usize,
    },
    /// No column, or more than a tree can hold.
    #[error("{features} feature columns; 1 to {max} are possible")]
    FeatureCount {
        /// Columns given.
        features: usize,
        /// Most columns possible.
        max: usize,
    },
    /// A feature stands twice.
    #[error("feature `{0}` stands twice among the columns")]
    DuplicateFeature(&'static str),
    /// Columns that belong together differ in length.
    #[error("{what} has {found} values, expected {expected}")]
    Length {
        /// Which column.
        what: String,
        /// Its length.
        found: usize,
        /// Length of the others.
        expected: usize,
    },
    /// More distinct values than a 16-bit code can tell apart.
    #[error("feature `{feature}` has {distinct} distinct values; at most 65536 can be coded")]
    TooManyDistinct {
        /// The feature.
        feature: &'static str,
        /// Its distinct values.
        distinct: usize,
    },
    /// A row index outside the matrix.
    #[error("row {row} is not among the matrix's {rows} rows")]
    RowIndex {
        /// The index.
        row: u32,
        /// Rows of the matrix.
        rows: usize,
    },
    /// A target or weight that cannot be learnt from.
    #[error("{what} of row {row} is {value}: {rule}")]
    Value {
        /// Target or weight.
        what: &'static str,
        /// Row of the matrix.
        row: u32,
        /// The value.
        value: f64,
        /// What it should have been.
        rule: &'static str,
    },
    /// A hyper-parameter outside its range.
    #[error("{name} = {value}: {rule}")]
    Param {
        /// Name of the parameter.
        name: &'static str,
        /// The value.
        value: String,
        /// Its range.
        rule: &'static str,
    },
    /// A dataset's feature that is not a whole number in the range of `u32`.
    #[error("row {row}, feature `{feature}`: {value} is not a whole number from 0 to 4294967295")]
    NotWhole {
        /// Row of the dataset.
        row: usize,
        /// Name of the feature.
        feature: String,
        /// The value.
        value: f64,
    },
    /// A dataset's feature name that the schema does not know.
    #[error("feature name `{0}` is not in the schema; name the columns as `Feature::name` does")]
    UnknownFeature(String),
    /// A fit whose numbers left the finite range or whose equations have no stable solution.
    #[error("the {0} fit diverged; choose other hyper-parameters")]
    Diverged(&'static str),
    /// The finished forest breaks a rule of the IR.
    #[error(transparent)]
    Artifact(#[from] enerinfer_artifacts::Error),
    /// An error of linfa itself.
    #[error(transparent)]
    Linfa(#[from] linfa::Error),
    /// The results of a search could not be kept.
    #[error("the search was stopped: its results could not be kept")]
    Store,
}
