//! Prints the benches' table as CSV, for peers outside Rust:
//! `cargo run --release -p enerinfer-learners --example bench_table > table.csv`

use std::io::Write as _;

#[path = "../benches/table/mod.rs"]
mod table;

fn main() -> std::io::Result<()> {
    let (features, columns, y) = table::table(300, 1);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let names: Vec<&str> = features.iter().map(|f| f.name()).collect();
    writeln!(out, "{},y", names.join(","))?;
    for (row, y) in y.iter().enumerate() {
        for column in &columns {
            write!(out, "{},", column[row])?;
        }
        writeln!(out, "{y}")?;
    }
    out.flush()
}
