//! The generated crate behind a panic handler that does not link.
#![no_std]

use core::panic::PanicInfo;
use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::{Coverage, Front, MicroTokPerS, Predictor, Shape};

extern "C" {
    /// Defined nowhere: if a panic is reachable, linking fails and names it.
    fn a_panic_is_reachable() -> !;
}

#[panic_handler]
fn panic(_: &PanicInfo) -> ! {
    // SAFETY: never runs, since it never links.
    unsafe { a_panic_is_reachable() }
}

/// Everything from a shape to a choice.
#[no_mangle]
pub extern "C" fn choose(dims: &[u32; 9], qoe: u32) -> u32 {
    let [layers, hidden, heads, kv_heads, ffn, vocab, head_dim, experts, active] = *dims;
    let shape = Shape::new(layers, hidden, heads, kv_heads, ffn, vocab)
        .with_head_dim(head_dim)
        .with_experts(experts, active);
    let prediction = Predictor::tables(&shape);
    let front = Front::new(&prediction.tables);
    let flag = u32::from(prediction.coverage == Coverage::Inside);
    match front.entries().get(front.choose(MicroTokPerS(qoe))) {
        Some(entry) => u32::from(entry.point) << 1 | flag,
        None => u32::MAX,
    }
}

/// One operating point, which may not exist.
#[no_mangle]
pub extern "C" fn one_point(dims: &[u32; 6], point: u16) -> u32 {
    let [layers, hidden, heads, kv_heads, ffn, vocab] = *dims;
    let shape = Shape::new(layers, hidden, heads, kv_heads, ffn, vocab);
    match Predictor::at_point(&shape, point) {
        Some(p) => p.throughput.0 ^ p.power.0 ^ p.accel_power.0,
        None => u32::MAX,
    }
}

/// Both controllers, driven by events that are anything at all.
#[no_mangle]
pub extern "C" fn control(dims: &[u32; 6], qoe: u32, events: &[[u64; 3]; 16]) -> u32 {
    let [layers, hidden, heads, kv_heads, ffn, vocab] = *dims;
    let shape = Shape::new(layers, hidden, heads, kv_heads, ffn, vocab);
    let tables = Predictor::tables(&shape).tables;
    let fronts = Fronts::new(&tables);
    let model = ThermalModel::PERSISTENCE;
    let mut control = Coordinator::new(&tables, &fronts, &model, Config::default());
    let mut last = 0;
    for &[event, time, value] in events {
        let (now, value) = (Micros(time), value as i32);
        let point = match event {
            0 => control.begin_prefill(now),
            1 => control.begin_decode(MicroTokPerS(qoe), now),
            2 => control.on_token(now),
            3 => control.tick(now, None),
            4 => control.tick(now, Some(MilliCelsius(value))),
            5 => control.set_qoe(MicroTokPerS(value.unsigned_abs()), now),
            6 => control.set_memory_heavy_foreground(value > 0, now),
            7 => {
                control.set_achieved(value as u16);
                None
            }
            _ => {
                control.end();
                None
            }
        };
        last = point.map_or(last, u32::from);
    }
    last
}
