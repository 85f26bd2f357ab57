//! From a shape to an hour under both controllers, with nothing but this crate.

mod common;

use common::{Engine, Thermal};
use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::units::MicroTokPerS;
use enerinfer_runtime::{model, Predictor, Shape};

#[test]
fn shape_to_an_hour_of_tokens() {
    let shape = Shape::new(28, 1536, 12, 2, 8960, 151_936).tied_embeddings();
    let tables = Predictor::tables(&shape).tables;
    let fronts = Fronts::new(&tables);
    let thermal = model::THERMAL.expect("the committed model has a thermal model");
    let mut control = Coordinator::new(&tables, &fronts, &thermal, Config::default());
    let fastest = tables.throughput.iter().max().map_or(0, |r| r.0);
    let qoe = MicroTokPerS(fastest / 2);
    let heat = |point: u16| f64::from(tables.accel_power[usize::from(point)].0);
    let coolest = (0..model::POINTS as u16).map(heat).fold(f64::INFINITY, f64::min);
    let mut engine = Engine::new(&tables.throughput, |_| 1.0);
    let mut device = Thermal::at(28.0);
    let mut point = control.begin_prefill(Micros(0)).unwrap_or(0);
    point = control.begin_decode(qoe, Micros(0)).unwrap_or(point);
    let mut next_tick = 0;
    let mut hottest: f64 = 0.0;
    while engine.now.0 < 3_600_000_000 {
        let before = engine.now.0;
        let now = engine.token(point, 1.0, 0.01);
        // The tiny model's powers are drawn at random: scaled so that the coolest point ends at
        // 37 °C.
        let watts = 0.3 * heat(point) / coolest;
        device.step(watts, (now.0 - before) as f64 / 1e6);
        hottest = hottest.max(device.shell_c);
        point = control.on_token(now).unwrap_or(point);
        while next_tick <= now.0 {
            let reading = MilliCelsius((device.shell_c * 1e3) as i32);
            point = control.tick(Micros(next_tick), Some(reading)).unwrap_or(point);
            next_tick += 1_000_000;
        }
        assert!(usize::from(point) < model::POINTS);
    }
    assert_eq!(control.status().achieved, point);
    assert!(hottest > 36.0 && hottest < 42.5, "{hottest} °C");
}
