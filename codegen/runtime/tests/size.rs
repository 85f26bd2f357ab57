//! Memory of the controllers. Tables and fronts grow with the operating points and are not
//! counted: they are borrowed.

use core::mem::size_of;

use enerinfer_runtime::coordinator::Coordinator;
use enerinfer_runtime::energy::EnergyController;
use enerinfer_runtime::thermal::ThermalController;
use enerinfer_runtime::thermal_model::ThermalModel;

/// On a host of 64 bits; pointers make it smaller on microcontrollers.
#[test]
fn controllers_and_thermal_model_fit_a_kibibyte() {
    let state = size_of::<Coordinator<'static, 45>>();
    let model = size_of::<ThermalModel>();
    println!("coordinator {state} bytes, thermal model {model} bytes");
    assert!(state + model < 1024, "{state} + {model}");
    // The coordinator is its two controllers and little more.
    let parts =
        size_of::<EnergyController<'static, 45>>() + size_of::<ThermalController<'static, 45>>();
    assert!(state < parts + 64, "{state} for {parts}");
    // None of them holds a table.
    assert_eq!(state, size_of::<Coordinator<'static, 1024>>());
}
