//! Bytes to numbers, for the hot path of the readers.

/// Leading ASCII digits and the rest.
#[inline]
pub(crate) fn digits(s: &[u8]) -> Option<(&[u8], &[u8])> {
    let n = s.iter().take_while(|b| b.is_ascii_digit()).count();
    (n > 0).then(|| s.split_at(n))
}

/// A run of ASCII digits as `f64`, correctly rounded.
#[inline]
pub(crate) fn uint(s: &[u8]) -> f64 {
    if s.len() <= 15 {
        // Below 10^15 < 2^53: exact in an f64.
        s.iter().fold(0u64, |v, b| v * 10 + u64::from(b - b'0')) as f64
    } else {
        float(s).unwrap_or(f64::INFINITY)
    }
}

/// Leading digits as a number, and the rest.
#[inline]
pub(crate) fn take_uint(s: &[u8]) -> Option<(f64, &[u8])> {
    digits(s).map(|(d, rest)| (uint(d), rest))
}

/// An optionally negative whole number, and the rest.
pub(crate) fn take_int(s: &[u8]) -> Option<(f64, &[u8])> {
    match s.strip_prefix(b"-") {
        Some(rest) => take_uint(rest).map(|(v, rest)| (-v, rest)),
        None => take_uint(s),
    }
}

/// A decimal number that fills `s`. Finite numbers in plain or exponent notation only.
pub(crate) fn float(s: &[u8]) -> Option<f64> {
    if !s.iter().any(u8::is_ascii_digit) {
        return None; // `nan`, `inf` and friends
    }
    let v: f64 = std::str::from_utf8(s).ok()?.parse().ok()?;
    v.is_finite().then_some(v)
}

/// `s` without ASCII white space at both ends.
pub(crate) fn trim(s: &[u8]) -> &[u8] {
    s.trim_ascii()
}

/// An `f64` as Python's `repr` and pandas' `to_csv` print it: shortest digits that read back,
/// exponent form outside 1e-4 … 1e16, empty for NaN.
pub(crate) fn python_float(v: f64, out: &mut Vec<u8>) {
    use std::io::Write as _;
    if v.is_nan() {
        return;
    }
    if v.is_infinite() {
        out.extend_from_slice(if v > 0.0 { b"inf" } else { b"-inf" });
        return;
    }
    let magnitude = v.abs();
    // Writing to a Vec cannot fail.
    if magnitude != 0.0 && !(1e-4..1e16).contains(&magnitude) {
        let start = out.len();
        let _ = write!(out, "{v:e}");
        // Rust prints `1e-5`, Python `1e-05` and `1e+16`.
        if let Some(e) = out[start..].iter().position(|&b| b == b'e') {
            let exponent = out.split_off(start + e + 1);
            let (sign, digits) = match exponent.strip_prefix(b"-") {
                Some(d) => (b'-', d),
                None => (b'+', exponent.as_slice()),
            };
            out.push(sign);
            if digits.len() < 2 {
                out.push(b'0');
            }
            out.extend_from_slice(digits);
        }
    } else {
        let _ = write!(out, "{v:?}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn py(v: f64) -> String {
        let mut out = Vec::new();
        python_float(v, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn floats_print_as_python_does() {
        // Right-hand sides: CPython 3.11 repr.
        for (v, s) in [
            (0.0, "0.0"),
            (-0.5, "-0.5"),
            (1.0, "1.0"),
            (1.749996000311892e18, "1.749996000311892e+18"),
            (1e16, "1e+16"),
            (9999999999999998.0, "9999999999999998.0"),
            (0.0001, "0.0001"),
            (0.00001, "1e-05"),
            (4.632933593749999e-5, "4.632933593749999e-05"),
            (1e100, "1e+100"),
            (f64::INFINITY, "inf"),
            (f64::NAN, ""),
        ] {
            assert_eq!(py(v), s);
        }
    }

    #[test]
    fn words_are_not_numbers() {
        for s in ["nan", "inf", "-inf", "infinity", "", "x5.5", "1e999", "5 W"] {
            assert_eq!(float(s.as_bytes()), None, "{s}");
        }
        assert_eq!(float(b"-256"), Some(-256.0));
    }
}
