//! The error type of this crate.

/// Why records could not be compared or gated.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The gate policy breaks a rule.
    #[error("gate policy: {0}")]
    Policy(String),
    /// Two records are not about the same thing.
    #[error("these records cannot be compared: {0}")]
    Incomparable(String),
}
