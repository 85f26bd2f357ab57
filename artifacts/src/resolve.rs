//! Which place a path means.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use crate::Error;

/// The place that `path` means now: absolute, without links and `..`. Of one place every path
/// gives the same, and it stays right when the working folder is moved, as when it is replaced.
///
/// What does not exist yet is taken as folders to be made, and may be followed by `..`.
///
/// # Errors
/// [`Error::Io`] if a link leads nowhere, or if the system does not let us see.
pub fn resolve(path: &Path) -> Result<PathBuf, Error> {
    let failed = |reason| Error::io(path, reason);
    let mut place = PathBuf::new();
    for component in std::path::absolute(path).map_err(failed)?.components() {
        match component {
            // Links were followed on the way here, hence this is the folder above.
            Component::ParentDir => {
                place.pop();
            }
            Component::Normal(_) => {
                place.push(component);
                match fs::canonicalize(&place) {
                    Ok(real) => place = real,
                    Err(_) if place.is_symlink() => {
                        return Err(failed(io::Error::other("a symbolic link leads nowhere")));
                    }
                    Err(e)
                        if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                    Err(e) => return Err(failed(e)),
                }
            }
            Component::Prefix(_) | Component::RootDir | Component::CurDir => place.push(component),
        }
    }
    Ok(place)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_path_of_a_place_gives_the_same() -> Result<(), Box<dyn std::error::Error>> {
        let dir = tempfile::tempdir()?;
        let root = dir.path().canonicalize()?;
        fs::create_dir_all(root.join("a/b"))?;
        fs::create_dir(root.join("c"))?;
        fs::write(root.join("file"), "")?;
        symlink(root.join("a/b"), root.join("c/link"))?;
        symlink("../a", root.join("c/relative"))?;
        symlink("nowhere", root.join("dangling"))?;
        for (path, place) in [
            ("a/b", "a/b"),
            ("a/./b/", "a/b"),
            ("c/../a/b", "a/b"),
            ("a/b/../b", "a/b"),
            ("c/link", "a/b"),
            ("c/relative/b", "a/b"),
            // Above where the link leads, not above the link.
            ("c/link/..", "a"),
            ("c/link/../b/new", "a/b/new"),
            ("c/link/x/y", "a/b/x/y"),
            ("new/../a/b", "a/b"),
            ("new/x/../../c/link/x", "a/b/x"),
            ("a/new/..", "a"),
            ("file", "file"),
            ("file/x", "file/x"),
        ] {
            assert_eq!(resolve(&root.join(path))?, root.join(place), "{path}");
        }
        for path in ["dangling", "dangling/x", "dangling/../a"] {
            let error = resolve(&root.join(path)).err().map(|e| e.to_string()).unwrap_or_default();
            assert!(error.contains(path) && error.contains("leads nowhere"), "{path}: {error}");
        }
        // Relative paths start where the process stands.
        assert_eq!(
            resolve(Path::new("src/../new"))?,
            std::env::current_dir()?.canonicalize()?.join("new")
        );
        assert_eq!(resolve(Path::new("/../.."))?, Path::new("/"));
        Ok(())
    }
}
