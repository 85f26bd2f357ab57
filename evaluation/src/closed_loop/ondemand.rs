//! The on-demand governor of devfreq, whose behaviour under load the Default policy stands for.

/// Settings of `simple_ondemand`, in percent of load; the kernel's defaults are 90 and 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SimpleOndemand {
    /// `upthreshold`: above it the highest clock runs.
    pub up_percent: u32,
    /// `downdifferential`: the clock falls below `up_percent` less this.
    pub down_percent: u32,
}

impl Default for SimpleOndemand {
    fn default() -> Self {
        SimpleOndemand { up_percent: 90, down_percent: 5 }
    }
}

impl SimpleOndemand {
    /// The clock that follows `current_khz` after a period of a load, from a table in ascending
    /// order (Linux, `drivers/devfreq/governor_simpleondemand.c`): the lowest that is fast enough
    /// for the load, unless that lies between the thresholds. An empty table leaves the clock.
    pub fn next_khz(self, table_khz: &[u32], current_khz: u32, load_percent: u32) -> u32 {
        let Some(&highest) = table_khz.last() else { return current_khz };
        if load_percent > self.up_percent {
            return highest;
        }
        if load_percent > self.up_percent.saturating_sub(self.down_percent) {
            return current_khz;
        }
        let middle =
            u64::from((self.up_percent - self.down_percent.min(self.up_percent) / 2).max(1));
        let wanted = u64::from(current_khz) * u64::from(load_percent) / middle;
        let enough = table_khz.iter().copied().find(|khz| u64::from(*khz) >= wanted);
        enough.unwrap_or(highest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DMC_KHZ: [u32; 4] = [528_000, 1_068_000, 1_560_000, 2_112_000];

    fn settled(governor: SimpleOndemand, from_khz: u32, load_percent: u32) -> u32 {
        (0..20).fold(from_khz, |khz, _| governor.next_khz(&DMC_KHZ, khz, load_percent))
    }

    #[test]
    fn load_raises_the_clock_and_its_absence_lowers_it() {
        let governor = SimpleOndemand::default();
        assert_eq!(settled(governor, 528_000, 100), 2_112_000);
        assert_eq!(settled(governor, 2_112_000, 5), 528_000);
        assert_eq!(settled(governor, 1_560_000, 88), 1_560_000);
        assert_eq!(governor.next_khz(&[], 7, 100), 7);
    }

    /// An RK3588 kernel ships 20 and 20 (Knowledge#7 of ThomasKaiser): any load above 0 % lies
    /// between the thresholds.
    #[test]
    fn a_differential_as_large_as_the_threshold_never_lowers_the_clock() {
        let rk3588 = SimpleOndemand { up_percent: 20, down_percent: 20 };
        assert_eq!(settled(rk3588, 2_112_000, 5), 2_112_000);
        assert_eq!(settled(SimpleOndemand { down_percent: 10, ..rk3588 }, 2_112_000, 5), 528_000);
    }
}
