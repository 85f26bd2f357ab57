//! The simulated devices and how close they come to what is published.

use enerinfer_artifacts::exhibit::{Column, DataTable, Exhibit, Provenance};
use enerinfer_device::{SimulatedDevice, calibrate, published};

use super::{FigureError, device_name};

pub(super) fn exhibit(devices: &[SimulatedDevice]) -> Result<Exhibit, FigureError> {
    let mut comparisons = Vec::new();
    let mut free = Vec::new();
    for device in devices {
        let name = &device.platform().name;
        if !enerinfer_device::names().contains(&&**name) {
            // A user's own device answers to nothing published.
            comparisons.push((0, None, None));
            free.push(None);
            continue;
        }
        let errors: Vec<f64> =
            published::compare(name)?.iter().map(|c| c.error_percent().abs()).collect();
        let values = errors.len() + published::policy_rows(name)?.len();
        let mean = super::mean(errors.iter().copied());
        comparisons.push((values, mean, errors.into_iter().reduce(f64::max)));
        free.push(Some(calibrate::free_parameters(name)? as f64));
    }
    let levels = |khz: &[u32]| {
        let mhz = |k: Option<&u32>| k.map_or(0.0, |&k| f64::from(k) / 1e3);
        format!("{} levels, {} to {} MHz", khz.len(), mhz(khz.first()), mhz(khz.last()))
    };
    let table = DataTable {
        id: "devices_table".to_owned(),
        caption: "Devices of this evaluation".to_owned(),
        columns: vec![
            Column::key("Device", devices.iter().map(device_name)),
            Column::key("Engine", devices.iter().map(|d| &*d.platform().engine)),
            Column::key(
                "Accelerator clocks",
                devices.iter().map(|d| levels(&d.platform().clocks.accel_khz)),
            ),
            Column::key(
                "Memory clocks",
                devices.iter().map(|d| levels(&d.platform().clocks.mem_khz)),
            ),
            Column::numbers(
                "Values to answer to",
                "",
                Provenance::Published,
                0,
                comparisons.iter().map(|c| c.0 as f64),
            ),
            Column::optional("Free parameters", "", Provenance::Simulated, 0, free),
            Column::optional(
                "Mean error",
                "%",
                Provenance::Compared,
                1,
                comparisons.iter().map(|c| c.1),
            ),
            Column::optional(
                "Worst error",
                "%",
                Provenance::Compared,
                1,
                comparisons.iter().map(|c| c.2),
            ),
        ],
    };
    Ok(Exhibit {
        id: "devices".to_owned(),
        title: "The simulated devices".to_owned(),
        source: "EnerInfer §6, Hydra §III".to_owned(),
        caption: "Errors are of single published figures, fitted ones included; device/\
                  CALIBRATION.md has every figure beside its simulation, and what is not met."
            .to_owned(),
        tables: vec![table],
        charts: Vec::new(),
    })
}
