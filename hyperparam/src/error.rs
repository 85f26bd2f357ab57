//! The error type of this crate.

/// Why a score, fold or search is impossible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Two columns that belong together differ in length.
    #[error("{what}: {left} values against {right}; both sides must have the same length")]
    Length {
        /// What was compared.
        what: &'static str,
        /// Length of the first column.
        left: usize,
        /// Length of the second column.
        right: usize,
    },
    /// There is nothing to score.
    #[error("{0}: no values")]
    Empty(&'static str),
    /// A value with which the score is not defined.
    #[error("{what}[{index}] = {value}: {rule}")]
    Value {
        /// Name of the column.
        what: &'static str,
        /// Position in it.
        index: usize,
        /// The value.
        value: f64,
        /// What it should have been.
        rule: &'static str,
    },
    /// A fold count that leaves no training or no test rows.
    #[error("k={k} folds; at least 2 are needed, or nothing is left to train on")]
    TooFewFolds {
        /// The fold count asked for.
        k: usize,
    },
    /// More folds than groups.
    #[error("k={k} > groups={groups}; each fold needs a model of its own")]
    TooManyFolds {
        /// The fold count asked for.
        k: usize,
        /// Number of groups (models).
        groups: usize,
    },
    /// A split that leaves one side empty.
    #[error(
        "cannot hold out {fraction} of {models} models: both sides need one; \
         measure more models or change the fraction"
    )]
    Split {
        /// Share to hold out.
        fraction: f64,
        /// Number of models.
        models: usize,
    },
}

/// Checks that two columns have the same length and are not empty.
pub(crate) fn same_length(what: &'static str, left: usize, right: usize) -> Result<(), Error> {
    if left != right {
        return Err(Error::Length { what, left, right });
    }
    if left == 0 {
        return Err(Error::Empty(what));
    }
    Ok(())
}

/// Checks that every value is finite.
pub(crate) fn all_finite(what: &'static str, values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|v| !v.is_finite()) {
        Some(index) => {
            Err(Error::Value { what, index, value: values[index], rule: "must be finite" })
        }
        None => Ok(()),
    }
}
