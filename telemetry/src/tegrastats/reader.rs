//! Streaming reader of tegrastats logs.
//!
//! Every field is optional: which ones stand in a line depends on board, JetPack and root. A line
//! is walked once, token by token; the channel of a token is guessed from the previous line, so
//! that a usual line costs no look-up.

use std::io::BufRead;

use super::board::{Board, PowerTotal, rail_column};
use super::line;
use crate::csv_samples::{GATED_CLOCK, IMPOSSIBLE};
use crate::lines::Lines;
use crate::text::take_uint;
use crate::time::{fraction_ns, looks_like_mdy, mdy_seconds};
use crate::{Channel, Error, Quantity, Row, SampleReader, Stamp, Tally};

/// Below this a sensor is gated or broken (tegrastats prints -256 °C).
const GATED_C: f64 = -100.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Memory,
    Core,
    Engine,
    Clock,
    Temperature,
    Rail,
}

#[derive(Debug)]
struct Entry {
    class: Class,
    key: Box<[u8]>,
    base: usize,
}

/// Reader of a tegrastats log; see [`SampleReader`].
#[derive(Debug)]
pub struct Tegrastats<R> {
    lines: Lines<R>,
    channels: Vec<Channel>,
    entries: Vec<Entry>,
    /// Position in `entries` where the next token is expected.
    cursor: usize,
    tally: Tally,
    stamps: StampState,
    /// Most tokens seen in a line: a shorter one may be torn.
    full_tokens: usize,
    repairs: Vec<&'static str>,
    rails: Vec<String>,
    board: Option<Board>,
    total: Option<(usize, Vec<usize>)>,
}

#[derive(Debug, Default)]
struct StampState {
    seen: bool,
    fractional: bool,
    /// Last `MM-DD-YYYY HH:MM:SS` and its seconds: most lines repeat it.
    last: Option<([u8; 19], i64)>,
}

impl StampState {
    fn seconds(&mut self, s: &[u8]) -> Option<i64> {
        let text: [u8; 19] = s.get(..19)?.try_into().ok()?;
        if let Some((last, seconds)) = self.last
            && last == text
        {
            return Some(seconds);
        }
        let seconds = mdy_seconds(&text)?;
        self.last = Some((text, seconds));
        Some(seconds)
    }
}

const TORN: &str = "torn line: the cut field was dropped";
const GATED_SENSOR: &str = "sensor is gated (-256 °C): no value";
const NEGATIVE: &str = "negative power kept as printed (calibration offset)";
const UNKNOWN: &str = "unknown field skipped";

/// Channel 0 of every tegrastats reader.
const ONLINE: usize = 0;

impl<R: BufRead> Tegrastats<R> {
    /// A reader of `input`.
    pub fn new(input: R) -> Self {
        Tegrastats {
            lines: Lines::new(input),
            channels: vec![Channel { name: "cpu_online".to_owned(), quantity: Quantity::Other }],
            entries: Vec::new(),
            cursor: 0,
            tally: Tally::default(),
            stamps: StampState::default(),
            full_tokens: 0,
            repairs: Vec::new(),
            rails: Vec::new(),
            board: None,
            total: None,
        }
    }

    /// The board, once its rails were seen.
    pub fn board(&self) -> Option<Board> {
        self.board
    }

    /// Power rails seen, as printed.
    pub fn rails(&self) -> &[String] {
        &self.rails
    }

    fn channel(&mut self, name: String, quantity: Quantity) -> usize {
        self.channels.push(Channel { name, quantity });
        self.channels.len() - 1
    }

