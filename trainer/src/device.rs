//! Simulated devices as the command line names them: a built-in one, or a platform file.

use std::path::Path;

use enerinfer_datasets::WeightFormat;
use enerinfer_device::{DeviceError, SimulatedDevice};

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

/// The argument as outputs may show it: of a path, the file's name.
pub(crate) fn shown(platform: &str) -> String {
    Path::new(platform).file_name().unwrap_or_default().to_string_lossy().into_owned()
}
