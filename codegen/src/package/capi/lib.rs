//! C API of `enerinfer-runtime`. `include/enerinfer.h` is its documentation.
#![no_std]
// Every unsafe operation has a block and a reason of its own, for old compilers too.
#![deny(unsafe_op_in_unsafe_fn)]

use core::mem::{align_of, size_of};

use enerinfer_runtime::energy::{EnergyController, Policy};
use enerinfer_runtime::model::{ACCEL_KHZ, MEM_KHZ, POINTS};
use enerinfer_runtime::time::Micros;
use enerinfer_runtime::{Coverage, MicroTokPerS, MicroWatt, Predictor, Shape};

type Front = enerinfer_runtime::Front<POINTS>;
type Tables = enerinfer_runtime::Tables<POINTS>;
type Controller = EnergyController<'static, POINTS>;

/// Predictions were made outside the training range.
const EXTRAPOLATED: i32 = 1;
/// An argument was a null pointer.
const NULL: i32 = -1;
/// The operating point stays.
const KEEP: i32 = -2;

// The header's number of operating points, by which C programs size what they hand over.
const _: () = assert!(
    POINTS == @POINTS@,
    "enerinfer-runtime is of other clocks than the header: generate this crate anew, with --capi"
);

/// `enerinfer_shape` of the header.
#[repr(C)]
pub struct CShape {
    layers: u32,
    hidden: u32,
    heads: u32,
    kv_heads: u32,
    ffn: u32,
    vocab: u32,
    head_dim: u32,
    experts: u32,
    active_experts: u32,
    plain_ffn: u32,
    tied_embeddings: u32,
    total_params: u64,
}

/// `enerinfer_tables` of the header.
#[repr(C)]
pub struct CTables {
    throughput_utok_per_s: [u32; POINTS],
    power_uw: [u32; POINTS],
    accel_power_uw: [u32; POINTS],
}

/// `enerinfer_front` of the header: memory of the caller.
#[repr(C, align(8))]
pub struct CFront([u8; 16 * POINTS + 32]);

/// `enerinfer_controller` of the header: memory of the caller.
#[repr(C, align(8))]
pub struct CController([u8; 1024]);

// The caller's memory is large enough and aligned.
const _: () = assert!(size_of::<Front>() <= size_of::<CFront>() && align_of::<Front>() <= 8);
const _: () =
    assert!(size_of::<Controller>() <= size_of::<CController>() && align_of::<Controller>() <= 8);

impl CShape {
    fn to_shape(&self) -> Shape {
        let mut shape =
            Shape::new(self.layers, self.hidden, self.heads, self.kv_heads, self.ffn, self.vocab);
        if self.head_dim != 0 {
            shape = shape.with_head_dim(self.head_dim);
        }
        if self.experts != 0 {
            // Not given: all, so that a model is never thought faster for what nobody said of it.
            let active = if self.active_experts != 0 { self.active_experts } else { self.experts };
            shape = shape.with_experts(self.experts, active);
        }
        if self.plain_ffn != 0 {
            shape = shape.plain_ffn();
        }
        if self.tied_embeddings != 0 {
            shape = shape.tied_embeddings();
        }
        if self.total_params != 0 {
            shape = shape.with_total_params(self.total_params);
        }
        shape
    }
}

/// See the header.
///
/// # Safety
///
/// Pointers are null or valid.
#[export_name = "enerinfer_predict"]
pub unsafe extern "C" fn predict(shape: *const CShape, tables: *mut CTables) -> i32 {
    // SAFETY: as promised by the caller.
    let (shape, tables) = match unsafe { (shape.as_ref(), tables.as_mut()) } {
        (Some(shape), Some(tables)) => (shape, tables),
        _ => return NULL,
    };
    let prediction = Predictor::tables(&shape.to_shape());
    tables.throughput_utok_per_s = prediction.tables.throughput.map(|r| r.0);
    tables.power_uw = prediction.tables.power.map(|p| p.0);
    tables.accel_power_uw = prediction.tables.accel_power.map(|p| p.0);
    match prediction.coverage {
        Coverage::Inside => 0,
        Coverage::Extrapolated { .. } => EXTRAPOLATED,
    }
}

