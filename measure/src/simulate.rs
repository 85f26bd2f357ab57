//! `measure simulate`: a measurement table of a simulated device.

use std::path::PathBuf;

use enerinfer_datasets::{Model, WeightFormat, sampler, survey};
use enerinfer_device::{Noise, SimulatedDevice, names};

use crate::failure::Failure;
use crate::output::{self, say};
use crate::values;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  measure simulate --platform orin --out measurements.csv\n  \
measure simulate --platform h_phone --models survey --noise-percent 0 --out table.csv")]
pub(crate) struct Args {
    /// Simulated device
    #[arg(long)]
    platform: String,
    /// Weight format; the device's default if absent
    #[arg(long, value_parser = values::format)]
    format: Option<WeightFormat>,
    /// `survey`, or the number of shapes to sample
    #[arg(long, default_value = "300")]
    models: String,
    /// Relative standard deviation of the measurement noise, %
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true, value_parser = values::number(0.0..=50.0))]
    noise_percent: f64,
    /// Seed of shapes and noise
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Table to write; stdout if absent
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let device = SimulatedDevice::builtin(&args.platform, args.format)
        .map_err(|e| Failure::input(format!("{e}; built-in devices: {}", names().join(", "))))?;
    let models: Vec<Model> = if args.models == "survey" {
        let all = survey::all().iter();
        all.map(|m| Model { name: m.name.clone(), shape: m.shape }).collect()
    } else {
        let count = args.models.parse().map_err(|_| {
            Failure::input(format!("--models `{}` is neither `survey` nor a number", args.models))
        })?;
        sampler::sample(count, args.seed).map_err(|e| Failure::input(e.to_string()))?
    };
    let all = models.len();
    let models: Vec<Model> = models.into_iter().filter(|m| device.fits(&m.shape)).collect();
    if models.len() < all {
        say!(
            "{} of {all} models do not fit the device's memory and are left out",
            all - models.len()
        );
    }
    let table =
        device.measure(&models, Noise { relative_sd: args.noise_percent / 100.0 }, args.seed);
    output::table(args.out.as_deref(), table.to_csv().as_bytes())
}
