//! Log times to UTC nanoseconds.
//!
//! tegrastats prints local time without a zone, and the hour when clocks go back stands twice in
//! a log. So a zone is given or inferred, never assumed, and the second pass through that hour is
//! told from the first by the log running backwards.

use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};

use crate::{Error, text};

const NS: i64 = 1_000_000_000;

/// A time as a log states it, in nanoseconds since 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// The line has none.
    Absent,
    /// Local time without a zone, counted as if it were UTC.
    Civil(i64),
    /// UTC.
    Utc(i64),
}

impl Stamp {
    /// Nanoseconds as printed, whatever the zone.
    pub fn printed_ns(self) -> Option<i64> {
        match self {
            Stamp::Absent => None,
            Stamp::Civil(ns) | Stamp::Utc(ns) => Some(ns),
        }
    }
}

/// The time zone of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone(TimeZone);

impl Zone {
    /// `UTC`, an IANA name such as `America/New_York`, or an offset such as `-04:00` or `+05:45`.
    pub fn parse(name: &str) -> Result<Self, Error> {
        if name.eq_ignore_ascii_case("utc") || name == "Z" {
            return Ok(Zone(TimeZone::UTC));
        }
        if let Some(seconds) = offset_seconds(name.as_bytes()) {
            return Zone::fixed(seconds);
        }
        TimeZone::get(name).map(Zone).map_err(|_| {
            Error::invalid(format!(
                "time zone `{name}` is not known; give UTC, an IANA name such as \
                 America/New_York, or an offset such as -04:00"
            ))
        })
    }

    /// A fixed offset east of UTC, in seconds.
    pub fn fixed(seconds: i32) -> Result<Self, Error> {
        let offset = Offset::from_seconds(seconds)
            .map_err(|_| Error::invalid(format!("UTC offset of {seconds} s is out of range")))?;
        Ok(Zone(offset.to_time_zone()))
    }

    /// Name for messages: IANA name or offset.
    pub fn name(&self) -> String {
        match self.0.iana_name() {
            Some(name) => name.to_owned(),
            None => match self.0.to_fixed_offset() {
                Ok(o) if o == Offset::UTC => "UTC".to_owned(),
                Ok(o) => {
                    let s = o.seconds();
                    let sign = if s < 0 { '-' } else { '+' };
                    format!("{sign}{:02}:{:02}", s.abs() / 3600, s.abs() / 60 % 60)
                }
                Err(_) => "unnamed".to_owned(),
            },
        }
    }
}

/// Offsets of a civil time; equal except in the hour that stands twice.
#[derive(Clone, Copy, Debug)]
struct Offsets {
    first_s: i64,
    second_s: i64,
}

/// Turns the civil times of one log, in its order, into UTC.
#[derive(Clone, Debug)]
pub struct Clock {
    zone: Zone,
    /// Offsets only change on multiples of a quarter of an hour.
    bucket: Option<(i64, Offsets)>,
    last_utc_ns: Option<i64>,
    /// Civil times that stand twice.
    pub ambiguous: u64,
}

/// A log may step back by this much (writers race) without having passed a clock change.
const JITTER_NS: i64 = 60 * NS;

impl Clock {
    /// A clock for a log in `zone`.
    pub fn new(zone: Zone) -> Self {
        Clock { zone, bucket: None, last_utc_ns: None, ambiguous: 0 }
    }

    fn offsets(&mut self, civil_ns: i64) -> Offsets {
        let key = civil_ns.div_euclid(900 * NS);
        if let Some((k, offsets)) = self.bucket
            && k == key
        {
            return offsets;
        }
        let offsets = lookup(&self.zone.0, civil_ns);
        self.bucket = Some((key, offsets));
        offsets
    }

    /// UTC of a civil time, each taken alone: of two possible times the first, and in the hour
    /// that is skipped the offset before the change. What Hydra's parser does.
    pub fn utc_ns_stateless(&mut self, civil_ns: i64) -> i64 {
        civil_ns - self.offsets(civil_ns).first_s * NS
    }

