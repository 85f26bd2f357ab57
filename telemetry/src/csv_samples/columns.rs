//! What a CSV column holds: from its name, its unit, or the user's map.

use crate::{Channel, Error, Quantity, TimeUnit};

/// One entry of a [`ColumnMap`]: `channel=column[:unit]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Channel to fill, e.g. `total_mw`.
    pub channel: String,
    /// Column of the file.
    pub column: String,
    /// Unit of the column if its name does not say.
    pub unit: Option<String>,
}

/// The user's statement of what the columns of a table are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ColumnMap {
    /// Column that holds the time.
    pub time: Option<String>,
    /// Unit of a numeric time column; by magnitude when absent.
    pub time_unit: Option<TimeUnit>,
    /// Channels; when empty, columns are recognised by name.
    pub columns: Vec<Mapping>,
}

impl ColumnMap {
    /// Parses `time=t_s:s,total_mw=board power:W,gpu_mhz=sclk`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut map = ColumnMap::default();
        for entry in text.split(',').map(str::trim).filter(|e| !e.is_empty()) {
            let (channel, column) = entry.split_once('=').ok_or_else(|| {
                Error::invalid(format!(
                    "column map entry `{entry}` is not of the form channel=column[:unit]"
                ))
            })?;
            let (column, unit) = match column.rsplit_once(':') {
                Some((c, u)) => (c.trim(), Some(u.trim().to_owned())),
                None => (column.trim(), None),
            };
            if channel.trim() == "time" {
                map.time = Some(column.to_owned());
                map.time_unit = match unit.as_deref() {
                    None => None,
                    Some("s") => Some(TimeUnit::Seconds),
                    Some("ms") => Some(TimeUnit::Millis),
                    Some("us") => Some(TimeUnit::Micros),
                    Some("ns") => Some(TimeUnit::Nanos),
                    Some(u) => {
                        return Err(Error::invalid(format!(
                            "time unit `{u}` is not s, ms, us or ns"
                        )));
                    }
                };
                continue;
            }
            if let Some(u) = &unit
                && unit_of(u).is_none()
            {
                return Err(Error::invalid(format!(
                    "unit `{u}` of column `{column}` is not known"
                )));
            }
            map.columns.push(Mapping {
                channel: channel.trim().to_owned(),
                column: column.to_owned(),
                unit,
            });
        }
        Ok(map)
    }
}

/// Quantity and factor to its unit.
pub(super) fn unit_of(unit: &str) -> Option<(Quantity, f64)> {
    Some(match unit {
        "W" => (Quantity::Power, 1e3),
        "mW" => (Quantity::Power, 1.0),
        "uW" | "µW" => (Quantity::Power, 1e-3),
        "kW" => (Quantity::Power, 1e6),
        "%" => (Quantity::Load, 1.0),
        "Hz" => (Quantity::Clock, 1e-6),
        "kHz" | "KHz" => (Quantity::Clock, 1e-3),
        "MHz" => (Quantity::Clock, 1.0),
        "GHz" => (Quantity::Clock, 1e3),
        "C" | "°C" | "degC" => (Quantity::Temperature, 1.0),
        "mC" | "m°C" => (Quantity::Temperature, 1e-3),
        "MB" | "MiB" => (Quantity::Memory, 1.0),
        "GB" | "GiB" => (Quantity::Memory, 1024.0),
        "kB" | "KiB" => (Quantity::Memory, 1.0 / 1024.0),
        "B" => (Quantity::Memory, 1.0 / 1_048_576.0),
        "J" => (Quantity::Energy, 1.0),
        "mJ" => (Quantity::Energy, 1e-3),
        "uJ" | "µJ" => (Quantity::Energy, 1e-6),
        "kJ" => (Quantity::Energy, 1e3),
        "1" => (Quantity::Other, 1.0),
        _ => return None,
    })
}

/// What a column turned out to be.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    Time,
    Device,
    Value { channel: String, quantity: Quantity, scale: f64 },
    EnergyRange { scale: f64 },
    Volts { rail: String, to_v: f64 },
    Amps { rail: String, to_a: f64 },
    Ignored,
}

