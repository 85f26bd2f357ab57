//! One request under the control of both controllers, with times and a temperature made up.

use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime::model::THERMAL;
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::{qoe, Predictor, Shape};

fn main() {
    let shape = Shape::new(28, 1536, 12, 2, 8960, 151_936).tied_embeddings();
    let tables = Predictor::tables(&shape).tables;
    let fronts = Fronts::new(&tables);
    // Without a model of the device, the shell is expected to stay as warm as it is.
    let thermal = THERMAL.unwrap_or(ThermalModel::PERSISTENCE);
    let mut control = Coordinator::new(&tables, &fronts, &thermal, Config::default());

    // Every call returns the operating point to apply, if it changed.
    let shell = Some(MilliCelsius::from_celsius(30));
    let calls = [
        control.tick(Micros(0), shell), // every second
        control.begin_prefill(Micros(1_000)),
        control.begin_decode(qoe::READING, Micros(200_000)),
        control.on_token(Micros(360_000)),
    ];
    for point in calls.into_iter().flatten() {
        println!("operating point {point}");
    }
    control.end();
}
