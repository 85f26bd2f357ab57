//! The thermal model of a platform: from temperature traces to coefficients and their accuracy.

use std::collections::BTreeSet;

use enerinfer_artifacts::record::{HorizonError, ThermalAccuracy, ThermalPoint};
use enerinfer_artifacts::{THERMAL_WINDOW, ThermalModel};
use enerinfer_datasets::{Model, TemperatureTrace};
use enerinfer_device::SimulatedDevice;
use enerinfer_hyperparam::split_by_model;
use enerinfer_learners::{Segment, THERMAL_HORIZON_S, ThermalForm};

use crate::TrainError;
use crate::split::{TEST_FRACTION, split_models};

/// Segments that are simulated to fit on (EnerInfer §4.4: about 30,000).
const TRAINING_SEGMENTS: usize = 30_000;
/// Segments that are simulated to test on.
const HELD_OUT_SEGMENTS: usize = 6_000;
/// Sessions after which a simulation is given up: the device hardly reaches the range.
const MOST_SESSIONS: u32 = 20_000;
/// Temperatures now that make a segment, °C (EnerInfer §4.4).
const RANGE_CELSIUS: (f64, f64) = (37.0, 45.0);
/// Seconds from one segment of a trace to the next: neighbours say nearly the same.
const STRIDE_S: usize = 5;
/// A power counts as held while it departs by less than this share, or this many W.
const HELD: (f64, f64) = (0.15, 0.05);
/// Fewest segments of a file to fit on, and to test on.
const FEWEST: (usize, usize) = (200, 50);
/// Times ahead of which predictions are kept for the report, s: the marks of Figure 11.
const SHOWN_AHEAD_S: [usize; 5] = [1, 6, 11, 16, 21];
/// Predictions that are kept for each.
const SHOWN: usize = 120;

/// A thermal model, and how good it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Thermal {
    /// Coefficients of the form with interactions.
    pub model: ThermalModel,
    /// Accuracy on held-out segments; none for a model that was fitted elsewhere.
    pub accuracy: Option<ThermalAccuracy>,
}

/// Segments of a trace: every fifth second that has a history, a temperature of 37 to 45 °C, and
/// a power that holds for a second or more.
///
/// A thermal model says what comes if an operating point is kept, so what is ahead ends where the
/// power changes. What came before may be anything.
pub fn segments(trace: &TemperatureTrace) -> Vec<Segment> {
    let seconds = &trace.seconds;
    let newest = THERMAL_WINDOW - 1..seconds.len();
    newest.step_by(STRIDE_S).filter_map(|now| segment(trace, now)).collect()
}

fn segment(trace: &TemperatureTrace, now: usize) -> Option<Segment> {
    let seconds = &trace.seconds;
    let (shell, power) = (seconds[now].shell_celsius, seconds[now].accel_power_w);
    if !(RANGE_CELSIUS.0..=RANGE_CELSIUS.1).contains(&shell) || power <= 0.0 {
        return None;
    }
    let tolerance = (HELD.0 * power).max(HELD.1);
    let from_now = &seconds[now..];
    let held = from_now
        .iter()
        .take(THERMAL_HORIZON_S.min(from_now.len() - 1))
        .take_while(|s| (s.accel_power_w - power).abs() <= tolerance)
        .count();
    if held == 0 {
        return None;
    }
    let mut history_celsius = [0.0; THERMAL_WINDOW];
    for (slot, s) in history_celsius.iter_mut().zip(&seconds[now + 1 - THERMAL_WINDOW..]) {
        *slot = s.shell_celsius;
    }
    Some(Segment {
        history_celsius,
        power_w: from_now[..held].iter().map(|s| s.accel_power_w).sum::<f64>() / held as f64,
        ahead_celsius: from_now[1..=held].iter().map(|s| s.shell_celsius).collect(),
    })
}

/// Segments to fit on and segments to test on.
struct HeldOut {
    train: Vec<Segment>,
    test: Vec<Segment>,
    source: String,
    /// What the two have apart.
    by: &'static str,
}

