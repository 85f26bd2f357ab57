//! The platform file: parameters of a simulated device, each with its source.

use std::collections::BTreeMap;
use std::ops::Range;

use enerinfer_artifacts::ClockTables;
use enerinfer_datasets::WeightFormat;
use serde::Deserialize;
use toml::Spanned;

use crate::thermal::ThermalModel;
use crate::{DeviceError, builtin};

/// Parameters of the decode model; see [`crate::model`] for the formulas.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Parameters {
    /// Memory that the system leaves to a model, bytes.
    pub(crate) usable_bytes: u64,
    /// Effective bandwidth per memory level, GB/s (10^9 bytes).
    pub(crate) bandwidth_gb_per_s: Vec<f64>,
    /// Rows that a memory ramp costs per matrix.
    pub(crate) memory_ramp_rows: f64,
    /// Columns that a memory ramp costs per row.
    pub(crate) memory_ramp_columns: f64,
    /// Effective clock per accelerator level, MHz.
    pub(crate) effective_mhz: Vec<f64>,
    /// Rows are padded to this.
    pub(crate) tile_rows: u32,
    /// Rows that ramping the accelerator up and down costs per matrix.
    pub(crate) ramp_rows: f64,
    /// Fixed cycles per row.
    pub(crate) row_cycles: f64,
    /// `p` of the overlap of memory and compute time.
    pub(crate) overlap_exponent: f64,
    /// Launch cost per matrix–vector product, µs.
    pub(crate) launch_us: f64,
    /// Memory background power per level, W.
    pub(crate) background_w: Vec<f64>,
    /// Energy of moving one byte, pJ.
    pub(crate) access_pj_per_byte: f64,
    /// Accelerator power at full utilisation per level, W.
    pub(crate) busy_w: Vec<f64>,
    /// Accelerator power in ramps, row overheads and padding, as a fraction of `busy_w`.
    pub(crate) stall_fraction: f64,
    /// Accelerator power when waiting, as a fraction of `busy_w`.
    pub(crate) idle_fraction: f64,
    /// Voltage per accelerator level relative to the highest.
    pub(crate) relative_voltage: Vec<f64>,
}

/// Parameters of one weight format.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FormatParameters {
    /// Weights that the accelerator dequantises and multiplies per cycle.
    pub(crate) weights_per_cycle: f64,
    /// Columns are padded to this.
    pub(crate) tile_columns: u32,
    /// Energy of dequantising and multiplying one weight at the highest clock, pJ.
    pub(crate) pj_per_weight: f64,
}

/// A checked platform file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlatformFile {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) engine: String,
    pub(crate) power_domain: String,
    pub(crate) default_format: WeightFormat,
    pub(crate) clocks: ClockTables,
    pub(crate) parameters: Parameters,
    pub(crate) thermal: ThermalModel,
    pub(crate) formats: BTreeMap<WeightFormat, FormatParameters>,
}

