//! Linear regression of the shell temperature (EnerInfer §4.4, Figure 11).
//!
//! A [`Segment`] gives one row `(T, P, t) → temperature` per second ahead, `T` the window of
//! twenty temperatures and `P` the accelerator power. Thirty thousand segments of 21 s are 630,000
//! rows; since a row is the product of `(1, T, P)` and `(1, t)`, sums of the normal equations run
//! over segments, not rows, and the design matrix that a general solver needs is never built.

use enerinfer_artifacts::{THERMAL_WINDOW, ThermalModel};
use linfa_linalg::cholesky::SolveC;
use ndarray::Array2;

use crate::LearnError;

/// Most seconds ahead (EnerInfer §5: a control period of 21 s).
pub const THERMAL_HORIZON_S: usize = 21;

/// Inputs that do not depend on time: a constant, the newest temperature, the others as
/// differences from it, and power.
const INPUTS: usize = THERMAL_WINDOW + 2;
/// Place of power among them.
const POWER: usize = INPUTS - 1;
/// Subtracted from temperatures, so that sums keep their digits, °C.
const CENTRE_CELSIUS: f64 = 40.0;
/// Penalty on every coefficient but the intercept, relative to its input's mean square. It only
/// makes the equations solvable where temperatures of the window say the same.
const RIDGE: f64 = 1e-9;

/// A history of temperatures and what followed under one power.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// The last twenty one-second temperatures, oldest first, °C.
    pub history_celsius: [f64; THERMAL_WINDOW],
    /// Accelerator power from then on, W.
    pub power_w: f64,
    /// Temperatures 1 s, 2 s, … later, as long as the power held, at most
    /// [`THERMAL_HORIZON_S`], °C.
    pub ahead_celsius: Vec<f64>,
}

impl Segment {
    fn newest(&self) -> f64 {
        self.history_celsius[THERMAL_WINDOW - 1]
    }

    fn inputs(&self) -> [f64; INPUTS] {
        let mut out = [1.0; INPUTS];
        out[1] = self.newest() - CENTRE_CELSIUS;
        for (slot, t) in out[2..POWER].iter_mut().zip(&self.history_celsius) {
            *slot = t - self.newest();
        }
        out[POWER] = self.power_w;
        out
    }

    /// `(t, temperature)` for every second ahead.
    pub fn ahead(&self) -> impl Iterator<Item = (f64, f64)> {
        self.ahead_celsius.iter().enumerate().map(|(i, y)| ((i + 1) as f64, *y))
    }
}

/// Which products of inputs a thermal model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThermalForm {
    /// The paper's: a sum of terms in temperatures, power and time.
    Additive,
    /// Temperatures and power also times time: power and history set a rate, not an offset.
    Interactions,
}

/// Sums over segments for the normal equations of both forms.
struct Sums {
    /// `Σ x·xᵀ·tᵏ` over rows, for `k` = 0, 1, 2.
    gram: [[[f64; INPUTS]; INPUTS]; 3],
    /// `Σ x·y·tᵏ` over rows, for `k` = 0, 1; `y` is the rise over the newest temperature.
    moment: [[f64; INPUTS]; 2],
}

impl Sums {
    fn over(segments: &[Segment]) -> Self {
        let mut sums = Sums { gram: [[[0.0; INPUTS]; INPUTS]; 3], moment: [[0.0; INPUTS]; 2] };
        for segment in segments {
            let x = segment.inputs();
            let (mut of_time, mut of_rise) = ([0.0; 3], [0.0; 2]);
            for (t, y) in segment.ahead() {
                let rise = y - segment.newest();
                of_time = [of_time[0] + 1.0, of_time[1] + t, of_time[2] + t * t];
                of_rise = [of_rise[0] + rise, of_rise[1] + t * rise];
            }
            for i in 0..INPUTS {
                for (moment, weight) in sums.moment.iter_mut().zip(of_rise) {
                    moment[i] += weight * x[i];
                }
                for (gram, weight) in sums.gram.iter_mut().zip(of_time) {
                    for j in 0..=i {
                        gram[i][j] += weight * x[i] * x[j];
                    }
                }
            }
        }
        sums
    }

    /// `Σ a·b` for two columns, each an input times a power of time.
    fn product(&self, (i, a): Column, (j, b): Column) -> f64 {
        self.gram[a + b][i.max(j)][i.min(j)]
    }

