//! Hydra's canonical schema: the same names on three platforms.
//!
//! The same name is not always the same quantity: `gpu_load` is GR3D on Xavier and Orin and NVML
//! on Thor; `gpu_power_mw` holds the SoC on Orin; `cpu_power_mw` holds SoC and memory on Thor. So
//! `total_power_mw` is not comparable across platforms, see [`HydraPlatform::total_definition`].

use super::HydraPlatform;
use crate::Moments;

/// Window families in column order.
pub const PHASES: [&str; 3] = ["prompt", "prefill", "decode"];

/// Canonical values of one window; NaN where there is none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Canonical {
    /// Mean over cores of the load, %.
    pub cpu_load_mean: f64,
    /// Highest core load, %.
    pub cpu_load_max: f64,
    /// Mean over cores of the clock, MHz.
    pub cpu_freq_mean: f64,
    /// GPU load, %.
    pub gpu_load: f64,
    /// GPU clock, MHz.
    pub gpu_freq: f64,
    /// GPU temperature, °C.
    pub gpu_temp_c: f64,
    /// CPU temperature, °C.
    pub cpu_temp_c: f64,
    /// Highest of the zones, °C.
    pub temp_max_c: f64,
    /// Memory in use, MB.
    pub ram_used_mb: f64,
    /// GPU rail, mW.
    pub gpu_power_mw: f64,
    /// CPU rail, mW.
    pub cpu_power_mw: f64,
    /// System rail, mW.
    pub sys_power_mw: f64,
    /// Sum of those present, mW.
    pub total_power_mw: f64,
    /// Board input (Thor only), mW.
    pub board_power_mw: f64,
    /// NVML GPU utilisation (Thor only), %.
    pub nvml_gpu_util: f64,
    /// NVML memory utilisation (Thor only), %.
    pub nvml_mem_util: f64,
    /// Memory controller load, clipped to 0…100 %.
    pub emc_load: f64,
    /// Memory clock, MHz.
    pub emc_freq: f64,
}

impl Canonical {
    /// Field names in the order of [`Canonical::values`].
    pub const NAMES: [&str; 18] = [
        "cpu_load_mean",
        "cpu_load_max",
        "cpu_freq_mean",
        "gpu_load",
        "gpu_freq",
        "gpu_temp_c",
        "cpu_temp_c",
        "temp_max_c",
        "ram_used_mb",
        "gpu_power_mw",
        "cpu_power_mw",
        "sys_power_mw",
        "total_power_mw",
        "board_power_mw",
        "nvml_gpu_util",
        "nvml_mem_util",
        "emc_load",
        "emc_freq",
    ];

    /// All values.
    pub fn values(&self) -> [f64; 18] {
        [
            self.cpu_load_mean,
            self.cpu_load_max,
            self.cpu_freq_mean,
            self.gpu_load,
            self.gpu_freq,
            self.gpu_temp_c,
            self.cpu_temp_c,
            self.temp_max_c,
            self.ram_used_mb,
            self.gpu_power_mw,
            self.cpu_power_mw,
            self.sys_power_mw,
            self.total_power_mw,
            self.board_power_mw,
            self.nvml_gpu_util,
            self.nvml_mem_util,
            self.emc_load,
            self.emc_freq,
        ]
    }

    /// Hydra's power, W: GPU and system rail, the CPU rail left out.
    pub fn power_w(&self) -> f64 {
        (self.gpu_power_mw + self.sys_power_mw) / 1000.0
    }

    /// Effective GPU utilisation `U_eff`, % of the peak clock (a product of window means).
    pub fn effective_utilisation(&self, p: HydraPlatform) -> f64 {
        self.gpu_load * self.gpu_freq / p.peak_gpu_mhz()
    }

    /// Effective memory bandwidth `BW_eff`, GB/s (likewise).
    pub fn effective_bandwidth(&self, p: HydraPlatform) -> f64 {
        p.peak_bandwidth_gb_per_s() * self.emc_freq / p.peak_emc_mhz() * self.emc_load / 100.0
    }
}

/// Indices of the columns that the canonical values of one window need.
#[derive(Clone, Debug)]
pub(super) struct CanonicalColumns {
    platform: HydraPlatform,
    pub(super) cpu_load: Vec<Option<usize>>,
    pub(super) cpu_freq: Vec<Option<usize>>,
    gpu_load: Vec<Option<usize>>,
    gpu_freq: Vec<Option<usize>>,
    temps: Vec<Option<usize>>,
    single: [Option<usize>; 11],
}