/// A value that says where it comes from.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sourced<T> {
    value: Spanned<T>,
    source: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    name: Spanned<String>,
    description: String,
    engine: String,
    power_domain: String,
    default_format: Spanned<String>,
    clocks: RawClocks,
    time: RawTime,
    memory: RawMemory,
    accelerator: RawAccelerator,
    thermal: RawThermal,
    format: BTreeMap<Spanned<String>, RawFormat>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClocks {
    accelerator_mhz: Sourced<Vec<f64>>,
    memory_mhz: Sourced<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTime {
    overlap_exponent: Sourced<f64>,
    launch_us: Sourced<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawMemory {
    usable_gib: Sourced<f64>,
    bandwidth_gb_per_s: Sourced<Vec<f64>>,
    ramp_rows: Sourced<f64>,
    ramp_columns: Sourced<f64>,
    background_w: Sourced<Vec<f64>>,
    access_pj_per_byte: Sourced<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAccelerator {
    effective_mhz: Sourced<Vec<f64>>,
    tile_rows: Sourced<u32>,
    ramp_rows: Sourced<f64>,
    row_cycles: Sourced<f64>,
    busy_w: Sourced<Vec<f64>>,
    stall_fraction: Sourced<f64>,
    idle_fraction: Sourced<f64>,
    relative_voltage: Sourced<Vec<f64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawThermal {
    core_j_per_k: Sourced<f64>,
    core_to_shell_k_per_w: Sourced<f64>,
    shell_j_per_k: Sourced<f64>,
    shell_to_ambient_k_per_w: Sourced<f64>,
    background_core_w: Sourced<f64>,
    background_shell_w: Sourced<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFormat {
    weights_per_cycle: Sourced<f64>,
    tile_columns: Sourced<u32>,
    pj_per_weight: Sourced<f64>,
}

/// Parses and checks a platform file.
pub(crate) fn parse(text: &str, display_name: &str) -> Result<PlatformFile, DeviceError> {
    let check = Check { text, display_name };
    let raw: RawFile = toml::from_str(text)
        .map_err(|e| check.fault(e.span().unwrap_or(0..0), e.message().to_owned()))?;

    let name = raw.name.get_ref();
    if name.is_empty() || !name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Err(check.fault(
            raw.name.span(),
            format!("name must be letters, digits and `_`, got `{name}`"),
        ));
    }

    let clocks = ClockTables {
        accel_khz: check.khz("accelerator_mhz", &raw.clocks.accelerator_mhz)?,
        mem_khz: check.khz("memory_mhz", &raw.clocks.memory_mhz)?,
    };
    clocks
        .validate()
        .map_err(|e| check.fault(raw.clocks.accelerator_mhz.value.span(), e.to_string()))?;
    let (mem_levels, accel_levels) = (clocks.mem_khz.len(), clocks.accel_khz.len());

    let (time, memory, accel) = (&raw.time, &raw.memory, &raw.accelerator);
    let usable_gib = check.number("usable_gib", &memory.usable_gib, 1e-3, 1e6)?;
    let parameters = Parameters {
        usable_bytes: (usable_gib * f64::from(1 << 30)) as u64,
        bandwidth_gb_per_s: check.ascending(
            "bandwidth_gb_per_s",
            &memory.bandwidth_gb_per_s,
            mem_levels,
        )?,
        memory_ramp_rows: check.number("ramp_rows", &memory.ramp_rows, 0.0, 1e6)?,
        memory_ramp_columns: check.number("ramp_columns", &memory.ramp_columns, 0.0, 1e6)?,
        effective_mhz: check.ascending("effective_mhz", &accel.effective_mhz, accel_levels)?,
        tile_rows: check.tile("tile_rows", &accel.tile_rows)?,
        ramp_rows: check.number("ramp_rows", &accel.ramp_rows, 0.0, 1e6)?,
        row_cycles: check.number("row_cycles", &accel.row_cycles, 0.0, 1e6)?,
        overlap_exponent: check.number("overlap_exponent", &time.overlap_exponent, 1.0, 100.0)?,
        launch_us: check.number("launch_us", &time.launch_us, 0.0, 1e6)?,
        background_w: check.levels("background_w", &memory.background_w, mem_levels)?,
        access_pj_per_byte: check.number(
            "access_pj_per_byte",
            &memory.access_pj_per_byte,
            0.0,
            1e6,
        )?,
        busy_w: check.levels("busy_w", &accel.busy_w, accel_levels)?,
        stall_fraction: check.number("stall_fraction", &accel.stall_fraction, 0.0, 1.0)?,
        idle_fraction: check.number("idle_fraction", &accel.idle_fraction, 0.0, 1.0)?,
        relative_voltage: check.levels(
            "relative_voltage",
            &accel.relative_voltage,
            accel_levels,
        )?,
    };

    let thermal = &raw.thermal;
    // The bounds keep every time constant above the step of the integration.
    let heat = |name, item| check.number(name, item, 1.0, 1e6);
    let resistance = |name, item| check.number(name, item, 0.01, 1e3);
    let thermal = ThermalModel {
        core_j_per_k: heat("core_j_per_k", &thermal.core_j_per_k)?,
        core_to_shell_k_per_w: resistance("core_to_shell_k_per_w", &thermal.core_to_shell_k_per_w)?,
        shell_j_per_k: heat("shell_j_per_k", &thermal.shell_j_per_k)?,
        shell_to_ambient_k_per_w: resistance(
            "shell_to_ambient_k_per_w",
            &thermal.shell_to_ambient_k_per_w,
        )?,
        background_core_w: check.number(
            "background_core_w",
            &thermal.background_core_w,
            0.0,
            1e3,
        )?,
        background_shell_w: check.number(
            "background_shell_w",
            &thermal.background_shell_w,
            0.0,
            1e3,
        )?,
    };

    let mut formats = BTreeMap::new();
    for (key, of) in &raw.format {
        let format = check.format(key)?;
        let checked = FormatParameters {
            weights_per_cycle: check.number(
                "weights_per_cycle",
                &of.weights_per_cycle,
                1e-3,
                1e9,
            )?,
            tile_columns: check.tile("tile_columns", &of.tile_columns)?,
            pj_per_weight: check.number("pj_per_weight", &of.pj_per_weight, 0.0, 1e6)?,
        };
        if formats.insert(format, checked).is_some() {
            return Err(check.fault(key.span(), format!("format {format} stands twice")));
        }
    }
    let default_format = check.format(&raw.default_format)?;
    if !formats.contains_key(&default_format) {
        return Err(check.fault(
            raw.default_format.span(),
            format!("default_format {default_format} has no [format.{default_format}] section"),
        ));
    }

    Ok(PlatformFile {
        name: name.clone(),
        description: raw.description,
        engine: raw.engine,
        power_domain: raw.power_domain,
        default_format,
        clocks,
        parameters,
        thermal,
        formats,
    })
}

/// Refuses a user's platform file that has the name of a built-in device but describes another: its
/// results would stand beside what is published of the built-in one, and in its folder.
pub(crate) fn check_own_name(text: &str, display_name: &str) -> Result<(), DeviceError> {
    #[derive(Deserialize)]
    struct Named {
        name: Spanned<String>,
    }
    let file = parse(text, display_name)?;
    let Ok(builtin) = builtin::text(&file.name) else { return Ok(()) };
    if file == parse(builtin, display_name)? {
        return Ok(());
    }
    let span = toml::from_str::<Named>(text).map_or(0..0, |named| named.name.span());
    let message = format!(
        "name `{}` is that of a built-in device, which this file does not describe; give yours \
         another",
        file.name
    );
    Err(Check { text, display_name }.fault(span, message))
}

/// The rules, with the place of each fault.
struct Check<'a> {
    text: &'a str,
    display_name: &'a str,
}

impl Check<'_> {
    fn fault(&self, span: Range<usize>, message: String) -> DeviceError {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        DeviceError::DataFile {
            file: self.display_name.to_owned(),
            line: 1 + before.iter().filter(|b| **b == b'\n').count(),
            message,
        }
    }

    fn source<T>(&self, name: &str, item: &Sourced<T>) -> Result<(), DeviceError> {
        if item.source.get_ref().trim().is_empty() {
            return Err(self.fault(
                item.source.span(),
                format!("{name}: source is empty; say where the value comes from"),
            ));
        }
        Ok(())
    }

    fn number(
        &self,
        name: &str,
        item: &Sourced<f64>,
        min: f64,
        max: f64,
    ) -> Result<f64, DeviceError> {
        self.source(name, item)?;
        let value = *item.value.get_ref();
        // NaN is in no range.
        if !(min..=max).contains(&value) {
            return Err(self.fault(
                item.value.span(),
                format!("{name} must be from {min} to {max}, got {value}"),
            ));
        }
        Ok(value)
    }

    fn tile(&self, name: &str, item: &Sourced<u32>) -> Result<u32, DeviceError> {
        self.source(name, item)?;
        let value = *item.value.get_ref();
        if value == 0 || value > 1 << 16 {
            return Err(self.fault(
                item.value.span(),
                format!("{name} must be from 1 to {}, got {value}", 1 << 16),
            ));
        }
        Ok(value)
    }

    fn levels(
        &self,
        name: &str,
        item: &Sourced<Vec<f64>>,
        levels: usize,
    ) -> Result<Vec<f64>, DeviceError> {
        self.source(name, item)?;
        let values = item.value.get_ref();
        if values.len() != levels {
            return Err(self.fault(
                item.value.span(),
                format!("{name} needs one value per clock level: {levels}, got {}", values.len()),
            ));
        }
        if let Some(bad) = values.iter().find(|v| !(1e-6..=1e6).contains(*v)) {
            return Err(self.fault(
                item.value.span(),
                format!("{name} must be positive and at most 1e6, got {bad}"),
            ));
        }
        Ok(values.clone())
    }

    fn ascending(
        &self,
        name: &str,
        item: &Sourced<Vec<f64>>,
        levels: usize,
    ) -> Result<Vec<f64>, DeviceError> {
        let values = self.levels(name, item, levels)?;
        match values.windows(2).find(|w| w[1] < w[0]) {
            None => Ok(values),
            Some(w) => Err(self.fault(
                item.value.span(),
                format!("{name} must not fall with the clock, got {} after {}", w[1], w[0]),
            )),
        }
    }

    fn khz(&self, name: &str, item: &Sourced<Vec<f64>>) -> Result<Vec<u32>, DeviceError> {
        self.source(name, item)?;
        let mut khz = Vec::new();
        for mhz in item.value.get_ref() {
            if !(1e-3..=1e6).contains(mhz) {
                return Err(self.fault(
                    item.value.span(),
                    format!("{name} must be from 0.001 to 1000000 MHz, got {mhz}"),
                ));
            }
            khz.push((mhz * 1000.0).round() as u32);
        }
        Ok(khz)
    }

    fn format(&self, name: &Spanned<String>) -> Result<WeightFormat, DeviceError> {
        WeightFormat::parse(name.get_ref()).ok_or_else(|| {
            let known: Vec<&str> = WeightFormat::ALL.iter().map(|f| f.name()).collect();
            self.fault(
                name.span(),
                format!(
                    "unknown weight format `{}`; known are {}",
                    name.get_ref(),
                    known.join(", ")
                ),
            )
        })
    }
}
