//! Power of an external meter, merged by time.

use enerinfer_telemetry::{Clock, Quantity, Row, Zone};

use super::args::PowerArgs;
use crate::failure::Failure;
use crate::read::Source;

/// Fewest samples in a decode phase that make a mean.
const MIN_SAMPLES: usize = 2;

/// The meter's samples: seconds since 1970 and W, by time.
#[derive(Debug)]
pub(super) struct Meter(Vec<(f64, f64)>);

impl Meter {
    /// Reads the log; `None` if none is given.
    pub(super) fn read(args: &PowerArgs) -> Result<Option<Self>, Failure> {
        let Some(path) = &args.meter else { return Ok(None) };
        let mut reader = Source::recognised(args.meter_columns.clone()).open(path)?;
        let mut clock = Clock::new(Zone::parse(&args.meter_tz)?);
        let mut samples = Vec::new();
        let mut row = Row::default();
        let mut channel = None;
        while reader.read(&mut row)? {
            if channel.is_none() {
                channel = find(reader.channels(), args.meter_channel.as_deref());
            }
            if let (Some(mw), Some(ns)) =
                (channel.and_then(|c| row.get(c)), clock.resolve(row.stamp))
            {
                samples.push((ns as f64 / 1e9, mw / 1e3));
            }
        }
        if samples.is_empty() {
            let names: Vec<&str> = power_channels(reader.channels()).collect();
            return Err(Failure::input(format!(
                "{}: no power with a time; name one of its channels with --meter-channel ({}), \
                 or say with --meter-columns what its columns are",
                path.display(),
                names.join(", ")
            )));
        }
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        Ok(Some(Meter(samples)))
    }

    /// Mean power between two times, W; `None` where the meter has too few samples.
    pub(super) fn mean_w(&self, begin_unix_s: f64, end_unix_s: f64) -> Option<f64> {
        let first = self.0.partition_point(|s| s.0 < begin_unix_s);
        let last = self.0.partition_point(|s| s.0 <= end_unix_s);
        let within = self.0.get(first..last).filter(|w| w.len() >= MIN_SAMPLES)?;
        Some(within.iter().map(|s| s.1).sum::<f64>() / within.len() as f64)
    }
}

fn power_channels(channels: &[enerinfer_telemetry::Channel]) -> impl Iterator<Item = &str> {
    channels.iter().filter(|c| c.quantity == Quantity::Power).map(|c| c.name.as_str())
}

/// The channel of a name, or the only one of power.
fn find(channels: &[enerinfer_telemetry::Channel], name: Option<&str>) -> Option<usize> {
    let name = match name {
        Some(name) => name,
        None => {
            let mut names = power_channels(channels);
            names.next().filter(|_| names.next().is_none())?
        }
    };
    enerinfer_telemetry::channel(channels, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_the_samples_within() {
        let meter = Meter(vec![(1.0, 9.0), (2.0, 4.0), (3.0, 6.0), (4.0, 90.0)]);
        assert_eq!(meter.mean_w(1.5, 3.5), Some(5.0));
        assert_eq!(meter.mean_w(2.0, 3.0), Some(5.0));
        assert_eq!(meter.mean_w(3.5, 4.5), None, "one sample is no mean");
        assert_eq!(meter.mean_w(5.0, 6.0), None);
    }
}
