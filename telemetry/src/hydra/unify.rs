//! Hydra's fusion of timing and telemetry, as the original does it.
//!
//! Windows are closed at both ends (a sample at the boundary counts in both phases), windows that
//! touch fail the whole file, sample counts are not kept, and the window indices themselves are
//! averaged as though they were telemetry. The original also drops every fifth sample of a parsed
//! log of 5 GiB or more; that is not reproduced, it would need the size of a file never written.

//!
//! The log is read once and rows are written as their windows pass, so memory does not grow with
//! either: it holds the samples of one window, and 120 bytes per row of the INFO table. Logs or
//! tables that are not in the order of time are fused as well, with all windows held (10 kB per
//! row): the original does not mind the order.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek as _, Write};
use std::path::Path;

use super::group::Group;
use super::timing::{Rows, Timing, next_row, rows};
use super::{HydraParser, HydraPlatform, LineFault, ParsedLine};
use crate::lines::Lines;
use crate::text::python_float;
use crate::{Error, Tally};

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

    /// Whether rows follow each other in time as in the table.
    fn in_row_order(&self) -> bool {
        self.sorted.iter().enumerate().all(|(i, w)| w.2 == i)
    }

    fn find(&self, t: i64) -> Option<usize> {
        let after = self.sorted.partition_point(|w| w.0 <= t);
        let (_, end, row) = *self.sorted.get(after.checked_sub(1)?)?;
        (t <= end).then_some(row)
    }
}

/// Fuses an INFO table with a log and writes the UNIFIED table, atomically.
///
/// # Errors
/// Whatever fails the whole file in the original: windows that overlap or touch, a line without a
/// CPU list (Xavier, Orin), any bad line (Thor), an empty log, cells beyond the first line's.
/// And whatever `accept` refuses of a table that is complete, but not yet in its place.
pub fn unify_file(
    platform: HydraPlatform,
    info: &Path,
    log: &Path,
    out: &Path,
    accept: impl FnOnce(&UnifyReport) -> Result<(), Error>,
) -> Result<UnifyReport, Error> {
    let timing = Timing::read(info).map_err(|e| e.in_file(info))?;
    enerinfer_artifacts::write_atomic_with(out, |file| {
        let report = unify(platform, &timing, [info, log], file).map_err(|e| e.in_file(log))?;
        accept(&report)?;
        Ok(report)
    })
}

fn unify(
    platform: HydraPlatform,
    timing: &Timing,
    [info, log]: [&Path; 2],
    file: &mut File,
) -> Result<UnifyReport, Error> {
    for release in [true, false] {
        file.rewind().and_then(|()| file.set_len(0)).map_err(not_written)?;
        let mut fusion = Fusion::new(timing, rows(info)?.1, BufWriter::new(&mut *file))?;
        fusion.release &= release;
        let input =
            BufReader::with_capacity(1 << 16, File::open(log).map_err(|e| Error::io(log, e))?);
        let mut lines = Lines::new(input);
        let mut tally = Tally::default();
        if fusion.read(platform, &mut lines, &mut tally)? == Order::Kept {
            return fusion.finish(tally);
        }
    }
    Err(Error::invalid("the log has changed while it was read"))
}

fn not_written(e: io::Error) -> Error {
    Error::io(Path::new("UNIFIED table"), e)
}

/// Whether rows that were written are still right.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Kept,
    /// A sample belongs to a row that was written, or makes a column text that was written as
    /// numbers.
    Broken,
}

/// A fusion under way.
struct Fusion<'a, W: Write> {
    timing: &'a Timing,
    families: [Windows; 3],
    groups: [Vec<Option<Box<Group>>>; 3],
    /// Row of the last sample, by family.
    opened: [Option<usize>; 3],
    in_order: [bool; 3],
    /// Parsed columns, once a line was accepted, and which of them have held text.
    columns: Vec<String>,
    has_text: Vec<bool>,
    sample: Vec<f64>,
    /// Buffers of windows that were closed.
    spare: Vec<Vec<f64>>,
    /// Rows are written when the log has passed them, not only at the end.
    release: bool,
    info: Rows,
    out: W,
    text: Vec<u8>,
    /// Rows written.
    rows: usize,
    /// Columns written; 0 before the header.
    width: usize,
    rows_without_samples: usize,
}

