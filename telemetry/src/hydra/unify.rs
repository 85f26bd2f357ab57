//! Hydra's fusion of timing and telemetry, as the original does it.
//!
//! Windows are closed at both ends (a sample at the boundary counts in both phases), windows that
//! touch fail the whole file, sample counts are not kept, and the window indices themselves are
//! averaged as though they were telemetry. The original also drops every fifth sample of a parsed
//! log of 5 GiB or more; that is not reproduced, it would need the size of a file never written.

use std::io::BufRead;
use std::path::Path;

use super::{HydraParser, HydraPlatform, LineFault, ParsedLine};
use crate::info::TextTable;
use crate::lines::Lines;
use crate::text::python_float;
use crate::{Error, Moments, Tally};

/// What became of a file.
#[derive(Clone, Debug)]
pub struct UnifyReport {
    /// Lines of the log.
    pub tally: Tally,
    /// Rows written.
    pub rows: usize,
    /// Columns written.
    pub columns: usize,
    /// Rows without any sample in their prompt window. The original says nothing of them.
    pub rows_without_samples: usize,
}

const PROMPT: usize = 0;
const PREFILL: usize = 1;
const DECODE: usize = 2;
const FAMILIES: [&str; 3] = ["prompt", "prefill", "decode"];
/// Bookkeeping columns of each family: indices of the other two.
const OTHERS: [[usize; 2]; 3] = [[PREFILL, DECODE], [PROMPT, DECODE], [PROMPT, PREFILL]];

/// Windows of one family, closed at both ends.
struct Windows {
    /// `(start, end, row)`, sorted.
    sorted: Vec<(i64, i64, usize)>,
}

impl Windows {
    fn new(bounds: impl Iterator<Item = (i64, i64)>, family: &str) -> Result<Self, Error> {
        let mut sorted: Vec<_> = bounds.enumerate().map(|(row, (a, b))| (a, b, row)).collect();
        if let Some((a, b, row)) = sorted.iter().find(|(a, b, _)| a > b) {
            return Err(Error::invalid(format!(
                "INFO row {}: the {family} window ends before it starts ({a} > {b} ns)",
                row + 1
            )));
        }
        sorted.sort_unstable();
        for pair in sorted.windows(2) {
            let ((_, end, r0), (start, _, r1)) = (pair[0], pair[1]);
            if end >= start {
                return Err(Error::invalid(format!(
                    "INFO rows {} and {}: their {family} windows overlap or touch \
                     ({end} ≥ {start} ns); the original fails the whole file, the default mode \
                     does not",
                    r0 + 1,
                    r1 + 1
                )));
            }
        }
        Ok(Windows { sorted })
    }

    fn find(&self, t: i64) -> Option<usize> {
        let after = self.sorted.partition_point(|w| w.0 <= t);
        let (_, end, row) = *self.sorted.get(after.checked_sub(1)?)?;
        (t <= end).then_some(row)
    }
}

/// Statistics of one window: timestamp, cells, two bookkeeping columns.
struct Group {
    stats: Vec<Moments>,
    /// Values of the samples since the group was opened, sample by sample; empty cells are 0.
    open: Vec<f64>,
    sums: Vec<f64>,
}

impl Group {
    fn new(columns: usize) -> Self {
        Group {
            stats: vec![Moments::default(); columns],
            open: Vec::new(),
            sums: vec![0.0; columns],
        }
    }

    fn add(&mut self, sample: &[f64]) {
        for (m, &v) in self.stats.iter_mut().zip(sample) {
            m.add(v);
        }
        self.open.extend(sample.iter().map(|v| if v.is_nan() { 0.0 } else { *v }));
    }

    /// Sums up what is open and lets it go: memory is bounded by the samples of one window.
    fn close(&mut self) {
        let width = self.sums.len();
        let mut column = Vec::with_capacity(self.open.len() / width);
        for (c, sum) in self.sums.iter_mut().enumerate() {
            column.clear();
            column.extend(self.open.iter().skip(c).step_by(width));
            *sum += numpy_sum(&column);
        }
        self.open = Vec::new();
    }

    /// The mean. Where the windows follow each other in the log as in the INFO file (`in_order`)
    /// the original's is numpy's, else pandas' compensated one.
    fn mean(&self, column: usize, in_order: bool) -> f64 {
        let m = &self.stats[column];
        if in_order && m.count() > 0 { self.sums[column] / m.count() as f64 } else { m.mean() }
    }
}

/// The sum in the order of numpy's `add.reduce`, whose rounding shows in averaged timestamps: the
/// first value, plus the others by halves down to blocks of 128 with eight running sums.
fn numpy_sum(values: &[f64]) -> f64 {
    match values.split_first() {
        Some((first, rest)) => first + pairwise(rest),
        None => 0.0,
    }
}

