//! The driver on a platform that misbehaves.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::{on_device, phone, thermal_model, POINTS};
use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime::driver::{Driver, Platform};
use enerinfer_runtime::hal::{Clock, ErrorKind, FrequencyActuator, TemperatureSensor};
use enerinfer_runtime::qoe;
use enerinfer_runtime::tables::Tables;
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::time::Micros;

const ACCEL_KHZ: [u32; 3] = [300_000, 600_000, 1_000_000];
const MEM_KHZ: [u32; 4] = [528_000, 1_068_000, 1_560_000, 2_112_000];
const FOUND_KHZ: u32 = 777_000;

/// How a clock domain answers requests.
#[derive(Clone, Copy)]
enum Behaviour {
    Obeys,
    /// Delivers at most this.
    CappedAt(u32),
    /// Accepts and does nothing.
    Ignores,
    Fails(ErrorKind),
}

struct Domain {
    behaviour: Behaviour,
    khz: u32,
    requests: u32,
    restored: u32,
}

#[derive(Clone)]
struct Fake(Rc<RefCell<Domain>>);

impl Fake {
    fn new(behaviour: Behaviour) -> Self {
        Fake(Rc::new(RefCell::new(Domain { behaviour, khz: FOUND_KHZ, requests: 0, restored: 0 })))
    }
}

impl FrequencyActuator for Fake {
    type Error = ErrorKind;

    fn request_khz(&mut self, khz: u32) -> Result<u32, ErrorKind> {
        let mut domain = self.0.borrow_mut();
        domain.requests += 1;
        match domain.behaviour {
            Behaviour::Obeys => domain.khz = khz,
            Behaviour::CappedAt(cap) => domain.khz = khz.min(cap),
            Behaviour::Ignores => {}
            Behaviour::Fails(kind) => return Err(kind),
        }
        Ok(domain.khz)
    }

    fn current_khz(&mut self) -> Result<u32, ErrorKind> {
        Ok(self.0.borrow().khz)
    }

    fn restore(&mut self) -> Result<(), ErrorKind> {
        let mut domain = self.0.borrow_mut();
        domain.restored += 1;
        domain.khz = FOUND_KHZ;
        Ok(())
    }
}

#[derive(Clone, Default)]
struct FakeClock(Rc<RefCell<u64>>);

impl Clock for FakeClock {
    fn now(&mut self) -> Micros {
        Micros(*self.0.borrow())
    }
}

/// A sensor with the least significant digits moving, as real ones do.
struct Sensor(i32);

impl TemperatureSensor for Sensor {
    type Error = ErrorKind;

    fn temperature(&mut self) -> Result<MilliCelsius, ErrorKind> {
        self.0 ^= 1;
        Ok(MilliCelsius(self.0))
    }
}

type TestDriver<'a> = Driver<'a, FakeClock, Sensor, Fake, Fake, POINTS>;

/// Everything that a driver borrows.
struct World {
    tables: Tables<POINTS>,
    fronts: Fronts<POINTS>,
    model: ThermalModel,
    clock: FakeClock,
    accel: Fake,
    mem: Fake,
}

impl World {
    fn new(accel: Behaviour, mem: Behaviour) -> Self {
        let tables = phone();
        World {
            fronts: Fronts::new(&tables),
            tables,
            model: on_device(&thermal_model(25.0)),
            clock: FakeClock::default(),
            accel: Fake::new(accel),
            mem: Fake::new(mem),
        }
    }

    fn driver(&self) -> TestDriver<'_> {
        let control = Coordinator::new(&self.tables, &self.fronts, &self.model, Config::default());
        let platform = Platform {
            clock: self.clock.clone(),
            temperature: Sensor(30_000),
            accel: self.accel.clone(),
            mem: self.mem.clone(),
        };
        Driver::new(control, platform, &ACCEL_KHZ, &MEM_KHZ)
    }

    /// Ticks once per second.
    fn run(&self, driver: &mut TestDriver<'_>, seconds: u64) {
        for _ in 0..seconds {
            *self.clock.0.borrow_mut() += 1_000_000;
            driver.tick();
        }
    }
}

#[test]
fn applies_points_and_gives_clocks_back() {
    let world = World::new(Behaviour::Obeys, Behaviour::Obeys);
    let mut driver = world.driver();
    world.run(&mut driver, 1);
    driver.begin_prefill();
    assert_eq!((world.accel.0.borrow().khz, world.mem.0.borrow().khz), (1_000_000, 2_112_000));
    driver.begin_decode(qoe::READING);
    assert_eq!((world.accel.0.borrow().khz, world.mem.0.borrow().khz), (300_000, 1_068_000));
    assert_eq!(driver.status().achieved_khz, Some((300_000, 1_068_000)));
    driver.end();
    assert_eq!((world.accel.0.borrow().khz, world.mem.0.borrow().khz), (FOUND_KHZ, FOUND_KHZ));
}

