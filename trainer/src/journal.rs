//! The search journal (`search.jsonl`): every scored fold on disk as soon as it is known.
//!
//! A run that is killed loses at most the folds in flight; `--resume` reads the journal and goes
//! on, and since every score follows from the seed, the outputs are the bytes of an undisturbed
//! run. The journal also keeps what must stay out of those outputs: how long each fit took.
//!
//! First line: format and a digest of everything that scores depend on; then one JSON object per
//! fold. A torn last line, which a kill may leave, is dropped; any other damage is an error.

use std::collections::BTreeMap;
use std::fs::{File, TryLockError};
use std::io::{BufRead as _, BufReader, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use enerinfer_artifacts::Target;
use enerinfer_datasets::MeasurementTable;
use enerinfer_learners::{ForestSize, Known, Scored};
use serde::{Deserialize, Serialize};

use crate::FeatureSet;

const FORMAT: u32 = 1;

/// Why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The file cannot be read or written.
    #[error("{}: {reason}", path.display())]
    Io {
        /// The journal.
        path: PathBuf,
        /// The system's reason; part of the message, hence no `source()`, which would repeat it.
        reason: std::io::Error,
    },
    /// Another run is writing to the same folder.
    #[error(
        "{}: another run is using this output folder; wait for it, or choose another --out",
        path.display()
    )]
    InUse {
        /// The journal.
        path: PathBuf,
    },
    /// There is nothing to resume.
    #[error("{}: no search to resume; run without --resume", path.display())]
    Missing {
        /// The journal.
        path: PathBuf,
    },
    /// The journal was written by a run with other inputs.
    #[error(
        "{}: this search was started with other measurements, settings or tool version; repeat \
         its command, or run without --resume to start anew",
        path.display()
    )]
    OtherRun {
        /// The journal.
        path: PathBuf,
    },
    /// A line is not what the journal writes.
    #[error("{}: line {line} is damaged ({reason}); run without --resume to start anew", path.display())]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// Line from 1.
        line: usize,
        /// What the parser said.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    run: String,
}

/// One scored fold of one trial.
#[derive(Serialize, Deserialize)]
struct Entry {
    target: Target,
    family: String,
    /// Number of the trial within its target and family.
    trial: usize,
    fold: usize,
    /// Training rows of a round of successive halving that not every trial survives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<usize>,
    params: BTreeMap<String, String>,
    /// `None` if the fit diverged.
    mape_percent: Option<f64>,
    /// Trees and leaves of the fit, for forests.
    size: Option<(u32, u64)>,
    /// Wall time of the fit and its scoring, shared by trials that were fitted together.
    seconds: f64,
}

type Key = (Target, String, usize, usize, Option<usize>);

/// Digest of everything that a trial's scores depend on. Trials and families are keys of the
/// journal: a search may be resumed with more of them.
pub(crate) fn run_digest(
    table: &MeasurementTable,
    seed: u64,
    features: FeatureSet,
    train_models: Option<u32>,
) -> String {
    let run = format!(
        "{} {} {seed} {features:?} {train_models:?}",
        env!("CARGO_PKG_VERSION"),
        table.digest()
    );
    enerinfer_artifacts::digest(run.as_bytes())
}

/// An open journal.
pub struct Journal {
    path: PathBuf,
    known: BTreeMap<Key, Known>,
    file: Mutex<File>,
}

impl Journal {
    /// Starts a journal, replacing an old one.
    pub fn start(path: &Path, run: &str) -> Result<Self, JournalError> {
        let io = |reason| JournalError::Io { path: path.to_owned(), reason };
        let mut file =
            File::options().write(true).create(true).truncate(false).open(path).map_err(io)?;
        lock(&file, path)?;
        // Emptied only now that no other run can be writing to it.
        file.set_len(0).map_err(io)?;
        let header = Header { format: FORMAT, run: run.to_owned() };
        write_line(&mut file, &header).map_err(io)?;
        Ok(Journal { path: path.to_owned(), known: BTreeMap::new(), file: Mutex::new(file) })
    }

