//! The generated crate behind a panic handler that does not link.
#![no_std]

use core::panic::PanicInfo;
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