#[test]
fn a_dropped_driver_gives_clocks_back() {
    let world = World::new(Behaviour::Obeys, Behaviour::Obeys);
    let mut driver = world.driver();
    driver.begin_prefill();
    drop(driver);
    assert_eq!((world.accel.0.borrow().khz, world.mem.0.borrow().khz), (FOUND_KHZ, FOUND_KHZ));
}

#[test]
fn a_panic_gives_clocks_back() {
    let world = World::new(Behaviour::Obeys, Behaviour::Obeys);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut driver = world.driver();
        driver.begin_prefill();
        assert_eq!(world.accel.0.borrow().khz, 1_000_000);
        std::panic::resume_unwind(Box::new(())); // without the message of `panic!`
    }));
    assert!(panicked.is_err());
    assert_eq!((world.accel.0.borrow().khz, world.mem.0.borrow().khz), (FOUND_KHZ, FOUND_KHZ));
}

#[test]
fn what_was_achieved_is_used() {
    let world = World::new(Behaviour::CappedAt(850_000), Behaviour::CappedAt(1_600_000));
    let mut driver = world.driver();
    driver.begin_prefill();
    assert_eq!(driver.status().achieved_khz, Some((850_000, 1_600_000)));
    // Nearest levels: 1 000 000 (150 away) and 1 560 000.
    assert_eq!(driver.coordinator().status().achieved, 2 * 3 + 2);
}

#[test]
fn permission_denied_stops_for_good_and_gives_back() {
    let world = World::new(Behaviour::Obeys, Behaviour::Fails(ErrorKind::PermissionDenied));
    let mut driver = world.driver();
    driver.begin_prefill();
    assert!(driver.status().stopped);
    assert_eq!(world.accel.0.borrow().khz, FOUND_KHZ, "no partial application");
    driver.begin_decode(qoe::READING);
    world.run(&mut driver, 1_000);
    driver.begin_prefill();
    assert_eq!(world.mem.0.borrow().requests, 1, "no retry storm");
}

#[test]
fn transient_failures_are_retried_ever_more_rarely() {
    for kind in [ErrorKind::Busy, ErrorKind::InvalidValue, ErrorKind::Unavailable, ErrorKind::Other]
    {
        let world = World::new(Behaviour::Fails(kind), Behaviour::Obeys);
        let mut driver = world.driver();
        driver.begin_decode(qoe::READING);
        world.run(&mut driver, 1_000);
        let requests = world.accel.0.borrow().requests;
        assert!((5..40).contains(&requests), "{requests} requests for {kind:?}");
        assert_eq!(driver.status().failures, requests);
        assert_eq!(driver.status().last_failure, Some(kind));
        assert!(!driver.status().stopped);
        // The obstacle goes away.
        world.accel.0.borrow_mut().behaviour = Behaviour::Obeys;
        world.run(&mut driver, 65);
        assert_eq!(world.accel.0.borrow().khz, 300_000);
    }
}

#[test]
fn ignored_writes_are_seen_in_the_read_back() {
    let world = World::new(Behaviour::Ignores, Behaviour::Ignores);
    let mut driver = world.driver();
    driver.begin_decode(qoe::READING);
    world.run(&mut driver, 100);
    assert_eq!(driver.status().achieved_khz, Some((FOUND_KHZ, FOUND_KHZ)));
    assert!(world.accel.0.borrow().requests < 5, "no fight");
}

#[test]
fn another_manager_is_reported_and_not_fought() {
    let world = World::new(Behaviour::Obeys, Behaviour::Obeys);
    let mut driver = world.driver();
    driver.begin_decode(qoe::READING);
    world.run(&mut driver, 1);
    world.accel.0.borrow_mut().khz = 1_000_000;
    world.run(&mut driver, 2);
    assert!(!driver.status().overridden, "may be a glitch");
    let requests = world.accel.0.borrow().requests;
    world.run(&mut driver, 100);
    assert!(driver.status().overridden);
    assert_eq!(driver.status().achieved_khz, Some((1_000_000, 1_068_000)));
    assert_eq!(driver.coordinator().status().achieved, 3 + 2);
    assert_eq!(world.accel.0.borrow().requests, requests);
    driver.end();
    assert!(!driver.status().overridden);
}

#[test]
fn state_is_below_a_kibibyte() {
    assert!(core::mem::size_of::<TestDriver<'_>>() < 1024);
}
