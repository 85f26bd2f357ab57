//! Temperatures from zones that are gated, broken or slow.

#![allow(clippy::unwrap_used)] // a test's way to fail

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{Fake, sys};
use enerinfer_linux::files::Files;
use enerinfer_linux::sensor::Shell;
use enerinfer_linux::zones;
use enerinfer_runtime::hal::TemperatureSensor;
use enerinfer_runtime::temperature::MilliCelsius;

fn files(fake: &Arc<Fake>) -> Arc<dyn Files> {
    Arc::<Fake>::clone(fake)
}

fn names(fake: &Arc<Fake>) -> Vec<String> {
    zones::shell(&zones::discover(&**fake)).into_iter().map(|z| z.name).collect()
}

fn shell(fake: &Arc<Fake>) -> Shell {
    Shell::of(&files(fake), &zones::shell(&zones::discover(&**fake)))
}

#[test]
fn gated_and_uninitialised_zones_are_unavailable_never_zero() {
    let fake = Fake::tree("orin"); // 47.937 °C, −256 °C, EAGAIN
    let found = zones::discover(&*fake);
    let read: Vec<_> = found.iter().map(|z| zones::read(&*fake, z).ok()).collect();
    assert_eq!(read, [Some(MilliCelsius(47_937)), None, None]);
    assert_eq!(shell(&fake).temperature().unwrap(), MilliCelsius(47_937));
}

#[test]
fn nonsense_is_no_temperature() {
    for text in ["", "NaN", "nan\n", "-273150", "4.2", "99999999999", "41,0"] {
        let fake = Fake::tree("orin");
        fake.set("class/thermal/thermal_zone0/temp", text);
        assert!(shell(&fake).temperature().is_err(), "{text:?}");
    }
}

#[test]
fn the_junction_maximum_is_preferred_to_its_parts() {
    let fake = Fake::tree("thor");
    assert_eq!(names(&fake), ["tj-thermal"]);
    assert_eq!(shell(&fake).temperature().unwrap(), MilliCelsius(55_100));
}

#[test]
fn surface_sensors_are_preferred_to_junctions() {
    let fake = Fake::tree("thor");
    fake.set("class/thermal/thermal_zone7/type", "skin-therm\n");
    fake.set("class/thermal/thermal_zone7/temp", "35500\n");
    assert_eq!(names(&fake), ["skin-therm"]);
}

#[test]
fn hardware_monitors_are_read_by_label() {
    let fake = Fake::tree("thor");
    fake.set("class/hwmon/hwmon5/name", "nvme\n");
    fake.set("class/hwmon/hwmon5/temp1_input", "38850\n");
    fake.set("class/hwmon/hwmon5/temp1_label", "Composite\n");
    fake.set("class/hwmon/hwmon5/temp2_input", "40850\n");
    let found = zones::discover(&*fake);
    let names: Vec<_> = found.iter().map(|z| z.name.as_str()).collect();
    assert_eq!(names, ["tj-thermal", "gpu-thermal", "nvme/Composite", "nvme/temp2"]);
}

#[test]
fn a_zone_that_hangs_holds_nothing_up() {
    let fake = Fake::tree("orin");
    fake.set("class/thermal/thermal_zone1/temp", "90000");
    fake.hang("class/thermal/thermal_zone1/temp");
    let mut shell = shell(&fake);
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(shell.temperature().unwrap(), MilliCelsius(47_937));
    }
    // The first reading waits for the timeout, later ones do not ask again.
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[test]
fn a_zone_that_comes_back_counts_again() {
    let fake = Fake::tree("orin");
    let zone = sys("class/thermal/thermal_zone0/temp");
    let mut shell = shell(&fake);
    fake.fail_read(&zone, libc::EIO);
    assert!(shell.temperature().is_err());
    fake.heal();
    fake.set("class/thermal/thermal_zone0/temp", "41000");
    assert_eq!(shell.temperature().unwrap(), MilliCelsius(41_000));
}
