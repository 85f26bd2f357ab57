//! Hydra's line parsers, with their faults.
//!
//! Each field is searched for on its own, anywhere in the line; the first match wins and an absent
//! field is an empty cell. Known faults that are kept: an `off` core is infinite; `vic_freq` on
//! Xavier takes the load; a line without a CPU list has fewer cells on Thor (later values move
//! left) and stops the whole file on Xavier and Orin; local time is always taken as
//! America/New_York.

use memchr::memmem::Finder;

use super::HydraPlatform;
use crate::text::{digits, float, take_uint, uint};
use crate::time::{fraction_ns, looks_like_mdy, mdy_seconds};
use crate::{Clock, Error, Zone};

/// A line as the original parser hands it on: cells in column order, without names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ParsedLine {
    /// UTC, ns.
    pub timestamp_ns: i64,
    /// Cells after the timestamp; NaN is an empty cell.
    pub cells: Vec<f64>,
    /// Cells that hold text (`off`).
    pub text_cells: Vec<usize>,
    /// Cores in the CPU list; 0 without one.
    pub cores: usize,
}

/// What the original raises on a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineFault {
    /// `ValueError`: skips the line on Xavier and Orin, stops the file on Thor.
    Value(&'static str),
    /// `IndexError`: stops the file.
    Index(&'static str),
}

impl LineFault {
    /// The reason.
    pub fn reason(self) -> &'static str {
        match self {
            LineFault::Value(r) | LineFault::Index(r) => r,
        }
    }
}

/// Parser of one platform's lines.
#[derive(Debug)]
pub struct HydraParser {
    platform: HydraPlatform,
    clock: Clock,
    keys: Keys,
    last_second: Option<([u8; 19], i64)>,
}