    /// First channel of a field; new fields get theirs here.
    fn base(&mut self, class: Class, key: &[u8]) -> usize {
        let at = self.cursor;
        if let Some(e) = self.entries.get(at)
            && e.class == class
            && *e.key == *key
        {
            self.cursor += 1;
            return e.base;
        }
        if let Some(i) = self.entries.iter().position(|e| e.class == class && *e.key == *key) {
            self.cursor = i + 1;
            return self.entries[i].base;
        }
        let name = String::from_utf8_lossy(key).to_ascii_lowercase();
        let base = match class {
            Class::Memory => {
                let base = self.channel(format!("{name}_used_mb"), Quantity::Memory);
                self.channel(format!("{name}_total_mb"), Quantity::Memory);
                if name == "ram" {
                    self.channel("ram_lfb_count".to_owned(), Quantity::Other);
                    self.channel("ram_lfb_mb".to_owned(), Quantity::Memory);
                } else {
                    self.channel(format!("{name}_cached_mb"), Quantity::Memory);
                }
                base
            }
            Class::Core => {
                let base = self.channel(format!("cpu{name}_load"), Quantity::Load);
                self.channel(format!("cpu{name}_mhz"), Quantity::Clock);
                base
            }
            Class::Engine => {
                let name = engine_name(&name);
                let base = self.channel(format!("{name}_load"), Quantity::Load);
                // The highest of the clusters, then each of them where there are several.
                self.channel(format!("{name}_mhz"), Quantity::Clock);
                if name == "gpu" {
                    for i in 1..=4 {
                        self.channel(format!("gpu_gpc{i}_mhz"), Quantity::Clock);
                    }
                }
                base
            }
            Class::Clock => self.channel(format!("{}_mhz", engine_name(&name)), Quantity::Clock),
            Class::Temperature => self.channel(format!("temp_{name}_c"), Quantity::Temperature),
            Class::Rail => {
                let base = self.channel(format!("{name}_mw"), Quantity::Power);
                self.channel(format!("{name}_avg_mw"), Quantity::Power);
                self.rails.push(String::from_utf8_lossy(key).into_owned());
                self.find_board();
                base
            }
        };
        self.entries.push(Entry { class, key: key.into(), base });
        self.cursor = self.entries.len();
        base
    }

    fn find_board(&mut self) {
        if self.board.is_some() {
            return;
        }
        self.board = Board::detect(self.rails.iter().map(String::as_str));
        if self.board.is_some() {
            let total = self.channel("total_mw".to_owned(), Quantity::Power);
            self.total = Some((total, Vec::new()));
        }
    }

    /// Total by the board's definition; absent when a rail of it is.
    fn fill_total(&mut self, values: &mut [f64]) {
        let (Some(board), Some((total, parts))) = (self.board, &mut self.total) else { return };
        let want = match board.total() {
            PowerTotal::Input(_) => 1,
            PowerTotal::Sum(rails) => rails.len(),
        };
        if parts.len() < want {
            let find = |rail: &str| crate::channel(&self.channels, &rail_column(rail));
            *parts = match board.total() {
                PowerTotal::Input(rail) => find(rail).into_iter().collect(),
                PowerTotal::Sum(rails) => rails.iter().filter_map(|r| find(r)).collect(),
            };
        }
        if parts.len() == want {
            values[*total] = parts.iter().map(|&p| values[p]).sum();
        }
    }