/// Fits a thermal model to simulated sessions of the models, a fifth of which, and a fifth of the
/// ambient temperatures from 15 to 35 °C, are held out. None if the device does not get warm
/// enough.
///
/// # Errors
/// Too few models to hold one out.
pub fn simulated(
    device: &SimulatedDevice,
    models: &[Model],
    split_seed: u64,
    seed: u64,
) -> Result<Option<Thermal>, TrainError> {
    let ambients: Vec<f64> = (15..=35).map(f64::from).collect();
    let of_models = split_models(models, split_seed)?;
    let of_ambients = split_by_model(ambients.len(), TEST_FRACTION, seed)?;
    let simulate = |models_in: &[u32], ambients_in: &[u32], seed: u64, count: usize| {
        let models: Vec<Model> = models_in.iter().map(|&m| models[m as usize].clone()).collect();
        let ambients: Vec<f64> = ambients_in.iter().map(|&a| ambients[a as usize]).collect();
        let sessions =
            (0..MOST_SESSIONS).map(|i| device.temperature_trace(&models, &ambients, seed, i));
        let mut out: Vec<Segment> = Vec::new();
        for trace in sessions {
            out.extend(segments(&trace));
            if out.len() >= count {
                break;
            }
        }
        out.truncate(count);
        out
    };
    let held_out = HeldOut {
        train: simulate(&of_models.train, &of_ambients.train, seed, TRAINING_SEGMENTS),
        test: simulate(&of_models.test, &of_ambients.test, !seed, HELD_OUT_SEGMENTS),
        source: format!("simulated:{}", device.platform().name),
        by: "models and ambient temperatures",
    };
    if held_out.train.len() < FEWEST.0 || held_out.test.len() < FEWEST.1 {
        return Ok(None);
    }
    held_out.fit().map(Some)
}

/// What a file's training and test segments have apart, in the order in which it is tried.
const APART: [&str; 3] = ["models and ambient temperatures", "models", "sessions"];

/// Fits a thermal model to temperature traces of a file.
///
/// A fifth of the models and of the ambient temperatures is held out; if that leaves too few
/// segments, a fifth of the models, or else of the sessions.
///
/// # Errors
/// No stretch is long enough for a segment, or too few segments whichever way they are held out.
pub fn from_traces(
    traces: &[TemperatureTrace],
    file: &str,
    seed: u64,
) -> Result<Thermal, TrainError> {
    let longest_s = traces.iter().map(|t| t.seconds.len()).max().unwrap_or(0);
    if longest_s <= THERMAL_WINDOW {
        return Err(TrainError::ShortTraces { longest_s, needed_s: THERMAL_WINDOW + 1 });
    }
    let mut most = (0, 0);
    for (i, by) in APART.into_iter().enumerate() {
        let fields: &[fn(&TemperatureTrace) -> Option<String>] = match i {
            0 => &[model_name, ambient],
            1 => &[model_name],
            _ => &[session],
        };
        let (train, test) = split(traces, fields, seed);
        most = most.max((train.len(), test.len()));
        if train.len() >= FEWEST.0 && test.len() >= FEWEST.1 {
            return HeldOut { train, test, source: format!("file:{file}"), by }.fit();
        }
    }
    Err(TrainError::TooFewSegments { found: most, needed: FEWEST })
}

fn model_name(trace: &TemperatureTrace) -> Option<String> {
    Some(trace.model.clone())
}

fn ambient(trace: &TemperatureTrace) -> Option<String> {
    // Room temperatures wander; a whole degree tells rooms apart.
    trace.ambient_celsius.map(|celsius| celsius.round().to_string())
}

fn session(trace: &TemperatureTrace) -> Option<String> {
    Some(trace.session.clone())
}

/// Segments of traces that have no held-out value of any field, and of traces that have one of
/// each; what is between belongs to neither.
fn split(
    traces: &[TemperatureTrace],
    fields: &[fn(&TemperatureTrace) -> Option<String>],
    seed: u64,
) -> (Vec<Segment>, Vec<Segment>) {
    // How many of a trace's values are held out.
    let mut held_out = vec![0; traces.len()];
    for field in fields {
        let values: BTreeSet<String> = traces.iter().filter_map(field).collect();
        let Ok(split) = split_by_model(values.len(), TEST_FRACTION, seed) else {
            return (Vec::new(), Vec::new());
        };
        let test: Vec<&String> = values
            .iter()
            .enumerate()
            .filter(|(i, _)| split.test.contains(&(*i as u32)))
            .map(|(_, value)| value)
            .collect();
        for (held, trace) in held_out.iter_mut().zip(traces) {
            *held += usize::from(field(trace).is_some_and(|value| test.contains(&&value)));
        }
    }
    let of = |count: usize| -> Vec<Segment> {
        let chosen = traces.iter().zip(&held_out).filter(|(_, held)| **held == count);
        chosen.flat_map(|(trace, _)| segments(trace)).collect()
    };
    (of(0), of(fields.len()))
}