fn pairwise(v: &[f64]) -> f64 {
    if v.len() < 8 {
        return v.iter().sum();
    }
    if v.len() > 128 {
        let half = v.len() / 2;
        let (a, b) = v.split_at(half - half % 8);
        return pairwise(a) + pairwise(b);
    }
    let blocks = v.chunks_exact(8);
    let rest = blocks.remainder();
    let mut r = [0.0; 8];
    for block in blocks {
        r.iter_mut().zip(block).for_each(|(sum, x)| *sum += x);
    }
    let whole = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    rest.iter().fold(whole, |sum, x| sum + x)
}

/// Fuses an INFO table with a log and writes the UNIFIED table.
///
/// # Errors
/// Whatever fails the whole file in the original: windows that overlap or touch, a line without a
/// CPU list (Xavier, Orin), any bad line (Thor), an empty log, cells beyond the first line's.
pub fn unify(
    platform: HydraPlatform,
    info: &TextTable,
    log: impl BufRead,
) -> Result<(Vec<u8>, UnifyReport), Error> {
    let bounds = bounds(info)?;
    let families = [
        Windows::new(bounds.iter().map(|b| (b[0], b[2])), FAMILIES[PROMPT])?,
        Windows::new(bounds.iter().map(|b| (b[0], b[1])), FAMILIES[PREFILL])?,
        Windows::new(bounds.iter().map(|b| (b[1], b[2])), FAMILIES[DECODE])?,
    ];
    let mut groups: [Vec<Option<Group>>; 3] =
        std::array::from_fn(|_| (0..info.rows.len()).map(|_| None).collect());

    let mut parser = HydraParser::new(platform)?;
    let mut parsed = ParsedLine::default();
    let mut lines = Lines::new(log);
    let mut tally = Tally::default();
    let mut columns: Option<Vec<String>> = None;
    let mut has_text = Vec::new();
    let mut opened = [None; 3];
    let mut in_order = [true; 3];
    while lines.advance()? {
        match parser.parse(lines.line(), &mut parsed) {
            Ok(()) => tally.accept(&[]),
            Err(LineFault::Value(reason)) if platform != HydraPlatform::Thor => {
                tally.refuse(lines.number(), reason, lines.line());
                continue;
            }
            Err(fault) => {
                return Err(Error::invalid(format!(
                    "log line {}: {}; the original gives the whole file up, the default mode does \
                     not",
                    lines.number(),
                    fault.reason()
                )));
            }
        }
        let columns = columns.get_or_insert_with(|| {
            let c = platform.columns(parsed.cores);
            has_text = vec![false; c.len()];
            c
        });
        let width = columns.len();
        if parsed.cells.len() > width {
            return Err(Error::invalid(format!(
                "log line {}: {} cells, the first line has {width} (it lists fewer CPU cores); \
                 the original cannot read its own parsed file",
                lines.number(),
                parsed.cells.len() + 1,
            )));
        }
        for &i in &parsed.text_cells {
            has_text[i] = true;
        }
        add_sample(&parsed, width, &families, &mut groups, (&mut opened, &mut in_order));
    }
    groups.iter_mut().flatten().flatten().for_each(Group::close);
    let columns =
        columns.ok_or_else(|| Error::invalid("the log has no usable line: nothing to fuse"))?;
    let rows_without_samples = groups[PROMPT].iter().filter(|g| g.is_none()).count();
    let (bytes, width) = write(info, &columns, &has_text, (&groups, in_order));
    let rows = info.rows.len();
    Ok((bytes, UnifyReport { tally, rows, columns: width, rows_without_samples }))
}

/// [`unify`] on files; the UNIFIED table is written atomically.
pub fn unify_file(
    platform: HydraPlatform,
    info: &Path,
    log: &Path,
    out: &Path,
) -> Result<UnifyReport, Error> {
    let table = TextTable::open(info)?;
    let file = std::fs::File::open(log).map_err(|e| Error::io(log, e))?;
    let reader = std::io::BufReader::with_capacity(1 << 16, file);
    let (bytes, report) = unify(platform, &table, reader).map_err(|e| e.in_file(log))?;
    enerinfer_artifacts::write_atomic(out, &bytes)?;
    Ok(report)
}

/// Start, end of prefill and end of each row, ns.
fn bounds(info: &TextTable) -> Result<Vec<[i64; 3]>, Error> {
    let columns = ["start_time", "end_time"].map(|c| info.require(c));
    let [start, end] = columns;
    let (start, end) = (start?, end?);
    let (tokenization, prefill) =
        (info.require("tokenization_time")?, info.require("prefill_time")?);
    (0..info.rows.len())
        .map(|row| {
            let bad = |c: usize| {
                Error::invalid(format!(
                    "INFO row {}, column {}: `{}` is not a number of the expected kind",
                    row + 1,
                    info.header[c],
                    info.rows[row][c]
                ))
            };
            let ns = |c: usize| info.rows[row][c].parse::<i64>().map_err(|_| bad(c));
            let seconds = |c: usize| info.number(row, c).ok_or_else(|| bad(c));
            let (s, e) = (ns(start)?, ns(end)?);
            // Sum first, then scale, then cut: the original's order of operations.
            let p = s + ((seconds(tokenization)? + seconds(prefill)?) * 1e9) as i64;
            Ok([s, p, e])
        })
        .collect()
}

