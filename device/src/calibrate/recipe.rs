//! What is fitted for each platform, and between which bounds.

use enerinfer_datasets::WeightFormat::{self, F16, Q4_0, Q4KM, Q6K, Q8_0};

use super::knob::{self, Knob};
use crate::DeviceError;
use crate::parameters::PlatformFile;

/// A free parameter and its physically plausible range.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    pub(super) knob: Knob,
    low: f64,
    high: f64,
}

impl Bound {
    /// The value at a position of the unit interval, on a logarithmic scale.
    pub(super) fn value(&self, position: f64) -> f64 {
        self.low * (self.high / self.low).powf(position.clamp(0.0, 1.0))
    }

    /// The position of a platform file's value.
    pub(super) fn position(&self, file: &PlatformFile) -> f64 {
        let value = knob::read(file, self.knob).clamp(self.low, self.high);
        (value / self.low).ln() / (self.high / self.low).ln()
    }
}

fn bound(knob: Knob, low: f64, high: f64) -> Bound {
    Bound { knob, low, high }
}

/// The free parameters of a platform.
pub(super) fn bounds(platform: &str) -> Result<Vec<Bound>, DeviceError> {
    match platform {
        "h_phone" => Ok(h_phone()),
        "m_phone" => Ok(m_phone()),
        "laptop" => Ok(laptop()),
        "board" => Ok(board()),
        "board_gpu" => Ok(vec![bound(Knob::WeightsPerCycle(Q4_0), 5.0, 200.0)]),
        "orin" => Ok(jetson(&[F16, Q8_0, Q6K, Q4KM], (160.0, 195.0))),
        "thor" => Ok(jetson(&[F16, Q8_0, Q6K, Q4KM], (210.0, 270.0))),
        "xavier" => Ok(xavier()),
        "orin_nano" => Ok(orin_nano()),
        _ => Err(DeviceError::NoRecipe { platform: platform.to_owned() }),
    }
}

/// One bandwidth, one effective clock and two powers per level, as Figure 4 has 45 cells and
/// the clocks between the ends are not published.
fn h_phone() -> Vec<Bound> {
    let mut bounds = vec![
        bound(Knob::Overlap, 1.1, 3.0),
        bound(Knob::Ramp, 100.0, 3000.0),
        bound(Knob::WeightsPerCycle(Q4_0), 20.0, 120.0),
        bound(Knob::AccessPj, 10.0, 60.0),
        bound(Knob::LaunchUs, 3.0, 30.0),
        bound(Knob::IdleFraction, 0.05, 0.5),
        bound(Knob::StallFraction, 0.2, 1.0),
    ];
    bounds.extend((0..9).map(|level| bound(Knob::Bandwidth(level), 4.0, 60.0)));
    // The highest level is the clock itself.
    bounds.extend((0..4).map(|level| bound(Knob::Effective(level), 300.0, 1400.0)));
    bounds.extend((0..9).map(|level| bound(Knob::Background(level), 0.05, 0.6)));
    bounds.extend((0..5).map(|level| bound(Knob::Busy(level), 0.06, 1.5)));
    bounds
}

/// Curves over the clocks for time and power, as devices need whose clocks are not published.
fn curves() -> Vec<Bound> {
    vec![
        bound(Knob::Overlap, 1.1, 8.0),
        bound(Knob::BandwidthExponent, 0.3, 1.0),
        bound(Knob::AccessPj, 10.0, 150.0),
        bound(Knob::BackgroundExponent, 0.3, 3.0),
        bound(Knob::VoltageLow, 0.5, 0.98),
        bound(Knob::IdleFraction, 0.05, 0.9),
    ]
}

fn m_phone() -> Vec<Bound> {
    let mut bounds = curves();
    bounds.extend([
        bound(Knob::Ramp, 100.0, 3000.0),
        bound(Knob::WeightsPerCycle(Q4_0), 20.0, 300.0),
        bound(Knob::BandwidthTop, 20.0, 48.0),
        bound(Knob::BackgroundLow, 0.05, 0.4),
        bound(Knob::BackgroundTop, 0.1, 0.8),
        bound(Knob::BusyTop, 0.2, 2.0),
    ]);
    bounds
}

fn laptop() -> Vec<Bound> {
    let mut bounds = curves();
    bounds.extend([
        bound(Knob::StallFraction, 0.01, 1.0),
        // Figure 6: models of one size differ up to 34 : 62 in time per token.
        bound(Knob::LaunchUs, 10.0, 60.0),
        bound(Knob::RampRows, 0.3, 500.0),
        bound(Knob::RowCycles, 0.5, 400.0),
        bound(Knob::WeightsPerCycle(F16), 10.0, 1000.0),
        bound(Knob::BandwidthTop, 55.0, 110.0),
        bound(Knob::BackgroundLow, 0.1, 1.5),
        bound(Knob::BackgroundTop, 0.2, 3.0),
        bound(Knob::BusyTop, 0.5, 5.0),
    ]);
    bounds
}

fn board() -> Vec<Bound> {
    let mut bounds = vec![
        bound(Knob::Overlap, 1.5, 12.0),
        bound(Knob::LaunchUs, 5.0, 150.0),
        bound(Knob::RampRows, 1.0, 500.0),
        bound(Knob::RowCycles, 0.5, 60.0),
        bound(Knob::WeightsPerCycle(Q8_0), 20.0, 300.0),
        bound(Knob::AccessPj, 10.0, 150.0),
        bound(Knob::BusyTop, 0.3, 4.0),
        bound(Knob::VoltageLow, 0.5, 0.98),
        bound(Knob::IdleFraction, 0.05, 0.9),
    ];
    bounds.extend((0..4).map(|level| bound(Knob::Bandwidth(level), 5.0, 38.0)));
    bounds.extend((0..4).map(|level| bound(Knob::Background(level), 0.05, 3.0)));
    bounds
}

/// A Jetson: one bandwidth (GB/s), one power, and two parameters per format.
fn jetson(formats: &[WeightFormat], bandwidth: (f64, f64)) -> Vec<Bound> {
    let mut bounds = vec![
        bound(Knob::Overlap, 1.4, 8.0),
        bound(Knob::LaunchUs, 1.0, 40.0),
        bound(Knob::RampRows, 10.0, 500.0),
        bound(Knob::RowCycles, 1.0, 60.0),
        bound(Knob::BandwidthTop, bandwidth.0, bandwidth.1),
        bound(Knob::BusyTop, 3.0, 40.0),
    ];
    for format in formats {
        bounds.push(bound(Knob::WeightsPerCycle(*format), 50.0, 4096.0));
        bounds.push(bound(Knob::PjPerWeight(*format), 20.0, 800.0));
    }
    bounds
}

/// No power of F16 is published for this board.
fn xavier() -> Vec<Bound> {
    let mut bounds = jetson(&[F16, Q8_0, Q6K, Q4KM], (100.0, 130.0));
    bounds.retain(|bound| bound.knob != Knob::PjPerWeight(F16));
    bounds
}

fn orin_nano() -> Vec<Bound> {
    vec![
        bound(Knob::Overlap, 1.4, 8.0),
        bound(Knob::RowCycles, 2.0, 80.0),
        bound(Knob::BandwidthTop, 70.0, 95.0),
        bound(Knob::BackgroundLow, 2.0, 8.0),
        bound(Knob::BackgroundTop, 3.0, 12.0),
        bound(Knob::BusyTop, 1.0, 15.0),
        bound(Knob::PjPerWeight(Q4KM), 20.0, 400.0),
    ]
}
