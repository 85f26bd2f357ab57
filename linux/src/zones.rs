//! Thermal zones and hwmon sensors.

use std::path::{Path, PathBuf};

use enerinfer_runtime::temperature::MilliCelsius;

use crate::Error;
use crate::files::{self, Files};

/// Folder of the thermal zones.
pub const THERMAL: &str = "/sys/class/thermal";
/// Folder of the hardware monitors.
pub const HWMON: &str = "/sys/class/hwmon";

/// A temperature that can be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// `tj-thermal`; `nvme/Composite` for a hardware monitor's.
    pub name: String,
    /// Node that holds m°C.
    pub path: PathBuf,
}

/// All zones and sensors of the device, in the order of their folders.
pub fn discover(files: &dyn Files) -> Vec<Zone> {
    let mut zones = Vec::new();
    for dir in files.list(Path::new(THERMAL)).unwrap_or_default() {
        if let Ok(name) = files::read(files, &dir.join("type"))
            && file_name(&dir).starts_with("thermal_zone")
        {
            zones.push(Zone { name, path: dir.join("temp") });
        }
    }
    for dir in files.list(Path::new(HWMON)).unwrap_or_default() {
        let chip = files::read(files, &dir.join("name")).unwrap_or_default();
        for path in files.list(&dir).unwrap_or_default() {
            let file = file_name(&path);
            let Some(stem) = file.strip_suffix("_input").filter(|s| s.starts_with("temp")) else {
                continue;
            };
            let label = files::read(files, &dir.join(format!("{stem}_label")));
            let label = label.unwrap_or_else(|_| stem.to_owned());
            zones.push(Zone { name: format!("{chip}/{label}"), path });
        }
    }
    zones
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The zones that stand for the shell unless the user names others: surface sensors if there are
/// any; else the junction maximum, which already contains its parts; else all.
pub fn shell(zones: &[Zone]) -> Vec<Zone> {
    let among = |words: &[&str]| -> Vec<Zone> {
        let named = |zone: &&Zone| {
            let name = zone.name.to_ascii_lowercase();
            words.iter().any(|word| name.contains(word))
        };
        zones.iter().filter(named).cloned().collect()
    };
    for words in [&["skin", "shell", "surface", "quiet"][..], &["tj"]] {
        let found = among(words);
        if !found.is_empty() {
            return found;
        }
    }
    zones.to_vec()
}

/// Reads a zone. A gated or uninitialised zone is an error, never 0 °C.
pub fn read(files: &dyn Files, zone: &Zone) -> Result<MilliCelsius, Error> {
    let text = files::read(files, &zone.path)?;
    let value = text.parse().ok().map(MilliCelsius).filter(|t| t.is_plausible());
    value.ok_or_else(|| Error::Content {
        path: zone.path.clone(),
        found: text,
        expected: "a temperature in thousandths of a degree",
    })
}