/// Prebuilt searchers; what they find is fixed per platform.
#[derive(Debug)]
struct Keys {
    ram: Finder<'static>,
    swap: Finder<'static>,
    cpu: Finder<'static>,
    cpu_end: Finder<'static>,
    emc: Finder<'static>,
    gr3d: Finder<'static>,
    gr3d2: Finder<'static>,
    vic_freq: Finder<'static>,
    ape: Finder<'static>,
    nvjpg1: Finder<'static>,
    engines: Vec<Finder<'static>>,
    temperatures: Vec<Finder<'static>>,
    extra_temperatures: Vec<Finder<'static>>,
    rails: Vec<Finder<'static>>,
    cv: Finder<'static>,
    utils: [Finder<'static>; 2],
}

fn finders(keys: &[&'static str]) -> Vec<Finder<'static>> {
    keys.iter().map(|k| Finder::new(*k)).collect()
}

impl Keys {
    fn new(platform: HydraPlatform) -> Self {
        let f = Finder::new;
        let (engines, temperatures, extra, rails): (&[_], &[_], &[_], &[_]) = match platform {
            HydraPlatform::Xavier => (
                &[],
                &["CPU@", "Tboard@", "Tdiode@", "SOC0@", "SOC1@", "SOC2@", "GPU@", "tj@"],
                &["CV1@", "CV2@"],
                &["GPU ", "CPU ", "SYS5V ", "VDDRQ "],
            ),
            HydraPlatform::Orin => (
                &[
                    "NVENC ",
                    "NVDEC ",
                    "NVJPG ",
                    "NVJPG1 ",
                    "VIC ",
                    "OFA ",
                    "NVDLA0 ",
                    "NVDLA1 ",
                    "PVA0_FREQ ",
                ],
                &["cpu@", "Tboard@", "Tdiode@", "soc0@", "soc1@", "soc2@", "gpu@", "tj@"],
                &[],
                &["VDD_GPU_SOC ", "VDD_CPU_CV ", "VIN_SYS_5V0 ", "VDDQ_VDD2_1V8AO "],
            ),
            HydraPlatform::Thor => (
                &[
                    "NVENC0_FREQ @",
                    "NVENC1_FREQ @",
                    "NVDEC0_FREQ @",
                    "NVDEC1_FREQ @",
                    "NVJPG0_FREQ @",
                    "VIC ",
                    "OFA_FREQ @",
                    "PVA0_FREQ ",
                ],
                &["cpu@", "tj@", "soc012@", "gpu@", "soc345@"],
                &[],
                &["VDD_GPU ", "VDD_CPU_SOC_MSS ", "VIN_SYS_5V0 ", "VIN "],
            ),
        };
        Keys {
            ram: f("RAM "),
            swap: f("SWAP "),
            cpu: f("CPU ["),
            cpu_end: f(if platform == HydraPlatform::Orin { "] EMC" } else { "]" }),
            emc: f("EMC_FREQ "),
            gr3d: f("GR3D_FREQ "),
            gr3d2: f("GR3D2_FREQ "),
            vic_freq: f("VIC_FREQ "),
            ape: f("APE "),
            nvjpg1: f("NVJPG1 "),
            engines: finders(engines),
            temperatures: finders(temperatures),
            extra_temperatures: finders(extra),
            rails: finders(rails),
            cv: f("CV "),
            utils: [f("GPU_UTIL "), f("MEM_UTIL ")],
        }
    }
}

/// First place where `key` stands and `form` matches what follows.
fn search<'a, T>(
    line: &'a [u8],
    key: &Finder<'_>,
    mut form: impl FnMut(&'a [u8]) -> Option<T>,
) -> Option<T> {
    let mut from = 0;
    while let Some(at) = key.find(&line[from..]) {
        if let Some(v) = form(&line[from + at + key.needle().len()..]) {
            return Some(v);
        }
        from += at + 1;
    }
    None
}

impl HydraParser {
    /// A parser of `platform`'s lines.
    pub fn new(platform: HydraPlatform) -> Result<Self, Error> {
        Ok(HydraParser {
            platform,
            clock: Clock::new(Zone::parse("America/New_York")?),
            keys: Keys::new(platform),
            last_second: None,
        })
    }

    /// Parses a line into `out`, which is reused.
    ///
    /// # Errors
    /// What the original raises.
    pub fn parse(&mut self, line: &[u8], out: &mut ParsedLine) -> Result<(), LineFault> {
        out.cells.clear();
        out.text_cells.clear();
        out.timestamp_ns = self.timestamp(line)?;
        match self.platform {
            HydraPlatform::Xavier => self.xavier(line, out),
            HydraPlatform::Orin => self.orin(line, out),
            HydraPlatform::Thor => self.thor(line, out),
        }
    }

    /// The first `MM-DD-YYYY HH:MM:SS.fraction` of the line.
    fn timestamp(&mut self, line: &[u8]) -> Result<i64, LineFault> {
        let is_stamp = |i: &usize| {
            let s = &line[*i..];
            looks_like_mdy(s)
                && s.get(19) == Some(&b'.')
                && s.get(20).is_some_and(u8::is_ascii_digit)
        };
        let at = (0..line.len().saturating_sub(20))
            .find(is_stamp)
            .ok_or(LineFault::Value("no time stamp with a fraction"))?;
        let s = &line[at..];
        let mut text = [0; 19];
        text.copy_from_slice(&s[..19]);
        let seconds = match self.last_second {
            Some((last, seconds)) if last == text => seconds,
            _ => {
                let civil =
                    mdy_seconds(s).ok_or(LineFault::Value("no such date or time of day"))?;
                let seconds = self.clock.utc_ns_stateless(civil * 1_000_000_000) / 1_000_000_000;
                self.last_second = Some((text, seconds));
                seconds
            }
        };
        Ok(seconds * 1_000_000_000 + fraction_ns(&s[20..]).0)
    }

    fn memory(&self, line: &[u8], out: &mut ParsedLine) {
        let ram = search(line, &self.keys.ram, |s| {
            let (used, s) = take_uint(s)?;
            let (total, s) = take_uint(s.strip_prefix(b"/")?)?;
            let (count, s) = take_uint(s.strip_prefix(b"MB (lfb ")?)?;
            let (size, s) = take_uint(s.strip_prefix(b"x")?)?;
            s.starts_with(b"MB)").then_some([used, total, count, size])
        });
        out.cells.extend(ram.unwrap_or([f64::NAN; 4]));
        if self.platform == HydraPlatform::Thor {
            return;
        }
        let swap = search(line, &self.keys.swap, |s| {
            let (used, s) = take_uint(s)?;
            let (total, s) = take_uint(s.strip_prefix(b"/")?)?;
            let (cached, s) = take_uint(s.strip_prefix(b"MB (cached ")?)?;
            s.starts_with(b"MB)").then_some([used, total, cached])
        });
        out.cells.extend(swap.unwrap_or([f64::NAN; 3]));
    }

    /// The CPU list; whether there is one.
    fn cores(&self, line: &[u8], out: &mut ParsedLine) -> Result<bool, LineFault> {
        let list = search(line, &self.keys.cpu, |s| self.keys.cpu_end.find(s).map(|end| &s[..end]));
        out.cores = 0;
        let Some(list) = list else { return Ok(false) };
        for item in list.split(|&b| b == b',') {
            out.cores += 1;
            if item == b"off" {
                out.cells.extend([f64::INFINITY; 2]);
                continue;
            }
            let (load, rest) = take_uint(item).ok_or(LineFault::Value("bad CPU core"))?;
            match rest.strip_prefix(b"%@").map(digits) {
                Some(Some((mhz, b""))) => out.cells.extend([load, uint(mhz)]),
                _ => return Err(LineFault::Value("bad CPU core")),
            }
        }
        Ok(true)
    }

    fn required_cores(&self, line: &[u8], out: &mut ParsedLine) -> Result<(), LineFault> {
        match self.cores(line, out)? {
            true => Ok(()),
            false => Err(LineFault::Index("no CPU list")),
        }
    }

    /// Load and clock of the memory controller; the clock may be absent, on Xavier with its `%@`.
    fn emc(&self, line: &[u8]) -> [f64; 2] {
        let found = search(line, &self.keys.emc, |s| {
            let (load, s) = take_uint(s)?;
            let percent = s.starts_with(b"%") || self.platform == HydraPlatform::Xavier;
            let mhz = s.strip_prefix(b"%@").and_then(take_uint).map_or(f64::NAN, |(v, _)| v);
            percent.then_some([load, mhz])
        });
        found.unwrap_or([f64::NAN; 2])
    }

    fn number_after(&self, line: &[u8], key: &Finder<'_>) -> f64 {
        search(line, key, |s| take_uint(s).map(|(v, _)| v)).unwrap_or(f64::NAN)
    }

    fn temperature(line: &[u8], key: &Finder<'_>) -> Result<f64, LineFault> {
        let found = search(line, key, |s| {
            // An optional leading character of a range that was meant to be a minus sign.
            let lead = match s.first()? {
                b'0'..=b'9' | b'.' => 0,
                0x28..=0x7C => 1,
                _ => return None,
            };
            let run = s[lead..].iter().take_while(|b| b.is_ascii_digit() || **b == b'.').count();
            let end = lead + run;
            (run > 0 && s.get(end) == Some(&b'C')).then(|| &s[..end])
        });
        match found {
            None => Ok(f64::NAN),
            Some(text) => float(text).ok_or(LineFault::Value("temperature is not a number")),
        }
    }

    fn temperatures(
        line: &[u8],
        keys: &[Finder<'_>],
        out: &mut ParsedLine,
    ) -> Result<(), LineFault> {
        for key in keys {
            out.cells.push(Self::temperature(line, key)?);
        }
        Ok(())
    }

    fn rail(line: &[u8], key: &Finder<'_>) -> [f64; 2] {
        let found = search(line, key, |s| {
            let (current, s) = take_uint(s)?;
            let (average, s) = take_uint(s.strip_prefix(b"mW/")?)?;
            s.starts_with(b"mW").then_some([current, average])
        });
        found.unwrap_or([f64::NAN; 2])
    }

    fn rails(&self, line: &[u8], out: &mut ParsedLine) {
        for key in &self.keys.rails {
            out.cells.extend(Self::rail(line, key));
        }
    }

    /// An engine word: text `off`, or empty (a number never parses).
    fn engine_word(line: &[u8], key: &Finder<'_>, out: &mut ParsedLine) {
        if search(line, key, |s| s.starts_with(b"off").then_some(())).is_some() {
            out.text_cells.push(out.cells.len());
        }
        out.cells.push(f64::NAN);
    }

    /// `key l%@[f…]` with exactly `N` clocks.
    fn gr3d<const N: usize>(line: &[u8], key: &Finder<'_>) -> Option<(f64, [f64; N])> {
        search(line, key, |s| {
            let (load, s) = match take_uint(s) {
                Some((load, s)) => (load, s.strip_prefix(b"%")?),
                None => (f64::NAN, s),
            };
            let mut s = s.strip_prefix(b"@[")?;
            let mut mhz = [f64::NAN; N];
            for (i, slot) in mhz.iter_mut().enumerate() {
                if i > 0 {
                    s = s.strip_prefix(b",")?;
                }
                (*slot, s) = take_uint(s)?;
            }
            s.starts_with(b"]").then_some((load, mhz))
        })
    }

    fn xavier(&self, line: &[u8], out: &mut ParsedLine) -> Result<(), LineFault> {
        self.memory(line, out);
        self.required_cores(line, out)?;
        out.cells.extend(self.emc(line));
        for key in [&self.keys.gr3d, &self.keys.gr3d2] {
            let gpu = Self::gr3d::<1>(line, key).filter(|(load, _)| !load.is_nan());
            out.cells.extend(gpu.map_or([f64::NAN; 2], |(load, [mhz])| [load, mhz]));
        }
        let nvjpg1 = search(line, &self.keys.nvjpg1, |s| {
            let end = s.iter().take_while(|b| b.is_ascii_alphanumeric()).count();
            (end > 0).then(|| &s[..end])
        });
        out.cells.push(match nvjpg1 {
            None => f64::NAN,
            Some(word) => float(word).ok_or(LineFault::Value("NVJPG1 is not a number"))?,
        });
        out.cells.push(self.number_after(line, &self.keys.vic_freq));
        out.cells.push(self.number_after(line, &self.keys.ape));
        out.cells.push(Self::rail(line, &self.keys.cv)[0]);
        Self::temperatures(line, &self.keys.extra_temperatures, out)?;
        Self::temperatures(line, &self.keys.temperatures, out)?;
        self.rails(line, out);
        Ok(())
    }

    fn orin(&self, line: &[u8], out: &mut ParsedLine) -> Result<(), LineFault> {
        self.memory(line, out);
        self.required_cores(line, out)?;
        let [load, mhz] = self.emc(line);
        if !load.is_nan() && mhz.is_nan() {
            return Err(LineFault::Value("EMC_FREQ without a clock"));
        }
        out.cells.extend([load, mhz]);
        let gpu = Self::gr3d::<2>(line, &self.keys.gr3d).filter(|(load, _)| !load.is_nan());
        out.cells.extend(gpu.map_or([f64::NAN; 4], |(load, [a, b])| [load, a, load, b]));
        for key in &self.keys.engines {
            Self::engine_word(line, key, out);
        }
        // The original takes this word for a number when it ends the line.
        let last =
            search(line, &self.keys.nvjpg1, |s| (s.trim_ascii_end() == b"off").then_some(()));
        if last.is_some() {
            return Err(LineFault::Value("NVJPG1 at the end is not a number"));
        }
        out.cells.push(self.number_after(line, &self.keys.vic_freq));
        out.cells.push(self.number_after(line, &self.keys.ape));
        Self::temperatures(line, &self.keys.temperatures, out)?;
        self.rails(line, out);
        Ok(())
    }

    fn thor(&self, line: &[u8], out: &mut ParsedLine) -> Result<(), LineFault> {
        self.memory(line, out);
        self.cores(line, out)?;
        out.cells.extend(self.emc(line));
        let (load, mhz) =
            Self::gr3d::<3>(line, &self.keys.gr3d).unwrap_or((f64::NAN, [f64::NAN; 3]));
        out.cells.extend([load; 3]);
        out.cells.extend(mhz);
        for key in &self.keys.engines {
            if key.needle().ends_with(b"@") {
                out.cells.push(self.number_after(line, key));
            } else {
                Self::engine_word(line, key, out);
            }
        }
        out.cells.push(self.number_after(line, &self.keys.ape));
        Self::temperatures(line, &self.keys.temperatures, out)?;
        self.rails(line, out);
        for key in &self.keys.utils {
            let value = search(line, key, |s| {
                let (v, s) = take_uint(s)?;
                s.starts_with(b"%").then_some(v)
            });
            out.cells.push(value.unwrap_or(f64::NAN));
        }
        Ok(())
    }
}
