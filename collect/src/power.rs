//! Power sensors of hardware monitors.

use std::path::{Path, PathBuf};

use enerinfer_linux::files::{self, Files};
use enerinfer_linux::zones::HWMON;

/// A sensor: its name, and the nodes to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerSensor {
    /// `chip/label`, e.g. `ina3221/VDD_GPU_SOC`.
    pub name: String,
    nodes: Nodes,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Nodes {
    /// `powerN_input`, µW.
    Power(PathBuf),
    /// `inN_input`, mV, and `currN_input`, mA.
    VoltageCurrent(PathBuf, PathBuf),
}

/// All power sensors, in the order of their folders. A channel that tells power itself is not
/// listed as voltage and current too.
pub fn discover(files: &dyn Files) -> Vec<PowerSensor> {
    let mut sensors = Vec::new();
    for dir in files.list(Path::new(HWMON)).unwrap_or_default() {
        let chip = files::read(files, &dir.join("name")).unwrap_or_default();
        let entries = files.list(&dir).unwrap_or_default();
        let channels = |kind: &'static str| {
            entries.iter().filter_map(move |path| {
                path.file_name()?.to_str()?.strip_prefix(kind)?.strip_suffix("_input")
            })
        };
        let named = |kind: &str, n: &str| {
            let label = files::read(files, &dir.join(format!("{kind}{n}_label")));
            format!("{chip}/{}", label.unwrap_or_else(|_| format!("{kind}{n}")))
        };
        for n in channels("power") {
            let nodes = Nodes::Power(dir.join(format!("power{n}_input")));
            sensors.push(PowerSensor { name: named("power", n), nodes });
        }
        for n in channels("curr").filter(|n| channels("power").all(|p| p != *n)) {
            let volts = dir.join(format!("in{n}_input"));
            if entries.contains(&volts) {
                let nodes = Nodes::VoltageCurrent(volts, dir.join(format!("curr{n}_input")));
                sensors.push(PowerSensor { name: named("in", n), nodes });
            }
        }
    }
    sensors
}

impl PowerSensor {
    /// Present power, W.
    ///
    /// # Errors
    /// If a node cannot be read or holds no number.
    pub fn read_w(&self, files: &dyn Files) -> Result<f64, enerinfer_linux::Error> {
        match &self.nodes {
            Nodes::Power(path) => Ok(files::read_u64(files, path)? as f64 / 1e6),
            Nodes::VoltageCurrent(volts, amps) => {
                let (mv, ma) = (files::read_u64(files, volts)?, files::read_u64(files, amps)?);
                Ok(mv as f64 * ma as f64 / 1e6)
            }
        }
    }
}
