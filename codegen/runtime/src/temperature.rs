//! Temperature in whole millidegrees, as Linux thermal zones report it.

/// Temperature in m°C: 42 °C is 42 000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MilliCelsius(pub i32);

impl MilliCelsius {
    /// Coldest reading that is believed. Uninitialised sensors report −256 or −273.15 °C.
    pub const LOWEST: MilliCelsius = MilliCelsius(-40_000);
    /// Hottest reading that is believed.
    pub const HIGHEST: MilliCelsius = MilliCelsius(125_000);

    /// From whole degrees, saturating.
    pub const fn from_celsius(celsius: i32) -> Self {
        MilliCelsius(celsius.saturating_mul(1_000))
    }

    /// Whether a sensor in a device that runs can report this.
    pub fn is_plausible(self) -> bool {
        (Self::LOWEST..=Self::HIGHEST).contains(&self)
    }

    /// The hottest plausible reading of several sensors; invalid ones count for nothing.
    ///
    /// On boards the "shell" is the hottest surface zone. Zones are compared, never averaged: a
    /// zone may already be the maximum of others.
    pub fn hottest<I: IntoIterator<Item = Option<MilliCelsius>>>(readings: I) -> Option<Self> {
        readings.into_iter().flatten().filter(|t| t.is_plausible()).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hottest_does_not_depend_on_order_or_on_invalid_sensors() {
        let valid = Some(MilliCelsius::from_celsius(41));
        for invalid in [None, Some(MilliCelsius(-273_150)), Some(MilliCelsius(-256_000))] {
            assert_eq!(MilliCelsius::hottest([valid, invalid]), valid);
            assert_eq!(MilliCelsius::hottest([invalid, valid]), valid);
            assert_eq!(MilliCelsius::hottest([invalid, invalid]), None);
        }
    }
}
