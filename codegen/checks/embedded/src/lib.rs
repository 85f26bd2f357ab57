//! A digest of predictions for many shapes and of an hour under both controllers, the same on
//! every target.
#![no_std]

pub mod hour;

use enerinfer_runtime::coordinator::Config;
use enerinfer_runtime::{Front, MicroTokPerS, Predictor, Shape};

/// Shapes that are predicted.
const SHAPES: u32 = 200;

/// FNV-1a of the tables of pseudo-random shapes, of the points chosen from them, and of the hour.
#[no_mangle]
pub extern "C" fn digest() -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut feed = |value: u32| {
        for byte in value.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    let mut state = 1u32;
    // A linear congruential generator (Numerical Recipes), its high bits.
    let mut random = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (u64::from(state) * u64::from(below) >> 32) as u32
    };
    for _ in 0..SHAPES {
        let heads = 4 + random(60);
        let shape = Shape::new(
            4 + random(60),
            heads * 64 * (1 + random(2)),
            heads,
            1 + random(heads),
            1024 + random(20_000),
            32_000 + random(220_000),
        );
        let tables = Predictor::tables(&shape).tables;
        for ((r, p), a) in tables.throughput.iter().zip(&tables.power).zip(&tables.accel_power) {
            feed(r.0);
            feed(p.0);
            feed(a.0);
        }
        let front = Front::new(&tables);
        feed(front.choose(MicroTokPerS::from_tok_per_s(random(20))) as u32);
    }
    let hour = hour::run(Config::default()).digest;
    feed(hour as u32);
    feed((hour >> 32) as u32);
    hash
}

#[cfg(all(not(test), any(target_os = "none", target_arch = "wasm32")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
