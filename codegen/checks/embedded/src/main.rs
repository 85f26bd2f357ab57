//! Prints the digest: on the host, on a Cortex-M4 by semihosting, on aarch64 without a C library.
//! With the feature `measure`, prints what a prediction costs instead, one hexadecimal number per
//! line: stack in bytes of a table and of a choice, and on a Cortex-M4 ticks of 40 instructions
//! that all tables took.
#![cfg_attr(target_os = "none", no_std, no_main)]

/// `value` in hex with a line end and a zero.
#[cfg(target_os = "none")]
fn hex(value: u64) -> [u8; 18] {
    let mut text = [b'\n'; 18];
    let mut shift = 64;
    for slot in text.iter_mut().take(16) {
        shift -= 4;
        let digit = (value >> shift & 0xf) as u8;
        *slot = if digit < 10 { b'0' + digit } else { b'a' + digit - 10 };
    }
    if let Some(end) = text.last_mut() {
        *end = 0;
    }
    text
}

#[cfg(not(feature = "measure"))]
fn report(print: impl Fn(u64)) {
    print(probe::digest());
}

#[cfg(feature = "measure")]
fn report(print: impl Fn(u64)) {
    print(probe::stack::most_bytes(probe::table) as u64);
    print(probe::stack::most_bytes(probe::choice) as u64);
    #[cfg(all(target_os = "none", target_arch = "arm"))]
    print(u64::from(cortex_m::ticks(|| probe::for_each_shape(probe::table))));
}

#[cfg(not(target_os = "none"))]
fn main() {
    // With a number: that many rounds of tables, for a profiler to count.
    #[cfg(feature = "measure")]
    if let Some(Ok(rounds)) = std::env::args().nth(1).map(|arg| arg.parse::<u32>()) {
        for _ in 0..rounds {
            probe::for_each_shape(probe::table);
        }
        return;
    }
    report(|value| println!("{value:016x}"));
}

#[cfg(all(target_os = "none", target_arch = "arm"))]
mod cortex_m {
    use core::arch::asm;

    extern "C" {
        static _stack_top: u32;
    }

    #[repr(C)]
    struct Vectors {
        stack_top: &'static u32,
        reset: extern "C" fn() -> !,
    }

    #[link_section = ".vectors"]
    #[used]
    static VECTORS: Vectors = Vectors {
        // SAFETY: the linker script defines it; only its address is used.
        stack_top: unsafe { &_stack_top },
        reset,
    };

    fn semihosting(operation: u32, argument: u32) {
        // SAFETY: the emulator's documented call; it reads memory only.
        unsafe {
            asm!("bkpt 0xab", inout("r0") operation => _, in("r1") argument, options(nostack));
        }
    }

    /// Ticks of the core's timer while `f` runs; below 2^24.
    #[cfg(feature = "measure")]
    pub fn ticks(f: impl FnOnce()) -> u32 {
        const CONTROL: *mut u32 = 0xe000_e010 as *mut u32;
        const RELOAD: *mut u32 = 0xe000_e014 as *mut u32;
        const VALUE: *mut u32 = 0xe000_e018 as *mut u32;
        // SAFETY: SysTick of every Cortex-M; nothing else uses it here.
        unsafe {
            RELOAD.write_volatile(0xff_ffff);
            VALUE.write_volatile(0);
            CONTROL.write_volatile(5); // enabled, by the core's clock
            let before = VALUE.read_volatile();
            f();
            before.wrapping_sub(VALUE.read_volatile()) & 0xff_ffff
        }
    }

    extern "C" fn reset() -> ! {
        super::report(|value| {
            let text = super::hex(value);
            semihosting(4, text.as_ptr() as u32); // SYS_WRITE0
        });
        semihosting(0x18, 0x2_0026); // SYS_EXIT, application exit
        loop {}
    }
}

#[cfg(all(target_os = "none", target_arch = "aarch64"))]
mod linux_aarch64 {
    use core::arch::asm;

    fn call(number: usize, a: usize, b: usize, c: usize) {
        // SAFETY: `write` and `exit` of Linux.
        unsafe {
            asm!("svc 0", in("x8") number, inout("x0") a => _, in("x1") b, in("x2") c, options(nostack));
        }
    }

    #[no_mangle]
    extern "C" fn _start() -> ! {
        super::report(|value| {
            let text = super::hex(value);
            call(64, 1, text.as_ptr() as usize, 17); // write
        });
        call(93, 0, 0, 0); // exit
        loop {}
    }
}
