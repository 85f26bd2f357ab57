//! Table 1: inference beside a foreground app.

use enerinfer_artifacts::exhibit::{Column, DataTable, Exhibit, Provenance};
use enerinfer_datasets::survey;
use enerinfer_device::SimulatedDevice;
use enerinfer_device::interference::{FOREGROUND_APPS, ForegroundApp};

use super::device_name;

/// The model that the simulated columns are for.
const MODEL: &str = "Qwen2-1.5B";

pub(super) fn exhibit(devices: &[SimulatedDevice]) -> Exhibit {
    let shape = survey::find(MODEL).map(|m| m.shape);
    let published = |of: fn(&ForegroundApp) -> f64| {
        FOREGROUND_APPS.iter().map(move |a| (a.source == "EnerInfer Table 1").then(|| of(a)))
    };
    let factors = DataTable {
        id: "table1_factors".to_owned(),
        caption: "Factors on a standalone run".to_owned(),
        columns: vec![
            Column::key("App", FOREGROUND_APPS.iter().map(|a| a.name)),
            Column::optional(
                "Throughput",
                "",
                Provenance::Published,
                2,
                published(|a| a.throughput),
            ),
            Column::optional(
                "Memory power",
                "",
                Provenance::Published,
                2,
                published(|a| a.memory_power),
            ),
            Column::optional(
                "NPU power",
                "",
                Provenance::Published,
                2,
                published(|a| a.accel_power),
            ),
            Column::key("Source", FOREGROUND_APPS.iter().map(|a| a.source)),
        ],
    };
    let effects = devices.iter().filter(|d| shape.is_some_and(|s| d.fits(&s))).map(|device| {
        let alone = shape.map(|s| device.decode(&s, device.platform().clocks.highest()));
        let relative = |of: fn(&enerinfer_device::Decode) -> f64| {
            FOREGROUND_APPS
                .iter()
                .map(move |app| alone.map(|alone| of(&app.beside(alone)) / of(&alone)))
        };
        DataTable {
            id: format!("table1_{}", device.platform().name),
            caption: format!(
                "{MODEL} at the highest clocks of {}, relative to a standalone run",
                device_name(device)
            ),
            columns: vec![
                Column::key("App", FOREGROUND_APPS.iter().map(|a| a.name)),
                Column::optional(
                    "Throughput",
                    "",
                    Provenance::Simulated,
                    2,
                    relative(|d| d.throughput_tok_per_s),
                ),
                Column::optional("Power", "", Provenance::Simulated, 2, relative(|d| d.power_w)),
                Column::optional(
                    "Efficiency",
                    "",
                    Provenance::Simulated,
                    2,
                    relative(|d| d.efficiency_tok_per_j()),
                ),
            ],
        }
    });
    Exhibit {
        id: "table1".to_owned(),
        title: "Inference beside a foreground app".to_owned(),
        source: "EnerInfer Table 1".to_owned(),
        caption: "The published factors are inputs of the simulation, so throughput agrees by \
                  construction; what follows from them is power and efficiency as a whole. The \
                  memory-heavy app is assumed."
            .to_owned(),
        tables: std::iter::once(factors).chain(effects).collect(),
        charts: Vec::new(),
    }
}
