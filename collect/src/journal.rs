//! The journal: every run as soon as it is over, on disk before the next begins.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::engine::EngineRun;
use crate::error::CollectError;
use crate::rules::Discard;
use crate::setting::Setting;
use crate::watch::Sampled;

/// Version of the format.
const VERSION: u32 = 1;

/// One line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Entry {
    /// The first line.
    Plan {
        /// Version of the format.
        version: u32,
        /// Digest of the plan that the runs belong to.
        digest: String,
    },
    /// A run begins. If nothing follows, it took the process with it.
    Begin(RunId),
    /// A run has ended.
    Run(Box<Run>),
    /// A run has failed.
    Failed {
        /// Which.
        #[serde(flatten)]
        id: RunId,
        /// Why.
        error: String,
    },
}

/// Which run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunId {
    /// Name of the model.
    pub model: String,
    /// Weight format.
    pub format: String,
    /// Operating point.
    pub setting: Setting,
    /// Round, from 0.
    pub round: u32,
}

/// A run that gave a speed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Which.
    #[serde(flatten)]
    pub id: RunId,
    /// What the engine gave.
    pub engine: EngineRun,
    /// Wall time of the whole call, loading included, s.
    pub call_s: f64,
    /// Load average (one minute) before it.
    pub load: Option<f64>,
    /// Power and temperature beside it.
    pub sampled: Sampled,
    /// Why it does not count; `None` if it does.
    pub discarded: Option<Discard>,
}

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens or begins a journal for a plan; gives what it holds already. A last line that was
    /// cut by a crash is removed.
    ///
    /// # Errors
    /// If it cannot be read or written, another collection has it, it is damaged before its last
    /// line, no journal, or of another plan. It is then left as it was.
    pub fn open(path: &Path, plan_digest: &str) -> Result<(Self, Vec<Entry>), CollectError> {
        let io = |source| CollectError::JournalIo { path: path.to_owned(), source };
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .map_err(io)?;
        let damage = |line, message: &str| CollectError::Journal {
            path: path.to_owned(),
            line,
            message: message.to_owned(),
        };
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(damage(1, "another collection writes to it; wait for its end"));
            }
            Err(TryLockError::Error(e)) => return Err(io(e)),
        }
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let complete = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        // Nothing is cut before it is certain that this is a journal.
        let mut entries = parse(path, &bytes[..complete])?;
        if !entries.is_empty() {
            match entries.remove(0) {
                Entry::Plan { version, .. } if version != VERSION => {
                    let message = "is of another version of this program; begin a new journal";
                    return Err(damage(1, message));
                }
                Entry::Plan { digest, .. } if digest != plan_digest => {
                    let message = "is of other models, operating points, engine, lengths or seed; \
                                   repeat the command that it was begun with, or begin a new \
                                   journal";
                    return Err(damage(1, message));
                }
                Entry::Plan { .. } => {}
                _ => {
                    let message = "does not say which plan it is of; begin a new journal";
                    return Err(damage(1, message));
                }
            }
        } else if !br#"{"kind":"plan","#.starts_with(&bytes[..bytes.len().min(15)]) {
            return Err(damage(1, "is no journal; name another file"));
        }
        file.set_len(complete as u64).map_err(io)?;
        file.seek(SeekFrom::End(0)).map_err(io)?;
        let mut journal = Journal { path: path.to_owned(), file };
        if complete == 0 {
            let head = Entry::Plan { version: VERSION, digest: plan_digest.to_owned() };
            journal.append(&head)?;
        }
        Ok((journal, entries))
    }

    /// Adds a line; results are on the disk when it returns.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&mut self, entry: &Entry) -> Result<(), CollectError> {
        let mut line = serde_json::to_vec(entry)
            .map_err(|e| CollectError::JournalIo { path: self.path.clone(), source: e.into() })?;
        line.push(b'\n');
        // One write, so that a crash cuts the last line only.
        let mut written = self.file.write_all(&line);
        // A begin is there for a run that takes this process with it: what the system has taken
        // outlives the process, and a second sync per run would double what the journal costs.
        if !matches!(entry, Entry::Begin(_)) {
            written = written.and_then(|()| self.file.sync_data());
        }
        written.map_err(|source| CollectError::JournalIo { path: self.path.clone(), source })
    }
}

impl Drop for Journal {
    /// Lets go of the lock by itself: a child that another thread is just starting holds a copy of
    /// the file until it has become its program, and closing alone would leave the lock with it.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

/// Reads the runs of a journal, whatever plan it is of.
///
/// # Errors
/// If it cannot be read or is damaged.
pub fn read(path: &Path) -> Result<Vec<Entry>, CollectError> {
    let io = |source| CollectError::JournalIo { path: path.to_owned(), source };
    let bytes = std::fs::read(path).map_err(io)?;
    let complete = bytes.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
    parse(path, &bytes[..complete])
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Vec<Entry>, CollectError> {
    let lines = bytes.split(|b| *b == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
    lines
        .map(|(i, line)| {
            serde_json::from_slice(line).map_err(|e| CollectError::Journal {
                path: path.to_owned(),
                line: i + 1,
                message: format!("not understood ({e}); remove this line to go on without it"),
            })
        })
        .collect()
}
