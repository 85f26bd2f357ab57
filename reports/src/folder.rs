//! Finds records below a folder.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// Folders are not searched deeper than this.
const DEPTH: usize = 8;

/// A record found.
pub(crate) struct Found {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Relative to the folder searched, with `/`.
    pub(crate) relative: String,
    /// The page beside it, likewise relative.
    pub(crate) page: Option<String>,
}

/// All `report.json` and `*.report.json` below `folder`, in the order of their paths. Hidden
/// folders and links to folders are left out.
pub(crate) fn records(folder: &Path) -> anyhow::Result<Vec<Found>> {
    let mut found = Vec::new();
    search(folder, "", DEPTH, &mut found)?;
    anyhow::ensure!(
        !found.is_empty(),
        "{}: no report.json or *.report.json below it",
        folder.display()
    );
    found.sort_by(|a, b| a.relative.cmp(&b.relative));
    Ok(found)
}

fn search(folder: &Path, prefix: &str, depth: usize, found: &mut Vec<Found>) -> anyhow::Result<()> {
    let context = || folder.display().to_string();
    for entry in std::fs::read_dir(folder).with_context(context)? {
        let entry = entry.with_context(context)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // Of the entry itself: links are not followed, so there are no loops.
        let kind = entry.file_type().with_context(context)?;
        if kind.is_dir() && depth > 0 && !name.starts_with('.') {
            search(&entry.path(), &format!("{prefix}{name}/"), depth - 1, found)?;
        } else if !kind.is_dir() && (name == "report.json" || name.ends_with(".report.json")) {
            let page = entry.path().with_extension("html");
            let stem = name.strip_suffix("json").unwrap_or(&name);
            found.push(Found {
                relative: format!("{prefix}{name}"),
                page: page.is_file().then(|| format!("{prefix}{stem}html")),
                path: entry.path(),
            });
        }
    }
    Ok(())
}
