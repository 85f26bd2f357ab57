//! Streaming reader of sampled telemetry in CSV.

use std::io::BufRead;

use super::columns::{self, ColumnMap, Kind};
use super::counter::{EnergyCounter, Increment};
use crate::info::refuse_doubled;
use crate::time::parse_stamp;
use crate::{Channel, Error, Quantity, Row, SampleReader, Stamp, Tally, TimeUnit, text};

/// How a CSV is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CsvOptions {
    /// What the columns are; empty: recognised by name.
    pub map: ColumnMap,
    /// Rows of this device only (index or UUID); without it the first one's.
    pub device: Option<String>,
}

#[derive(Debug)]
enum Use {
    Ignored,
    Time(Option<TimeUnit>),
    Device,
    Value { channel: usize, scale: f64, quantity: Quantity },
    Counter { power: usize, energy: usize, scale: f64, state: EnergyCounter, total_j: f64 },
    Range { scale: f64 },
    Volts { rail: usize, to_v: f64 },
    Amps { rail: usize, to_a: f64 },
}

/// Reader of a CSV; see [`SampleReader`].
pub struct CsvSamples<R> {
    csv: csv::Reader<R>,
    record: csv::ByteRecord,
    columns: Vec<Use>,
    header: Vec<String>,
    channels: Vec<Channel>,
    /// Per rail of voltage and current: its power channel.
    rails: Vec<(String, usize)>,
    device: Option<Vec<u8>>,
    /// Device cells of the first row, where no device was asked for.
    first_device: Option<Vec<Vec<u8>>>,
    /// Decimals have a comma: as spreadsheets write them where cells are split by semicolons.
    decimal_comma: bool,
    last_ns: Option<i64>,
    tally: Tally,
}

const NO_VALUE: &str = "no value (N/A, not supported, error)";
const NOT_A_NUMBER: &str = "not a number: no value";
/// A clock that stands still describes no operating point, whoever prints it.
pub(crate) const GATED_CLOCK: &str = "clock of 0 MHz: gated, no value";
pub(crate) const IMPOSSIBLE: &str = "beyond what a device can have: no value";
const LOST: &str = "energy counter fell and its range is unknown: increment dropped";
const WRAPPED: &str = "energy counter wrapped";

impl<R: BufRead> CsvSamples<R> {
    /// Reads the header of `input`.
    ///
    /// # Errors
    /// No header, no column that is understood, a mapped column that is missing, or one that is
    /// used and stands twice.
    pub fn new(mut input: R, options: &CsvOptions) -> Result<Self, Error> {
        let delimiter = sniff(&mut input)?;
        let mut csv = csv::ReaderBuilder::new()
            .delimiter(delimiter)
            .flexible(true)
            .trim(csv::Trim::All)
            .from_reader(input);
        let header: Vec<String> = csv
            .byte_headers()
            .map_err(|e| Error::invalid(format!("cannot read the header: {e}")))?
            .iter()
            .map(|h| String::from_utf8_lossy(h).into_owned())
            .collect();
        let mut reader = CsvSamples {
            csv,
            record: csv::ByteRecord::new(),
            columns: Vec::new(),
            channels: Vec::new(),
            rails: Vec::new(),
            device: options.device.as_ref().map(|d| d.clone().into_bytes()),
            first_device: None,
            decimal_comma: delimiter == b';',
            last_ns: None,
            tally: Tally::default(),
            header,
        };
        reader.plan(&options.map)?;
        Ok(reader)
    }

