//! Reports of the EnerInfer toolchain: JSON record to self-contained HTML and Markdown.