fn add_sample(
    parsed: &ParsedLine,
    width: usize,
    families: &[Windows; 3],
    groups: &mut [Vec<Option<Group>>; 3],
    (opened, in_order): (&mut [Option<usize>; 3], &mut [bool; 3]),
) {
    let found: [Option<usize>; 3] = std::array::from_fn(|f| families[f].find(parsed.timestamp_ns));
    // Rows without a window count as -1, as in the original.
    let index = |f: usize| found[f].map_or(-1.0, |row| row as f64);
    // The original averages the nanoseconds themselves, 256 ns per step of an f64.
    let mut sample = Vec::with_capacity(width + 3);
    sample.push(parsed.timestamp_ns as f64);
    sample.extend_from_slice(&parsed.cells);
    sample.resize(width + 3, f64::NAN);
    for (f, groups) in groups.iter_mut().enumerate() {
        if let (Some(before), now) = (opened[f], found[f])
            && now.is_some()
            && now != opened[f]
            && let Some(group) = &mut groups[before]
        {
            group.close();
            in_order[f] &= now > opened[f];
        }
        let Some(row) = found[f] else { continue };
        opened[f] = Some(row);
        let group = groups[row].get_or_insert_with(|| Group::new(width + 3));
        sample[width + 1] = index(OTHERS[f][0]);
        sample[width + 2] = index(OTHERS[f][1]);
        group.add(&sample);
    }
}

/// How pandas reads a column of the INFO table and writes it again.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Int,
    Float,
    Text,
}

fn kind(info: &TextTable, column: usize) -> Kind {
    let mut kind = Kind::Int;
    for row in &info.rows {
        let cell = row[column].trim();
        if cell.parse::<i64>().is_ok() {
            continue;
        }
        if cell.is_empty() || cell == "nan" || crate::text::float(cell.as_bytes()).is_some() {
            kind = Kind::Float;
        } else {
            return Kind::Text;
        }
    }
    kind
}

fn write(
    info: &TextTable,
    columns: &[String],
    has_text: &[bool],
    (groups, in_order): (&[Vec<Option<Group>>; 3], [bool; 3]),
) -> (Vec<u8>, usize) {
    let kept: Vec<usize> = (0..columns.len()).filter(|&c| !has_text[c]).collect();
    let mut out = Vec::new();
    let mut width = info.header.len();
    out.extend_from_slice(info.header.join(",").as_bytes());
    for (f, family) in FAMILIES.iter().enumerate() {
        let others = OTHERS[f].map(|o| format!("{}_id", FAMILIES[o]));
        for statistic in ["mean", "std"] {
            let names = std::iter::once("timestamp")
                .chain(kept.iter().map(|&c| columns[c].as_str()))
                .chain(others.iter().map(String::as_str));
            for name in names {
                out.extend_from_slice(format!(",{name}_{family}_{statistic}").as_bytes());
                width += 1;
            }
        }
    }
    out.push(b'\n');
    let kinds: Vec<Kind> = (0..info.header.len()).map(|c| kind(info, c)).collect();
    for (row, cells) in info.rows.iter().enumerate() {
        for (c, cell) in cells.iter().enumerate() {
            if c > 0 {
                out.push(b',');
            }
            match (kinds[c], crate::text::float(cell.trim().as_bytes())) {
                (Kind::Float, Some(v)) => python_float(v, &mut out),
                (Kind::Float, None) => {}
                _ => out.extend_from_slice(cell.as_bytes()),
            }
        }
        for (family, in_order) in groups.iter().zip(in_order) {
            write_group(family[row].as_ref(), &kept, columns.len(), in_order, &mut out);
        }
        out.push(b'\n');
    }
    (out, width)
}

fn write_group(
    group: Option<&Group>,
    kept: &[usize],
    width: usize,
    in_order: bool,
    out: &mut Vec<u8>,
) {
    let cells = 2 * (kept.len() + 3);
    let Some(g) = group else {
        out.resize(out.len() + cells, b',');
        return;
    };
    let columns = || {
        let cells = kept.iter().map(|&c| c + 1);
        std::iter::once(0).chain(cells).chain([width + 1, width + 2])
    };
    for column in columns() {
        out.push(b',');
        python_float(g.mean(column, in_order), out);
    }
    for column in columns() {
        out.push(b',');
        python_float(g.stats[column].std(), out);
    }
}