    fn plan(&mut self, map: &ColumnMap) -> Result<(), Error> {
        for wanted in map.columns.iter().map(|m| &m.column).chain(&map.time) {
            if !self.header.iter().any(|h| h == wanted) {
                return Err(Error::invalid(format!(
                    "column `{wanted}` of the column map is not in the header: {}",
                    self.header.join(", ")
                )));
            }
        }
        let nvml = columns::is_nvml(&self.header);
        let mut kinds = Vec::new();
        for h in &self.header {
            kinds.push(mapped(h, map)?.unwrap_or_else(|| {
                let by_name = columns::recognise(h);
                match by_name {
                    Kind::Time if map.time.is_some() => Kind::Ignored,
                    Kind::Device if !nvml && h.eq_ignore_ascii_case("index") => Kind::Ignored,
                    Kind::Value { .. } | Kind::Volts { .. } | Kind::Amps { .. }
                        if !map.columns.is_empty() =>
                    {
                        Kind::Ignored
                    }
                    other => other,
                }
            }));
        }
        let used = self.header.iter().zip(&kinds);
        refuse_doubled(1, used.map(|(h, kind)| if *kind == Kind::Ignored { "" } else { h }))?;
        let mut planned: Vec<(usize, Kind)> = kinds.into_iter().enumerate().collect();
        // Rails last, in any order of columns: one whose power is measured itself takes its channel.
        planned.sort_by_key(|(_, kind)| matches!(kind, Kind::Volts { .. } | Kind::Amps { .. }));
        let mut uses: Vec<(usize, Use)> = planned
            .into_iter()
            .map(|(i, kind)| (i, self.plan_column(&self.header[i].clone(), kind, map)))
            .collect();
        uses.sort_by_key(|(i, _)| *i);
        self.columns = uses.into_iter().map(|(_, column)| column).collect();
        if self.channels.is_empty() {
            return Err(Error::invalid(format!(
                "no column of `{}` is understood; give a column map \
                 (time=…,channel=column:unit)",
                self.header.join(", ")
            )));
        }
        if !self.columns.iter().any(|c| matches!(c, Use::Time(_))) {
            self.tally.warn("no time column: samples have no time");
        }
        Ok(())
    }

    fn plan_column(&mut self, header: &str, kind: Kind, map: &ColumnMap) -> Use {
        match kind {
            Kind::Ignored => {
                self.tally.warn(format!("column `{header}` is not used"));
                Use::Ignored
            }
            Kind::Time => Use::Time(map.time_unit.or_else(|| columns::time_unit(header))),
            Kind::Device => Use::Device,
            Kind::EnergyRange { scale } => Use::Range { scale },
            Kind::Volts { rail, to_v } => Use::Volts { rail: self.rail(rail), to_v },
            Kind::Amps { rail, to_a } => Use::Amps { rail: self.rail(rail), to_a },
            Kind::Value { channel, quantity: Quantity::Energy, scale } => {
                let power = format!("{}_mw", channel.strip_suffix("_j").unwrap_or(&channel));
                Use::Counter {
                    power: self.channel(power, Quantity::Power),
                    energy: self.channel(channel, Quantity::Energy),
                    scale,
                    state: EnergyCounter::default(),
                    total_j: 0.0,
                }
            }
            Kind::Value { channel, quantity, scale } => {
                Use::Value { channel: self.channel(channel, quantity), scale, quantity }
            }
        }
    }

    fn channel(&mut self, name: String, quantity: Quantity) -> usize {
        if let Some(i) = crate::channel(&self.channels, &name) {
            self.tally.warn(format!("two columns give `{name}`; the last value wins"));
            return i;
        }
        self.channels.push(Channel { name, quantity });
        self.channels.len() - 1
    }

    fn rail(&mut self, rail: String) -> usize {
        if let Some(i) = self.rails.iter().position(|(r, _)| *r == rail) {
            return i;
        }
        let name = format!("{rail}_mw");
        let channel = match crate::channel(&self.channels, &name) {
            Some(measured) => measured,
            None => self.channel(name, Quantity::Power),
        };
        self.rails.push((rail, channel));
        self.rails.len() - 1
    }