    fn parse(&mut self, text: &[u8], row: &mut Row) -> Result<(), &'static str> {
        self.cursor = 0;
        self.repairs.clear();
        row.values.clear();
        row.values.resize(self.channels.len(), f64::NAN);
        let rest = self.parse_stamp(text, row)?;
        let mut tokens = Tokens { rest, count: 0, torn: false };
        let mut fields = 0usize;
        while let Some(token) = tokens.next() {
            fields += usize::from(self.field(token, &mut tokens, row));
        }
        if fields == 0 {
            return Err("no tegrastats field in the line");
        }
        if tokens.torn {
            self.repair(TORN);
        }
        self.full_tokens = self.full_tokens.max(tokens.count);
        row.values.resize(self.channels.len(), f64::NAN);
        self.fill_total(&mut row.values);
        Ok(())
    }

    /// Takes the leading stamps off. The logger's stamp (with fraction) wins over tegrastats' own.
    fn parse_stamp<'a>(&mut self, text: &'a [u8], row: &mut Row) -> Result<&'a [u8], &'static str> {
        row.stamp = Stamp::Absent;
        let (head, mut rest) = logger_prefix(text.trim_ascii_start());
        let logger = head.and_then(logger_stamp);
        let mut fractional = false;
        while looks_like_mdy(rest) {
            let seconds = self.stamps.seconds(rest).ok_or("no such date or time of day")?;
            let (ns, used) = match rest.get(19) {
                Some(b'.') => {
                    let (ns, n) = fraction_ns(&rest[20..]);
                    (ns, 20 + n)
                }
                _ => (0, 19),
            };
            if row.stamp == Stamp::Absent || (used > 20 && !fractional) {
                row.stamp = Stamp::Civil(seconds * 1_000_000_000 + ns);
            }
            fractional |= used > 20;
            rest = rest[used..].trim_ascii_start();
        }
        if let Some(stamp) = logger {
            row.stamp = stamp;
        }
        if row.stamp == Stamp::Absent && self.stamps.seen {
            return Err("no time stamp, though earlier lines have one");
        }
        if !fractional && logger.is_none() && self.stamps.fractional {
            return Err("torn time stamp");
        }
        self.stamps.seen |= row.stamp != Stamp::Absent;
        self.stamps.fractional |= fractional;
        Ok(rest)
    }

    fn repair(&mut self, what: &'static str) {
        if !self.repairs.contains(&what) {
            self.repairs.push(what);
        }
    }

    /// A value unless it is beyond what a device can have, which is counted.
    fn possible(&mut self, quantity: Quantity, value: Option<f64>) -> Option<f64> {
        let possible = value.filter(|v| quantity.is_possible(*v));
        if possible != value {
            self.repair(IMPOSSIBLE);
        }
        possible
    }

    fn set(&self, row: &mut Row, channel: usize, value: Option<f64>) {
        if row.values.len() < self.channels.len() {
            row.values.resize(self.channels.len(), f64::NAN);
        }
        if let Some(v) = value {
            row.values[channel] = v;
        }
    }

    /// Reads the field that starts with `token`; whether it was one.
    fn field(&mut self, token: &[u8], tokens: &mut Tokens<'_>, row: &mut Row) -> bool {
        match token {
            b"RAM" | b"SWAP" => return self.memory(token, tokens, row),
            b"IRAM" => {
                // `0/252kB(lfb 252kB)`: on-chip RAM, of no use here.
                tokens.next();
                tokens.next();
                return true;
            }
            b"MTS" => {
                // `MTS fg 0% bg 0%`: time in the dynamic translator.
                for _ in 0..4 {
                    tokens.next();
                }
                return true;
            }
            b"CPU" if tokens.peek().is_some_and(|t| t.starts_with(b"[")) => {
                return self.cores(tokens, row);
            }
            _ => {}
        }
        if let Some(at) = memchr::memchr(b'@', token) {
            return self.temperature(&token[..at], &token[at + 1..], tokens, row);
        }
        if !token.first().is_some_and(u8::is_ascii_alphabetic) {
            self.repair(UNKNOWN);
            return false;
        }
        let Some(value) = tokens.peek() else {
            tokens.torn = true;
            return false;
        };
        if value == b"off" {
            tokens.next();
            return true;
        }
        if let Some(r) = line::rail(value) {
            tokens.next();
            self.rail(token, r, tokens, row);
            return true;
        }
        if let Some(e) = line::engine(value) {
            tokens.next();
            self.engine(token, value, e, tokens, row);
            return true;
        }
        if tokens.is_last() {
            tokens.next();
            tokens.torn = true;
        } else {
            self.repair(UNKNOWN);
        }
        false
    }

    fn memory(&mut self, key: &[u8], tokens: &mut Tokens<'_>, row: &mut Row) -> bool {
        let Some(value) = tokens.next() else {
            tokens.torn = true;
            return false;
        };
        let Some((used, total)) = line::used_total_mb(value) else {
            tokens.torn |= tokens.is_end();
            if !tokens.is_end() {
                self.repair(UNKNOWN);
            }
            return false;
        };
        let base = self.base(Class::Memory, key);
        self.set(row, base, Some(used));
        self.set(row, base + 1, Some(total));
        if tokens.peek().is_some_and(|t| t.starts_with(b"(")) {
            tokens.next();
            match (key, tokens.next()) {
                (b"RAM", Some(v)) => match line::free_blocks(v) {
                    Some((count, mb)) => {
                        self.set(row, base + 2, Some(count));
                        self.set(row, base + 3, Some(mb));
                    }
                    None => tokens.torn = true,
                },
                (_, Some(v)) => match line::closing_mb(v) {
                    Some(mb) => self.set(row, base + 2, Some(mb)),
                    None => tokens.torn = true,
                },
                (_, None) => tokens.torn = true,
            }
        }
        true
    }

    fn cores(&mut self, tokens: &mut Tokens<'_>, row: &mut Row) -> bool {
        const NAMES: [&[u8]; 16] = [
            b"0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"8", b"9", b"10", b"11", b"12", b"13",
            b"14", b"15",
        ];
        let Some(list) = tokens.next() else { return false };
        let list = &list[1..];
        let (list, whole) = match list.strip_suffix(b"]") {
            Some(l) => (l, true),
            None => (list, false),
        };
        let mut online = 0.0;
        let items = list.split(|&b| b == b',').count();
        for (i, item) in list.split(|&b| b == b',').enumerate() {
            // The last item of a torn list may be cut anywhere.
            if !whole && i + 1 == items {
                break;
            }
            let Some(core) = line::core(item) else {
                self.repair(UNKNOWN);
                continue;
            };
            let numbered;
            let name = match NAMES.get(i) {
                Some(n) => n,
                None => {
                    numbered = i.to_string();
                    numbered.as_bytes()
                }
            };
            let base = self.base(Class::Core, name);
            match core {
                line::Core::Off => self.set(row, base, None),
                line::Core::On { load, mhz } => {
                    online += 1.0;
                    self.set(row, base, Some(load));
                    self.set(row, base + 1, mhz);
                }
            }
        }
        tokens.torn |= !whole;
        if whole {
            self.set(row, ONLINE, Some(online));
        }
        true
    }

    fn temperature(
        &mut self,
        name: &[u8],
        value: &[u8],
        tokens: &mut Tokens<'_>,
        row: &mut Row,
    ) -> bool {
        match line::temperature_c(value) {
            Some(c) if !name.is_empty() => {
                let channel = self.base(Class::Temperature, name);
                if c <= GATED_C {
                    self.repair(GATED_SENSOR);
                    self.set(row, channel, None);
                } else {
                    let c = self.possible(Quantity::Temperature, Some(c));
                    self.set(row, channel, c);
                }
                true
            }
            _ => {
                if tokens.is_end() {
                    tokens.torn = true;
                } else {
                    self.repair(UNKNOWN);
                }
                false
            }
        }
    }

    fn rail(&mut self, name: &[u8], r: line::Rail, tokens: &mut Tokens<'_>, row: &mut Row) {
        if name == b"NC" {
            return; // not connected
        }
        let base = self.base(Class::Rail, name);
        if r.current_mw < 0.0 {
            self.repair(NEGATIVE);
        }
        let current = self.possible(Quantity::Power, Some(r.current_mw));
        self.set(row, base, current);
        let mut average = self.possible(Quantity::Power, r.average_mw);
        if r.average_mw.is_none() {
            tokens.torn = true;
        } else if !r.with_unit && tokens.is_end() && tokens.count < self.full_tokens {
            // Without a unit nothing marks the end of a number.
            average = None;
            tokens.torn = true;
        }
        self.set(row, base + 1, average);
    }

    fn engine(
        &mut self,
        name: &[u8],
        value: &[u8],
        e: line::Engine,
        tokens: &mut Tokens<'_>,
        row: &mut Row,
    ) {
        if matches!(name, b"GPU_UTIL" | b"MEM_UTIL") {
            let base = self
                .base(Class::Engine, if name == b"GPU_UTIL" { b"nvml_gpu" } else { b"nvml_mem" });
            self.set(row, base, e.load);
            return;
        }
        let plain = value.iter().all(u8::is_ascii_digit);
        if plain && tokens.is_end() && tokens.count < self.full_tokens {
            tokens.torn = true;
            return;
        }
        let gated = e.mhz.iter().flatten().all(|&f| f == 0.0) && e.mhz[0].is_some();
        if gated {
            self.repair(GATED_CLOCK);
        }
        let highest = e.mhz.iter().flatten().copied().filter(|&f| f > 0.0).reduce(f64::max);
        if plain {
            let channel = self.base(Class::Clock, name);
            self.set(row, channel, highest);
            return;
        }
        let base = self.base(Class::Engine, name);
        self.set(row, base, e.load);
        self.set(row, base + 1, highest);
        if engine_name(&String::from_utf8_lossy(name).to_ascii_lowercase()) == "gpu"
            && e.mhz[1].is_some()
        {
            for (i, mhz) in e.mhz.into_iter().enumerate() {
                self.set(row, base + 2 + i, mhz.filter(|&f| f > 0.0));
            }
        }
    }
}

