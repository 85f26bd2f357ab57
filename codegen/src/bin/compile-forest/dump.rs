//! The folder of `--dump-ir`.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use enerinfer_artifacts::{IntPredictor, Target, write_atomic};
use enerinfer_codegen::Lowered;

use crate::failure::{Failure, with_causes};
use crate::outputs::Output;

fn file(folder: &Path, target: Target) -> PathBuf {
    folder.join(format!("{}.json", target.name()))
}

/// Refuses a folder in which anything but earlier dumps stands.
pub(crate) fn check(output: &Output<'_>) -> Result<(), Failure> {
    let Output { named, place, .. } = output;
    let refuse = |path: &Path, reason: &str| {
        Err(Failure::Input(format!(
            "--dump-ir {}: {reason}; name a new or empty folder, or one of earlier dumps",
            path.display()
        )))
    };
    let below_file = || refuse(named, "is, or lies below, a file");
    let failed = |e: std::io::Error| Failure::Failed(format!("{}: {e}", named.display()));
    let entries = match fs::read_dir(place) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            let above = place.ancestors().skip(1).find(|p| p.exists());
            return if above.is_some_and(|p| !p.is_dir()) { below_file() } else { Ok(()) };
        }
        Err(e) if e.kind() == ErrorKind::NotADirectory => return below_file(),
        Err(e) => return Err(failed(e)),
    };
    let mut names = entries
        .map(|entry| entry.map(|e| e.file_name()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    names.sort();
    for name in names {
        if !is_dump(place, &place.join(&name)).map_err(failed)? {
            return refuse(
                &named.join(&name),
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
