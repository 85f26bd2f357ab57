//! How much stack a call takes: the memory below the stack pointer is painted before, and looked
//! at after.

use core::arch::asm;

use enerinfer_runtime::Shape;

/// More than any call takes.
const PAINTED: usize = 64 << 10;
const PAINT: u32 = 0x5aa5_c33c;

/// Largest number of bytes that `f` took, its own frame and its caller's return address included.
pub fn most_bytes(f: fn(&Shape)) -> usize {
    let mut most = 0;
    super::for_each_shape(|shape| most = most.max(bytes(f, shape)));
    most
}

#[inline(never)]
fn bytes(f: fn(&Shape), shape: &Shape) -> usize {
    let top = stack_pointer();
    let bottom = top - PAINTED;
    for address in (bottom..top).step_by(4) {
        // SAFETY: stack that nobody uses now; this function calls nothing while it paints.
        unsafe { (address as *mut u32).write_volatile(PAINT) };
    }
    f(shape);
    let mut address = bottom;
    // SAFETY: as above; reading ends at the caller's frame at the latest.
    while address < top && unsafe { (address as *const u32).read_volatile() } == PAINT {
        address += 4;
    }
    assert!(address > bottom);
    top - address
}

#[inline(always)]
fn stack_pointer() -> usize {
    let pointer: usize;
    // SAFETY: reads a register.
    unsafe {
        #[cfg(target_arch = "x86_64")]
        asm!("mov {}, rsp", out(reg) pointer, options(nomem, nostack));
        #[cfg(any(target_arch = "arm", target_arch = "aarch64"))]
        asm!("mov {}, sp", out(reg) pointer, options(nomem, nostack));
    }
    pointer & !3
}
