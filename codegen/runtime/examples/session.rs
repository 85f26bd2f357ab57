//! One request under both controllers, without hardware.

use enerinfer_runtime_core::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime_core::qoe;
use enerinfer_runtime_core::tables::Tables;
use enerinfer_runtime_core::temperature::MilliCelsius;
use enerinfer_runtime_core::thermal_model::ThermalModel;
use enerinfer_runtime_core::time::Micros;
use enerinfer_runtime_core::units::{MicroTokPerS, MicroWatt};

fn main() {
    // In a generated crate the tables come from `Predictor::tables` for the model's shape.
    let tables = Tables {
        throughput: [4_000_000, 6_000_000, 9_000_000].map(MicroTokPerS),
        power: [250_000, 300_000, 600_000].map(MicroWatt),
        accel_power: [150_000, 180_000, 400_000].map(MicroWatt),
    };
    let fronts = Fronts::new(&tables);
    let model = ThermalModel::PERSISTENCE;
    let mut control = Coordinator::new(&tables, &fronts, &model, Config::default());

    control.tick(Micros(0), Some(MilliCelsius::from_celsius(30)));
    println!("prefill at point {:?}", control.begin_prefill(Micros(1_000)));
    println!("decode at point {:?}", control.begin_decode(qoe::READING, Micros(200_000)));
    // Something slows the engine to 3 tokens/s: the controller moves up.
    for i in 1..=10 {
        let now = Micros(200_000 + i * 333_000);
        if let Some(point) = control.on_token(now) {
            println!("token {i}: to point {point}");
        }
    }
    control.end();
    println!("{:?}", control.status());
}
