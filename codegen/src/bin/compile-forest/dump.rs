//! The folder of `--dump-ir`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use enerinfer_artifacts::{IntPredictor, Target, write_atomic};
use enerinfer_codegen::Lowered;

use crate::failure::{Failure, with_causes};

fn file(folder: &Path, target: Target) -> PathBuf {
    folder.join(format!("{}.json", target.name()))
}

/// Refuses a folder in which anything but earlier dumps stands, or that meets the crate's.
pub(crate) fn check(folder: &Path, crate_folder: &Path) -> Result<(), Failure> {
    let refuse = |path: &Path, reason: &str| {
        Err(Failure::Input(format!(
            "--dump-ir {}: {reason}; name a new or empty folder, or one of earlier dumps",
            path.display()
        )))
    };
    let failed = |e: std::io::Error| Failure::Failed(format!("{}: {e}", folder.display()));
    let (ours, other) = (
        std::path::absolute(folder).map_err(failed)?,
        std::path::absolute(crate_folder).map_err(failed)?,
    );
    if ours.starts_with(&other) || other.starts_with(&ours) {
        return refuse(folder, "lies in the crate's folder, or around it");
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let above = folder.ancestors().skip(1).find(|p| p.exists());
            return match above {
                Some(file) if !file.is_dir() => refuse(file, "is a file"),
                _ => Ok(()),
            };
        }
        Err(e) if e.kind() == ErrorKind::NotADirectory => {
            return refuse(folder, "is, or lies below, a file");
        }
        Err(e) => return Err(failed(e)),
    };
    let mut paths = entries
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<Vec<PathBuf>, _>>()
        .map_err(failed)?;
    paths.sort();
    for path in paths {
        if !is_dump(folder, &path).map_err(failed)? {
            return refuse(
                &path,
                "is no dump of this command and would be overwritten or mixed up",
            );
        }
    }
    Ok(())
}

/// Whether a file has the name and the content of a dump.
fn is_dump(folder: &Path, path: &Path) -> std::io::Result<bool> {
    let Some(&target) = Target::COMPILED.iter().find(|&&t| path == file(folder, t)) else {
        return Ok(false);
    };
    if !path.symlink_metadata()?.is_file() {
        return Ok(false);
    }
    let read = serde_json::from_slice::<IntPredictor>(&fs::read(path)?);
    Ok(read.is_ok_and(|predictor| predictor.target == target))
}

/// Writes one file per predictor, and removes the dumps of predictors that are no more.
pub(crate) fn write(lowered: &Lowered, folder: &Path) -> Result<(), Failure> {
    let failed = |e: std::io::Error| Failure::Failed(format!("{}: {e}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    for target in Target::COMPILED {
        let path = file(folder, target);
        if let Some(predictor) = lowered.predictor(target) {
            let json = serde_json::to_vec_pretty(predictor).map_err(|e| failed(e.into()))?;
            write_atomic(&path, &json).map_err(|e| Failure::Failed(with_causes(&e)))?;
        } else if let Err(e) = fs::remove_file(&path)
            && e.kind() != ErrorKind::NotFound
        {
            return Err(failed(e));
        }
    }
    Ok(())
}