    /// UTC of the next civil time of the log. Of two possible times the first that does not lie
    /// before the previous line.
    pub fn utc_ns(&mut self, civil_ns: i64) -> i64 {
        let o = self.offsets(civil_ns);
        let mut utc = civil_ns - o.first_s * NS;
        if o.first_s != o.second_s {
            self.ambiguous += 1;
            if self.last_utc_ns.is_some_and(|last| utc < last - JITTER_NS) {
                utc = civil_ns - o.second_s * NS;
            }
        }
        self.last_utc_ns = Some(utc);
        utc
    }

    /// UTC of a stamp; `None` if it has none.
    pub fn resolve(&mut self, stamp: Stamp) -> Option<i64> {
        match stamp {
            Stamp::Absent => None,
            Stamp::Utc(ns) => Some(ns),
            Stamp::Civil(ns) => Some(self.utc_ns(ns)),
        }
    }
}

fn lookup(zone: &TimeZone, civil_ns: i64) -> Offsets {
    let same = |s: i32| Offsets { first_s: i64::from(s), second_s: i64::from(s) };
    let Some(civil) = civil_date_time(civil_ns.div_euclid(NS)) else { return same(0) };
    match zone.to_ambiguous_timestamp(civil).offset() {
        AmbiguousOffset::Unambiguous { offset } => same(offset.seconds()),
        AmbiguousOffset::Gap { before, .. } => same(before.seconds()),
        AmbiguousOffset::Fold { before, after } => {
            Offsets { first_s: i64::from(before.seconds()), second_s: i64::from(after.seconds()) }
        }
    }
}

fn civil_date_time(seconds: i64) -> Option<DateTime> {
    let stamp = jiff::Timestamp::from_second(seconds).ok()?;
    Some(Offset::UTC.to_datetime(stamp))
}

/// Seconds of a civil time as if UTC; `None` if there is no such date or time of day.
/// Seconds of a civil time as if it were UTC; `None` if there is no such time, or if its
/// nanoseconds would not fit 64 bits.
fn civil_seconds(y: i16, mo: i8, d: i8, h: i8, mi: i8, s: i8) -> Option<i64> {
    // A log from outside these years has a damaged date.
    if !(1900..=2200).contains(&y) {
        return None;
    }
    let dt = DateTime::new(y, mo, d, h, mi, s, 0).ok()?;
    Some(Offset::UTC.to_timestamp(dt).ok()?.as_second())
}

fn two(s: &[u8], at: usize) -> Option<i8> {
    match s.get(at..at + 2)? {
        [a @ b'0'..=b'9', b @ b'0'..=b'9'] => Some(((a - b'0') * 10 + b - b'0') as i8),
        _ => None,
    }
}

/// Whether `s` starts like `dd-dd-dddd dd:dd:dd`.
pub(crate) fn looks_like_mdy(s: &[u8]) -> bool {
    const SHAPE: &[u8; 19] = b"00-00-0000 00:00:00";
    s.len() >= 19
        && SHAPE.iter().zip(s).all(|(p, b)| if *p == b'0' { b.is_ascii_digit() } else { p == b })
}

/// Seconds (as if UTC) of `MM-DD-YYYY HH:MM:SS` at the start of `s`.
pub(crate) fn mdy_seconds(s: &[u8]) -> Option<i64> {
    if !looks_like_mdy(s) {
        return None;
    }
    let year = i16::from(two(s, 6)?) * 100 + i16::from(two(s, 8)?);
    civil_seconds(year, two(s, 0)?, two(s, 3)?, two(s, 11)?, two(s, 14)?, two(s, 17)?)
}

/// Up to nine digits of a fraction of a second, in nanoseconds, and their number.
pub(crate) fn fraction_ns(s: &[u8]) -> (i64, usize) {
    let n = s.iter().take(9).take_while(|b| b.is_ascii_digit()).count();
    let value = s[..n].iter().fold(0i64, |v, b| v * 10 + i64::from(b - b'0'));
    (value * 10i64.pow(9 - n as u32), n)
}

