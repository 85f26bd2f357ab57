//! `measure calibrate`: fits a simulated device to published figures.

use std::fmt::Write as _;
use std::path::PathBuf;

use enerinfer_device::calibrate::{
    Calibration, Effort, Fitted, ThermalFit, calibrate, calibrate_thermal, comparison, markdown,
    platform_file,
};
use enerinfer_device::{DeviceError, SimulatedDevice};
use toml_edit::{Array, DocumentMut, Item, TomlError, value};

use crate::failure::Failure;
use crate::output::{self, say};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  measure calibrate --platform orin\n  \
measure calibrate --platform orin --refine --out device/platforms/orin.toml\n  \
measure calibrate --thermal\n  measure calibrate --report device/CALIBRATION.md")]
pub(crate) struct Args {
    #[command(flatten)]
    what: What,
    /// Start from the platform file instead of from cold
    #[arg(long, conflicts_with_all = ["thermal", "report"])]
    refine: bool,
    /// Platform file to write, with the fitted parameters in place; stdout gets them if absent
    #[arg(long, value_name = "FILE", conflicts_with_all = ["thermal", "report"])]
    out: Option<PathBuf>,
}

#[derive(clap::Args)]
#[group(required = true, multiple = false)]
struct What {
    /// Built-in device to fit; the larger ones take minutes
    #[arg(long)]
    platform: Option<String>,
    /// Fit the thermal model, which is h_phone's
    #[arg(long)]
    thermal: bool,
    /// Fit nothing: write how close every built-in device comes to what is published
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(path) = &args.what.report {
        let text = markdown().map_err(failure)?;
        return output::table(Some(path), text.as_bytes());
    }
    let Some(platform) = &args.what.platform else {
        return output::stdout(thermal(&calibrate_thermal().map_err(failure)?).as_bytes());
    };
    let effort = if args.refine { Effort::Refine } else { Effort::Cold };
    let calibration = calibrate(platform, effort).map_err(failure)?;
    say!(
        "{platform}: {} free parameters, {} published values, cost {:.4} (platform file: {:.4})",
        calibration.free_parameters,
        calibration.published_values,
        calibration.fitted_cost,
        calibration.committed_cost,
    );
    let file = fitted_file(&calibration)
        .map_err(|e| Failure::Failed(format!("platform file of {platform}: {e}")))?;
    let device = |format| SimulatedDevice::from_toml(&file, platform, Some(format));
    output::stderr(format_args!("{}", comparison(platform, device).map_err(failure)?));
    match &args.out {
        Some(path) => output::table(Some(path), file.as_bytes()),
        None => {
            let mut text = String::new();
            for fitted in &calibration.fitted {
                let _ = writeln!(text, "{} = {}", fitted.path.join("."), item(fitted));
            }
            output::stdout(text.as_bytes())
        }
    }
}

/// What the user named is not there, or the device cannot be fitted: input.
fn failure(e: DeviceError) -> Failure {
    Failure::input(e.to_string())
}

/// The platform file with the fitted parameters in place, comments and sources kept.
fn fitted_file(calibration: &Calibration) -> Result<String, Box<dyn std::error::Error>> {
    let text = platform_file(&calibration.platform)?;
    let mut document = text.parse::<DocumentMut>().map_err(|e: TomlError| Box::new(e))?;
    for fitted in &calibration.fitted {
        let mut place = document.as_item_mut();
        for key in &fitted.path {
            place = &mut place[key.as_str()];
        }
        place["value"] = item(fitted);
    }
    Ok(document.to_string())
}

fn item(fitted: &Fitted) -> Item {
    match fitted.values.as_slice() {
        [single] => value(*single),
        levels => value(levels.iter().copied().collect::<Array>()),
    }
}

/// The thermal parameters as a platform file has them, and the start states of the fit.
fn thermal(fit: &ThermalFit) -> String {
    let ThermalFit {
        core_j_per_k,
        core_to_shell_k_per_w,
        shell_j_per_k,
        shell_to_ambient_k_per_w,
        rest_shell_celsius,
        stress_core_celsius,
    } = fit;
    format!(
        "thermal.core_j_per_k = {core_j_per_k}\n\
         thermal.core_to_shell_k_per_w = {core_to_shell_k_per_w}\n\
         thermal.shell_j_per_k = {shell_j_per_k}\n\
         thermal.shell_to_ambient_k_per_w = {shell_to_ambient_k_per_w}\n\
         # at rest, the shell\n\
         rest_shell_celsius = {rest_shell_celsius}\n\
         # core above shell at the start of the stress test\n\
         stress_core_celsius = {stress_core_celsius}\n"
    )
}
