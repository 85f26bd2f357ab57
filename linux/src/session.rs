//! The daemon's loop: events in, operating points out, a tick every second.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use enerinfer_runtime::coordinator;
use enerinfer_runtime::driver::{self, Driver};
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::units::MicroTokPerS;

use crate::change_log::ChangeLog;
use crate::clock::SystemClock;
use crate::domain::Domain;
use crate::events::{self, Event};
use crate::sensor::Shell;
use crate::tables::{ModelTables, POINTS};

const TICK: Duration = Duration::from_secs(1);
/// Longer lines are cut: no event is that long.
const MAX_LINE: u64 = 4096;
/// Engine stamps further than this from the arrival of their line begin a new time base.
const MAX_DRIFT: u64 = 5_000_000;

/// What reaches the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A line, and when it arrived.
    Line(Instant, String),
    /// There will be no more lines of this writer: its request, if any, is over.
    WriterGone,
    /// There will be no more lines at all.
    Closed,
    /// The process shall end.
    Stop,
}

/// Sends a reader's lines until it ends; false if nobody listens any more.
pub fn send_lines(mut reader: impl BufRead, to: &Sender<Message>) -> io::Result<bool> {
    loop {
        let mut line = Vec::new();
        if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(true);
        }
        let arrived = Instant::now();
        let complete = line.ends_with(b"\n");
        let text = String::from_utf8_lossy(&line).into_owned();
        if to.send(Message::Line(arrived, text)).is_err() {
            return Ok(false);
        }
        if !complete && line.len() as u64 >= MAX_LINE {
            skip_line(&mut reader)?;
        }
    }
}

fn skip_line(reader: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let newline = buffer.iter().position(|b| *b == b'\n');
        let used = newline.map_or(buffer.len(), |at| at + 1);
        reader.consume(used);
        if newline.is_some() {
            return Ok(());
        }
    }
}

/// The controllers on this device.
#[derive(Debug)]
pub struct Session<'a> {
    driver: Driver<'a, SystemClock, Shell, Domain, Domain, POINTS>,
    model: &'a ModelTables,
    clock: SystemClock,
    qoe: MicroTokPerS,
    /// The same moment on the engine's clock and on ours.
    base: Option<(Micros, Micros)>,
    log: ChangeLog,
    bad_lines: u32,
}

impl<'a> Session<'a> {
    /// A session; `qoe` holds until an event sets another.
    pub fn new(
        driver: Driver<'a, SystemClock, Shell, Domain, Domain, POINTS>,
        model: &'a ModelTables,
        clock: SystemClock,
        qoe: MicroTokPerS,
    ) -> Self {
        Session { driver, model, clock, qoe, base: None, log: ChangeLog::default(), bad_lines: 0 }
    }

    /// Runs until the events end or the process shall; `say` takes lines for the log. Clocks have
    /// been given back when it returns; false if that failed.
    pub fn run(&mut self, messages: &Receiver<Message>, mut say: impl FnMut(&str)) -> bool {
        let mut next_tick = Instant::now();
        loop {
            let left = next_tick.saturating_duration_since(Instant::now());
            match messages.recv_timeout(left) {
                Ok(Message::Line(arrived, line)) => self.line(arrived, &line, &mut say),
                Ok(Message::WriterGone) => self.driver.end(),
                Err(RecvTimeoutError::Timeout) => {}
                Ok(Message::Closed | Message::Stop) | Err(RecvTimeoutError::Disconnected) => break,
            }
            // Lines that arrive faster than they are handled must not put off the tick.
            if Instant::now() >= next_tick {
                self.driver.tick();
                next_tick = Instant::now() + TICK;
            }
            self.report(&mut say);
        }
        let before = self.driver.status().failures;
        self.driver.end();
        self.report(&mut say);
        self.driver.status().failures == before
    }

    fn line(&mut self, arrived: Instant, line: &str, say: &mut impl FnMut(&str)) {
        match events::parse(line) {
            Ok(Some(event)) => self.event(arrived, event),
            Ok(None) => {}
            Err(e) => {
                self.bad_lines = self.bad_lines.saturating_add(1);
                if self.bad_lines.is_power_of_two() {
                    say(&format!("event ignored ({} so far): {e}", self.bad_lines));
                }
            }
        }
    }

    fn event(&mut self, arrived: Instant, event: Event) {
        match event {
            Event::Prefill => self.driver.begin_prefill(),
            Event::Decode(qoe) => {
                self.qoe = qoe.unwrap_or(self.qoe);
                self.base = None;
                self.driver.begin_decode(self.qoe);
            }
            Event::Token(stamp) => {
                let now = self.token_time(self.clock.stamp(arrived), stamp);
                self.driver.on_token_at(now);
            }
            Event::Qoe(qoe) => {
                self.qoe = qoe;
                self.driver.set_qoe(qoe);
            }
            Event::Foreground { heavy } => self.driver.set_memory_heavy_foreground(heavy),
            Event::End => self.driver.end(),
        }
    }

    /// A token's time on our clock: that of its line, or of its stamp relative to the first.
    fn token_time(&mut self, arrived: Micros, stamp: Option<Micros>) -> Micros {
        let Some(stamp) = stamp else { return arrived };
        let (engine, ours) = *self.base.get_or_insert((stamp, arrived));
        let shifted = stamp.since(engine).map(|us| Micros(ours.0.saturating_add(us)));
        match shifted.filter(|t| t.0.abs_diff(arrived.0) <= MAX_DRIFT) {
            Some(time) => time,
            None => {
                self.base = Some((stamp, arrived));
                arrived
            }
        }
    }

    fn report(&mut self, say: &mut impl FnMut(&str)) {
        let control = self.driver.coordinator().status();
        let wanted_khz = control.wanted.and_then(|point| self.clocks_khz(point));
        for line in self.log.update(&control, &self.driver.status(), wanted_khz) {
            say(&line);
        }
    }

    fn clocks_khz(&self, point: u16) -> Option<(u32, u32)> {
        let clocks = &self.model.clocks;
        let point = usize::from(point);
        (point < clocks.len()).then(|| clocks.clocks_khz(clocks.point(point)))
    }

    /// State of the controllers and of the platform.
    pub fn status(&self) -> (coordinator::Status, driver::Status) {
        (self.driver.coordinator().status(), self.driver.status())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn long_lines_are_cut_and_the_next_is_whole() {
        let mut text = vec![b'x'; 3 * MAX_LINE as usize];
        text.extend_from_slice(b"\ntoken\nend");
        let (to, from) = mpsc::channel();
        assert!(send_lines(&text[..], &to).unwrap());
        let lines: Vec<String> = from
            .try_iter()
            .map(|m| match m {
                Message::Line(_, line) => line,
                other => format!("{other:?}"),
            })
            .collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0].len() as u64, MAX_LINE);
        assert_eq!(&lines[1..], ["token\n", "end"]);
    }
}
