//! Temperature traces of simulated sessions, for the thermal model to learn from.

use enerinfer_datasets::{LlmShape, Model, OperatingPoint, TemperatureTrace, TraceSecond};
use rand::{RngExt as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::noise::mix;
use crate::thermal::Temperatures;
use crate::{Decode, SimulatedDevice};

/// Length of a session, s.
const SESSION_S: usize = 150;
/// Seconds before a session is recorded, so that the core is as warm as its past makes it.
const WARM_UP_S: usize = 30;
/// Shell temperatures that sessions start from, °C: the model's range, and below it.
const START_CELSIUS: (f64, f64) = (34.0, 45.0);
/// Readings of the shell's sensor per °C. Assumed: the resolution of usual skin thermistors.
const READINGS_PER_CELSIUS: f64 = 10.0;
/// Most that background work adds, as a share of the model's power at the highest clocks.
/// Assumed: about the CPU's share in EnerInfer Figure 1.
const BACKGROUND_SHARE: f64 = 0.25;

/// How requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// One long request.
    Continuous,
    /// Requests of 20 to 90 s with pauses of 2 to 15 s.
    BackToBack,
    /// Memoryless arrivals and ends: pauses of 15 s and requests of 45 s in the mean.
    RandomArrivals,
    /// One long request beside background work that changes every 30 s in the mean.
    BackgroundChanges,
}

impl Pattern {
    const ALL: [Pattern; 4] = [
        Pattern::Continuous,
        Pattern::BackToBack,
        Pattern::RandomArrivals,
        Pattern::BackgroundChanges,
    ];

    /// Length in seconds that a pause or request may not exceed, drawn at its beginning.
    fn length_s(self, decoding: bool, rng: &mut Xoshiro256PlusPlus) -> u32 {
        match (self, decoding) {
            (Pattern::BackToBack, true) => rng.random_range(20..=90),
            (Pattern::BackToBack, false) => rng.random_range(2..=15),
            _ => u32::MAX,
        }
    }

    /// Chance per second that a pause or request ends.
    fn ends(self, decoding: bool) -> f64 {
        match (self, decoding) {
            (Pattern::RandomArrivals, true) => 1.0 / 45.0,
            (Pattern::RandomArrivals, false) => 1.0 / 15.0,
            _ => 0.0,
        }
    }
}

/// Chance per second that the operating point changes within a request.
const POINT_CHANGES: f64 = 1.0 / 40.0;
/// Chance per second that background work changes, where it does.
const BACKGROUND_CHANGES: f64 = 1.0 / 30.0;

impl SimulatedDevice {
    /// A simulated session: one of `models` decodes at changing operating points, at one of the
    /// ambient temperatures, in one of four request patterns. The same arguments give the same
    /// trace, whatever was simulated before. An empty list of models or temperatures gives an
    /// empty trace.
    ///
    /// The patterns are one long request; requests of 20 to 90 s with pauses of 2 to 15 s;
    /// memoryless arrivals; and one long request beside changing background work. Operating
    /// points are drawn from all, and change every 40 s in the mean. Sessions start at shell
    /// temperatures from 34 to 45 °C; readings are rounded to 0.1 °C.
    pub fn temperature_trace(
        &self,
        models: &[Model],
        ambients_celsius: &[f64],
        seed: u64,
        session: u32,
    ) -> TemperatureTrace {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(mix(seed, u64::from(session)));
        let mut trace = TemperatureTrace {
            session: format!("simulated-{session}"),
            model: String::new(),
            ambient_celsius: None,
            seconds: Vec::new(),
        };
        if models.is_empty() || ambients_celsius.is_empty() {
            return trace;
        }
        let model = &models[rng.random_range(0..models.len())];
        let ambient = ambients_celsius[rng.random_range(0..ambients_celsius.len())];
        let pattern = Pattern::ALL[session as usize % Pattern::ALL.len()];
        trace.model.clone_from(&model.name);
        trace.ambient_celsius = Some(ambient);
        let mut load = Load::begin(self, &model.shape, pattern, &mut rng);
        let mut at = self.start(&load, &mut rng);
        for second in 0..WARM_UP_S + SESSION_S {
            load.next(self, &mut rng);
            if second >= WARM_UP_S {
                trace.seconds.push(TraceSecond {
                    shell_celsius: (at.shell_celsius * READINGS_PER_CELSIUS).round()
                        / READINGS_PER_CELSIUS,
                    accel_power_w: load.decode.map_or(0.0, |d| d.accel_power_w),
                });
            }
            at = self.thermal().step(at, load.power_w(), ambient, 1.0);
        }
        trace
    }

    /// Temperatures at which the load's heat leaves the core as fast as it comes.
    fn start(&self, load: &Load<'_>, rng: &mut Xoshiro256PlusPlus) -> Temperatures {
        let shell_celsius = rng.random_range(START_CELSIUS.0..START_CELSIUS.1);
        let thermal = self.thermal();
        let core_w = load.power_w() + thermal.background_core_w;
        let core_celsius = shell_celsius + core_w * thermal.core_to_shell_k_per_w;
        Temperatures { core_celsius, shell_celsius }
    }
}