/// `+HH:MM`, `-HHMM` or `+HH` in seconds.
fn offset_seconds(s: &[u8]) -> Option<i32> {
    let (sign, rest) = match s.split_first()? {
        (b'+', r) => (1, r),
        (b'-', r) => (-1, r),
        _ => return None,
    };
    let hours = two(rest, 0)?;
    let minutes = match &rest[2..] {
        [] => 0,
        [b':', m @ ..] | m if m.len() == 2 => two(m, 0)?,
        _ => return None,
    };
    (hours < 26 && minutes < 60).then(|| sign * (i32::from(hours) * 3600 + i32::from(minutes) * 60))
}

/// Unit of a numeric time column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl TimeUnit {
    fn ns(self) -> i64 {
        match self {
            TimeUnit::Seconds => NS,
            TimeUnit::Millis => 1_000_000,
            TimeUnit::Micros => 1_000,
            TimeUnit::Nanos => 1,
        }
    }

    /// The unit in which a time since 1970 of today's magnitude is written.
    fn guess(magnitude: f64) -> Self {
        match magnitude {
            m if m < 1e11 => TimeUnit::Seconds,
            m if m < 1e14 => TimeUnit::Millis,
            m if m < 1e17 => TimeUnit::Micros,
            _ => TimeUnit::Nanos,
        }
    }
}

/// Reads a time in any of the usual forms: a number since 1970 (unit given, else by magnitude),
/// `YYYY-MM-DD` or `YYYY/MM/DD` with `T` or blank and time of day with or without fraction and
/// zone, or tegrastats' `MM-DD-YYYY HH:MM:SS`.
pub fn parse_stamp(s: &[u8], unit: Option<TimeUnit>) -> Option<Stamp> {
    let s = text::trim(s);
    if let Some(v) = text::float(s) {
        return numeric_stamp(s, v, unit);
    }
    if let Some(seconds) = mdy_seconds(s) {
        let fraction = s.get(19).filter(|&&b| b == b'.').map_or(0, |_| fraction_ns(&s[20..]).0);
        return Some(Stamp::Civil(seconds * NS + fraction));
    }
    let separators = (s.get(4)?, s.get(7)?, s.get(10)?);
    if !matches!(separators, (b'-', b'-', b'T' | b' ' | b't') | (b'/', b'/', b' ' | b'T')) {
        return None;
    }
    if s.get(13) != Some(&b':') || s.get(16) != Some(&b':') {
        return None;
    }
    let year = i16::from(two(s, 0)?) * 100 + i16::from(two(s, 2)?);
    let seconds =
        civil_seconds(year, two(s, 5)?, two(s, 8)?, two(s, 11)?, two(s, 14)?, two(s, 17)?)?;
    let mut rest = &s[19..];
    let mut ns = seconds * NS;
    if let Some((b'.' | b',', r)) = rest.split_first() {
        let (fraction, n) = fraction_ns(r);
        ns += fraction;
        let more = r[n..].iter().take_while(|b| b.is_ascii_digit()).count();
        rest = &r[n + more..];
    }
    match text::trim(rest) {
        [] => Some(Stamp::Civil(ns)),
        b"Z" | b"z" | b"UTC" => Some(Stamp::Utc(ns)),
        zone => Some(Stamp::Utc(ns - i64::from(offset_seconds(zone)?) * NS)),
    }
}