impl<'a, W: Write> Fusion<'a, W> {
    fn new(timing: &'a Timing, info: Rows, out: W) -> Result<Self, Error> {
        let window = |a: usize, b: usize, family: usize| {
            Windows::new(timing.bounds.iter().map(|t| (t[a], t[b])), FAMILIES[family])
        };
        let families = [window(0, 2, PROMPT)?, window(0, 1, PREFILL)?, window(1, 2, DECODE)?];
        Ok(Fusion {
            timing,
            release: families[PROMPT].in_row_order(),
            families,
            groups: std::array::from_fn(|_| (0..timing.bounds.len()).map(|_| None).collect()),
            opened: [None; 3],
            in_order: [true; 3],
            columns: Vec::new(),
            has_text: Vec::new(),
            sample: Vec::new(),
            spare: Vec::new(),
            info,
            out,
            text: Vec::new(),
            rows: 0,
            width: 0,
            rows_without_samples: 0,
        })
    }

    /// Reads the log to its end, or to where rows that were written turn out wrong.
    fn read(
        &mut self,
        platform: HydraPlatform,
        lines: &mut Lines<impl io::BufRead>,
        tally: &mut Tally,
    ) -> Result<Order, Error> {
        let mut parser = HydraParser::new(platform)?;
        let mut parsed = ParsedLine::default();
        while lines.advance()? {
            match parser.parse(lines.line(), &mut parsed) {
                Ok(()) => tally.accept(&[]),
                Err(LineFault::Value(reason)) if platform != HydraPlatform::Thor => {
                    tally.refuse(lines.number(), reason, lines.line());
                    continue;
                }
                Err(fault) => {
                    return Err(Error::invalid(format!(
                        "log line {}: {}; the original gives the whole file up, the default mode \
                         does not",
                        lines.number(),
                        fault.reason()
                    )));
                }
            }
            if self.columns.is_empty() {
                self.columns = platform.columns(parsed.cores);
                self.has_text = vec![false; self.columns.len()];
            }
            let width = self.columns.len();
            if parsed.cells.len() > width {
                return Err(Error::invalid(format!(
                    "log line {}: {} cells, the first line has {width} (it lists fewer CPU cores); \
                     the original cannot read its own parsed file",
                    lines.number(),
                    parsed.cells.len() + 1,
                )));
            }
            if self.add(&parsed)? == Order::Broken {
                return Ok(Order::Broken);
            }
        }
        Ok(Order::Kept)
    }

    fn add(&mut self, parsed: &ParsedLine) -> Result<Order, Error> {
        for &i in &parsed.text_cells {
            if !self.has_text[i] && self.width > 0 {
                return Ok(Order::Broken);
            }
            self.has_text[i] = true;
        }
        let found: [Option<usize>; 3] =
            std::array::from_fn(|f| self.families[f].find(parsed.timestamp_ns));
        let Some(prompt) = found[PROMPT] else { return Ok(Order::Kept) };
        if prompt < self.rows {
            return Ok(Order::Broken);
        }
        if self.release && prompt > self.rows {
            self.write_rows(prompt)?;
        }
        // Rows without a window count as -1, as in the original.
        let index = |f: usize| found[f].map_or(-1.0, |row| row as f64);
        let width = self.columns.len();
        self.sample.clear();
        // The original averages the nanoseconds themselves, 256 ns per step of an f64.
        self.sample.push(parsed.timestamp_ns as f64);
        self.sample.extend_from_slice(&parsed.cells);
        self.sample.resize(width + 3, f64::NAN);
        for (f, groups) in self.groups.iter_mut().enumerate() {
            let Some(row) = found[f] else { continue };
            if let Some(before) = self.opened[f].replace(row)
                && before != row
            {
                if let Some(group) = &mut groups[before] {
                    group.close(&mut self.spare);
                }
                self.in_order[f] &= row > before;
            }
            let group = groups[row].get_or_insert_with(|| Box::new(Group::new(width + 3)));
            self.sample[width + 1] = index(OTHERS[f][0]);
            self.sample[width + 2] = index(OTHERS[f][1]);
            group.add(&self.sample, &mut self.spare);
        }
        Ok(Order::Kept)
    }

