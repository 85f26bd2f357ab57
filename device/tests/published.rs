//! Every simulated device against the published figures; the tables are printed.

use enerinfer_device::calibrate::{Effort, calibrate};
use enerinfer_device::published::{Comparison, Quantity, compare, policy_rows};
use enerinfer_device::{Policy, SimulatedDevice, names};

#[test]
fn every_published_figure_is_met_within_its_tolerance() {
    let mut missed = Vec::new();
    for platform in names() {
        println!("{platform}: published | simulated | error");
        for comparison in compare(platform).unwrap() {
            let figure = &comparison.figure;
            let line = format!(
                "{:18} {:7} mem {} accel {:2} {:21} {:9.3} | {:9.3} | {:+5.1} %  {}",
                figure.model,
                figure.format.name(),
                figure.point.mem,
                figure.point.accel,
                figure.quantity.name(),
                figure.value,
                comparison.simulated,
                comparison.error_percent(),
                figure.source,
            );
            println!("{line}");
            let error = comparison.error_percent().abs();
            if error.is_nan() || error > figure.tolerance_percent {
                missed.push(format!("{platform} {line}"));
            }
        }
    }
    assert!(missed.is_empty(), "{} figures missed:\n{}", missed.len(), missed.join("\n"));
}

#[test]
fn h_phone_meets_figure_4_cell_by_cell() {
    for quantity in [Quantity::ThroughputTokPerS, Quantity::PowerW] {
        let errors: Vec<f64> = compare("h_phone")
            .unwrap()
            .iter()
            .filter(|c| c.figure.model == "Qwen2-1.5B" && c.figure.quantity == quantity)
            .map(|c| c.error_percent().abs())
            .collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let worst = errors.iter().copied().fold(0.0, f64::max);
        println!("{}: mean {mean:.2} %, worst {worst:.2} %", quantity.name());
        assert_eq!(errors.len(), 45);
        assert!(mean <= 2.0 && worst <= 5.0, "mean {mean} %, worst {worst} %");
    }
}

#[test]
fn optima_gain_what_table_2_prints() {
    let mut missed = Vec::new();
    for platform in names() {
        for row in policy_rows(platform).unwrap() {
            let device = SimulatedDevice::builtin(platform, Some(row.format)).unwrap();
            let table = device.decode_all(&row.shape);
            let Some((point, gain, decode)) = row.simulate(&table) else {
                missed.push(format!("{platform} {row:?}: no point is fast enough"));
                continue;
            };
            let line = format!(
                "{platform:8} {:13} {:9?} QoE {:2}: published {:4.1} tok/s {:+3.0} %, simulated \
                 {:4.1} tok/s {gain:+5.1} % at mem {} accel {}",
                row.model,
                row.policy,
                row.qoe_tok_per_s,
                row.throughput_tok_per_s,
                row.gain_percent,
                decode.throughput_tok_per_s,
                point.mem,
                point.accel,
            );
            println!("{line}");
            // Deadline's rule is not printed well enough to hold anyone to it (CALIBRATION.md).
            if row.policy == Policy::Enerinfer && (gain - row.gain_percent).abs() > 5.0 {
                missed.push(line);
            }
        }
    }
    assert!(missed.is_empty(), "{} rows missed:\n{}", missed.len(), missed.join("\n"));
}

/// Table 2 names no levels, so the choices are made on the simulated tables.
#[test]
fn h_phone_choices_reach_the_published_pairs() {
    let device = SimulatedDevice::builtin("h_phone", None).unwrap();
    for row in policy_rows("h_phone").unwrap() {
        let (_, _, decode) = row.simulate(&device.decode_all(&row.shape)).unwrap();
        let speed_error = decode.throughput_tok_per_s / row.throughput_tok_per_s - 1.0;
        let efficiency_error = decode.efficiency_tok_per_j() / row.efficiency_tok_per_j - 1.0;
        assert!(speed_error.abs() < 0.06, "{row:?} {decode:?}");
        assert!(efficiency_error.abs() < 0.06, "{row:?} {decode:?}");
    }
}

/// Hydra: fewer bits do not mean less power. Q6_K draws more than Q8_0 on every board.
#[test]
fn power_is_not_monotone_in_bits() {
    for platform in ["xavier", "orin", "thor"] {
        let watts = |format: &str| {
            let is = |c: &&Comparison| {
                let f = &c.figure;
                f.model == "Qwen2.5-7B" && f.format.name() == format
            };
            let comparisons = compare(platform).unwrap();
            let found =
                comparisons.iter().filter(is).find(|c| c.figure.quantity == Quantity::PowerW);
            found.map(|c| c.simulated).unwrap()
        };
        let (q8, q6) = (watts("q8_0"), watts("q6_k"));
        println!("{platform}: Q8_0 {q8:.1} W, Q6_K {q6:.1} W");
        assert!(q6 > q8);
    }
}

/// The calibration program finds the committed parameters again, from cold and, as the platform
/// files say, from themselves. The larger devices take minutes; `measure calibrate` is for them.
#[test]
fn calibration_reproduces_the_platform_file() {
    for platform in ["orin_nano", "board_gpu"] {
        for effort in [Effort::Cold, Effort::Refine] {
            let found = calibrate(platform, effort).unwrap();
            println!(
                "{platform}, {effort:?}: committed {:.4}, found {:.4}",
                found.committed_cost, found.fitted_cost
            );
            assert!((found.fitted_cost / found.committed_cost - 1.0).abs() < 0.02, "{found:?}");
        }
    }
}

#[test]
fn calibration_md_is_up_to_date() {
    let committed = include_str!("../CALIBRATION.md");
    assert!(
        committed == enerinfer_device::calibrate::markdown().unwrap(),
        "run: measure calibrate --report device/CALIBRATION.md"
    );
}
