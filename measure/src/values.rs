//! Values of options: numbers within what can be meant, with units where users write them.

use std::ops::RangeInclusive;
use std::time::Duration;

use enerinfer_datasets::WeightFormat;

/// A number within `range`, whose ends are named where it is not. What is no number (`nan`) or has
/// no end (`inf`) lies in no range.
pub(crate) fn number(
    range: RangeInclusive<f64>,
) -> impl Fn(&str) -> Result<f64, String> + Clone + Send + Sync {
    move |text| {
        let (least, most) = (range.start(), range.end());
        let found = text.parse().ok().filter(|v| range.contains(v));
        found.ok_or_else(|| format!("a number from {least} to {most} is needed"))
    }
}

/// A share of a whole.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    number(0.0..=1.0)(text)
}

/// A percentage of a whole.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    number(0.0..=100.0)(text)
}

/// A time in seconds, up to a day.
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    number(0.0..=86_400.0)(text)
}

/// A temperature, °C.
pub(crate) fn celsius(text: &str) -> Result<f64, String> {
    number(-273.15..=1000.0)(text)
}

/// A clock, MHz: above zero, as clocks are.
pub(crate) fn mhz(text: &str) -> Result<f64, String> {
    number(0.001..=20_000.0)(text).map_err(|e| format!("a clock in MHz: {e}"))
}

/// A clock in MHz as whole kHz.
pub(crate) fn mhz_as_khz(text: &str) -> Result<u32, String> {
    mhz(text).map(|v| (v * 1e3).round() as u32)
}

/// A time such as 270s, 5m or 500ms.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let parsed: jiff::SignedDuration =
        text.parse().map_err(|e| format!("{e}; a time such as 270s, 5m or 500ms is needed"))?;
    Duration::try_from(parsed).map_err(|_| "must not be negative".to_owned())
}

/// A weight format.
pub(crate) fn format(name: &str) -> Result<WeightFormat, String> {
    let known = || WeightFormat::ALL.map(WeightFormat::name).join(", ");
    WeightFormat::parse(name).ok_or_else(|| format!("known formats: {}", known()))
}

/// What a list names, each once: named twice, a model would be measured as two of one name.
pub(crate) fn each_once<T: Copy + PartialEq>(list: &[T]) -> Vec<T> {
    let mut once = Vec::with_capacity(list.len());
    for item in list {
        if !once.contains(item) {
            once.push(*item);
        }
    }
    once
}

/// A number of parameters such as 30M, 1.5B or 30e6.
pub(crate) fn param_count(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.trim().to_ascii_uppercase() {
        t if t.ends_with('B') => (t[..t.len() - 1].to_owned(), 1e9),
        t if t.ends_with('M') => (t[..t.len() - 1].to_owned(), 1e6),
        t => (t, 1.0),
    };
    let value = digits.parse::<f64>().map_or(f64::NAN, |n| n * unit);
    // 0.07 B is a whole number, but for the rounding of the product. Above 2^53 a total is no whole
    // f64, and no model is as large.
    if (value - value.round()).abs() < 1e-3 && (1.0..=9e15).contains(&value) {
        return Ok(value.round() as u64);
    }
    Err("a whole number of parameters such as 30M, 1.5B or 30e6 is needed".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lie_within_their_range() {
        let within = number(-2.5..=4.0);
        for (text, value) in [("-2.5", -2.5), ("4", 4.0), ("1e0", 1.0), ("-0", 0.0)] {
            assert_eq!(within(text), Ok(value), "{text}");
        }
        for bad in ["-2.6", "4.0001", "nan", "inf", "-inf", "1e999", "", "one", "1 "] {
            let said = within(bad).unwrap_err();
            assert_eq!(said, "a number from -2.5 to 4 is needed", "{bad}");
        }
        assert_eq!(mhz("665.6"), Ok(665.6));
        assert_eq!(mhz_as_khz("665.6"), Ok(665_600));
        assert!(mhz("0").is_err() && mhz_as_khz("0.0001").is_err());
    }

    #[test]
    fn units_are_read() {
        for (text, count) in [("30M", 30_000_000), ("0.07b", 70_000_000), ("30e6", 30_000_000)] {
            assert_eq!(param_count(text), Ok(count));
        }
        for bad in ["", "M", "1.5", "0", "-3M", "nan", "infB", "1e300"] {
            assert!(param_count(bad).is_err(), "{bad}");
        }
        assert_eq!(duration("270s"), Ok(Duration::from_secs(270)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert!(duration("-5s").is_err());
        assert_eq!(format("q4_0"), Ok(WeightFormat::Q4_0));
        assert!(format("q9").unwrap_err().contains("q4_k_m"));
    }
}
