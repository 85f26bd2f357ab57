//! Counts the instructions of the controllers' calls on an emulated Cortex-M4.
//!
//! The emulator runs one instruction per nanosecond of its clock (`-icount shift=0`); the SysTick
//! timer of the board counts that clock at 25 MHz, so a count is 40 instructions.
#![no_std]
#![no_main]

use core::arch::asm;
use core::hint::black_box;

use enerinfer_runtime::coordinator::{Config, Coordinator, Fronts};
use enerinfer_runtime::energy;
use enerinfer_runtime::qoe;
use enerinfer_runtime::tables::Tables;
use enerinfer_runtime::temperature::MilliCelsius;
use enerinfer_runtime::thermal;
use enerinfer_runtime::thermal_model::ThermalModel;
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::units::{MicroTokPerS, MicroWatt};

/// As many operating points as the high-end phone of EnerInfer has.
const POINTS: usize = 45;
const INSTRUCTIONS_PER_COUNT: u32 = 40;

/// Warms by some hundredths of a degree per second and watt.
const MODEL: ThermalModel = ThermalModel {
    intercept_uc: -800_000,
    power_uc_per_w: 100_000,
    time_power_uc_per_ws: 50_000,
    ..ThermalModel::PERSISTENCE
};

fn tables() -> Tables<POINTS> {
    let level = |i: usize| i as u32 + 1;
    Tables {
        throughput: core::array::from_fn(|i| MicroTokPerS(3_000_000 + 300_000 * level(i))),
        power: core::array::from_fn(|i| MicroWatt(150_000 + 700 * level(i) * level(i))),
        accel_power: core::array::from_fn(|i| MicroWatt(100_000 + 500 * level(i) * level(i))),
    }
}

mod systick {
    const CONTROL: *mut u32 = 0xe000_e010 as *mut u32;
    const RELOAD: *mut u32 = 0xe000_e014 as *mut u32;
    const VALUE: *mut u32 = 0xe000_e018 as *mut u32;
    const LARGEST: u32 = 0x00ff_ffff;

    pub fn start() {
        // SAFETY: registers of the core (ARMv7-M, B3.3); nothing else uses them.
        unsafe {
            RELOAD.write_volatile(LARGEST);
            VALUE.write_volatile(0);
            CONTROL.write_volatile(0b101); // enabled, processor clock, no interrupt
        }
    }

    /// Counts of a call.
    pub fn count<T>(call: impl FnOnce() -> T) -> u32 {
        // SAFETY: as above; reading has no effect.
        let before = unsafe { VALUE.read_volatile() };
        core::hint::black_box(call());
        let after = unsafe { VALUE.read_volatile() };
        before.wrapping_sub(after) & LARGEST
    }
}

/// The largest cost of many calls, in instructions.
fn most(mut call: impl FnMut(u64) -> u32) -> u32 {
    let mut most = 0;
    for i in 0..4_000 {
        most = most.max(call(i));
    }
    most * INSTRUCTIONS_PER_COUNT
}

/// On time, late for a while, in bursts: every branch of the energy-aware controller.
fn token_us(i: u64) -> u64 {
    match i / 100 % 5 {
        0 => 190_000 + i % 7 * 1_000,
        1 => 260_000,
        2 => 100_000,
        3 => i % 4 * 130_000,
        _ => 205_000,
    }
}

/// Cool, warm, hot and back, with gaps between ticks.
fn reading(i: u64) -> MilliCelsius {
    let up = i % 400;
    let away = if up < 200 { up } else { 400 - up };
    MilliCelsius(30_000 + away as i32 * 65 + (i % 3) as i32)
}

fn costs(paper: bool) -> (u32, u32) {
    let tables = tables();
    let fronts = Fronts::new(&tables);
    let config = Config {
        energy: if paper { energy::Policy::Paper } else { energy::Policy::Default },
        thermal: thermal::Config {
            policy: if paper { thermal::Policy::Paper } else { thermal::Policy::Default },
            ..thermal::Config::default()
        },
    };
    let fresh = || {
        let mut control = Coordinator::new(&tables, &fronts, &MODEL, config);
        control.tick(Micros(0), Some(MilliCelsius(30_000)));
        control.begin_decode(qoe::READING, Micros(0));
        control
    };
    let mut control = fresh();
    let mut now = 0;
    let token = most(|i| {
        now += token_us(i);
        if i % 500 == 0 {
            control.begin_decode(qoe::READING, Micros(now));
        }
        // A reading that never changes would be a stuck sensor's.
        control.tick(Micros(now), Some(MilliCelsius(30_000 + (i % 3) as i32)));
        systick::count(|| control.on_token(black_box(Micros(now + 10))))
    });
    let mut control = fresh();
    let mut now = 0;
    let tick = most(|i| {
        now += if i % 50 == 0 { 20_000_000 } else { 1_000_000 };
        systick::count(|| control.tick(black_box(Micros(now)), black_box(Some(reading(i)))))
    });
    (token, tick)
}

fn semihosting(operation: u32, argument: u32) {
    // SAFETY: the emulator's documented call; it reads memory only.
    unsafe {
        asm!("bkpt 0xab", inout("r0") operation => _, in("r1") argument, options(nostack));
    }
}

fn print(name: &[u8], value: u32) {
    let mut text = [0u8; 48];
    let (head, rest) = text.split_at_mut(name.len());
    head.copy_from_slice(name);
    let mut digits = 1;
    while value / 10u32.pow(digits) > 0 {
        digits += 1;
    }
    for (i, slot) in rest.iter_mut().take(digits as usize).enumerate() {
        *slot = b'0' + (value / 10u32.pow(digits - 1 - i as u32) % 10) as u8;
    }
    rest[digits as usize] = b'\n';
    semihosting(4, text.as_ptr() as u32); // SYS_WRITE0
}

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

extern "C" fn reset() -> ! {
    systick::start();
    for (paper, name_token, name_tick) in [
        (false, &b"on_token_default "[..], &b"tick_default "[..]),
        (true, &b"on_token_paper "[..], &b"tick_paper "[..]),
    ] {
        let (token, tick) = costs(paper);
        print(name_token, token);
        print(name_tick, tick);
    }
    semihosting(0x18, 0x2_0026); // SYS_EXIT, application exit
    loop {}
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