    /// Coefficients of the columns, without and with time; 0 for inputs that are not among them.
    fn solve(&self, columns: &[Column]) -> Result<[[f64; INPUTS]; 2], LearnError> {
        // Scaled to a unit diagonal; an input that is always zero gets no weight.
        let scale: Vec<f64> = columns
            .iter()
            .map(|&c| match self.product(c, c).sqrt() {
                norm if norm > 0.0 => norm.recip(),
                _ => 0.0,
            })
            .collect();
        let mut gram = Array2::from_shape_fn((columns.len(), columns.len()), |(i, j)| {
            self.product(columns[i], columns[j]) * scale[i] * scale[j]
        });
        for i in 1..columns.len() {
            gram[[i, i]] += if scale[i] > 0.0 { RIDGE } else { 1.0 };
        }
        let moment = Array2::from_shape_fn((columns.len(), 1), |(i, _)| {
            let (input, time) = columns[i];
            self.moment[time][input] * scale[i]
        });
        let solved = gram.solvec(&moment).map_err(|_| LearnError::Diverged("thermal"))?;
        let mut coefficients = [[0.0; INPUTS]; 2];
        for (i, &(input, time)) in columns.iter().enumerate() {
            coefficients[time][input] = solved[[i, 0]] * scale[i];
        }
        Ok(coefficients)
    }
}

/// An input and the power of time that multiplies it.
type Column = (usize, usize);

impl ThermalForm {
    fn columns(self) -> Vec<Column> {
        let timed = match self {
            ThermalForm::Additive => 1,
            ThermalForm::Interactions => INPUTS,
        };
        (0..INPUTS).map(|i| (i, 0)).chain((0..timed).map(|i| (i, 1))).collect()
    }

    /// Least squares over all seconds ahead of all segments.
    ///
    /// Where more accelerator power would mean a cooler shell, since something else that warms it
    /// falls as that power rises, power is left out: a controller must not take the hottest
    /// operating point for the coolest.
    ///
    /// Only sums, products, quotients and square roots in a fixed order: the same bits for any
    /// number of threads and on any machine.
    ///
    /// # Errors
    /// No segments, a segment without or with too many seconds ahead, a number that is not
    /// finite, or numbers too large for the device.
    pub fn fit(self, segments: &[Segment]) -> Result<ThermalModel, LearnError> {
        check(segments)?;
        let sums = Sums::over(segments);
        let mut columns = self.columns();
        let mut coefficients = sums.solve(&columns)?;
        let [level, rate] = &coefficients;
        if level[POWER] + THERMAL_HORIZON_S as f64 * rate[POWER] < 0.0 {
            columns.retain(|(input, _)| *input != POWER);
            coefficients = sums.solve(&columns)?;
        }
        let model = self.model(&coefficients);
        // Refuses also what is not finite.
        model.to_int().map_err(|_| LearnError::Diverged("thermal"))?;
        Ok(model)
    }

    /// The model of coefficients of the inputs, without and with time.
    fn model(self, [level, rate]: &[[f64; INPUTS]; 2]) -> ThermalModel {
        let history = |of: &[f64; INPUTS]| -> Vec<f64> {
            let newest = of[1] - of[2..POWER].iter().sum::<f64>();
            of[2..POWER].iter().copied().chain([newest]).collect()
        };
        let intercept = |of: &[f64; INPUTS]| of[0] - CENTRE_CELSIUS * of[1];
        let mut weights = history(level);
        // The target was the rise.
        weights[THERMAL_WINDOW - 1] += 1.0;
        ThermalModel {
            window: THERMAL_WINDOW as u32,
            intercept_c: intercept(level),
            history: weights,
            power_c_per_w: level[POWER],
            time_c_per_s: intercept(rate),
            time_power_c_per_ws: rate[POWER],
            time_history: match self {
                ThermalForm::Additive => Vec::new(),
                ThermalForm::Interactions => history(rate),
            },
        }
    }
}

