//! The forms in which tegrastats prints a field.

use crate::text::{digits, float, take_int, take_uint, uint};

/// `used/total` with a unit, in MB; `None` when torn or without unit.
pub(super) fn used_total_mb(s: &[u8]) -> Option<(f64, f64)> {
    let (used, rest) = take_uint(s)?;
    let (total, unit) = take_uint(rest.strip_prefix(b"/")?)?;
    let mb = unit_mb(unit)?;
    Some((used * mb, total * mb))
}

fn unit_mb(unit: &[u8]) -> Option<f64> {
    match unit {
        b"MB" | b"M" => Some(1.0),
        b"GB" => Some(1024.0),
        b"kB" | b"KB" | b"K" => Some(1.0 / 1024.0),
        _ => None,
    }
}

/// `6x4MB)` or `6x256kB)`: count of largest free blocks and their size in MB.
pub(super) fn free_blocks(s: &[u8]) -> Option<(f64, f64)> {
    let (count, rest) = take_uint(s)?;
    let (size, unit) = take_uint(rest.strip_prefix(b"x")?)?;
    Some((count, size * unit_mb(unit.strip_suffix(b")")?)?))
}

/// `12MB)`, in MB.
pub(super) fn closing_mb(s: &[u8]) -> Option<f64> {
    let (value, unit) = take_uint(s)?;
    Some(value * unit_mb(unit.strip_suffix(b")")?)?)
}

/// A power rail: current and average (on Thor peak), mW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rail {
    pub(super) current_mw: f64,
    /// `None` when the line is torn inside it.
    pub(super) average_mw: Option<f64>,
    /// Printed with `mW`; without it a torn second value cannot be seen.
    pub(super) with_unit: bool,
}

/// `182/190`, `5299mW/5299mW`, `-392mW/-392mW`.
pub(super) fn rail(s: &[u8]) -> Option<Rail> {
    let (current_mw, rest) = take_int(s)?;
    let (with_unit, rest) = match rest.strip_prefix(b"mW/") {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix(b"/")?),
    };
    let average_mw = match take_int(rest) {
        Some((v, b"mW")) if with_unit => Some(v),
        Some((v, b"")) if !with_unit => Some(v),
        Some((_, b"" | b"m")) | None if with_unit || rest.is_empty() => None,
        _ => return None,
    };
    Some(Rail { current_mw, average_mw, with_unit })
}

/// Value of `name@…C`, possibly with a limit: `52.6C`, `-256C`, `53.7C/114.5C`.
pub(super) fn temperature_c(s: &[u8]) -> Option<f64> {
    let end = s.iter().position(|&b| b == b'C')?;
    if !matches!(&s[end + 1..], [] | [b'/', ..]) {
        return None;
    }
    float(&s[..end])
}

/// Load and clocks of an engine.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Engine {
    pub(super) load: Option<f64>,
    /// One per cluster (GPC); most engines have one.
    pub(super) mhz: [Option<f64>; 4],
}

/// `40%@3199`, `97%@[1377]`, `@[1575,1575,1574]`, `@1692`, `0%`, `None%`, `729`.
pub(super) fn engine(s: &[u8]) -> Option<Engine> {
    let mut e = Engine::default();
    let mut rest = s;
    if let Some(r) = rest.strip_prefix(b"None%") {
        rest = r;
    } else if let Some((value, r)) = take_uint(rest) {
        match r.strip_prefix(b"%") {
            Some(r) => {
                e.load = Some(value);
                rest = r;
            }
            None if r.is_empty() => {
                e.mhz[0] = Some(value);
                return Some(e);
            }
            None => return None,
        }
    }
    let Some(clocks) = rest.strip_prefix(b"@") else {
        return (rest.is_empty() && rest.len() < s.len()).then_some(e);
    };
    match clocks.strip_prefix(b"[") {
        Some(list) => {
            let list = list.strip_suffix(b"]")?;
            for (slot, item) in e.mhz.iter_mut().zip(list.split(|&b| b == b',')) {
                *slot = Some(whole(item)?);
            }
        }
        None => e.mhz[0] = Some(whole(clocks)?),
    }
    Some(e)
}

fn whole(s: &[u8]) -> Option<f64> {
    match digits(s)? {
        (d, b"") => Some(uint(d)),
        _ => None,
    }
}

/// State of a CPU core.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Core {
    Off,
    On { load: f64, mhz: Option<f64> },
}

/// `12%@2201`, `0%`, `off`.
pub(super) fn core(s: &[u8]) -> Option<Core> {
    if s == b"off" {
        return Some(Core::Off);
    }
    let (load, rest) = take_uint(s)?;
    match rest.strip_prefix(b"%")? {
        b"" => Some(Core::On { load, mhz: None }),
        rest => Some(Core::On { load, mhz: Some(whole(rest.strip_prefix(b"@")?)?) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rails_in_every_form() {
        let r = |c, a, u| Some(Rail { current_mw: c, average_mw: a, with_unit: u });
        assert_eq!(rail(b"182/190"), r(182.0, Some(190.0), false));
        assert_eq!(rail(b"5299mW/5299mW"), r(5299.0, Some(5299.0), true));
        assert_eq!(rail(b"-392mW/-392mW"), r(-392.0, Some(-392.0), true));
        assert_eq!(rail(b"0/0"), r(0.0, Some(0.0), false));
        // Torn: the first value is delimited, the second is not.
        assert_eq!(rail(b"32577mW/3"), r(32577.0, None, true));
        assert_eq!(rail(b"32577mW/"), r(32577.0, None, true));
        assert_eq!(rail(b"182/"), r(182.0, None, false));
        for bad in [&b"5299mW"[..], b"15", b"x/y", b"5299W/5299W", b"1mW/2x", b""] {
            assert_eq!(rail(bad), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn engines_in_every_form() {
        let e = |load, mhz| Some(Engine { load, mhz });
        let n = None;
        assert_eq!(engine(b"40%@3199"), e(Some(40.0), [Some(3199.0), n, n, n]));
        assert_eq!(engine(b"97%@[1377]"), e(Some(97.0), [Some(1377.0), n, n, n]));
        assert_eq!(
            engine(b"@[1575,1575,1574]"),
            e(None, [Some(1575.0), Some(1575.0), Some(1574.0), n])
        );
        assert_eq!(engine(b"@1692"), e(None, [Some(1692.0), n, n, n]));
        assert_eq!(engine(b"0%"), e(Some(0.0), [n; 4]));
        assert_eq!(engine(b"None%"), e(None, [n; 4]));
        assert_eq!(engine(b"729"), e(None, [Some(729.0), n, n, n]));
        for bad in [&b"53%@[1"[..], b"53%@", b"", b"@", b"12%x", b"off", b"5%@[1,]"] {
            assert_eq!(engine(bad), None, "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn temperatures_with_limits_signs_and_without() {
        assert_eq!(temperature_c(b"52.600C"), Some(52.6));
        assert_eq!(temperature_c(b"53.7C/114.5C"), Some(53.7));
        assert_eq!(temperature_c(b"-256C"), Some(-256.0));
        assert_eq!(temperature_c(b"-4.5C"), Some(-4.5));
        for bad in [&b"52.6"[..], b"x5.5C", b"C", b"nanC", b"50Cx"] {
            assert_eq!(temperature_c(bad), None);
        }
    }
}
