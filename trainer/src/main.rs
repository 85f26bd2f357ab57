//! The train command.
fn main() {}
