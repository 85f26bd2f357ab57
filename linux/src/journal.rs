//! What must be given back, on disk: for the watchdog, and for the next start after a power cut.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::Files;
use crate::saved::Saved;

/// A journal file, with a lock file beside it that is held by whoever may change clocks. The
/// system ends the lock with its holder, however that dies.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    lock: File,
}

impl Journal {
    fn lock_file(path: &Path) -> Result<File, Error> {
        let lock = path.with_extension("lock");
        let open = OpenOptions::new().create(true).truncate(false).write(true).open(&lock);
        open.map_err(|e| Error::io(&lock, "open", e))
    }

    /// Takes the lock; `None` if another process holds it.
    pub fn try_open(path: &Path) -> Result<Option<Self>, Error> {
        let lock = Self::lock_file(path)?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(Journal { path: path.to_owned(), lock })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(e)) => Err(Error::io(path, "lock", e)),
        }
    }

    /// Takes the lock as soon as its holder has let go of it or died.
    pub fn wait_open(path: &Path) -> Result<Self, Error> {
        let lock = Self::lock_file(path)?;
        loop {
            match lock.lock() {
                Ok(()) => return Ok(Journal { path: path.to_owned(), lock }),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Error::io(path, "lock", e)),
            }
        }
    }

    /// Writes down what must be given back, before anything is changed. The file is complete or
    /// not there.
    pub fn write(&self, saved: &Saved) -> Result<(), Error> {
        let dir = self.path.parent().filter(|dir| !dir.as_os_str().is_empty());
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(dir.unwrap_or(Path::new(".")))?;
            file.write_all(saved.to_text().as_bytes())?;
            file.as_file().sync_all()?;
            file.persist(&self.path)?;
            Ok(())
        };
        write().map_err(|e: io::Error| Error::io(&self.path, "write", e))
    }

    /// Gives back what a former process left behind; true if there was something. A journal that
    /// could not be followed to the end stays, to be tried again.
    pub fn recover(&self, files: &dyn Files) -> Result<bool, Error> {
        let text = match std::fs::read_to_string(&self.path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(e) => return Err(Error::io(&self.path, "read", e)),
        };
        let saved = Saved::from_text(&text).map_err(|line| Error::Journal {
            path: self.path.clone(),
            line,
            message: "not understood; restart the device to reset its clocks, then remove the file"
                .to_owned(),
        })?;
        saved.restore(files)?;
        self.clear()?;
        Ok(true)
    }

    /// Everything has been given back.
    pub fn clear(&self) -> Result<(), Error> {
        match std::fs::remove_file(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(Error::io(&self.path, "remove", e))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Journal {
    /// Lets go of the lock by itself: a child that another thread is just starting holds a copy of
    /// the file until it has become its program, and closing alone would leave the lock with it.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}
