//! Search spaces, random search, grouped cross-validation and scores.
