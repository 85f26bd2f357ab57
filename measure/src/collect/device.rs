//! Clocks and sensors of this device, as the options name them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use enerinfer_collect::power::{self, PowerSensor};
use enerinfer_collect::{Clocks, Sensors, Setting, of_clocks, of_threads};
use enerinfer_linux::cpufreq::{self, CpuPolicy};
use enerinfer_linux::devfreq::Request;
use enerinfer_linux::domain::Domain;
use enerinfer_linux::files::Files;
use enerinfer_linux::journal::Journal;
use enerinfer_linux::{discover, zones};

use super::args::{ClockArgs, PowerArgs};
use crate::failure::Failure;

/// Written for a clock that nobody sets and nobody knows, kHz.
const UNKNOWN_KHZ: u32 = 1000;

/// Operating points, the clocks that make them, and what the user should know about them.
pub(super) struct Device {
    pub(super) settings: Vec<Setting>,
    domains: Option<(Option<Domain>, Option<Domain>)>,
    pub(super) notes: Vec<String>,
}

impl Device {
    /// Looks at the device; changes nothing.
    pub(super) fn find(args: &ClockArgs, files: &Arc<dyn Files>) -> Result<Self, Failure> {
        let mut notes = Vec::new();
        if args.threads.len() > 1 {
            notes.push(
                "operating points are thread counts: accel_mhz is the number of threads, mem_mhz \
                 is 1; clocks are left alone"
                    .to_owned(),
            );
            return Ok(Device { settings: of_threads(&args.threads), domains: None, notes });
        }
        let threads = args.threads.first().copied().unwrap_or(1);
        let (accel, mem) =
            if args.no_clocks { (None, None) } else { domains(args, files, &mut notes)? };
        if accel.is_none() && mem.is_none() {
            let khz = |given: &[u32]| given.first().copied().unwrap_or(UNKNOWN_KHZ);
            if args.accel_mhz.len() > 1 || args.mem_mhz.len() > 1 {
                return Err(Failure::input(
                    "several clocks are asked for and none can be set here; give the one that is \
                     in effect",
                ));
            }
            notes.push(
                "no clock can be set: one operating point, as the device is (clocks that are not \
                 given with --accel-mhz and --mem-mhz stand as 1 MHz in the table)"
                    .to_owned(),
            );
            let settings = of_clocks(threads, &[khz(&args.accel_mhz)], &[khz(&args.mem_mhz)]);
            return Ok(Device { settings, domains: None, notes });
        }
        let accel_khz = levels("accelerator", "--accel-mhz", accel.as_ref(), &args.accel_mhz)?;
        let mem_khz = levels("memory", "--mem-mhz", mem.as_ref(), &args.mem_mhz)?;
        Ok(Device {
            settings: of_clocks(threads, &accel_khz, &mem_khz),
            domains: Some((accel, mem)),
            notes,
        })
    }

    /// Whether clocks will be set.
    pub(super) fn controls_clocks(&self) -> bool {
        self.domains.is_some()
    }

    /// Takes the clocks; what a killed collection left behind is given back first.
    pub(super) fn clocks(
        &mut self,
        args: &ClockArgs,
        files: &dyn Files,
        journal: &Path,
    ) -> Result<Clocks, Failure> {
        let Some((accel, mem)) = self.domains.take() else { return Ok(Clocks::left_alone()) };
        let path = clocks_journal(journal);
        let failed = |e: &dyn std::fmt::Display| Failure::Failed(e.to_string());
        let journal = Journal::try_open(&path).map_err(|e| failed(&e))?.ok_or_else(|| {
            Failure::input(format!("{}: another collection runs with it", path.display()))
        })?;
        Clocks::new(accel, mem, args.settle, journal, files).map_err(|e| failed(&e))
    }
}

fn domains(
    args: &ClockArgs,
    files: &Arc<dyn Files>,
    notes: &mut Vec<String>,
) -> Result<(Option<Domain>, Option<Domain>), Failure> {
    let named = |e: enerinfer_linux::Error| Failure::input(e.to_string());
    let accel = match (&args.cpu_policy, &args.accelerator) {
        (Some(policy), _) => {
            let dir = Path::new(cpufreq::POLICIES).join(policy);
            Some(Domain::Cpu(CpuPolicy::open(Arc::clone(files), &dir).map_err(named)?))
        }
        (None, Some(name)) => Some(discover::accelerator_named(files, name).map_err(named)?),
        (None, None) => discover::accelerator(files)
            .map_err(|e| notes.push(format!("accelerator clock left alone: {e}")))
            .ok(),
    };
    let mem = discover::memory(files, Request::Exactly)
        .map_err(|e| notes.push(format!("memory clock left alone: {e}")))
        .ok();
    Ok((accel, mem))
}

/// Levels to measure at, kHz.
fn levels(
    what: &str,
    option: &str,
    domain: Option<&Domain>,
    asked: &[u32],
) -> Result<Vec<u32>, Failure> {
    let mhz = |khz: &u32| (f64::from(*khz) / 1e3).to_string();
    let list = |khz: &[u32]| khz.iter().map(mhz).collect::<Vec<_>>().join(", ");
    let Some(domain) = domain else {
        return match asked {
            [] => Ok(vec![UNKNOWN_KHZ]),
            [one] => Ok(vec![*one]),
            _ => Err(Failure::input(format!("{option}: the {what} clock cannot be set here"))),
        };
    };
    let mut wanted = asked.to_vec();
    match domain.available_khz() {
        Some(available) => {
            // What the device allows at present may be less than its table.
            let possible: Vec<u32> =
                available.iter().copied().filter(|k| *k <= domain.highest_khz()).collect();
            if wanted.is_empty() {
                wanted.clone_from(&possible);
            } else if let Some(bad) = wanted.iter().find(|k| !possible.contains(k)) {
                return Err(Failure::input(format!(
                    "{option}: {} MHz is no level of the {what} ({})",
                    mhz(bad),
                    list(&possible)
                )));
            }
        }
        None if wanted.is_empty() => {
            return Err(Failure::input(format!(
                "{option}: the {what} clock has no table of levels; name those to measure at"
            )));
        }
        None => {}
    }
    wanted.sort_unstable();
    wanted.dedup();
    Ok(wanted)
}

/// The sensors that the options name, and every thermal zone that stands for the shell.
pub(super) fn sensors(args: &PowerArgs, files: &dyn Files) -> Result<Sensors, Failure> {
    let found = power::discover(files);
    let pick = |names: &[String]| -> Result<Vec<PowerSensor>, Failure> {
        names
            .iter()
            .map(|name| {
                found.iter().find(|s| s.name == *name).cloned().ok_or_else(|| {
                    let names: Vec<&str> = found.iter().map(|s| s.name.as_str()).collect();
                    Failure::input(format!(
                        "no power sensor `{name}`; there are: {}",
                        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
                    ))
                })
            })
            .collect()
    };
    Ok(Sensors {
        zones: zones::shell(&zones::discover(files)),
        total: pick(&args.power)?,
        accel: pick(&args.accel_power)?,
    })
}

/// Where the clocks that are to be given back are kept, beside the collection's journal.
pub(super) fn clocks_journal(journal: &Path) -> PathBuf {
    PathBuf::from(format!("{}.clocks", journal.display()))
}