/// What a logger has put before tegrastats' own stamp or its first field, and the rest.
fn logger_prefix(text: &[u8]) -> (Option<&[u8]>, &[u8]) {
    if looks_like_mdy(text) || text.starts_with(b"RAM ") {
        return (None, text);
    }
    let Some(ram) = memchr::memmem::find(text, b" RAM ") else { return (None, text) };
    let own = (0..ram).find(|&i| looks_like_mdy(&text[i..]));
    let (head, rest) = text.split_at(own.unwrap_or(ram));
    (Some(head), rest)
}

/// The time in a logger's prefix: `2026-06-15T10:00:04.5Z`, `[1750001000.25]`.
fn logger_stamp(head: &[u8]) -> Option<Stamp> {
    let edge = |b: &u8| b.is_ascii_whitespace() || b"[](){}:,;-|".contains(b);
    let start = head.iter().position(|b| !edge(b))?;
    let end = head.iter().rposition(|b| !edge(b))?;
    crate::parse_stamp(&head[start..=end], None)
}

/// Name of an engine in column names.
fn engine_name(printed: &str) -> &str {
    match printed {
        "gr3d_freq" => "gpu",
        "gr3d2_freq" => "gpu2",
        other => other.strip_suffix("_freq").unwrap_or(other),
    }
}

