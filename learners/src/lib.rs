//! Regressors that are trained for compilation: random forests on integer-coded features.