    /// Opens the journal of an interrupted run and goes on at its end.
    pub fn resume(path: &Path, run: &str) -> Result<Self, JournalError> {
        let io = |reason| JournalError::Io { path: path.to_owned(), reason };
        let file = match File::options().read(true).write(true).open(path) {
            Ok(file) => file,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(JournalError::Missing { path: path.to_owned() });
            }
            Err(e) => return Err(io(e)),
        };
        lock(&file, path)?;
        let mut reader = BufReader::new(file);
        let mut known = BTreeMap::new();
        let mut whole = 0u64;
        let mut number = 0;
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(io)?;
            // Only a line with its end was written completely.
            if line.last() != Some(&b'\n') {
                break;
            }
            number += 1;
            let damaged = |e: serde_json::Error| JournalError::Damaged {
                path: path.to_owned(),
                line: number,
                reason: e.to_string(),
            };
            if number == 1 {
                let header: Header = serde_json::from_slice(&line).map_err(damaged)?;
                if header.format != FORMAT || header.run != run {
                    return Err(JournalError::OtherRun { path: path.to_owned() });
                }
            } else {
                let e: Entry = serde_json::from_slice(&line).map_err(damaged)?;
                let size = e.size.map(|(trees, leaves)| ForestSize { trees, leaves });
                let score = Known { mape_percent: e.mape_percent, size };
                known.insert((e.target, e.family, e.trial, e.fold, e.rows), score);
            }
            whole += line.len() as u64;
        }
        if number == 0 {
            return Err(JournalError::Missing { path: path.to_owned() });
        }
        let mut file = reader.into_inner();
        file.set_len(whole).map_err(io)?;
        file.seek(std::io::SeekFrom::End(0)).map_err(io)?;
        Ok(Journal { path: path.to_owned(), known, file: Mutex::new(file) })
    }

    /// Scores that an interrupted run has left.
    pub(crate) fn known(
        &self,
        target: Target,
        family: &str,
        trial: usize,
        fold: usize,
        rows: Option<usize>,
    ) -> Option<Known> {
        self.known.get(&(target, family.to_owned(), trial, fold, rows)).copied()
    }

    /// Number of folds that need not be scored again.
    pub(crate) fn resumed(&self) -> usize {
        self.known.len()
    }

    /// Adds trials that were scored together on a fold, as complete lines in one write.
    pub(crate) fn append(
        &self,
        target: Target,
        family: &str,
        fold: usize,
        rows: Option<usize>,
        scored: &[Scored],
        seconds: f64,
    ) -> Result<(), JournalError> {
        let io = |reason| JournalError::Io { path: self.path.clone(), reason };
        let mut text = Vec::new();
        for s in scored {
            let entry = Entry {
                target,
                family: family.to_owned(),
                trial: s.trial,
                fold,
                rows,
                params: s.params.clone(),
                mape_percent: s.known.mape_percent,
                size: s.known.size.map(|size| (size.trees, size.leaves)),
                seconds,
            };
            write_line(&mut text, &entry).map_err(io)?;
        }
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.write_all(&text).map_err(io)
    }
}

/// Keeps other runs out of the output folder for as long as the file is open.
fn lock(file: &File, path: &Path) -> Result<(), JournalError> {
    match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(JournalError::InUse { path: path.to_owned() }),
        Err(TryLockError::Error(reason)) => Err(JournalError::Io { path: path.to_owned(), reason }),
    }
}

fn write_line(out: &mut impl std::io::Write, value: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_vec(value)?;
    text.push(b'\n');
    out.write_all(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(trial: usize, mape_percent: Option<f64>) -> Scored {
        let size = Some(ForestSize { trees: 3, leaves: 12 });
        Scored { trial, params: BTreeMap::new(), known: Known { mape_percent, size } }
    }

    fn append(journal: &Journal, scored: &[Scored]) {
        journal.append(Target::Peak, "random_forest", 0, None, scored, 0.5).unwrap();
    }

    #[test]
    fn resumes_exactly_what_was_written_and_drops_a_torn_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("search.jsonl");
        // A value whose shortest form a careless parser does not read back exactly.
        let odd = 9.223372036854776e-1_f64.sqrt();
        let journal = Journal::start(&path, "run").unwrap();
        append(&journal, &[scored(0, Some(odd)), scored(1, None)]);
        drop(journal);
        let mut text = std::fs::read(&path).unwrap();
        let whole = text.len();
        text.extend_from_slice(b"{\"target\":\"peak\",\"fam");
        std::fs::write(&path, &text).unwrap();

        let journal = Journal::resume(&path, "run").unwrap();
        assert_eq!(journal.resumed(), 2);
        let known = |trial| journal.known(Target::Peak, "random_forest", trial, 0, None);
        assert_eq!(known(0), Some(scored(0, Some(odd)).known));
        assert_eq!(known(1).unwrap().mape_percent, None);
        assert_eq!(known(2), None);
        assert_eq!(journal.known(Target::Scale, "random_forest", 0, 0, None), None);
        assert_eq!(journal.known(Target::Peak, "random_forest", 0, 0, Some(100)), None);
        append(&journal, &[scored(2, Some(1.0))]);
        for second in [Journal::start(&path, "run"), Journal::resume(&path, "run")] {
            assert!(matches!(second, Err(JournalError::InUse { .. })), "one run per folder");
        }
        drop(journal);
        assert!(std::fs::metadata(&path).unwrap().len() > whole as u64);
        assert_eq!(Journal::resume(&path, "run").unwrap().resumed(), 3);
    }

    #[test]
    fn another_run_damage_and_absence_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("search.jsonl");
        let error = |run| Journal::resume(&path, run).err().unwrap();
        assert!(matches!(error("run"), JournalError::Missing { .. }));
        std::fs::write(&path, "").unwrap();
        assert!(matches!(error("run"), JournalError::Missing { .. }));
        drop(Journal::start(&path, "run").unwrap());
        assert!(matches!(error("other"), JournalError::OtherRun { .. }));
        let mut text = std::fs::read_to_string(&path).unwrap();
        text.push_str("nonsense\n");
        std::fs::write(&path, text).unwrap();
        assert!(matches!(error("run"), JournalError::Damaged { line: 2, .. }));
    }
}