fn check(segments: &[Segment]) -> Result<(), LearnError> {
    if segments.is_empty() {
        return Err(LearnError::NoRows);
    }
    for (row, segment) in segments.iter().enumerate() {
        if !(1..=THERMAL_HORIZON_S).contains(&segment.ahead_celsius.len()) {
            return Err(LearnError::Length {
                what: format!("segment {row}"),
                found: segment.ahead_celsius.len(),
                expected: THERMAL_HORIZON_S,
            });
        }
        let numbers = segment.history_celsius.iter().chain(&segment.ahead_celsius);
        if let Some(&value) = numbers.chain([&segment.power_w]).find(|v| !v.is_finite()) {
            return Err(LearnError::Value {
                what: "temperature or power",
                row: row as u32,
                value,
                rule: "must be finite",
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand_xoshiro::Xoshiro256PlusPlus;

    /// Segments of unrelated temperatures that follow a model exactly.
    fn exact(truth: &ThermalModel, seed: u64, count: usize) -> Vec<Segment> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..count)
            .map(|_| {
                let history_celsius = std::array::from_fn(|_| rng.random_range(37.0..45.0));
                let power_w = rng.random_range(0.5..4.0);
                let length = rng.random_range(1..=THERMAL_HORIZON_S);
                let ahead = |t: usize| truth.predict_celsius(&history_celsius, power_w, t as f64);
                let ahead_celsius = (1..=length).map(ahead).collect();
                Segment { history_celsius, power_w, ahead_celsius }
            })
            .collect()
    }

    fn model(form: ThermalForm, seed: u64) -> ThermalModel {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut draw = |size: f64| rng.random_range(-size..size);
        ThermalModel {
            window: 20,
            intercept_c: draw(3.0),
            history: (0..20).map(|_| draw(0.3)).collect(),
            power_c_per_w: draw(0.2).abs(),
            time_c_per_s: draw(0.1),
            time_power_c_per_ws: match form {
                ThermalForm::Additive => 0.0,
                ThermalForm::Interactions => draw(0.05).abs(),
            },
            time_history: match form {
                ThermalForm::Additive => Vec::new(),
                ThermalForm::Interactions => (0..20).map(|_| draw(0.02)).collect(),
            },
        }
    }

    fn numbers(m: &ThermalModel) -> Vec<f64> {
        let single = [m.power_c_per_w, m.time_c_per_s, m.time_power_c_per_ws];
        [&single[..], &m.history, &m.time_history].concat()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Both forms find a model of their own from data that follow it.
        #[test]
        fn a_linear_device_is_recovered(seed: u64, interactions: bool) {
            let form = if interactions { ThermalForm::Interactions } else { ThermalForm::Additive };
            let truth = model(form, seed);
            let fitted = form.fit(&exact(&truth, seed, 400)).unwrap();
            prop_assert_eq!(fitted.time_history.len(), truth.time_history.len());
            for (a, b) in numbers(&fitted).iter().zip(numbers(&truth)) {
                prop_assert!((a - b).abs() < 1e-5, "{a} instead of {b}");
            }
            prop_assert!((fitted.intercept_c - truth.intercept_c).abs() < 1e-3);
        }
    }

    #[test]
    fn the_additive_form_cannot_follow_interactions() {
        let truth = model(ThermalForm::Interactions, 5);
        let segments = exact(&truth, 5, 400);
        let worst = |fitted: ThermalModel| {
            let errors = segments.iter().flat_map(|s| {
                let predict = |t| fitted.predict_celsius(&s.history_celsius, s.power_w, t);
                s.ahead().map(|(t, y)| (predict(t) - y).abs()).collect::<Vec<_>>()
            });
            errors.fold(0.0, f64::max)
        };
        assert!(worst(ThermalForm::Interactions.fit(&segments).unwrap()) < 1e-4);
        assert!(worst(ThermalForm::Additive.fit(&segments).unwrap()) > 0.1);
    }

    #[test]
    fn power_that_would_cool_is_left_out() {
        let truth = ThermalModel {
            power_c_per_w: 0.01,
            time_power_c_per_ws: -0.02,
            ..model(ThermalForm::Interactions, 3)
        };
        let fitted = ThermalForm::Interactions.fit(&exact(&truth, 3, 400)).unwrap();
        assert_eq!((fitted.power_c_per_w, fitted.time_power_c_per_ws), (0.0, 0.0));
    }

    #[test]
    fn segments_that_say_the_same_still_give_a_model() {
        // Nothing ever changes: temperatures stay.
        let still =
            Segment { history_celsius: [40.0; 20], power_w: 0.0, ahead_celsius: vec![40.0; 21] };
        for form in [ThermalForm::Additive, ThermalForm::Interactions] {
            let fitted = form.fit(&vec![still.clone(); 50]).unwrap();
            let ahead = fitted.predict_celsius(&still.history_celsius, 0.0, 21.0);
            assert!((ahead - 40.0).abs() < 1e-6, "{ahead}");
        }
    }

    #[test]
    fn what_cannot_be_learnt_from_is_refused() {
        let good = exact(&model(ThermalForm::Additive, 1), 1, 3);
        let fit = |segments: &[Segment]| ThermalForm::Additive.fit(segments).unwrap_err();
        assert!(matches!(fit(&[]), LearnError::NoRows));
        for length in [0, 22] {
            let mut bad = good.clone();
            bad[1].ahead_celsius = vec![40.0; length];
            assert!(fit(&bad).to_string().contains("segment 1"), "{}", fit(&bad));
        }
        for edit in [
            |s: &mut Segment| s.power_w = f64::NAN,
            |s: &mut Segment| s.history_celsius[7] = f64::INFINITY,
            |s: &mut Segment| s.ahead_celsius[0] = f64::NAN,
        ] {
            let mut bad = good.clone();
            edit(&mut bad[2]);
            assert!(matches!(fit(&bad), LearnError::Value { row: 2, .. }));
        }
        let mut huge = good;
        huge[0].ahead_celsius = vec![1e300];
        assert!(matches!(fit(&huge), LearnError::Diverged(_)));
    }
}
