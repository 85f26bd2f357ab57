//! Which files of a folder an earlier `report render` wrote, so that the next one can take away
//! those that it does not write again.

use std::io::{ErrorKind, Read as _};
use std::path::Path;

use anyhow::Context as _;

/// Beside the page: one relative path per line.
pub(crate) const LIST: &str = "report.files.txt";

/// The longest list that is read, bytes; a real one has some thousands.
const MOST_BYTES: u64 = 1 << 20;

/// The tables and pictures in the list of `folder`; none if it has no list. Lines that no
/// `report render` writes are passed over: what they name is somebody else's.
pub(crate) fn listed(folder: &Path) -> anyhow::Result<Vec<String>> {
    let path = folder.join(LIST);
    let mut text = Vec::new();
    let read =
        std::fs::File::open(&path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut text));
    match read {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.with_context(|| path.display().to_string())?,
    };
    let text = String::from_utf8_lossy(&text);
    Ok(text.lines().filter(|line| is_ours(line)).map(str::to_owned).collect())
}

/// Removes files of `folder`; one that is gone already is no error.
pub(crate) fn remove<'a>(
    folder: &Path,
    files: impl Iterator<Item = &'a String>,
) -> anyhow::Result<()> {
    for file in files {
        let path = folder.join(file);
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(e).with_context(|| {
                    format!("cannot remove {}, which an earlier report left", path.display())
                });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether `line` is the path of a table or picture: nothing outside the two folders is.
fn is_ours(line: &str) -> bool {
    let table = line.strip_prefix("csv/").and_then(|name| name.strip_suffix(".csv"));
    let picture = line.strip_prefix("svg/").and_then(|name| name.strip_suffix(".svg"));
    let stem = table.or(picture).unwrap_or_default();
    !stem.is_empty() && stem.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

#[cfg(test)]
mod tests {
    use enerinfer_reports::Record;

    use super::is_ours;

    #[test]
    fn only_tables_and_pictures_are_ours() {
        let record = Record::from_json(include_str!("../tests/data/orin.json"));
        let record = record.expect("the committed record");
        for (name, _) in enerinfer_reports::csv_tables(&record) {
            assert!(is_ours(&format!("csv/{name}")), "{name}");
        }
        for (name, _) in enerinfer_reports::pictures(&record) {
            assert!(is_ours(&format!("svg/{name}")), "{name}");
        }
        for line in [
            "",
            "csv/.csv",
            "csv/a.svg",
            "svg/a.csv",
            "report.html",
            "/etc/passwd",
            "csv/../../a.csv",
            "csv//a.csv",
            "csv/sub/a.csv",
            "csv/..\\a.csv",
            "../csv/a.csv",
            "csv/a.csv ",
        ] {
            assert!(!is_ours(line), "{line}");
        }
    }
}
