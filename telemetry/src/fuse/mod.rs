//! Fusion of timing records and sampled telemetry by phase.
//!
//! Windows are half-open, `[start, first boundary)` and `[boundary, end)`: no sample counts twice.
//! Energy is the integral of power over the real times of the samples (trapezoids, interpolated at
//! the edges of windows), so the energies of the phases add up to that of the prompt. Every window
//! tells how many samples it holds and how much of it is covered.

mod engine;
mod zone;

pub use engine::{
    Boundary, FuseOptions, Fused, FusedPrompt, NegativePower, Series, WindowFlag, WindowStats, fuse,
};
pub use zone::{ZoneFit, infer_zone};
