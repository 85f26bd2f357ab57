//! Removes operating points that the device turns out not to reach.

use crate::tables::Tables;
use crate::units::MicroTokPerS;

/// Takes every point for which `attainable` is false out of all later choices: its throughput
/// becomes zero, which no front keeps, unless nothing is attainable. For clocks above a cap, or
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
    use crate::coordinator::Fronts;
    use crate::front::Front;
    use crate::units::MicroWatt;

    /// With power, without, and with power at some points only.
    const POWERS: [[u32; 3]; 4] = [[1, 3, 5], [0, 0, 0], [1, 0, 5], [0, 3, 0]];

    fn tables(power: [u32; 3]) -> Tables<3> {
        Tables {
            throughput: [10, 20, 30].map(MicroTokPerS),
            power: power.map(MicroWatt),
            accel_power: [MicroWatt(1); 3],
        }
    }

    #[test]
    fn what_is_not_attainable_is_on_no_front() {
        for power in POWERS {
            for kept in 1u16..8 {
                let mut tables = tables(power);
                keep_attainable(&mut tables, |point| kept >> point & 1 == 1);
                let Fronts { efficient, slowest_first } = Fronts::new(&tables);
                for front in [efficient, slowest_first] {
                    assert!(!front.entries().is_empty());
                    assert!(front.entries().iter().all(|e| kept >> e.point & 1 == 1), "{front:?}");
                }
            }
        }
    }

    #[test]
    fn where_nothing_is_attainable_fronts_are_not_empty() {
        for power in POWERS {
            let mut tables = tables(power);
            keep_attainable(&mut tables, |_| false);
            assert!(!Front::new(&tables).entries().is_empty());
        }
    }

    #[test]
    fn a_point_above_a_cap_is_never_chosen() {
        let mut tables = tables([1, 3, 5]);
        keep_attainable(&mut tables, |point| point < 2);
        let front = Front::new(&tables);
        assert_eq!(front.entries().get(front.choose(MicroTokPerS(25))).map(|e| e.point), Some(1));
    }
}