/// Columns of nvidia-smi and NVML dumps, old and new names, with the unit if the header has none.
const NVML: [(&str, &str, &str); 27] = [
    ("power.draw", "gpu_board_mw", "W"),
    ("power.draw.instant", "gpu_board_instant_mw", "W"),
    ("power.draw.average", "gpu_board_average_mw", "W"),
    ("power_draw", "gpu_board_mw", "W"),
    ("instant_power_draw", "gpu_board_instant_mw", "W"),
    ("average_power_draw", "gpu_board_average_mw", "W"),
    ("module.power.draw.instant", "module_mw", "W"),
    ("clocks.current.sm", "gpu_mhz", "MHz"),
    ("clocks.sm", "gpu_mhz", "MHz"),
    ("clocks.current.graphics", "graphics_mhz", "MHz"),
    ("clocks.gr", "graphics_mhz", "MHz"),
    ("graphics_clock", "graphics_mhz", "MHz"),
    ("sm_clock", "gpu_mhz", "MHz"),
    ("clocks.current.memory", "mem_mhz", "MHz"),
    ("clocks.mem", "mem_mhz", "MHz"),
    ("memory_clock", "mem_mhz", "MHz"),
    ("mem_clock", "mem_mhz", "MHz"),
    ("temperature.gpu", "temp_gpu_c", "C"),
    ("temperature", "temp_gpu_c", "C"),
    ("temperature.memory", "temp_mem_c", "C"),
    ("utilization.gpu", "nvml_gpu_load", "%"),
    ("utilization.memory", "nvml_mem_load", "%"),
    ("gpu_util", "nvml_gpu_load", "%"),
    ("memory.used", "gpu_mem_used_mb", "MiB"),
    ("memory.total", "gpu_mem_total_mb", "MiB"),
    ("fan.speed", "fan_load", "%"),
    ("total_energy_consumption", "energy_j", "mJ"),
];

const TIME_NAMES: [&str; 9] =
    ["timestamp", "time", "t", "ts", "datetime", "date_time", "epoch", "unix_time", "elapsed"];

fn time_unit_of(unit: &str) -> Option<TimeUnit> {
    match unit {
        "s" | "sec" | "seconds" => Some(TimeUnit::Seconds),
        "ms" => Some(TimeUnit::Millis),
        "us" | "µs" => Some(TimeUnit::Micros),
        "ns" => Some(TimeUnit::Nanos),
        _ => None,
    }
}

/// Name of a column in lower case without a unit of time, and that unit: `t_ms`, `Time [ms]`.
fn split_time_unit(header: &str) -> (String, Option<TimeUnit>) {
    let (name, unit) = split_unit(header);
    let lower = name.to_ascii_lowercase();
    if let Some(unit) = unit.and_then(time_unit_of) {
        return (lower, Some(unit));
    }
    match lower.rsplit_once('_').map(|(stem, unit)| (stem, time_unit_of(unit))) {
        Some((stem, Some(unit))) => (stem.to_owned(), Some(unit)),
        _ => (lower, None),
    }
}

/// Unit of a numeric time column by its name.
pub(super) fn time_unit(name: &str) -> Option<TimeUnit> {
    split_time_unit(name).1
}

/// Whether a header is that of nvidia-smi or of an NVML dump, where `index` is the GPU's and not
/// the row's.
pub(super) fn is_nvml(header: &[String]) -> bool {
    header.iter().any(|h| {
        let lower = split_unit(h).0.to_ascii_lowercase();
        lower.contains("uuid") || NVML.iter().any(|(n, ..)| n.contains('.') && *n == lower)
    })
}

/// `power.draw [W]` → (`power.draw`, `W`).
pub(super) fn split_unit(header: &str) -> (&str, Option<&str>) {
    let h = header.trim();
    for (open, close) in [('[', ']'), ('(', ')')] {
        if let Some(inner) = h.strip_suffix(close)
            && let Some(at) = inner.rfind(open)
        {
            return (h[..at].trim_end(), Some(inner[at + 1..].trim()));
        }
    }
    (h, None)
}

/// A column for readers of other forms.
pub(crate) enum Recognised {
    /// The time, with its unit if the name says.
    Time(Option<TimeUnit>),
    /// A channel and the factor to its unit.
    Value(Channel, f64),
    /// Anything else.
    Other,
}

/// Recognises a key of another form of table.
pub(crate) fn recognise_column(name: &str) -> Recognised {
    match recognise(name) {
        Kind::Time => Recognised::Time(time_unit(name)),
        Kind::Value { channel, quantity, scale } => {
            Recognised::Value(Channel { name: channel, quantity }, scale)
        }
        _ => Recognised::Other,
    }
}

