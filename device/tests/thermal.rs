//! The thermal models: h_phone against EnerInfer Figure 14 and observation 3, and laws.

use enerinfer_device::calibrate::{
    H_PHONE_REST_SHELL_CELSIUS, H_PHONE_STRESS_CORE_CELSIUS, thermal_targets,
};
use enerinfer_device::thermal::Temperatures;
use enerinfer_device::{SimulatedDevice, names};
use proptest::prelude::*;

#[test]
fn h_phone_warms_up_as_published_within_15_percent() {
    let phone = SimulatedDevice::builtin("h_phone", None).unwrap();
    let targets = thermal_targets(H_PHONE_REST_SHELL_CELSIUS, H_PHONE_STRESS_CORE_CELSIUS).unwrap();
    assert_eq!(targets.len(), 4);
    for target in targets {
        let seconds = target.simulate(phone.thermal()).unwrap();
        println!(
            "{:28} to {} °C at {:.2} W: published {} s, simulated {seconds:.0} s",
            target.source, target.threshold_celsius, target.power_w, target.seconds
        );
        assert!((seconds / target.seconds - 1.0).abs() <= 0.15, "{target:?}: {seconds} s");
    }
}

#[test]
fn an_hour_ends_in_the_steady_state() {
    for platform in names() {
        let device = SimulatedDevice::builtin(platform, None).unwrap();
        let steady = device.thermal().steady(3.0, 25.0);
        let cold = Temperatures { core_celsius: 25.0, shell_celsius: 25.0 };
        let later = device.thermal().step(cold, 3.0, 25.0, 24.0 * 3600.0);
        assert!((later.shell_celsius - steady.shell_celsius).abs() < 0.01, "{platform} {later:?}");
        assert!((later.core_celsius - steady.core_celsius).abs() < 0.01, "{platform} {later:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// More power never cools, and the size of a step hardly matters.
    #[test]
    fn warmer_with_power_and_independent_of_steps(
        device in 0..names().len(), power in 0.0..5.0f64, more in 0.0..5.0f64,
        core in 20.0..60.0f64, shell in 20.0..45.0f64, ambient in 15.0..35.0f64,
    ) {
        let device = SimulatedDevice::builtin(names()[device], None).unwrap();
        let from = Temperatures { core_celsius: core, shell_celsius: shell };
        let once = device.thermal().step(from, power, ambient, 21.0);
        let hotter = device.thermal().step(from, power + more, ambient, 21.0);
        prop_assert!(hotter.shell_celsius >= once.shell_celsius - 1e-9);
        prop_assert!(hotter.core_celsius >= once.core_celsius - 1e-9);
        let by_seconds = (0..21).fold(from, |at, _| device.thermal().step(at, power, ambient, 1.0));
        prop_assert!((by_seconds.shell_celsius - once.shell_celsius).abs() < 1e-3);
    }
}
