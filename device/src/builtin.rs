//! The platform files that are embedded in the crate.

use crate::DeviceError;

const NAMES: &[&str] = &["orin", "h_phone"];

/// Names of the built-in devices.
pub fn names() -> &'static [&'static str] {
    NAMES
}

/// The platform file of a built-in device.
pub(crate) fn text(name: &str) -> Result<&'static str, DeviceError> {
    match name {
        "orin" => Ok(include_str!("../platforms/orin.toml")),
        "h_phone" => Ok(include_str!("../platforms/h_phone.toml")),
        _ => Err(unknown(name)),
    }
}

/// The published figures of a built-in device, as CSV.
pub(crate) fn published(name: &str) -> Result<&'static str, DeviceError> {
    match name {
        "orin" => Ok(include_str!("../published/orin.csv")),
        "h_phone" => Ok(include_str!("../published/h_phone.csv")),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> DeviceError {
    DeviceError::UnknownPlatform { name: name.to_owned(), nearest: nearest(name), known: NAMES }
}

/// The closest name, unless more than half of it would have to change.
fn nearest(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    NAMES
        .iter()
        .map(|known| (edit_distance(&name, known), *known))
        .min()
        .filter(|(distance, known)| distance * 2 <= known.len())
        .map(|(_, known)| known)
}

/// Levenshtein distance, in bytes: names are ASCII.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_a_file_and_is_its_own_nearest() {
        for name in NAMES {
            assert!(text(name).is_ok(), "{name}");
            assert_eq!(nearest(name), Some(*name));
        }
    }

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        assert_eq!(nearest("orrin"), Some("orin"));
        assert_eq!(nearest("H-Phone"), Some("h_phone"));
        assert_eq!(nearest("raspberry_pi"), None);
        assert_eq!(nearest(""), None);
    }
}