impl HeldOut {
    fn fit(&self) -> Result<Thermal, TrainError> {
        let model = ThermalForm::Interactions.fit(&self.train)?;
        let additive = ThermalForm::Additive.fit(&self.train)?;
        let (score, of_additive) =
            (Score::of(&model, &self.test), Score::of(&additive, &self.test));
        let by_horizon = score.by_horizon.iter().zip(&of_additive.by_horizon).enumerate();
        let accuracy = ThermalAccuracy {
            segments: self.test.len() as u32,
            mae_c: score.all.mean(),
            r2: score.r2(),
            by_horizon: by_horizon
                .filter(|(_, (errors, _))| errors.count > 0)
                .map(|(i, (errors, of_additive))| HorizonError {
                    ahead_s: (i + 1) as f64,
                    mae_c: errors.mean(),
                    additive_mae_c: Some(of_additive.mean()),
                })
                .collect(),
            source: self.source.clone(),
            held_out: self.by.to_owned(),
            training_segments: self.train.len() as u32,
            within_half_c_percent: Some(100.0 * score.within_half as f64 / score.all.count as f64),
            additive_mae_c: Some(of_additive.all.mean()),
            additive_r2: of_additive.r2(),
            scatter: scatter(&model, &self.test),
        };
        Ok(Thermal { model, accuracy: Some(accuracy) })
    }
}

/// Mean of absolute errors.
#[derive(Clone, Copy, Default)]
struct Errors {
    sum: f64,
    count: u64,
}

impl Errors {
    fn add(&mut self, error: f64) {
        self.sum += error.abs();
        self.count += 1;
    }

    fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum / self.count as f64 }
    }
}

#[derive(Default)]
struct Score {
    all: Errors,
    by_horizon: [Errors; THERMAL_HORIZON_S],
    within_half: u64,
    squared: f64,
    /// Sums of the true temperatures over 40 °C, and of their squares.
    sums: (f64, f64),
}

impl Score {
    fn of(model: &ThermalModel, segments: &[Segment]) -> Self {
        let mut score = Score::default();
        for segment in segments {
            for ((t, y), of_time) in segment.ahead().zip(&mut score.by_horizon) {
                let predicted = model.predict_celsius(&segment.history_celsius, segment.power_w, t);
                let (error, over) = (predicted - y, y - 40.0);
                score.all.add(error);
                of_time.add(error);
                score.within_half += u64::from(error.abs() <= 0.5);
                score.squared += error * error;
                score.sums = (score.sums.0 + over, score.sums.1 + over * over);
            }
        }
        score
    }

    /// Coefficient of determination; none if all temperatures are the same.
    fn r2(&self) -> Option<f64> {
        let total = self.sums.1 - self.sums.0 * self.sums.0 / self.all.count as f64;
        (total > 0.0).then(|| 1.0 - self.squared / total)
    }
}

/// Evenly chosen predictions.
fn scatter(model: &ThermalModel, segments: &[Segment]) -> Vec<ThermalPoint> {
    let mut out = Vec::new();
    for ahead in SHOWN_AHEAD_S {
        let long: Vec<&Segment> =
            segments.iter().filter(|s| s.ahead_celsius.len() >= ahead).collect();
        for segment in long.iter().step_by(long.len().div_ceil(SHOWN).max(1)) {
            let ahead_s = ahead as f64;
            out.push(ThermalPoint {
                ahead_s,
                true_c: segment.ahead_celsius[ahead - 1],
                predicted_c: model.predict_celsius(
                    &segment.history_celsius,
                    segment.power_w,
                    ahead_s,
                ),
            });
        }
    }
    out
}

