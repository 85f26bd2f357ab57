//! The platform files that are embedded in the crate.

use crate::DeviceError;

/// Embeds the platform file and the published figures of each name.
macro_rules! builtin {
    ($($name:literal),+ $(,)?) => {
        const NAMES: &[&str] = &[$($name),+];

        /// The platform file of a built-in device.
        pub(crate) fn text(name: &str) -> Result<&'static str, DeviceError> {
            match name {
                $($name => Ok(include_str!(concat!("../platforms/", $name, ".toml"))),)+
                _ => Err(unknown(name)),
            }
        }

        /// The published figures of a built-in device, as CSV.
        pub(crate) fn published(name: &str) -> Result<&'static str, DeviceError> {
            match name {
                $($name => Ok(include_str!(concat!("../published/", $name, ".csv"))),)+
                _ => Err(unknown(name)),
            }
        }
    };
}

builtin!(
    "orin",
    "orin_nano",
    "xavier",
    "thor",
    "h_phone",
    "m_phone",
    "laptop",
    "board",
    "board_gpu",
);

/// Names of the built-in devices.
pub fn names() -> &'static [&'static str] {
    NAMES
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