impl<R: BufRead> SampleReader for Tegrastats<R> {
    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn read(&mut self, row: &mut Row) -> Result<bool, Error> {
        while self.lines.advance()? {
            row.line = self.lines.number();
            // The line is borrowed from the reader that parsing updates: lend it out.
            let buffer = self.lines.take_buffer();
            let text = Lines::<R>::trim_end(&buffer);
            let outcome = if text.is_empty() { Err("blank line") } else { self.parse(text, row) };
            match outcome {
                Ok(()) => self.tally.accept(&self.repairs),
                Err(reason) => self.tally.refuse(row.line, reason, text),
            }
            self.lines.return_buffer(buffer);
            if outcome.is_ok() {
                return Ok(true);
            }
        }
        if !self.rails.is_empty() && self.board.is_none() {
            self.tally.warn(format!(
                "the rails {} belong to no known board: there is no total power",
                self.rails.join(", ")
            ));
        }
        Ok(false)
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }
}

/// Tokens between blanks.
struct Tokens<'a> {
    rest: &'a [u8],
    count: usize,
    torn: bool,
}

impl<'a> Tokens<'a> {
    fn split(&self) -> Option<(&'a [u8], &'a [u8])> {
        let start = self.rest.iter().position(|b| !matches!(b, b' ' | b'\t'))?;
        let s = &self.rest[start..];
        let end = memchr::memchr(b' ', s).unwrap_or(s.len());
        Some(s.split_at(end))
    }

    fn next(&mut self) -> Option<&'a [u8]> {
        let (token, rest) = self.split()?;
        self.rest = rest;
        self.count += 1;
        Some(token)
    }

    fn peek(&self) -> Option<&'a [u8]> {
        self.split().map(|(t, _)| t)
    }

    /// Whether nothing follows.
    fn is_end(&self) -> bool {
        self.split().is_none()
    }

    /// Whether one token is left.
    fn is_last(&self) -> bool {
        self.split().is_some_and(|(_, rest)| rest.trim_ascii().is_empty())
    }
}

/// Whether a line looks like tegrastats, for format detection.
pub(crate) fn looks_like_tegrastats(text: &[u8]) -> bool {
    let has = |needle: &[u8]| memchr::memmem::find(text, needle).is_some();
    has(b"RAM ")
        && (has(b"CPU [") || has(b"GR3D_FREQ") || has(b"SWAP "))
        && memchr::memmem::find(text, b"RAM ")
            .and_then(|i| take_uint(&text[i + 4..]))
            .is_some_and(|(_, rest)| rest.starts_with(b"/"))
}
