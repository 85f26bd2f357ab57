//! The output formats of llama-bench: JSON, JSON lines, CSV, Markdown, SQL.
//!
//! Result files are small, so they are read whole; what stands before and after the results
//! (device banners, crash messages) is skipped and counted.

use serde_json::{Map, Value};

use super::BenchRow;
use crate::info::refuse_doubled;
use crate::{Error, Tally};

/// An output format of llama-bench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchFormat {
    /// One array of objects.
    Json,
    /// One object per line.
    JsonLines,
    /// Comma-separated with header.
    Csv,
    /// The table printed by default.
    Markdown,
    /// `CREATE TABLE` and `INSERT`.
    Sql,
}

impl BenchFormat {
    /// Recognises the format by its first characteristic line.
    pub fn detect(text: &str) -> Option<Self> {
        for line in text.lines().map(str::trim) {
            if line.starts_with("CREATE TABLE") || line.starts_with("INSERT INTO") {
                return Some(BenchFormat::Sql);
            }
            if line.starts_with('|') && line.contains("t/s") {
                return Some(BenchFormat::Markdown);
            }
            if line == "[" || line.starts_with("[{") || line.starts_with("[ {") {
                return Some(BenchFormat::Json);
            }
            if line.starts_with('{') && line.contains("\"n_prompt\"") {
                return Some(BenchFormat::JsonLines);
            }
            if line.contains("n_prompt") && line.contains(',') && !line.contains('{') {
                return Some(BenchFormat::Csv);
            }
        }
        None
    }
}

/// Reads every row of a result file, whatever its format.
///
/// # Errors
/// When no format is recognised, or a header names a column twice. Rows that cannot be used are in the tally.
pub fn read_bench(bytes: &[u8]) -> Result<(Vec<BenchRow>, Tally), Error> {
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_start_matches('\u{feff}');
    let format = BenchFormat::detect(text).ok_or_else(|| {
        Error::invalid(
            "not a llama-bench result: no JSON array, JSON line, CSV header with n_prompt, \
             Markdown table with t/s, or SQL insert was found",
        )
    })?;
    let mut out = Rows::default();
    match format {
        BenchFormat::Json => json(text, &mut out),
        BenchFormat::JsonLines => json_lines(text, &mut out),
        BenchFormat::Csv => csv_rows(text, &mut out)?,
        BenchFormat::Markdown => markdown(text, &mut out)?,
        BenchFormat::Sql => sql(text, &mut out),
    }
    Ok((out.rows, out.tally))
}

#[derive(Default)]
struct Rows {
    rows: Vec<BenchRow>,
    tally: Tally,
}

impl Rows {
    fn take(&mut self, line: u64, cells: &Map<String, Value>, text: &str) {
        match BenchRow::from_cells(cells) {
            Ok(row) => {
                let repairs: Vec<&str> = row.flags.iter().map(|f| f.name()).collect();
                self.tally.accept(&repairs);
                self.rows.push(row);
            }
            Err(reason) => self.tally.refuse(line, reason, text.as_bytes()),
        }
    }

    fn skip(&mut self, line: u64, text: &str) {
        if !text.trim().is_empty() {
            self.tally.refuse(line, "not part of the results (banner, message)", text.as_bytes());
        }
    }
}

/// Line number of a byte offset.
fn line_of(text: &str, offset: usize) -> u64 {
    text.as_bytes()[..offset].iter().filter(|&&b| b == b'\n').count() as u64 + 1
}

fn json(text: &str, out: &mut Rows) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with('[') {
            break;
        }
        out.skip(line_of(text, at), line);
        at += line.len();
    }
    at += text[at..].find('[').map_or(text.len() - at, |i| i + 1);
    // Object by object: an array cut by a crash still gives the objects before the cut.
    loop {
        at += text[at..].len() - text[at..].trim_start_matches([',', ' ', '\n', '\r', '\t']).len();
        let rest = &text[at..];
        if rest.is_empty() {
            out.tally.warn("the JSON array is not closed: the run was cut short");
            return;
        }
        if let Some(after) = rest.strip_prefix(']') {
            let mut at = text.len() - after.len();
            for line in after.split_inclusive('\n') {
                out.skip(line_of(text, at), line);
                at += line.len();
            }
            return;
        }
        let number = line_of(text, at);
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            Some(Ok(Value::Object(cells))) => {
                let end = stream.byte_offset();
                out.take(number, &cells, &rest[..end]);
                at += end;
            }
            Some(Ok(_)) => {
                out.tally.refuse(number, "array element is not an object", rest.as_bytes());
                at += stream.byte_offset();
            }
            _ => {
                out.tally.refuse(number, "JSON ends or breaks here", rest.as_bytes());
                return;
            }
        }
    }
}

fn json_lines(text: &str, out: &mut Rows) {
    for (i, line) in text.lines().enumerate() {
        let number = i as u64 + 1;
        if !line.trim_start().starts_with('{') {
            out.skip(number, line);
            continue;
        }
        match serde_json::from_str::<Value>(line) {
            Ok(Value::Object(cells)) => out.take(number, &cells, line),
            _ => out.tally.refuse(number, "not a JSON object (torn line)", line.as_bytes()),
        }
    }
}