/// See the header.
///
/// # Safety
///
/// Pointers are null or valid.
#[export_name = "enerinfer_front_init"]
pub unsafe extern "C" fn front_init(front: *mut CFront, tables: *const CTables) -> i32 {
    // SAFETY: as promised by the caller.
    let tables = match unsafe { tables.as_ref() } {
        Some(tables) if !front.is_null() => Tables {
            throughput: tables.throughput_utok_per_s.map(MicroTokPerS),
            power: tables.power_uw.map(MicroWatt),
            accel_power: tables.accel_power_uw.map(MicroWatt),
        },
        _ => return NULL,
    };
    // SAFETY: valid as promised, large enough and aligned as asserted above.
    unsafe { front.cast::<Front>().write(Front::new(&tables)) };
    0
}

/// See the header.
///
/// # Safety
///
/// `front` is null or was initialised.
#[export_name = "enerinfer_choose"]
pub unsafe extern "C" fn choose(front: *const CFront, qoe_utok_per_s: u32) -> i32 {
    // SAFETY: as promised by the caller.
    let front = match unsafe { front.cast::<Front>().as_ref() } {
        Some(front) => front,
        None => return NULL,
    };
    match front.entries().get(front.choose(MicroTokPerS(qoe_utok_per_s))) {
        Some(entry) => i32::from(entry.point),
        None => KEEP,
    }
}

/// See the header.
///
/// # Safety
///
/// Pointers are null or valid; `front` was initialised and outlives the controller.
#[export_name = "enerinfer_controller_init"]
pub unsafe extern "C" fn controller_init(
    controller: *mut CController,
    front: *const CFront,
) -> i32 {
    // SAFETY: as promised by the caller, who also keeps the front where it is.
    match unsafe { front.cast::<Front>().as_ref::<'static>() } {
        Some(front) if !controller.is_null() => {
            let new = Controller::new(front, Policy::default());
            // SAFETY: valid as promised, large enough and aligned as asserted above.
            unsafe { controller.cast::<Controller>().write(new) };
            0
        }
        _ => NULL,
    }
}

/// See the header.
///
/// # Safety
///
/// `controller` is null or was initialised.
#[export_name = "enerinfer_begin_decode"]
pub unsafe extern "C" fn begin_decode(
    controller: *mut CController,
    qoe_utok_per_s: u32,
    now_us: u64,
) -> i32 {
    // SAFETY: as promised by the caller.
    match unsafe { controller.cast::<Controller>().as_mut() } {
        Some(c) => i32::from(c.begin_decode(MicroTokPerS(qoe_utok_per_s), Micros(now_us))),
        None => NULL,
    }
}

/// See the header.
///
/// # Safety
///
/// `controller` is null or was initialised.
#[export_name = "enerinfer_on_token"]
pub unsafe extern "C" fn on_token(controller: *mut CController, now_us: u64) -> i32 {
    // SAFETY: as promised by the caller.
    match unsafe { controller.cast::<Controller>().as_mut() } {
        Some(c) => c.on_token(Micros(now_us)).map_or(KEEP, i32::from),
        None => NULL,
    }
}

/// See the header.
///
/// # Safety
///
/// `controller` is null or was initialised.
#[export_name = "enerinfer_end"]
pub unsafe extern "C" fn end(controller: *mut CController) {
    // SAFETY: as promised by the caller.
    if let Some(controller) = unsafe { controller.cast::<Controller>().as_mut() } {
        controller.end();
    }
}

/// See the header.
#[export_name = "enerinfer_accel_khz"]
pub extern "C" fn accel_khz(point: u32) -> u32 {
    match (point as usize) < POINTS {
        true => ACCEL_KHZ.get(point as usize % ACCEL_KHZ.len()).copied().unwrap_or(0),
        false => 0,
    }
}

/// See the header.
#[export_name = "enerinfer_mem_khz"]
pub extern "C" fn mem_khz(point: u32) -> u32 {
    MEM_KHZ.get(point as usize / ACCEL_KHZ.len()).copied().unwrap_or(0)
}

/// No panic is reachable in release builds; in debug builds a fault of this library stops here.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