    fn parse(&mut self, row: &mut Row) -> Result<Vec<&'static str>, &'static str> {
        if self.record.len() < self.header.len() {
            return Err("fewer fields than the header (torn line)");
        }
        if self.record.len() > self.header.len() {
            return Err("more fields than the header");
        }
        row.values.clear();
        row.values.resize(self.channels.len(), f64::NAN);
        row.stamp = Stamp::Absent;
        let mut repairs = Vec::new();
        let mut volts = vec![f64::NAN; self.rails.len()];
        let mut amps = vec![f64::NAN; self.rails.len()];
        let mut range = None;
        self.check_device()?;
        for (use_, cell) in self.columns.iter().zip(&self.record) {
            let dotted: Vec<u8>;
            let cell = if self.decimal_comma && cell.contains(&b',') {
                dotted = cell.iter().map(|&b| if b == b',' { b'.' } else { b }).collect();
                &dotted
            } else {
                cell
            };
            match use_ {
                Use::Time(unit) => {
                    row.stamp = parse_stamp(cell, *unit).ok_or("the time cannot be read")?;
                }
                Use::Range { scale } => {
                    range = text::float(cell).map(|v| v * scale);
                }
                Use::Value { channel, scale, quantity } => {
                    row.values[*channel] = number(cell, *quantity, *scale, &mut repairs);
                }
                Use::Volts { rail, to_v } => {
                    volts[*rail] = number(cell, Quantity::Other, *to_v, &mut repairs);
                }
                Use::Amps { rail, to_a } => {
                    amps[*rail] = number(cell, Quantity::Other, *to_a, &mut repairs);
                }
                Use::Ignored | Use::Device | Use::Counter { .. } => {}
            }
        }
        for (i, (_, channel)) in self.rails.iter().enumerate() {
            let mw = volts[i] * amps[i] * 1e3;
            // A power that was measured itself is better than the product.
            if row.values[*channel].is_nan() && Quantity::Power.is_possible(mw) {
                row.values[*channel] = mw;
            }
        }
        self.counters(range, row, &mut repairs);
        Ok(repairs)
    }

    /// Refuses rows of other devices than the one asked for (by any of its columns), else than the
    /// first row's.
    fn check_device(&mut self) -> Result<(), &'static str> {
        let cells = self.columns.iter().zip(&self.record);
        let mut cells = cells.filter(|(u, _)| matches!(u, Use::Device)).map(|(_, cell)| cell);
        let same = match (&self.device, &self.first_device) {
            (Some(wanted), _) => {
                let mut cells = cells.peekable();
                cells.peek().is_none() || cells.any(|cell| cell == wanted)
            }
            (None, Some(first)) => cells.eq(first.iter().map(Vec::as_slice)),
            (None, None) => {
                self.first_device = Some(cells.by_ref().map(<[u8]>::to_vec).collect());
                true
            }
        };
        if same { Ok(()) } else { Err("another device; choose it by name to read it") }
    }

    /// Cumulative counters become mean power since the last reading, and energy since the first.
    fn counters(&mut self, range_j: Option<f64>, row: &mut Row, repairs: &mut Vec<&'static str>) {
        let now = row.stamp.printed_ns();
        let seconds = match (self.last_ns, now) {
            (Some(a), Some(b)) if b > a => (b - a) as f64 / 1e9,
            _ => f64::NAN,
        };
        self.last_ns = now;
        for (use_, cell) in self.columns.iter_mut().zip(&self.record) {
            let Use::Counter { power, energy, scale, state, total_j } = use_ else { continue };
            let reading = number(cell, Quantity::Energy, *scale, repairs);
            if reading.is_nan() {
                continue;
            }
            let increment = match state.read(reading, range_j) {
                Increment::First => {
                    row.values[*energy] = 0.0;
                    continue;
                }
                Increment::Lost => {
                    repairs.push(LOST);
                    continue;
                }
                Increment::Plain(d) => d,
                // A counter that was set back looks like one that wrapped, but for the power.
                Increment::Wrapped(d) if Quantity::Power.is_possible(d / seconds * 1e3) => {
                    repairs.push(WRAPPED);
                    d
                }
                Increment::Wrapped(_) => {
                    repairs.push(LOST);
                    continue;
                }
            };
            *total_j += increment;
            row.values[*energy] = *total_j;
            row.values[*power] = increment / seconds * 1e3;
        }
    }
}

