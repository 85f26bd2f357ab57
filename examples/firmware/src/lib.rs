//! How firmware uses the generated crate: predict once when a model is loaded, then let the
//! coordinator say which clocks to set as tokens and temperatures come.
//!
//! `no_std`, no allocation. The engine calls [`Session::token`] from its token callback, a timer
//! calls [`Session::second`] once a second.
#![no_std]
#![forbid(unsafe_code)]

use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime::model::{ACCEL_KHZ, MEM_KHZ, POINTS, THERMAL};
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::{MicroTokPerS, Predictor, Shape, Tables};

/// The board's clock registers.
pub trait Clocks {
    /// Sets both clocks, in kHz. Both are entries of the trained tables.
    fn set_khz(&mut self, accel_khz: u32, mem_khz: u32);
}

/// What is computed once per language model; lives as long as its sessions.
pub struct Loaded {
    tables: Tables<POINTS>,
    fronts: Fronts<POINTS>,
    thermal: ThermalModel,
}

impl Loaded {
    /// Predicts all operating points of a model.
    pub fn new(shape: &Shape) -> Self {
        let tables = Predictor::tables(shape).tables;
        Loaded {
            fronts: Fronts::new(&tables),
            tables,
            // Without a thermal model the shell is expected to stay as warm as it is.
            thermal: THERMAL.unwrap_or(ThermalModel::PERSISTENCE),
        }
    }
}

/// One conversation.
pub struct Session<'a, C> {
    control: Coordinator<'a, POINTS>,
    clocks: C,
}

impl<'a, C: Clocks> Session<'a, C> {
    /// Starts with the prefill, which runs at the highest clocks unless the shell is hot.
    pub fn start(loaded: &'a Loaded, clocks: C, now_us: u64) -> Self {
        let Loaded { tables, fronts, thermal } = loaded;
        let control = Coordinator::new(tables, fronts, thermal, Config::default());
        let mut session = Session { control, clocks };
        let point = session.control.begin_prefill(Micros(now_us));
        session.apply(point);
        session
    }

    /// Decoding begins; the user needs `tok_per_s`.
    pub fn decode(&mut self, tok_per_s: u32, now_us: u64) {
        let point =
            self.control.begin_decode(MicroTokPerS::from_tok_per_s(tok_per_s), Micros(now_us));
        self.apply(point);
    }

    /// A token was generated.
    pub fn token(&mut self, now_us: u64) {
        let point = self.control.on_token(Micros(now_us));
        self.apply(point);
    }

    /// A second has passed; `None` when the sensor did not answer.
    pub fn second(&mut self, now_us: u64, shell_celsius: Option<i32>) {
        let shell = shell_celsius.map(MilliCelsius::from_celsius);
        let point = self.control.tick(Micros(now_us), shell);
        self.apply(point);
    }

    fn apply(&mut self, point: Option<u16>) {
        if let Some(point) = point {
            let point = usize::from(point);
            let accel = ACCEL_KHZ.get(point % ACCEL_KHZ.len());
            let mem = MEM_KHZ.get(point / ACCEL_KHZ.len());
            if let (Some(&accel_khz), Some(&mem_khz)) = (accel, mem) {
                self.clocks.set_khz(accel_khz, mem_khz);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use enerinfer_runtime::MicroWatt;

    use super::*;

    #[derive(Default)]
    struct Last(Option<(u32, u32)>);

    impl Clocks for &mut Last {
        fn set_khz(&mut self, accel_khz: u32, mem_khz: u32) {
            self.0 = Some((accel_khz, mem_khz));
        }
    }

    #[test]
    fn prefill_is_fast_and_decoding_no_faster_than_needed() {
        let shape = Shape::new(28, 1536, 12, 2, 8960, 151_936).tied_embeddings();
        let mut loaded = Loaded::new(&shape);
        // The committed model's forests are drawn at random, and may say that nothing beats the
        // highest clocks. Of a device, speed costs more power than it gives.
        let Tables { throughput, power, .. } = &mut loaded.tables;
        for (step, (speed, power)) in (1..).zip(throughput.iter_mut().zip(power)) {
            *speed = MicroTokPerS::from_tok_per_s(2 * step);
            *power = MicroWatt(1_000_000 * step * step);
        }
        loaded.fronts = Fronts::new(&loaded.tables);
        let mut last = Last::default();
        let mut session = Session::start(&loaded, &mut last, 0);
        session.second(0, Some(25));
        session.decode(1, 300_000);
        session.token(600_000);
        let highest = (ACCEL_KHZ[ACCEL_KHZ.len() - 1], MEM_KHZ[MEM_KHZ.len() - 1]);
        let set = last.0.expect("clocks were set");
        assert!(ACCEL_KHZ.contains(&set.0) && MEM_KHZ.contains(&set.1));
        assert_ne!(set, highest, "one token per second needs no highest clocks");
    }
}
