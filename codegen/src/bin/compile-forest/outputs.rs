//! The folders that outputs go to.

use std::path::{Component, Path, PathBuf};

use enerinfer_artifacts::resolve;
use enerinfer_codegen::check_destination;

use crate::failure::Failure;
use crate::{Args, dump};

/// A folder that is to be written.
pub(crate) struct Output<'a> {
    option: &'static str,
    /// As the user names it: for messages.
    pub(crate) named: &'a Path,
    /// Where that is, before anything is written: replacing a folder in which the user stands
    /// moves what relative paths lead to.
    pub(crate) place: PathBuf,
}

impl<'a> Output<'a> {
    fn of(option: &'static str, named: &'a Path) -> Result<Self, Failure> {
        let place = resolve(named).map_err(|e| Failure::Input(format!("{option} {e}")))?;
        Ok(Output { option, named, place })
    }

    /// The same for a folder that a crate is written to.
    fn of_crate(option: &'static str, named: &'a Path) -> Result<Self, Failure> {
        check_destination(named)?;
        Self::of(option, named)
    }

    /// Refuses two outputs of which one would replace the other, or a part of it.
    fn check_apart(&self, other: &Self) -> Result<(), Failure> {
        if self.place.starts_with(&other.place) || other.place.starts_with(&self.place) {
            return Err(Failure::Input(format!(
                "{} {} and {} {}: one would replace the other; name two folders, neither in the \
                 other",
                self.option,
                self.named.display(),
                other.option,
                other.named.display()
            )));
        }
        Ok(())
    }

    /// The relative path to another folder, so that both can be moved together and no output
    /// depends on where they are. Folders without a common root, as on two drives, have none.
    pub(crate) fn way_to(&self, other: &Self) -> PathBuf {
        let from: Vec<_> = self.place.components().collect();
        let to: Vec<_> = other.place.components().collect();
        let common = to.iter().zip(&from).take_while(|(a, b)| a == b).count();
        let up = from[common..].iter().map(|_| Component::ParentDir);
        up.chain(to[common..].iter().copied()).collect()
    }
}

/// Everything that the command writes; each folder may be written, and none lies in another.
pub(crate) struct Outputs<'a> {
    pub(crate) krate: Output<'a>,
    pub(crate) capi: Option<Output<'a>>,
    pub(crate) dumps: Option<Output<'a>>,
}

impl<'a> Outputs<'a> {
    /// Checks all folders and writes nothing.
    pub(crate) fn of(args: &'a Args) -> Result<Self, Failure> {
        let krate = Output::of_crate("--out", &args.out)?;
        let capi = args.capi.as_deref().map(|folder| Output::of_crate("--capi", folder));
        let capi = capi.transpose()?;
        let dumps = args.dump_ir.as_deref().map(|folder| Output::of("--dump-ir", folder));
        let dumps = dumps.transpose()?;
        if let Some(capi) = &capi {
            capi.check_apart(&krate)?;
        }
        if let Some(dumps) = &dumps {
            for other in [&krate].into_iter().chain(&capi) {
                dumps.check_apart(other)?;
            }
            dump::check(dumps)?;
        }
        Ok(Outputs { krate, capi, dumps })
    }
}
