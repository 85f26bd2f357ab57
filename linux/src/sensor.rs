//! The shell temperature from zones that may fail or hang.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread;
use std::time::{Duration, Instant};

use enerinfer_runtime::hal::TemperatureSensor;
use enerinfer_runtime::temperature::MilliCelsius;

use crate::Error;
use crate::files::Files;
use crate::zones::{self, Zone};

/// How long a reading may take. Drivers of gated zones have been seen to block for good.
const TIMEOUT: Duration = Duration::from_millis(200);

/// Hottest of several zones; those that fail or hang count for nothing.
pub struct Shell {
    readers: Vec<Reader>,
}

struct Reader {
    name: String,
    ask: SyncSender<()>,
    answers: Receiver<Option<MilliCelsius>>,
    /// An answer is outstanding.
    asked: bool,
    /// It has been for longer than the timeout.
    hung: bool,
}

impl fmt::Debug for Shell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.readers.iter().map(|r| &r.name)).finish()
    }
}

impl Shell {
    /// Starts a thread per zone, so that none can hold up another or the controllers.
    pub fn of(files: &Arc<dyn Files>, zones: &[Zone]) -> Self {
        let readers = zones.iter().map(|zone| Reader::start(Arc::clone(files), zone.clone()));
        Shell { readers: readers.collect() }
    }
}

impl Reader {
    fn start(files: Arc<dyn Files>, zone: Zone) -> Self {
        let (ask, asked) = mpsc::sync_channel(1);
        let (answer, answers) = mpsc::sync_channel(1);
        let name = zone.name.clone();
        thread::spawn(move || {
            while asked.recv().is_ok() {
                if answer.send(zones::read(&*files, &zone).ok()).is_err() {
                    break;
                }
            }
        });
        Reader { name, ask, answers, asked: false, hung: false }
    }

    fn ask(&mut self) {
        // What an earlier question brought in late is too old.
        if self.asked && self.answers.try_recv().is_ok() {
            self.asked = false;
        }
        self.hung = self.asked;
        if !self.asked {
            self.asked = self.ask.try_send(()).is_ok();
        }
    }

    fn answer(&mut self, deadline: Instant) -> Option<MilliCelsius> {
        if self.hung || !self.asked {
            return None;
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let answer = self.answers.recv_timeout(left).ok()?;
        self.asked = false;
        answer
    }
}

impl TemperatureSensor for Shell {
    type Error = Error;

    fn temperature(&mut self) -> Result<MilliCelsius, Error> {
        self.readers.iter_mut().for_each(Reader::ask);
        let deadline = Instant::now() + TIMEOUT;
        let answers: Vec<_> = self.readers.iter_mut().map(|r| r.answer(deadline)).collect();
        MilliCelsius::hottest(answers).ok_or_else(|| Error::NotFound {
            what: "thermal zone with a reading",
            looked_for: self.readers.iter().map(|r| r.name.as_str()).collect::<Vec<_>>().join(", "),
        })
    }
}
