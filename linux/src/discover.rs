//! Finds the clock domains of a device.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;
use crate::bpmp::{self, BpmpClock};
use crate::devfreq::{Devfreq, Request};
use crate::domain::Domain;
use crate::files::{self, Files};

/// Where devfreq devices are listed.
pub const DEVFREQ: &str = "/sys/class/devfreq";

/// Folders whose devices have a `devfreq` folder of their own, on kernels whose class folder is
/// not complete (Jetson Nano, TX2 and Xavier with older releases).
const BUSES: [&str; 3] = ["/sys/devices", "/sys/devices/platform", "/sys/devices/platform/bus@0"];

/// How accelerators' devices are called, preferred first.
const ACCELERATORS: [(&str, &str); 9] = [
    ("npu", "RK3588: fdab0000.npu"),
    ("gpu-gpc", "Jetson Thor: gpu-gpc-0"),
    (".gpu", "Jetson Orin and Nano: 17000000.gpu, 57000000.gpu"),
    ("ga10b", "Jetson Orin, JetPack 5: 17000000.ga10b"),
    ("gv11b", "Jetson Xavier: 17000000.gv11b"),
    ("gp10b", "Jetson TX2: 17000000.gp10b"),
    ("kgsl-3d0", "Snapdragon: kgsl-3d0"),
    ("mali", "Mali"),
    ("gpu", "any GPU"),
];

/// How memory controllers' devices are called.
const MEMORIES: [(&str, &str); 2] = [("dmc", "RK3588: dmc"), ("bwmgr", "Jetson Thor: bwmgr")];

/// devfreq devices, by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Name, e.g. `fdab0000.npu`.
    pub name: String,
    /// Its folder.
    pub dir: PathBuf,
}

/// All devfreq devices; each name once.
pub fn devfreq_devices(files: &dyn Files) -> Vec<Device> {
    let mut dirs = files.list(Path::new(DEVFREQ)).unwrap_or_default();
    for bus in BUSES {
        for device in files.list(Path::new(bus)).unwrap_or_default() {
            dirs.extend(files.list(&device.join("devfreq")).unwrap_or_default());
        }
    }
    let mut devices: Vec<Device> = Vec::new();
    for dir in dirs {
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if devices.iter().all(|d| d.name != name) {
            devices.push(Device { name, dir });
        }
    }
    devices
}

fn pick(devices: &[Device], patterns: &[(&str, &str)]) -> Option<Device> {
    patterns.iter().find_map(|(word, _)| devices.iter().find(|d| d.name.contains(word))).cloned()
}

fn looked_for(patterns: &[(&str, &str)]) -> String {
    let names: Vec<&str> = patterns.iter().map(|(_, example)| *example).collect();
    format!("{} under {DEVFREQ} and {}", names.join("; "), BUSES.join(", "))
}

/// The accelerator: an NPU if there is one, else a GPU.
pub fn accelerator_device(files: &dyn Files) -> Result<Device, Error> {
    pick(&devfreq_devices(files), &ACCELERATORS).ok_or_else(|| Error::NotFound {
        what: "accelerator",
        looked_for: looked_for(&ACCELERATORS),
    })
}

/// Opens the accelerator.
pub fn accelerator(files: &Arc<dyn Files>) -> Result<Domain, Error> {
    open_accelerator(files, &accelerator_device(&**files)?)
}

/// Opens the devfreq device of a name as accelerator.
pub fn accelerator_named(files: &Arc<dyn Files>, name: &str) -> Result<Domain, Error> {
    let devices = devfreq_devices(&**files);
    let device = devices.iter().find(|d| d.name == name).ok_or_else(|| Error::NotFound {
        what: "accelerator of that name",
        looked_for: format!(
            "{name}; there are {}",
            devices.iter().map(|d| d.name.as_str()).collect::<Vec<_>>().join(", ")
        ),
    })?;
    open_accelerator(files, device)
}

fn open_accelerator(files: &Arc<dyn Files>, device: &Device) -> Result<Domain, Error> {
    let opened = Devfreq::open(Arc::clone(files), &device.dir, Request::Exactly, true)?;
    Ok(Domain::Devfreq(opened))
}

/// Opens the memory clock: Jetson's EMC, else a devfreq memory controller.
pub fn memory(files: &Arc<dyn Files>, request: Request) -> Result<Domain, Error> {
    let emc = Path::new(bpmp::EMC);
    if files::is_there(&**files, &emc.join("rate")) {
        let rates = Path::new(bpmp::EMC_RATES);
        return Ok(Domain::Bpmp(BpmpClock::open(Arc::clone(files), emc, rates)?));
    }
    let device = pick(&devfreq_devices(&**files), &MEMORIES).ok_or_else(|| Error::NotFound {
        what: "memory clock",
        looked_for: format!("{}; {}", bpmp::EMC, looked_for(&MEMORIES)),
    })?;
    Ok(Domain::Devfreq(Devfreq::open(Arc::clone(files), &device.dir, request, false)?))
}
