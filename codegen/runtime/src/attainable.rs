//! Removes operating points that the device turns out not to reach.

use crate::tables::Tables;
use crate::units::MicroTokPerS;

/// Takes every point for which `attainable` is false out of all later choices: its throughput
/// becomes zero, which no front keeps and no controller chooses. For clocks above a cap, or
/// levels of the trained tables that this device lacks.
pub fn keep_attainable<const N: usize>(
    tables: &mut Tables<N>,
    mut attainable: impl FnMut(u16) -> bool,
) {
    for (point, throughput) in tables.throughput.iter_mut().enumerate() {
        if !attainable(point as u16) {
            *throughput = MicroTokPerS(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::Front;
    use crate::units::MicroWatt;

    #[test]
    fn a_point_above_a_cap_is_never_chosen() {
        let mut tables = Tables {
            throughput: [10, 20, 30].map(MicroTokPerS),
            power: [1, 3, 5].map(MicroWatt),
            accel_power: [MicroWatt(1); 3],
        };
        keep_attainable(&mut tables, |point| point < 2);
        let front = Front::new(&tables);
        assert!(front.entries().iter().all(|e| e.point < 2));
        assert_eq!(front.entries().get(front.choose(MicroTokPerS(25))).map(|e| e.point), Some(1));
    }
}