/// What warms the device.
struct Load<'a> {
    shape: &'a LlmShape,
    pattern: Pattern,
    /// Present request, if there is one.
    decode: Option<Decode>,
    /// Seconds that the present request or pause may still take.
    left_s: u32,
    highest_background_w: f64,
    background_w: f64,
}

impl<'a> Load<'a> {
    fn begin(
        device: &SimulatedDevice,
        shape: &'a LlmShape,
        pattern: Pattern,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Self {
        let highest = device.decode(shape, device.platform().clocks.highest());
        let highest_background_w = BACKGROUND_SHARE * highest.power_w;
        Load {
            shape,
            pattern,
            decode: Some(decode_somewhere(device, shape, rng)),
            left_s: pattern.length_s(true, rng),
            highest_background_w,
            background_w: rng.random_range(0.0..highest_background_w),
        }
    }

    /// Power of accelerator, memory and background work, W.
    fn power_w(&self) -> f64 {
        self.background_w + self.decode.map_or(0.0, |d| d.power_w)
    }

    /// The next second.
    fn next(&mut self, device: &SimulatedDevice, rng: &mut Xoshiro256PlusPlus) {
        let decoding = self.decode.is_some();
        self.left_s = self.left_s.saturating_sub(1);
        if self.left_s == 0 || rng.random_bool(self.pattern.ends(decoding)) {
            self.decode = (!decoding).then(|| decode_somewhere(device, self.shape, rng));
            self.left_s = self.pattern.length_s(!decoding, rng);
        } else if decoding && rng.random_bool(POINT_CHANGES) {
            self.decode = Some(decode_somewhere(device, self.shape, rng));
        }
        if self.pattern == Pattern::BackgroundChanges && rng.random_bool(BACKGROUND_CHANGES) {
            self.background_w = rng.random_range(0.0..self.highest_background_w);
        }
    }
}

fn decode_somewhere(
    device: &SimulatedDevice,
    shape: &LlmShape,
    rng: &mut Xoshiro256PlusPlus,
) -> Decode {
    let clocks = &device.platform().clocks;
    let point = OperatingPoint {
        // Clock tables have at most 64 levels.
        mem: rng.random_range(0..clocks.mem_khz.len()) as u8,
        accel: rng.random_range(0..clocks.accel_khz.len()) as u8,
    };
    device.decode(shape, point)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test's way to fail
mod tests {
    use super::*;
    use crate::names;
    use enerinfer_datasets::sampler;

    const AMBIENTS: [f64; 2] = [15.0, 35.0];

    #[test]
    fn a_session_depends_on_its_number_and_the_seed_alone() {
        let phone = SimulatedDevice::builtin("h_phone", None).unwrap();
        let models = sampler::sample(5, 1).unwrap();
        let session = |seed, i| phone.temperature_trace(&models, &AMBIENTS, seed, i);
        let forward: Vec<_> = (0..8).map(|i| session(1, i)).collect();
        let backward: Vec<_> = (0..8).rev().map(|i| session(1, i)).collect();
        assert!(forward.iter().eq(backward.iter().rev()));
        assert_ne!(forward[0], session(2, 0));
        assert_ne!(forward[0].seconds, forward[4].seconds);
        assert_eq!(phone.temperature_trace(&[], &AMBIENTS, 1, 1).seconds, []);
        assert_eq!(phone.temperature_trace(&models, &[], 1, 1).seconds, []);
    }

    #[test]
    fn sessions_of_every_device_are_plausible_and_varied() {
        for name in names() {
            let device = SimulatedDevice::builtin(name, None).unwrap();
            let models = sampler::sample(10, 1).unwrap();
            let (mut paused, mut changed, mut ambients) = (0, 0, [0, 0]);
            for i in 0..40 {
                let trace = device.temperature_trace(&models, &AMBIENTS, 3, i);
                assert_eq!(trace.seconds.len(), SESSION_S);
                ambients[usize::from(trace.ambient_celsius == Some(35.0))] += 1;
                assert!(models.iter().any(|m| m.name == trace.model));
                let power: Vec<f64> = trace.seconds.iter().map(|s| s.accel_power_w).collect();
                paused += usize::from(power.contains(&0.0));
                changed += usize::from(power.windows(2).any(|p| p[0] != p[1]));
                // Continuous requests have no pauses, back-to-back ones have.
                assert_eq!(i % 4 == 1, i % 4 == 1 && power.contains(&0.0), "{name} {i}");
                assert!(i % 4 != 0 || !power.contains(&0.0), "{name} {i}");
                for s in &trace.seconds {
                    assert!((15.0..120.0).contains(&s.shell_celsius), "{name}: {s:?}");
                    let reading = s.shell_celsius * READINGS_PER_CELSIUS;
                    assert!((reading - reading.round()).abs() < 1e-9, "{name}: {s:?}");
                }
            }
            assert!(paused >= 15 && changed >= 35, "{name}: {paused} {changed}");
            assert!(ambients.iter().all(|n| *n > 5), "{name}: {ambients:?}");
        }
    }
}