    /// Writes the rows before `end` that are not written yet, and lets their windows go.
    fn write_rows(&mut self, end: usize) -> Result<(), Error> {
        if self.width == 0 {
            self.write_header();
        }
        while self.rows < end {
            let cells = next_row(&mut self.info)?;
            self.timing.write_cells(&cells, &mut self.text);
            self.rows_without_samples += usize::from(self.groups[PROMPT][self.rows].is_none());
            for f in [PROMPT, PREFILL, DECODE] {
                let group = self.groups[f][self.rows].take();
                self.write_group(group, self.in_order[f]);
            }
            self.text.push(b'\n');
            self.out.write_all(&self.text).map_err(not_written)?;
            self.text.clear();
            self.rows += 1;
        }
        Ok(())
    }

    /// Columns that are written: those that never held text.
    fn kept(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.columns.len()).filter(|&c| !self.has_text[c])
    }

    fn write_header(&mut self) {
        let mut names = self.timing.header.clone();
        for (f, family) in FAMILIES.iter().enumerate() {
            let others = OTHERS[f].map(|o| format!("{}_id", FAMILIES[o]));
            for statistic in ["mean", "std"] {
                let columns = std::iter::once("timestamp")
                    .chain(self.kept().map(|c| self.columns[c].as_str()))
                    .chain(others.iter().map(String::as_str));
                names.extend(columns.map(|name| format!("{name}_{family}_{statistic}")));
            }
        }
        self.width = names.len();
        self.text.extend_from_slice(names.join(",").as_bytes());
        self.text.push(b'\n');
    }

    fn write_group(&mut self, group: Option<Box<Group>>, in_order: bool) {
        let width = self.columns.len();
        let columns: Vec<usize> = std::iter::once(0)
            .chain(self.kept().map(|c| c + 1))
            .chain([width + 1, width + 2])
            .collect();
        let Some(mut group) = group else {
            self.text.resize(self.text.len() + 2 * columns.len(), b',');
            return;
        };
        group.close(&mut self.spare);
        for &column in &columns {
            self.text.push(b',');
            python_float(group.mean(column, in_order), &mut self.text);
        }
        for &column in &columns {
            self.text.push(b',');
            python_float(group.stats[column].std(), &mut self.text);
        }
    }

    fn finish(mut self, tally: Tally) -> Result<UnifyReport, Error> {
        if self.columns.is_empty() {
            return Err(Error::invalid("the log has no usable line: nothing to fuse"));
        }
        self.write_rows(self.timing.bounds.len())?;
        self.out.write_all(&self.text).and_then(|()| self.out.flush()).map_err(not_written)?;
        Ok(UnifyReport {
            tally,
            rows: self.rows,
            columns: self.width,
            rows_without_samples: self.rows_without_samples,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;
    /// 2025-01-20 10:00:00 in New York, UTC.
    const START: i64 = 1_737_385_200;

    /// A log line of second `at` with a load, and with or without an engine word.
    fn line(at: i64, load: u32, nvenc: &str) -> String {
        format!(
            "01-20-2025 10:00:{at:02}.500 RAM 1/2MB (lfb 1x4MB) CPU [{load}%@100] EMC_FREQ 1%@100 \
             {nvenc} GPU 5mW/5mW\n"
        )
    }

    /// Three prompts of two seconds each, in the order given.
    fn info(order: [i64; 3]) -> String {
        let row = |i: i64| {
            let start = (START + 10 * i) * S;
            format!("{start},{},0.25,0.75\n", start + 2 * S)
        };
        let rows: String = order.into_iter().map(row).collect();
        format!("start_time,end_time,tokenization_time,prefill_time\n{rows}")
    }

    struct Setup {
        folder: tempfile::TempDir,
        timing: Timing,
    }

    impl Setup {
        fn new(order: [i64; 3]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("INFO_.csv");
            std::fs::write(&path, info(order)).unwrap();
            let timing = Timing::read(&path).unwrap();
            Setup { folder, timing }
        }

        fn fusion(&self) -> Fusion<'_, Vec<u8>> {
            let rows = rows(&self.folder.path().join("INFO_.csv")).unwrap().1;
            Fusion::new(&self.timing, rows, Vec::new()).unwrap()
        }

        /// The table with and without early release, and whether order held.
        fn both(&self, log: &str, platform: HydraPlatform) -> (String, String, bool) {
            let path = |name: &str| self.folder.path().join(name);
            std::fs::write(path("TGS_.csv"), log).unwrap();
            unify_file(platform, &path("INFO_.csv"), &path("TGS_.csv"), &path("U.csv"), |_| Ok(()))
                .unwrap();
            let mut held = self.fusion();
            held.release = false;
            let mut tally = Tally::default();
            let mut lines = Lines::new(log.as_bytes());
            held.read(platform, &mut lines, &mut tally).unwrap();
            held.write_rows(3).unwrap();
            let mut early = self.fusion();
            let mut lines = Lines::new(log.as_bytes());
            let order = early.read(platform, &mut lines, &mut tally).unwrap();
            let released = std::fs::read_to_string(path("U.csv")).unwrap();
            (released, String::from_utf8(held.out).unwrap(), order == Order::Kept)
        }
    }

    #[test]
    fn rows_are_written_and_let_go_when_the_log_has_passed_them() {
        let setup = Setup::new([0, 1, 2]);
        let mut fusion = setup.fusion();
        let log = [0, 1, 10, 11, 20].map(|at| line(at, 50, "")).concat();
        let mut lines = Lines::new(log.as_bytes());
        fusion.read(HydraPlatform::Xavier, &mut lines, &mut Tally::default()).unwrap();
        assert_eq!((fusion.rows, String::from_utf8_lossy(&fusion.out).lines().count()), (2, 3));
        let held = fusion.groups.iter().flatten().flatten().count();
        assert_eq!(held, 2, "the prompt and prefill windows of the last row");
    }

    #[test]
    fn what_breaks_the_order_gives_the_same_table() {
        let plain = |at| line(at, at as u32, "");
        let in_order = [0, 1, 10, 11, 20, 21].map(plain).concat();
        let late = [0, 10, 11, 1, 20, 21].map(plain).concat();
        for (order, log, kept) in [
            ([0, 1, 2], &in_order, true),
            ([0, 1, 2], &late, false),
            // Rows that do not follow in time are all held.
            ([2, 0, 1], &in_order, true),
            ([2, 0, 1], &late, true),
        ] {
            let (table, held, order_kept) = Setup::new(order).both(log, HydraPlatform::Xavier);
            assert_eq!((table == held, order_kept), (true, kept), "{order:?}");
            assert_eq!(table.lines().count(), 4);
        }
    }

    #[test]
    fn a_column_that_turns_to_text_late_is_dropped_from_all_rows() {
        let log: String =
            [(0, ""), (10, ""), (20, "NVENC off ")].map(|(at, word)| line(at, 5, word)).concat();
        let (table, held, kept) = Setup::new([0, 1, 2]).both(&log, HydraPlatform::Orin);
        assert_eq!((table == held, kept), (true, false));
        assert!(!table.contains("NVENC_"));
    }
}
