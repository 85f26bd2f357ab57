//! Says what will not work as expected on a device.

use std::fmt::Write as _;
use std::sync::Arc;

use enerinfer_runtime::hal::FrequencyActuator;

use crate::devfreq::Request;
use crate::discover;
use crate::domain::Domain;
use crate::files::{self, Files};
use crate::zones;

/// Findings about a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What was found.
    pub facts: Vec<String>,
    /// What will not work as expected, and what to do.
    pub warnings: Vec<String>,
}

impl Findings {
    /// Facts, then warnings.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        for fact in &self.facts {
            let _ = writeln!(out, "{fact}"); // writing to a string cannot fail
        }
        for warning in &self.warnings {
            let _ = writeln!(out, "warning: {warning}");
        }
        out
    }
}

/// Looks at everything, changes nothing.
pub fn examine(files: &Arc<dyn Files>) -> Findings {
    let mut findings = Findings::default();
    describe(&mut findings, "accelerator", discover::accelerator(files));
    let memory = discover::memory(files, Request::Exactly);
    if memory.is_err() {
        findings.warnings.push(
            "the memory clock cannot be set or read: measurements made here must not be merged \
             with those of devices where it is known"
                .to_owned(),
        );
    }
    describe(&mut findings, "memory", memory);
    for device in discover::devfreq_devices(&**files) {
        check_thresholds(&mut findings, &**files, &device);
    }
    let found = zones::discover(&**files);
    for zone in &found {
        match zones::read(&**files, zone) {
            Ok(t) => {
                findings.facts.push(format!("zone {}: {:.1} °C", zone.name, f64::from(t.0) / 1e3));
            }
            Err(e) => findings.facts.push(format!("zone {}: unavailable ({e})", zone.name)),
        }
    }
    let shell: Vec<_> = zones::shell(&found).into_iter().map(|z| z.name).collect();
    if shell.is_empty() {
        findings.warnings.push("no temperature: the lowest clocks will run".to_owned());
    } else {
        findings.facts.push(format!("shell: hottest of {}", shell.join(", ")));
    }
    findings
}

fn describe(findings: &mut Findings, what: &str, domain: Result<Domain, crate::Error>) {
    let mut domain = match domain {
        Ok(domain) => domain,
        Err(e) => {
            findings.warnings.push(format!("{what}: {e}"));
            return;
        }
    };
    let current = match domain.current_khz() {
        Ok(khz) => format!("{} MHz", mhz(khz)),
        Err(e) => format!("unknown ({e})"),
    };
    let table = match domain.available_khz() {
        Some(table) => table.iter().map(|khz| mhz(*khz)).collect::<Vec<_>>().join(" "),
        None => format!("any up to {}", mhz(domain.highest_khz())),
    };
    findings.facts.push(format!("{what}: {domain}, now {current}, MHz: {table}"));
    let highest = domain.available_khz().and_then(|t| t.last().copied());
    if let Some(highest) = highest.filter(|h| *h > domain.highest_khz()) {
        findings.warnings.push(format!(
            "{what}: the table goes to {} MHz, but at most {} MHz are allowed at present",
            mhz(highest),
            mhz(domain.highest_khz())
        ));
    }
}

/// A governor that steps down only below `upthreshold − downdifferential` never does so if that
/// is not positive.
fn check_thresholds(findings: &mut Findings, files: &dyn Files, device: &discover::Device) {
    let read =
        |dir: &str, name: &str| files::read_u64(files, &device.dir.join(dir).join(name)).ok();
    for dir in ["", "dmc_ondemand", "simple_ondemand"] {
        if let (Some(up), Some(down)) = (read(dir, "upthreshold"), read(dir, "downdifferential"))
            && up <= down
        {
            findings.warnings.push(format!(
                "{}: its governor never steps down: upthreshold {up} minus downdifferential \
                 {down} is not positive; a baseline measured under it is too fast and too hot",
                device.name
            ));
        }
    }
}

fn mhz(khz: u32) -> String {
    format!("{}", f64::from(khz) / 1e3)
}
