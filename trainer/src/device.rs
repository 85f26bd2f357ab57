//! Simulated devices as the command line names them: a built-in one, or a platform file.

use std::path::Path;

use enerinfer_datasets::{Model, WeightFormat};
use enerinfer_device::{DeviceError, SimulatedDevice};

use crate::TrainError;

/// Whether an argument of `--platform` is a platform file rather than a name.
pub(crate) fn is_file(platform: &str) -> bool {
    platform.ends_with(".toml")
}

/// The device of a name or file.
///
/// # Errors
/// An unknown name (with the nearest known one), a fault of the file (with its line), or a format
/// that the device does not have.
pub(crate) fn named(
    platform: &str,
    format: Option<WeightFormat>,
) -> Result<SimulatedDevice, DeviceError> {
    if is_file(platform) {
        SimulatedDevice::from_file(Path::new(platform), format)
    } else {
        SimulatedDevice::builtin(platform, format)
    }
}

/// The models that fit a device's memory.
///
/// # Errors
/// None of them does.
pub(crate) fn fitting(
    device: &SimulatedDevice,
    models: &[Model],
) -> Result<Vec<Model>, TrainError> {
    let fit: Vec<Model> = models.iter().filter(|m| device.fits(&m.shape)).cloned().collect();
    if fit.is_empty() {
        return Err(TrainError::NothingFits {
            platform: device.platform().name.clone(),
            models: models.len(),
            usable_gib: device.usable_bytes() as f64 / f64::from(1 << 30),
        });
    }
    Ok(fit)
}

/// The argument as outputs may show it: of a path, the file's name.
pub(crate) fn shown(platform: &str) -> String {
    Path::new(platform).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
