//! The last twenty one-second temperatures (EnerInfer §4.4).

use crate::temperature::MilliCelsius;

/// Samples in the window.
pub const WINDOW: usize = 20;

/// Ring of the last [`WINDOW`] temperatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    samples: [MilliCelsius; WINDOW],
    oldest: usize,
}

impl Window {
    /// A window in which the temperature has always been `t`.
    pub const fn filled(t: MilliCelsius) -> Self {
        Window { samples: [t; WINDOW], oldest: 0 }
    }

    /// Appends a sample and drops the oldest.
    pub fn push(&mut self, t: MilliCelsius) {
        if let Some(slot) = self.samples.get_mut(self.oldest) {
            *slot = t;
        }
        self.oldest = (self.oldest + 1) % WINDOW;
    }

    /// Samples, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = MilliCelsius> + '_ {
        let (newer, older) = self.samples.split_at(self.oldest.min(WINDOW));
        older.iter().chain(newer).copied()
    }

    /// The latest sample.
    pub fn newest(&self) -> MilliCelsius {
        self.ago(0)
    }

    /// The sample `seconds` before the latest; the oldest if the window is shorter.
    pub fn ago(&self, seconds: usize) -> MilliCelsius {
        let at = (self.oldest + WINDOW - 1 - seconds.min(WINDOW - 1)) % WINDOW;
        self.samples.get(at).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_twenty_oldest_first() {
        let mut window = Window::filled(MilliCelsius(0));
        for i in 1..=47 {
            window.push(MilliCelsius(i));
            assert_eq!(window.newest(), MilliCelsius(i));
            assert_eq!(window.ago(5), MilliCelsius((i - 5).max(0)));
        }
        assert_eq!(window.ago(usize::MAX), MilliCelsius(28));
        assert!(window.iter().map(|t| t.0).eq(28..=47));
    }
}