/// What the user's map says of a column.
fn mapped(header: &str, map: &ColumnMap) -> Result<Option<Kind>, Error> {
    if map.time.as_deref() == Some(header) {
        return Ok(Some(Kind::Time));
    }
    let Some(m) = map.columns.iter().find(|m| m.column == header) else { return Ok(None) };
    let (name, header_unit) = columns::split_unit(header);
    let by_unit = m.unit.as_deref().or(header_unit).and_then(columns::unit_of);
    let by_name = || match columns::recognise(name) {
        Kind::Value { quantity, scale, .. } => Some((quantity, scale)),
        _ => None,
    };
    // Without any unit the channel's own name says what it is.
    let by_channel = || match columns::recognise(&m.channel) {
        Kind::Value { quantity, scale, .. } => Some((quantity, scale)),
        _ => None,
    };
    match by_unit.or_else(by_name).or_else(by_channel) {
        Some((quantity, scale)) => {
            Ok(Some(Kind::Value { channel: m.channel.clone(), quantity, scale }))
        }
        None => Err(Error::invalid(format!(
            "the unit of column `{header}` is not known; write {}={}:UNIT",
            m.channel, m.column
        ))),
    }
}

/// A cell in the unit of its quantity; NaN if it holds none, or one that cannot be.
pub(crate) fn number(
    cell: &[u8],
    quantity: Quantity,
    scale: f64,
    repairs: &mut Vec<&'static str>,
) -> f64 {
    let value = any_number(cell, quantity, scale, repairs);
    if quantity == Quantity::Clock && value == 0.0 {
        repairs.push(GATED_CLOCK);
        return f64::NAN;
    }
    if value.is_nan() || quantity.is_possible(value) {
        return value;
    }
    repairs.push(IMPOSSIBLE);
    f64::NAN
}

fn any_number(cell: &[u8], quantity: Quantity, scale: f64, repairs: &mut Vec<&'static str>) -> f64 {
    if let Some(v) = text::float(cell) {
        return v * scale;
    }
    // `45.23 W`, `1500 MHz`, `98 %`: the cell's own unit wins.
    let end = cell.iter().take_while(|b| b.is_ascii_digit() || b"+-.".contains(b)).count();
    if let Some(v) = text::float(&cell[..end])
        && let Ok(unit) = std::str::from_utf8(cell[end..].trim_ascii())
        && let Some((q, s)) = columns::unit_of(unit)
        && q == quantity
    {
        return v * s;
    }
    const NONE: [&[u8]; 10] =
        [b"", b"n/a", b"na", b"none", b"null", b"nan", b"-", b"err!", b"inf", b"unknown"];
    let lower = cell.to_ascii_lowercase();
    if lower.starts_with(b"[") || NONE.contains(&lower.as_slice()) {
        repairs.push(NO_VALUE);
    } else {
        repairs.push(NOT_A_NUMBER);
    }
    f64::NAN
}

/// The delimiter of the header line.
fn sniff(input: &mut impl BufRead) -> Result<u8, Error> {
    let start = input.fill_buf().map_err(|e| Error::io(std::path::Path::new("input"), e))?;
    let line = start.split(|&b| b == b'\n').next().unwrap_or(start);
    let count = |d: u8| line.iter().filter(|&&b| b == d).count();
    Ok([b',', b';', b'\t', b'|'].into_iter().max_by_key(|&d| (count(d), d == b',')).unwrap_or(b','))
}

impl<R: BufRead> SampleReader for CsvSamples<R> {
    fn channels(&self) -> &[Channel] {
        &self.channels
    }

    fn read(&mut self, row: &mut Row) -> Result<bool, Error> {
        loop {
            match self.csv.read_byte_record(&mut self.record) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(e) => return Err(Error::invalid(format!("cannot read the CSV: {e}"))),
            }
            row.line = self.record.position().map_or(0, csv::Position::line);
            match self.parse(row) {
                Ok(mut repairs) => {
                    repairs.sort_unstable();
                    repairs.dedup();
                    self.tally.accept(&repairs);
                    return Ok(true);
                }
                Err(reason) => {
                    let text: Vec<u8> = self.record.iter().collect::<Vec<_>>().join(&b","[..]);
                    self.tally.refuse(row.line, reason, &text);
                }
            }
        }
    }

    fn tally(&self) -> &Tally {
        &self.tally
    }
}
