//! The decode model: time and power of one token from clocks and matrix shapes.
//!
//! Time per token is the sum over the matrix–vector products `W·x`, `W` of `n × k`, of
//!
//! ```text
//! (t_mem^p + t_acc^p)^(1/p) + launch
//! t_mem = bytes(n, k)·(1 + r_mem/n)·(1 + c_mem/k) / bandwidth(i_mem)
//! t_acc = (n + r_acc)·(k/weights_per_cycle + row_cycles) / f(i_acc)
//! ```
//!
//! with `n` and `k` rounded up to tiles. `p = 1` would be no overlap of memory and compute,
//! `p → ∞` a full one. `t_acc` holds what a clock of the accelerator has to do per byte and per
//! row, and so it is also what keeps memory bandwidth unsaturated at low accelerator clocks.
//! Narrow matrices lose time to ramps (`r`, `c`) and to the fixed work of a row.
//!
//! Power is
//!
//! ```text
//! P     = a(i_mem) + e·bytes/s + P_acc
//! P_acc = busy(i_acc)·(u + σ·s + κ·(1 − u − s)) + w·weights/s·v(i_acc)²
//! ```
//!
//! where `u + s` is the share of `t_acc` in the time per token, `u` of it spent on weights and
//! `s` on ramps, rows and padding; `σ` and `κ` are the fractions of busy power while stalled
//! there and while waiting for memory or launches; `w` is the energy of dequantising and
//! multiplying one weight of the format at the highest clock and `v` the voltage relative to the
//! highest clock's. With `σ = 1` this is the form that EnerInfer's Figure 4 led us to.

use enerinfer_datasets::{Gemv, LlmShape, OperatingPoint, WeightFormat};

use crate::layout::bits_per_weight;
use crate::parameters::{FormatParameters, Parameters};

/// A simulated decode at one operating point, without noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decode {
    /// Throughput, tokens/s.
    pub throughput_tok_per_s: f64,
    /// Power of the platform's power domain, W.
    pub power_w: f64,
    /// Accelerator power, W; part of `power_w`.
    pub accel_power_w: f64,
}

impl Decode {
    /// Energy efficiency `E = R / P`, tokens/J.
    pub fn efficiency_tok_per_j(&self) -> f64 {
        self.throughput_tok_per_s / self.power_w
    }
}

/// Simulates decoding of one token.
pub(crate) fn decode(
    parameters: &Parameters,
    format: WeightFormat,
    of_format: &FormatParameters,
    shape: &LlmShape,
    point: OperatingPoint,
) -> Decode {
    let (mem, accel) = (usize::from(point.mem), usize::from(point.accel));
    let cycles_per_s = parameters.effective_mhz[accel] * 1e6;

    let (mut token_s, mut accel_total_s, mut bytes, mut weights) = (0.0, 0.0, 0.0, 0.0);
    for gemv in shape.gemvs() {
        let count = f64::from(gemv.count);
        let bytes_per_weight = bits_per_weight(format, gemv.op) / 8.0;
        let time = product_time(parameters, format, of_format, &gemv, point);
        token_s += count * time.total_s;
        accel_total_s += count * time.accel_s;
        // Padding takes time, as its lanes wait for the others, but no energy of access.
        let real = count * f64::from(gemv.outputs) * f64::from(gemv.inputs);
        bytes += real * bytes_per_weight;
        weights += real;
    }

    let weights_s = weights / of_format.weights_per_cycle / cycles_per_s;
    let busy = weights_s / token_s;
    let stalled = (accel_total_s - weights_s) / token_s;
    let activity = busy
        + parameters.stall_fraction * stalled
        + parameters.idle_fraction * (1.0 - busy - stalled).max(0.0);
    let voltage = parameters.relative_voltage[accel];
    let accel_power_w = parameters.busy_w[accel] * activity
        + of_format.pj_per_weight * 1e-12 * weights / token_s * voltage * voltage;
    let memory_power_w =
        parameters.background_w[mem] + parameters.access_pj_per_byte * 1e-12 * bytes / token_s;
    Decode {
        throughput_tok_per_s: 1.0 / token_s,
        power_w: memory_power_w + accel_power_w,
        accel_power_w,
    }
}

/// Time of one matrix–vector product.
pub(crate) struct ProductTime {
    /// Launch and overlap of memory and accelerator, s.
    pub(crate) total_s: f64,
    /// The accelerator's part, s.
    accel_s: f64,
}

/// Time of one of `gemv`'s products.
pub(crate) fn product_time(
    parameters: &Parameters,
    format: WeightFormat,
    of_format: &FormatParameters,
    gemv: &Gemv,
    point: OperatingPoint,
) -> ProductTime {
    let (mem, accel) = (usize::from(point.mem), usize::from(point.accel));
    let rows = padded(gemv.outputs, parameters.tile_rows);
    let columns = padded(gemv.inputs, of_format.tile_columns);
    let bytes_per_weight = bits_per_weight(format, gemv.op) / 8.0;
    let memory_s = rows
        * columns
        * bytes_per_weight
        * (1.0 + parameters.memory_ramp_rows / rows)
        * (1.0 + parameters.memory_ramp_columns / columns)
        / (parameters.bandwidth_gb_per_s[mem] * 1e9);
    let accel_s = (rows + parameters.ramp_rows)
        * (columns / of_format.weights_per_cycle + parameters.row_cycles)
        / (parameters.effective_mhz[accel] * 1e6);
    let overlap_s = p_norm(memory_s, accel_s, parameters.overlap_exponent);
    ProductTime { total_s: overlap_s + parameters.launch_us * 1e-6, accel_s }
}

fn padded(size: u32, tile: u32) -> f64 {
    f64::from(size.div_ceil(tile)) * f64::from(tile)
}

/// `(a^p + b^p)^(1/p)` without overflow for positive `a` and `b`.
fn p_norm(a: f64, b: f64, p: f64) -> f64 {
    let (large, small) = if a > b { (a, b) } else { (b, a) };
    large * (1.0 + (small / large).powf(p)).powf(1.0 / p)
}
