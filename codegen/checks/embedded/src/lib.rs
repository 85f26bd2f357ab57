//! Predictions and control: their digest, the same on every target, and what they cost.
#![no_std]

pub mod hour;
#[cfg(feature = "measure")]
pub mod stack;

use enerinfer_runtime::coordinator::Config;
use enerinfer_runtime::{Front, MicroTokPerS, Predictor, Shape};

/// Shapes that are predicted.
pub const SHAPES: u32 = 200;

/// A linear congruential generator (Numerical Recipes), its high bits.
struct Random(u32);

impl Random {
    fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (u64::from(self.0) * u64::from(end) >> 32) as u32
    }

    fn shape(&mut self) -> Shape {
        let heads = 4 + self.below(60);
        Shape::new(
            4 + self.below(60),
            heads * 64 * (1 + self.below(2)),
            heads,
            1 + self.below(heads),
            1024 + self.below(20_000),
            32_000 + self.below(220_000),
        )
    }
}

/// FNV-1a of the tables of pseudo-random shapes, of the points chosen from them, and of an hour
/// under both controllers.
#[no_mangle]
pub extern "C" fn digest() -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut feed = |value: u32| {
        for byte in value.to_le_bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    let mut random = Random(1);
    for _ in 0..SHAPES {
        let tables = Predictor::tables(&random.shape()).tables;
        for ((r, p), a) in tables.throughput.iter().zip(&tables.power).zip(&tables.accel_power) {
            feed(r.0);
            feed(p.0);
            feed(a.0);
        }
        let front = Front::new(&tables);
        feed(front.choose(MicroTokPerS::from_tok_per_s(random.below(20))) as u32);
    }
    let hour = hour::run(Config::default()).digest;
    feed(hour as u32);
    feed((hour >> 32) as u32);
    hash
}

/// Calls a function with each of the shapes.
#[cfg(feature = "measure")]
pub fn for_each_shape(mut f: impl FnMut(&Shape)) {
    let mut random = Random(1);
    for _ in 0..SHAPES {
        f(&random.shape());
        random.below(20);
    }
}

/// Predicts one table.
#[cfg(feature = "measure")]
#[inline(never)]
pub fn table(shape: &Shape) {
    core::hint::black_box(Predictor::tables(shape));
}

/// Predicts one table and chooses from it.
#[cfg(feature = "measure")]
#[inline(never)]
pub fn choice(shape: &Shape) {
    let front = Front::new(&Predictor::tables(shape).tables);
    core::hint::black_box(front.choose(MicroTokPerS::from_tok_per_s(5)));
}

#[cfg(any(target_os = "none", target_arch = "wasm32", freestanding))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
