//! No output may be an input or another output: the second would overwrite the first.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The files of a command, each with the option that names it.
#[derive(Default)]
pub(crate) struct Files {
    /// Option, path as given, path as the file system knows it, whether it is written.
    named: Vec<(&'static str, PathBuf, PathBuf, bool)>,
}

impl Files {
    /// Files that are read.
    pub(crate) fn read<'a>(
        mut self,
        option: &'static str,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Self {
        self.add(option, paths, false);
        self
    }

    /// Files that are written.
    pub(crate) fn write<'a>(
        mut self,
        option: &'static str,
        paths: impl IntoIterator<Item = &'a Path>,
    ) -> Self {
        self.add(option, paths, true);
        self
    }

    fn add<'a>(
        &mut self,
        option: &'static str,
        paths: impl IntoIterator<Item = &'a Path>,
        written: bool,
    ) {
        let named = paths.into_iter().map(|p| (option, p.to_owned(), identity(p), written));
        self.named.extend(named);
    }

    /// To be called before any work.
    ///
    /// # Errors
    /// Names both options if a file that is written is another of the command's files too.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        for (i, (option, path, file, written)) in self.named.iter().enumerate() {
            let clash = self.named.iter().take(i).find(|other| other.2 == *file);
            let Some((other_option, other_path, _, other_written)) = clash else { continue };
            if *written || *other_written {
                return Err(Failure::input(format!(
                    "{option} {} and {other_option} {} are one file, which would be overwritten; \
                     name another",
                    path.display(),
                    other_path.display()
                )));
            }
        }
        Ok(())
    }
}

/// The path without links and `..`, also of a file that is not there yet.
fn identity(path: &Path) -> PathBuf {
    if let Ok(found) = path.canonicalize() {
        return found;
    }
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) if folder.as_os_str().is_empty() => {
            identity(Path::new(".")).join(name)
        }
        (Some(folder), Some(name)) => identity(folder).join(name),
        _ => path.to_owned(),
    }
}