/// What a reader of the record should know of its thermal model.
pub(crate) fn note(thermal: Option<&Thermal>) -> Option<String> {
    let text = match thermal {
        None => {
            "No thermal model: the device reacts to the temperature that it reads; --thermal FILE \
             learns to predict it."
        }
        Some(Thermal { accuracy: None, .. }) => {
            "The thermal model was fitted elsewhere; its accuracy was not tested here."
        }
        Some(Thermal { model, .. })
            if model.power_c_per_w == 0.0 && model.time_power_c_per_ws == 0.0 =>
        {
            "Accelerator power does not tell how the shell warms: the thermal model leaves it out."
        }
        Some(_) => return None,
    };
    Some(text.to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test's way to fail
mod tests {
    use super::*;
    use enerinfer_datasets::{TraceSecond, sampler};
    use enerinfer_runtime::temperature::MilliCelsius;
    use enerinfer_runtime::thermal_model;
    use enerinfer_runtime::units::MicroWatt;
    use enerinfer_runtime::window::Window;

    fn device_and_models(name: &str) -> (SimulatedDevice, Vec<Model>) {
        let device = SimulatedDevice::builtin(name, None).unwrap();
        let models = sampler::sample(100, 1).unwrap();
        let models = models.into_iter().filter(|m| device.fits(&m.shape)).collect();
        (device, models)
    }

    #[test]
    fn held_out_models_and_ambients_are_predicted_as_well_as_published() {
        for name in ["h_phone", "laptop", "orin"] {
            let (device, models) = device_and_models(name);
            let thermal = simulated(&device, &models, 1, 2).unwrap().unwrap();
            let accuracy = thermal.accuracy.unwrap();
            assert_eq!((accuracy.training_segments, accuracy.segments), (30_000, 6_000));
            // EnerInfer §4.4.
            assert!(accuracy.mae_c <= 0.16, "{name}: {} °C", accuracy.mae_c);
            assert!(accuracy.r2.unwrap() >= 0.988, "{name}: {:?}", accuracy.r2);
            assert!(accuracy.additive_mae_c.unwrap() > accuracy.mae_c, "{name}");
            assert_eq!(accuracy.by_horizon.len(), 21);
            assert!(accuracy.by_horizon[20].mae_c > accuracy.by_horizon[0].mae_c, "{name}");
            assert!((300..=5 * SHOWN).contains(&accuracy.scatter.len()), "{name}");
            // What is asked of a user's model is true of ours.
            assert_eq!(crate::thermal_file::plausible(&thermal.model), Ok(()), "{name}");
        }
    }

    #[test]
    fn fixed_point_is_within_a_hundredth_of_a_degree() {
        let (device, models) = device_and_models("h_phone");
        let float = simulated(&device, &models, 3, 4).unwrap().unwrap().model;
        let int = float.to_int().unwrap();
        let int = thermal_model::ThermalModel {
            intercept_uc: int.intercept_uc,
            history_q24: int.history_q24,
            power_uc_per_w: int.power_uc_per_w,
            time_uc_per_s: int.time_uc_per_s,
            time_power_uc_per_ws: int.time_power_uc_per_ws,
            time_history_q24: int.time_history_q24,
        };
        let mut compared = 0;
        for session in 0..40 {
            let trace = device.temperature_trace(&models, &[15.0, 25.0, 35.0], 9, session);
            for segment in segments(&trace) {
                let mut window = Window::filled(MilliCelsius(0));
                for t in segment.history_celsius {
                    window.push(MilliCelsius((t * 1e3).round() as i32));
                }
                let power = MicroWatt((segment.power_w * 1e6).round() as u32);
                let line = int.forecast(&window).line(power);
                for (t, _) in segment.ahead() {
                    let on_device = f64::from(line.at((t * 1e3) as u32).0) / 1e3;
                    let exact = float.predict_celsius(&segment.history_celsius, segment.power_w, t);
                    assert!((on_device - exact).abs() < 0.01, "{on_device} {exact}");
                    compared += 1;
                }
            }
        }
        assert!(compared > 1_000, "{compared}");
    }

    #[test]
    fn the_same_seeds_give_the_same_bits_and_others_do_not() {
        let (device, models) = device_and_models("h_phone");
        let fit = |seed| simulated(&device, &models[..20], 1, seed).unwrap().unwrap();
        assert_eq!(fit(5), fit(5));
        assert_ne!(fit(5).model, fit(6).model);
    }

    #[test]
    fn a_device_that_stays_cool_has_no_model() {
        let text = "core_j_per_k = { value = 11.488";
        let file = include_str!("../../device/platforms/h_phone.toml");
        assert!(file.contains(text));
        // So large a heat sink cools to the air's temperature in seconds.
        let file = file.replace(
            "shell_to_ambient_k_per_w = { value = 16.704",
            "shell_to_ambient_k_per_w = { value = 0.01",
        );
        let device = SimulatedDevice::from_toml(&file, "cool.toml", None).unwrap();
        let (_, models) = device_and_models("h_phone");
        assert_eq!(simulated(&device, &models, 1, 2).unwrap(), None);
    }

    fn trace(power_w: &[f64]) -> TemperatureTrace {
        let second = |(i, &accel_power_w): (usize, &f64)| TraceSecond {
            shell_celsius: 38.0 + 0.01 * i as f64,
            accel_power_w,
        };
        TemperatureTrace {
            session: "s".to_owned(),
            model: "m".to_owned(),
            ambient_celsius: None,
            seconds: power_w.iter().enumerate().map(second).collect(),
        }
    }

    #[test]
    fn a_segment_ends_where_the_power_changes() {
        let mut power = vec![2.0; 30];
        power[24] = 2.2; // still held
        power[26] = 3.0;
        let found = segments(&trace(&power));
        // Now is second 19, then 24, then 29, which has nothing ahead.
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].ahead_celsius.len(), 7);
        assert_eq!(found[0].history_celsius[0], 38.0);
        assert!((found[0].history_celsius[19] - 38.19).abs() < 1e-9);
        assert!((found[0].ahead_celsius[0] - 38.2).abs() < 1e-9);
        assert!((found[0].power_w - (6.0 * 2.0 + 2.2) / 7.0).abs() < 1e-9);
        assert_eq!(found[1].ahead_celsius.len(), 2);
        // Nothing is decoded, so there is nothing to predict for.
        assert_eq!(segments(&trace(&[0.0; 60])), []);
        assert_eq!(segments(&trace(&[2.0; 19])), []);
    }
}