fn csv_rows(text: &str, out: &mut Rows) -> Result<(), Error> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if line.contains("n_prompt") {
            break;
        }
        out.skip(line_of(text, at), line);
        at += line.len();
    }
    let base = line_of(text, at) - 1;
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(&text.as_bytes()[at..]);
    let Ok(header) = reader.headers().cloned() else { return Ok(()) };
    refuse_doubled(base + 1, header.iter())?;
    for record in reader.records() {
        let Ok(record) = record else { continue };
        let number = base + record.position().map_or(0, csv::Position::line);
        let shown = record.iter().collect::<Vec<_>>().join(",");
        if record.len() != header.len() {
            out.tally.refuse(number, "number of fields differs from the header", shown.as_bytes());
            continue;
        }
        let cells = header
            .iter()
            .zip(&record)
            .map(|(h, v)| (h.to_owned(), Value::String(v.to_owned())))
            .collect();
        out.take(number, &cells, &shown);
    }
    Ok(())
}

fn markdown(text: &str, out: &mut Rows) -> Result<(), Error> {
    let mut header: Vec<String> = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let number = i as u64 + 1;
        let Some(inner) = line.trim().strip_prefix('|') else {
            out.skip(number, line);
            continue;
        };
        let fields: Vec<&str> =
            inner.trim_end().trim_end_matches('|').split('|').map(str::trim).collect();
        if fields.contains(&"t/s") {
            refuse_doubled(number, fields.iter().copied())?;
            header = fields.iter().map(|f| (*f).to_owned()).collect();
            continue;
        }
        if fields.iter().all(|f| f.chars().all(|c| matches!(c, '-' | ':' | ' '))) {
            continue;
        }
        if fields.len() != header.len() {
            out.tally.refuse(number, "number of fields differs from the header", line.as_bytes());
            continue;
        }
        let mut cells = Map::new();
        for (h, v) in header.iter().zip(&fields) {
            markdown_cell(h, v, &mut cells);
        }
        out.take(number, &cells, line);
    }
    Ok(())
}

fn markdown_cell(header: &str, value: &str, cells: &mut Map<String, Value>) {
    let mut put = |key: &str, value: Value| drop(cells.insert(key.to_owned(), value));
    match header {
        "model" => put("model_type", value.into()),
        "size" => put("model_size", scaled(value).into()),
        "params" => put("model_n_params", scaled(value).into()),
        "backend" => put("backends", value.into()),
        "ngl" => put("n_gpu_layers", value.into()),
        "threads" => put("n_threads", value.into()),
        "t/s" => {
            let (mean, std) = value.split_once('±').unwrap_or((value, ""));
            put("avg_ts", mean.trim().into());
            put("stddev_ts", std.trim().into());
        }
        "test" => {
            let (test, depth) = value.split_once('@').unwrap_or((value, ""));
            put("n_depth", depth.trim().trim_start_matches('d').into());
            put("n_prompt", "0".into());
            put("n_gen", "0".into());
            for part in test.split('+').map(str::trim) {
                if let Some(n) = part.strip_prefix("pp") {
                    put("n_prompt", n.into());
                } else if let Some(n) = part.strip_prefix("tg") {
                    put("n_gen", n.into());
                } else if let Some((p, g)) = part.strip_prefix("pg").and_then(|n| n.split_once(','))
                {
                    put("n_prompt", p.trim().into());
                    put("n_gen", g.trim().into());
                }
            }
        }
        other => put(other, value.into()),
    }
}

/// `4.13 GiB`, `8.03 B` as a number.
fn scaled(value: &str) -> f64 {
    let (number, unit) = value.split_once(' ').unwrap_or((value, ""));
    let factor = match unit.trim() {
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        "K" => 1e3,
        "M" => 1e6,
        "B" => 1e9,
        "T" => 1e12,
        _ => 1.0,
    };
    crate::text::float(number.trim().as_bytes()).map_or(0.0, |v| (v * factor).round())
}

fn sql(text: &str, out: &mut Rows) {
    let mut at = 0;
    for statement in text.split_inclusive(';') {
        let number = line_of(text, at + statement.len() - statement.trim_start().len());
        at += statement.len();
        let statement = statement.trim();
        if statement.starts_with("CREATE TABLE") || statement.is_empty() {
            continue;
        }
        let Some(insert) = statement.strip_prefix("INSERT INTO") else {
            out.skip(number, statement);
            continue;
        };
        match insert_cells(insert) {
            Some(cells) => out.take(number, &cells, statement),
            None => out.tally.refuse(number, "INSERT cannot be read", statement.as_bytes()),
        }
    }
}

/// `test (a, b) VALUES ('x', 1);`
fn insert_cells(insert: &str) -> Option<Map<String, Value>> {
    let (head, tail) = insert.split_once("VALUES")?;
    let names = head.split_once('(')?.1.rsplit_once(')')?.0;
    let names: Vec<&str> =
        names.split(',').map(|n| n.trim().trim_matches(['"', '`', '\''])).collect();
    let mut values = Vec::new();
    let mut rest = tail.split_once('(')?.1.trim_start();
    loop {
        let (value, after) = sql_value(rest)?;
        values.push(value);
        rest = after.trim_start();
        match rest.strip_prefix(',') {
            Some(r) => rest = r.trim_start(),
            None => break,
        }
    }
    rest.starts_with(')').then_some(())?;
    (names.len() == values.len()).then(|| {
        names.into_iter().zip(values).map(|(n, v)| (n.to_owned(), Value::String(v))).collect()
    })
}

/// A quoted string (quotes doubled inside) or a bare word.
fn sql_value(s: &str) -> Option<(String, &str)> {
    let Some(mut rest) = s.strip_prefix('\'') else {
        let end = s.find([',', ')'])?;
        return Some((s[..end].trim().to_owned(), &s[end..]));
    };
    let mut value = String::new();
    loop {
        let quote = rest.find('\'')?;
        value.push_str(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.strip_prefix('\'') {
            Some(r) => {
                value.push('\'');
                rest = r;
            }
            None => return Some((value, rest)),
        }
    }
}
