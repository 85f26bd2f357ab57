//! Hydra's three platforms and the columns of their parsed logs.

use std::fmt;

use crate::Error;

/// A platform of the Hydra corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HydraPlatform {
    /// Jetson AGX Xavier, JetPack 5.
    Xavier,
    /// Jetson AGX Orin, JetPack 6.
    Orin,
    /// Jetson AGX Thor, JetPack 7.
    Thor,
}

impl fmt::Display for HydraPlatform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl HydraPlatform {
    /// All, oldest first.
    pub const ALL: [HydraPlatform; 3] =
        [HydraPlatform::Xavier, HydraPlatform::Orin, HydraPlatform::Thor];

    /// Name in paths and files.
    pub fn name(self) -> &'static str {
        match self {
            HydraPlatform::Xavier => "xavier",
            HydraPlatform::Orin => "orin",
            HydraPlatform::Thor => "thor",
        }
    }

    /// The platform of a name.
    pub fn parse(name: &str) -> Result<Self, Error> {
        HydraPlatform::ALL.into_iter().find(|p| p.name() == name).ok_or_else(|| {
            Error::invalid(format!("Hydra platform `{name}` is not xavier, orin or thor"))
        })
    }

    /// CPU cores.
    pub fn cores(self) -> usize {
        match self {
            HydraPlatform::Xavier => 8,
            HydraPlatform::Orin => 12,
            HydraPlatform::Thor => 14,
        }
    }

    /// Peak DRAM bandwidth, GB/s (NVIDIA data sheets, as used by Hydra).
    pub fn peak_bandwidth_gb_per_s(self) -> f64 {
        match self {
            HydraPlatform::Xavier => 137.0,
            HydraPlatform::Orin => 204.8,
            HydraPlatform::Thor => 273.0,
        }
    }

    /// Highest memory clock, MHz.
    pub fn peak_emc_mhz(self) -> f64 {
        match self {
            HydraPlatform::Xavier => 2133.0,
            HydraPlatform::Orin => 3200.0,
            HydraPlatform::Thor => 4267.0,
        }
    }

    /// Highest GPU clock, MHz.
    pub fn peak_gpu_mhz(self) -> f64 {
        match self {
            HydraPlatform::Xavier => 1377.0,
            HydraPlatform::Orin => 1300.0,
            HydraPlatform::Thor => 1575.0,
        }
    }

    /// What `total_power_mw` adds up; equal texts are comparable.
    pub fn total_definition(self) -> &'static str {
        match self {
            HydraPlatform::Xavier => "hydra:GPU+CPU+SYS5V",
            HydraPlatform::Orin => "hydra:VDD_GPU_SOC+VDD_CPU_CV+VIN_SYS_5V0",
            HydraPlatform::Thor => "hydra:VDD_GPU+VDD_CPU_SOC_MSS+VIN_SYS_5V0",
        }
    }

    /// GPU clusters whose clocks are printed.
    pub fn clusters(self) -> usize {
        match self {
            HydraPlatform::Xavier => 1,
            HydraPlatform::Orin => 2,
            HydraPlatform::Thor => 3,
        }
    }

    /// Columns after the timestamp when a line has `cores` cores in its CPU list.
    pub fn columns(self, cores: usize) -> Vec<String> {
        let mut c: Vec<String> = Vec::with_capacity(64);
        let mut add = |names: &[&str]| c.extend(names.iter().map(|s| (*s).to_owned()));
        add(&["ram_used", "ram_total", "ram_lfb_count", "ram_lfb_size"]);
        if self != HydraPlatform::Thor {
            add(&["swap_used", "swap_total", "swap_cached"]);
        }
        for i in 0..cores {
            add(&[&format!("cpu_{i}_load"), &format!("cpu_{i}_freq")]);
        }
        add(&["emc_load", "emc_freq"]);
        match self {
            HydraPlatform::Xavier => {
                add(&["gpu1_load", "gpu1_freq", "gpu2_load", "gpu2_freq", "nvjpg1", "vic_freq"]);
                add(&["ape", "cv0", "cv1", "cv2"]);
            }
            HydraPlatform::Orin => {
                add(&["gpc1_load", "gpc1_freq", "gpc2_load", "gpc2_freq"]);
                add(&["NVENC", "NVDEC", "NVJPG0", "NVJPG1", "VIC", "OFA", "NVDLA0", "NVDLA1"]);
                add(&["pva0_freq", "vic_freq", "ape"]);
            }
            HydraPlatform::Thor => {
                add(&["gpc1_load", "gpc2_load", "gpc3_load"]);
                add(&["gpc1_freq", "gpc2_freq", "gpc3_freq"]);
                add(&["nvenc0_freq", "nvenc1_freq", "nvdec0_freq", "nvdec1_freq", "nvjpg0_freq"]);
                add(&["vic", "ofa_freq", "pva0_freq", "ape"]);
            }
        }
        match self {
            HydraPlatform::Thor => {
                add(&["cpu_temp", "tj_temp", "soc012_temp", "gpu_temp", "soc345_temp"]);
                for rail in ["vdd_gpu", "vdd_cpu_soc_mss", "vin_sys_5v0", "vin"] {
                    add(&[&format!("{rail}_cur"), &format!("{rail}_peak")]);
                }
                add(&["gpu_util", "mem_util"]);
            }
            _ => {
                add(&["cpu_temp", "tboard_temp", "tdiode_temp"]);
                add(&["soc_0_temp", "soc_1_temp", "soc_2_temp", "gpu_temp", "tj_temp"]);
                let system = if self == HydraPlatform::Xavier { "sys5v0" } else { "vin_sys_5v0" };
                for rail in ["vdd_gpu_soc", "vdd_cpu_cv", system, "vddq_vdd2_1v8ao"] {
                    add(&[&format!("{rail}_cur"), &format!("{rail}_avg")]);
                }
            }
        }
        c
    }
}