/// Recognises a column by its name.
pub(super) fn recognise(header: &str) -> Kind {
    let (name, unit) = split_unit(header);
    let lower = name.to_ascii_lowercase();
    if TIME_NAMES.contains(&split_time_unit(header).0.as_str()) {
        return Kind::Time;
    }
    if matches!(lower.as_str(), "index" | "gpu_index" | "gpu_id" | "device" | "uuid" | "gpu_uuid") {
        return Kind::Device;
    }
    let value = |channel: String, unit: &str| match unit_of(unit) {
        Some((quantity, scale)) => Kind::Value { channel, quantity, scale },
        None => Kind::Ignored,
    };
    if let Some((_, channel, default)) = NVML.iter().find(|(n, ..)| *n == lower) {
        return value((*channel).to_owned(), unit.unwrap_or(default));
    }
    if let Some(kind) = hwmon(&lower) {
        return kind;
    }
    if lower.starts_with("max_energy_range") {
        let scale = suffix_unit(&lower).and_then(unit_of).map_or(1.0, |(_, s)| s);
        return Kind::EnergyRange { scale };
    }
    match unit.or_else(|| suffix_unit(&lower)) {
        Some("mV") => Kind::Volts { rail: stem(&lower), to_v: 1e-3 },
        Some("V") => Kind::Volts { rail: stem(&lower), to_v: 1.0 },
        Some("mA") => Kind::Amps { rail: stem(&lower), to_a: 1e-3 },
        Some("A") => Kind::Amps { rail: stem(&lower), to_a: 1.0 },
        Some(u) => match unit_of(u) {
            Some((q, scale)) => Kind::Value { channel: named(&lower, q), quantity: q, scale },
            None => Kind::Ignored,
        },
        None => Kind::Ignored,
    }
}

/// hwmon's sysfs names carry fixed units (kernel documentation, hwmon sysfs interface).
fn hwmon(lower: &str) -> Option<Kind> {
    let attribute = lower.strip_suffix("_input").or_else(|| lower.strip_suffix("_average"))?;
    let (rail, kind) = attribute.rsplit_once(['.', '/', ' ']).unwrap_or(("", attribute));
    let digits = kind.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    let class = &kind[..kind.len() - digits.len()];
    let rail = if rail.is_empty() { format!("rail{digits}") } else { rail.to_owned() };
    let value = |quantity: Quantity, scale: f64| {
        let base = if class == "temp" { format!("temp_{digits}") } else { rail.clone() };
        Some(Kind::Value { channel: named(&base, quantity), quantity, scale })
    };
    match class {
        "in" => Some(Kind::Volts { rail, to_v: 1e-3 }),
        "curr" => Some(Kind::Amps { rail, to_a: 1e-3 }),
        "power" => value(Quantity::Power, 1e-3),
        "energy" => value(Quantity::Energy, 1e-6),
        "temp" => value(Quantity::Temperature, 1e-3),
        "freq" => value(Quantity::Clock, 1e-6),
        _ => None,
    }
}

const SUFFIXES: [(&str, &str); 24] = [
    ("w", "W"),
    ("mw", "mW"),
    ("uw", "uW"),
    ("watts", "W"),
    ("watt", "W"),
    ("hz", "Hz"),
    ("khz", "kHz"),
    ("mhz", "MHz"),
    ("ghz", "GHz"),
    ("c", "C"),
    ("mc", "mC"),
    ("pct", "%"),
    ("percent", "%"),
    ("load", "%"),
    ("mb", "MB"),
    ("mib", "MiB"),
    ("j", "J"),
    ("mj", "mJ"),
    ("uj", "uJ"),
    ("mv", "mV"),
    ("v", "V"),
    ("ma", "mA"),
    ("a", "A"),
    ("util", "%"),
];

fn suffix_unit(lower: &str) -> Option<&'static str> {
    let (_, last) = lower.rsplit_once(['_', '.', ' '])?;
    SUFFIXES.iter().find(|(s, _)| *s == last).map(|(_, u)| *u)
}

/// Name without its unit.
fn stem(lower: &str) -> String {
    let s = match lower.rsplit_once(['_', '.', ' ']) {
        Some((head, last)) if SUFFIXES.iter().any(|(s, _)| *s == last) => head,
        _ => lower,
    };
    // Voltage and current of one rail share its name; alone they are those of the power.
    if matches!(s, "voltage" | "bus_voltage" | "current") {
        return "power".to_owned();
    }
    let s = s.strip_suffix("_voltage").or_else(|| s.strip_suffix("_current")).unwrap_or(s);
    s.replace([' ', '.'], "_")
}

/// Channel name of a column: its stem with our unit.
fn named(lower: &str, quantity: Quantity) -> String {
    let stem = stem(lower);
    match quantity {
        Quantity::Power => format!("{stem}_mw"),
        Quantity::Load => format!("{stem}_load"),
        Quantity::Clock => format!("{}_mhz", stem.strip_suffix("_freq").unwrap_or(&stem)),
        Quantity::Temperature => format!("{stem}_c"),
        Quantity::Memory => format!("{stem}_mb"),
        Quantity::Energy => format!("{stem}_j"),
        Quantity::Other => stem,
    }
}
