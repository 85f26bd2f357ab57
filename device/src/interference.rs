//! Foreground apps that run beside inference (EnerInfer Table 1).

use crate::Decode;

/// What a foreground app does to inference, as factors on a standalone run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForegroundApp {
    /// Name.
    pub name: &'static str,
    /// Factor on throughput.
    pub throughput: f64,
    /// Factor on memory power.
    pub memory_power: f64,
    /// Factor on accelerator power.
    pub accel_power: f64,
    /// Where the factors come from.
    pub source: &'static str,
}

/// The apps of Table 1, then a memory-heavy one.
pub const FOREGROUND_APPS: [ForegroundApp; 10] = [
    table_1("note", 0.98, 1.06, 1.03),
    table_1("browser", 0.89, 1.32, 0.90),
    table_1("video", 0.99, 1.12, 1.04),
    table_1("voice", 0.95, 1.14, 1.01),
    table_1("blog", 0.96, 1.16, 1.04),
    table_1("doc", 0.99, 1.09, 1.04),
    table_1("paint", 0.92, 1.16, 0.99),
    table_1("eshop", 0.98, 1.13, 1.06),
    table_1("im", 0.97, 1.09, 1.01),
    ForegroundApp {
        name: "memory_heavy",
        throughput: 0.60,
        memory_power: 1.60,
        accel_power: 0.75,
        source: "assumed: the corner case of EnerInfer §4.6, which prints no figures",
    },
];

const fn table_1(
    name: &'static str,
    throughput: f64,
    memory_power: f64,
    accel_power: f64,
) -> ForegroundApp {
    ForegroundApp { name, throughput, memory_power, accel_power, source: "EnerInfer Table 1" }
}

impl ForegroundApp {
    /// The decode with the app in the foreground. Memory power is all that is not the
    /// accelerator's, the app's own accesses included.
    #[must_use]
    pub fn beside(&self, alone: Decode) -> Decode {
        let accel_power_w = alone.accel_power_w * self.accel_power;
        let memory_power_w = (alone.power_w - alone.accel_power_w) * self.memory_power;
        Decode {
            throughput_tok_per_s: alone.throughput_tok_per_s * self.throughput,
            power_w: memory_power_w + accel_power_w,
            accel_power_w,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_act_on_their_own_part_of_the_power() {
        let alone = Decode { throughput_tok_per_s: 10.0, power_w: 1.0, accel_power_w: 0.6 };
        let browser = FOREGROUND_APPS[1].beside(alone);
        assert!((browser.throughput_tok_per_s - 8.9).abs() < 1e-12);
        assert!((browser.accel_power_w - 0.54).abs() < 1e-12);
        assert!((browser.power_w - (0.54 + 0.4 * 1.32)).abs() < 1e-12);
    }
}