fn numeric_stamp(s: &[u8], v: f64, unit: Option<TimeUnit>) -> Option<Stamp> {
    let unit = unit.unwrap_or_else(|| TimeUnit::guess(v.abs()));
    // Whole numbers exactly: an f64 has no nanoseconds left at today's magnitude.
    if let Ok(whole) = std::str::from_utf8(s).ok()?.parse::<i64>() {
        return whole.checked_mul(unit.ns()).map(Stamp::Utc);
    }
    let (whole, fraction) = match s.iter().position(|&b| b == b'.') {
        Some(dot) if !s.contains(&b'e') && !s.contains(&b'E') => {
            (std::str::from_utf8(&s[..dot]).ok()?.parse::<i64>().ok(), &s[dot..])
        }
        _ => (None, s),
    };
    let ns = match whole {
        Some(w) => {
            let f = text::float(fraction)? * unit.ns() as f64;
            let sign = if v < 0.0 { -1.0 } else { 1.0 };
            w.checked_mul(unit.ns())?.checked_add((sign * f).round() as i64)?
        }
        None => {
            let ns = (v * unit.ns() as f64).round();
            if ns.abs() >= 9e18 {
                return None;
            }
            ns as i64
        }
    };
    Some(Stamp::Utc(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new_york() -> Clock {
        Clock::new(Zone::parse("America/New_York").unwrap())
    }

    fn civil(s: &str) -> i64 {
        match parse_stamp(s.as_bytes(), None) {
            Some(Stamp::Civil(ns)) => ns,
            other => panic!("{s}: {other:?}"),
        }
    }

    #[test]
    fn an_hour_that_stands_twice_is_told_by_the_log_running_backwards() {
        let mut clock = new_york();
        let a = clock.utc_ns(civil("11-02-2025 01:59:59.9"));
        let b = clock.utc_ns(civil("11-02-2025 01:00:00.9"));
        let c = clock.utc_ns(civil("11-02-2025 01:00:01.9"));
        assert_eq!((b - a, c - b), (NS, NS));
        assert_eq!(clock.ambiguous, 3);
    }

    #[test]
    fn stateless_conversion_is_that_of_python_fold_zero() {
        let mut clock = new_york();
        assert_eq!(
            clock.utc_ns_stateless(civil("11-02-2025 01:30:00.000000001")),
            1762061400000000001
        );
        assert_eq!(
            clock.utc_ns_stateless(civil("03-09-2025 02:30:00.000000001")),
            1741505400000000001
        );
        assert_eq!(clock.utc_ns_stateless(civil("01-05-2026 12:00:00.5")), 1767632400500000000);
    }

    #[test]
    fn every_usual_form_is_read() {
        let utc = Some(Stamp::Utc(1_767_225_600_500_000_000));
        for s in [
            "2026-01-01T00:00:00.5Z",
            "2026-01-01T05:45:00.500+05:45",
            "2025-12-31 19:00:00.5 -0500",
            "1767225600.5",
            "1767225600500",
            "1767225600500000",
            "1767225600500000000",
        ] {
            assert_eq!(parse_stamp(s.as_bytes(), None), utc, "{s}");
        }
        let civil = Some(Stamp::Civil(1_767_225_600_500_000_000));
        for s in ["2026/01/01 00:00:00.500", "2026-01-01T00:00:00.5", "01-01-2026 00:00:00.5"] {
            assert_eq!(parse_stamp(s.as_bytes(), None), civil, "{s}");
        }
        for s in ["", "x", "2026-13-01T00:00:00", "2026-02-30 00:00:00", "13-15-2025 10:00:00"] {
            assert_eq!(parse_stamp(s.as_bytes(), None), None, "{s}");
        }
        assert_eq!(parse_stamp(b"10.5", Some(TimeUnit::Seconds)), Some(Stamp::Utc(10_500_000_000)));
    }

    #[test]
    fn zones_are_named_or_refused() {
        for (given, name) in [
            ("UTC", "UTC"),
            ("-04:00", "-04:00"),
            ("+0545", "+05:45"),
            ("Asia/Tokyo", "Asia/Tokyo"),
        ] {
            assert_eq!(Zone::parse(given).unwrap().name(), name);
        }
        assert!(Zone::parse("Boston").is_err());
        assert!(Zone::parse("+99:00").is_err());
    }
}