impl CanonicalColumns {
    pub(super) fn new(p: HydraPlatform, phase: &str, find: impl Fn(&str) -> Option<usize>) -> Self {
        let column = |name: &str| find(&format!("{name}_{phase}_mean"));
        let all = |names: &[&str]| names.iter().map(|n| column(n)).collect::<Vec<_>>();
        let cores = |what: &str| {
            (0..p.cores()).map(|i| column(&format!("cpu_{i}_{what}"))).collect::<Vec<_>>()
        };
        let jetson = [
            "cpu_temp",
            "gpu_temp",
            "tboard_temp",
            "tdiode_temp",
            "soc_0_temp",
            "soc_1_temp",
            "soc_2_temp",
            "tj_temp",
        ];
        let (gpu_load, gpu_freq, temps, rails) = match p {
            HydraPlatform::Xavier => (
                all(&["gpu1_load"]),
                all(&["gpu1_freq"]),
                all(&jetson),
                ["vdd_gpu_soc_cur", "vdd_cpu_cv_cur", "sys5v0_cur"],
            ),
            HydraPlatform::Orin => (
                all(&["gpc1_load", "gpc2_load"]),
                all(&["gpc1_freq", "gpc2_freq"]),
                all(&jetson),
                ["vdd_gpu_soc_cur", "vdd_cpu_cv_cur", "vin_sys_5v0_cur"],
            ),
            HydraPlatform::Thor => (
                all(&["gpu_util"]),
                all(&["gpc1_freq", "gpc2_freq", "gpc3_freq"]),
                all(&["cpu_temp", "gpu_temp", "tj_temp", "soc012_temp", "soc345_temp"]),
                ["vdd_gpu_cur", "vdd_cpu_soc_mss_cur", "vin_sys_5v0_cur"],
            ),
        };
        let thor = |name: &str| if p == HydraPlatform::Thor { column(name) } else { None };
        CanonicalColumns {
            platform: p,
            cpu_load: cores("load"),
            cpu_freq: cores("freq"),
            gpu_load,
            gpu_freq,
            temps,
            single: [
                column("gpu_temp"),
                column("cpu_temp"),
                column("ram_used"),
                column(rails[0]),
                column(rails[1]),
                column(rails[2]),
                thor("vin_cur"),
                thor("gpu_util"),
                thor("mem_util"),
                column("emc_load"),
                column("emc_freq"),
            ],
        }
    }

    pub(super) fn read(&self, get: impl Fn(Option<usize>) -> f64) -> Canonical {
        let mean = |columns: &[Option<usize>]| Moments::of(columns.iter().map(|c| get(*c))).mean();
        let max =
            |columns: &[Option<usize>]| columns.iter().map(|c| get(*c)).fold(f64::NAN, f64::max);
        let [gpu_temp, cpu_temp, ram, gpu, cpu, sys, board, gpu_util, mem_util, emc, emc_freq] =
            self.single.map(&get);
        let present: Vec<f64> = [gpu, cpu, sys].into_iter().filter(|v| !v.is_nan()).collect();
        debug_assert_eq!(self.cpu_load.len(), self.platform.cores());
        Canonical {
            cpu_load_mean: mean(&self.cpu_load),
            cpu_load_max: max(&self.cpu_load),
            cpu_freq_mean: mean(&self.cpu_freq),
            gpu_load: mean(&self.gpu_load),
            gpu_freq: mean(&self.gpu_freq),
            gpu_temp_c: gpu_temp,
            cpu_temp_c: cpu_temp,
            temp_max_c: max(&self.temps),
            ram_used_mb: ram,
            gpu_power_mw: gpu,
            cpu_power_mw: cpu,
            sys_power_mw: sys,
            total_power_mw: if present.is_empty() { f64::NAN } else { present.iter().sum() },
            board_power_mw: board,
            nvml_gpu_util: gpu_util,
            nvml_mem_util: mem_util,
            // NaN stays NaN through clamp.
            emc_load: emc.clamp(0.0, 100.0),
            emc_freq,
        }
    }
}
