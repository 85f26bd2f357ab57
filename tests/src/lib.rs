//! Cross-stage test suites (unpublished).
