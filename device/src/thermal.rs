//! Shell temperature: a two-node RC model.
//!
//! ```text
//! C_core·dT_core/dt   = P + P_core − (T_core − T_shell)/R_core
//! C_shell·dT_shell/dt = P_shell + (T_core − T_shell)/R_core − (T_shell − T_ambient)/R_shell
//! ```
//!
//! `P` is the power of the platform's power domain, `P_core` other power on the chip (CPU) and
//! `P_shell` power that warms the shell directly (display). On boards "shell" is the hottest
//! surface.

/// Longest step of the integration, s; far below every time constant that a platform file may
/// have.
const STEP_S: f64 = 0.05;

/// Temperatures of the two nodes, °C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Temperatures {
    /// Chip.
    pub core_celsius: f64,
    /// Shell.
    pub shell_celsius: f64,
}

/// The thermal model of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThermalModel {
    /// Heat capacity of the chip and what follows it at once, J/K.
    pub(crate) core_j_per_k: f64,
    /// Thermal resistance between core and shell, K/W.
    pub(crate) core_to_shell_k_per_w: f64,
    /// Heat capacity of the shell, J/K.
    pub(crate) shell_j_per_k: f64,
    /// Thermal resistance between shell and ambient, K/W.
    pub(crate) shell_to_ambient_k_per_w: f64,
    /// Other power on the chip, W.
    pub(crate) background_core_w: f64,
    /// Other power that warms the shell, W.
    pub(crate) background_shell_w: f64,
}

impl ThermalModel {
    /// The same model with every heat capacity, thermal resistance and background power
    /// multiplied by a factor: a device that differs from the one that was trained on.
    #[must_use]
    pub fn scaled(&self, heat_capacity: f64, resistance: f64, background: f64) -> Self {
        ThermalModel {
            core_j_per_k: self.core_j_per_k * heat_capacity,
            core_to_shell_k_per_w: self.core_to_shell_k_per_w * resistance,
            shell_j_per_k: self.shell_j_per_k * heat_capacity,
            shell_to_ambient_k_per_w: self.shell_to_ambient_k_per_w * resistance,
            background_core_w: self.background_core_w * background,
            background_shell_w: self.background_shell_w * background,
        }
    }

    /// Temperatures after `seconds` of `power_w` (accelerator and memory) at an ambient
    /// temperature.
    #[must_use]
    pub fn step(
        &self,
        from: Temperatures,
        power_w: f64,
        ambient_celsius: f64,
        seconds: f64,
    ) -> Temperatures {
        let steps = (seconds / STEP_S).ceil().max(1.0);
        let dt = seconds / steps;
        let mut at = from;
        // Midpoint rule: no libm, so the same bits on every machine.
        for _ in 0..steps as u64 {
            let middle = self.advance(at, self.rates(at, power_w, ambient_celsius), dt / 2.0);
            at = self.advance(at, self.rates(middle, power_w, ambient_celsius), dt);
        }
        at
    }

    /// Temperatures that a constant power leads to.
    pub fn steady(&self, power_w: f64, ambient_celsius: f64) -> Temperatures {
        let core_w = power_w + self.background_core_w;
        let shell_celsius =
            ambient_celsius + (core_w + self.background_shell_w) * self.shell_to_ambient_k_per_w;
        Temperatures {
            core_celsius: shell_celsius + core_w * self.core_to_shell_k_per_w,
            shell_celsius,
        }
    }

    /// Seconds until the shell reaches `threshold_celsius`, in steps of 0.1 s; none within
    /// `limit_s`.
    pub fn seconds_to_shell(
        &self,
        from: Temperatures,
        power_w: f64,
        ambient_celsius: f64,
        threshold_celsius: f64,
        limit_s: f64,
    ) -> Option<f64> {
        let mut at = from;
        for tenths in 0..=(limit_s * 10.0) as u64 {
            if at.shell_celsius >= threshold_celsius {
                return Some(tenths as f64 / 10.0);
            }
            at = self.step(at, power_w, ambient_celsius, 0.1);
        }
        None
    }

    /// `(dT_core/dt, dT_shell/dt)`, K/s.
    fn rates(&self, at: Temperatures, power_w: f64, ambient_celsius: f64) -> (f64, f64) {
        let to_shell = (at.core_celsius - at.shell_celsius) / self.core_to_shell_k_per_w;
        let to_ambient = (at.shell_celsius - ambient_celsius) / self.shell_to_ambient_k_per_w;
        (
            (power_w + self.background_core_w - to_shell) / self.core_j_per_k,
            (self.background_shell_w + to_shell - to_ambient) / self.shell_j_per_k,
        )
    }

    fn advance(&self, at: Temperatures, (core, shell): (f64, f64), dt: f64) -> Temperatures {
        Temperatures {
            core_celsius: at.core_celsius + core * dt,
            shell_celsius: at.shell_celsius + shell * dt,
        }
    }
}
