//! A simulated device in operation, and its clock, sensor and clock domains for the runtime.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use enerinfer_artifacts::OperatingPoint;
use enerinfer_device::Decode;
use enerinfer_device::interference::ForegroundApp;
use enerinfer_device::thermal::{Temperatures, ThermalModel};
use enerinfer_runtime::driver::Platform;
use enerinfer_runtime::hal::{Clock, FrequencyActuator, TemperatureSensor};
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::time::Micros;

use super::{HeatSplit, Scenario};

/// State of the device. Decoding is a flow of work: a token is a whole unit of it.
#[derive(Clone, Debug)]
pub struct Plant {
    truth: Vec<Decode>,
    accel_khz: Vec<u32>,
    mem_khz: Vec<u32>,
    thermal: ThermalModel,
    heat: HeatSplit,
    ambient_celsius: f64,
    sensor_celsius: f64,
    now_s: f64,
    at: Temperatures,
    point: OperatingPoint,
    app: Option<ForegroundApp>,
    energy_j: f64,
}

impl Plant {
    /// The device of a scenario before it begins, at its highest clocks: what on-demand
    /// governors choose under load.
    pub fn new(scenario: &Scenario) -> Self {
        let clocks = &scenario.platform.clocks;
        Plant {
            truth: scenario.truth.clone(),
            accel_khz: clocks.accel_khz.clone(),
            mem_khz: clocks.mem_khz.clone(),
            thermal: scenario.thermal,
            heat: scenario.heat,
            ambient_celsius: scenario.ambient_celsius,
            sensor_celsius: scenario.sensor_celsius,
            now_s: 0.0,
            at: scenario.start,
            point: clocks.highest(),
            app: None,
            energy_j: 0.0,
        }
    }

    /// Time since the start, s.
    pub fn now_s(&self) -> f64 {
        self.now_s
    }

    /// Temperatures.
    pub fn temperatures(&self) -> Temperatures {
        self.at
    }

    /// The operating point that runs.
    pub fn point(&self) -> OperatingPoint {
        self.point
    }

    /// Energy of accelerator and memory since the start, J.
    pub fn energy_j(&self) -> f64 {
        self.energy_j
    }

    /// Runs a foreground app from now on.
    pub fn set_app(&mut self, app: Option<ForegroundApp>) {
        self.app = app;
    }

    /// What the device does while it decodes.
    pub fn decode(&self) -> Decode {
        let index =
            usize::from(self.point.mem) * self.accel_khz.len() + usize::from(self.point.accel);
        let alone = self.truth[index];
        self.app.map_or(alone, |app| app.beside(alone))
    }

    /// Lets `seconds` pass, until `until_s` exactly.
    pub fn advance(&mut self, busy: bool, until_s: f64) {
        let seconds = until_s - self.now_s;
        let (power_w, heat_w) = if busy {
            let decode = self.decode();
            (decode.power_w, self.heat.heat_w(&decode))
        } else {
            (0.0, 0.0)
        };
        self.energy_j += power_w * seconds;
        self.at = self.thermal.step(self.at, heat_w, self.ambient_celsius, seconds);
        self.now_s = until_s;
    }

    /// Sets an operating point.
    pub fn set_point(&mut self, point: OperatingPoint) {
        self.point = point;
    }
}

/// A plant that several owners hold.
#[derive(Clone, Debug)]
pub(super) struct Shared(pub(super) Rc<RefCell<Plant>>);

impl Shared {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Shared(Rc::new(RefCell::new(Plant::new(scenario))))
    }

    /// Its parts, as the runtime's driver wants them.
    pub(super) fn parts(&self) -> Platform<Shared, Shared, AccelDomain, MemDomain> {
        Platform {
            clock: self.clone(),
            temperature: self.clone(),
            accel: AccelDomain(self.clone()),
            mem: MemDomain(self.clone()),
        }
    }
}

impl Clock for Shared {
    fn now(&mut self) -> Micros {
        Micros((self.0.borrow().now_s * 1e6).round() as u64)
    }
}

impl TemperatureSensor for Shared {
    type Error = Infallible;

    fn temperature(&mut self) -> Result<MilliCelsius, Infallible> {
        let plant = self.0.borrow();
        let reading = (plant.at.shell_celsius / plant.sensor_celsius).round();
        Ok(MilliCelsius((reading * plant.sensor_celsius * 1e3).round() as i32))
    }
}

/// The accelerator's clock.
#[derive(Debug)]
pub(super) struct AccelDomain(Shared);

/// The memory's clock.
#[derive(Debug)]
pub(super) struct MemDomain(Shared);

/// Requests are rounded up to a level of the table, as drivers do.
fn level(levels_khz: &[u32], khz: u32) -> u8 {
    // Clock tables have at most 64 levels.
    levels_khz.partition_point(|level| *level < khz).min(levels_khz.len() - 1) as u8
}

impl FrequencyActuator for AccelDomain {
    type Error = Infallible;

    fn request_khz(&mut self, khz: u32) -> Result<u32, Infallible> {
        let mut plant = self.0.0.borrow_mut();
        let point = OperatingPoint { accel: level(&plant.accel_khz, khz), ..plant.point };
        plant.set_point(point);
        Ok(plant.accel_khz[usize::from(point.accel)])
    }

    fn current_khz(&mut self) -> Result<u32, Infallible> {
        let plant = self.0.0.borrow();
        Ok(plant.accel_khz[usize::from(plant.point.accel)])
    }

    fn restore(&mut self) -> Result<(), Infallible> {
        self.request_khz(u32::MAX).map(|_| ())
    }
}

impl FrequencyActuator for MemDomain {
    type Error = Infallible;

    fn request_khz(&mut self, khz: u32) -> Result<u32, Infallible> {
        let mut plant = self.0.0.borrow_mut();
        let point = OperatingPoint { mem: level(&plant.mem_khz, khz), ..plant.point };
        plant.set_point(point);
        Ok(plant.mem_khz[usize::from(point.mem)])
    }

    fn current_khz(&mut self) -> Result<u32, Infallible> {
        let plant = self.0.0.borrow();
        Ok(plant.mem_khz[usize::from(plant.point.mem)])
    }

    fn restore(&mut self) -> Result<(), Infallible> {
        self.request_khz(u32::MAX).map(|_| ())
    }
}
