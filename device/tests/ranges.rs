//! EnerInfer's Figures 6–8: what the laptop shows over 300 synthetic models.

use enerinfer_datasets::{LlmShape, OperatingPoint, independent};
use enerinfer_device::SimulatedDevice;

const HIGHEST: OperatingPoint = OperatingPoint { mem: 6, accel: 3 };
const SLOW_NPU: OperatingPoint = OperatingPoint { mem: 6, accel: 0 };

/// 300 models of 0.5 to 7 B as the paper drew them.
fn laptop_and_sample() -> (SimulatedDevice, Vec<LlmShape>) {
    (SimulatedDevice::builtin("laptop", None).expect("built in"), independent::sample(300, 1))
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64, usize) {
    values.fold((f64::MAX, f64::MIN, 0), |(low, high, n), v| (low.min(v), high.max(v), n + 1))
}

#[test]
fn models_of_one_billion_parameters_spread_in_time_per_token() {
    let (laptop, sample) = laptop_and_sample();
    let about_1b =
        sample.iter().filter(|m| (0.9e9..1.1e9).contains(&(m.dims().read_params() as f64)));
    let (low, high, n) =
        range(about_1b.map(|m| 1e3 / laptop.decode(m, HIGHEST).throughput_tok_per_s));
    println!(
        "Figure 6, 1 B: published 34 to 62 ms, simulated {low:.1} to {high:.1} ms ({n} models)"
    );
    // The upper end is not met (CALIBRATION.md).
    assert!((low / 34.0 - 1.0).abs() < 0.1 && high > 1.25 * low);
}

#[test]
fn a_slow_npu_costs_models_differently() {
    let (laptop, sample) = laptop_and_sample();
    let (low, high, _) = range(sample.iter().map(|m| {
        laptop.decode(m, SLOW_NPU).throughput_tok_per_s
            / laptop.decode(m, HIGHEST).throughput_tok_per_s
    }));
    println!("Figure 7 at M6N0: published 0.6 to 0.9, simulated {low:.2} to {high:.2}");
    // The upper end is not met (CALIBRATION.md): some models are held up by memory alone.
    assert!((low / 0.6 - 1.0).abs() < 0.1 && (0.9..=1.0).contains(&high));
}

#[test]
fn models_differ_in_power_at_the_highest_clocks() {
    let (laptop, sample) = laptop_and_sample();
    let (low, high, _) = range(sample.iter().map(|m| laptop.decode(m, HIGHEST).power_w));
    println!("Figure 8 at M6N3: published 2.6 to 3.8 W, simulated {low:.2} to {high:.2} W");
    // Table 2 has models of 3.8 to 4.4 W, and wins.
    assert!((low / 2.6 - 1.0).abs() < 0.1 && (3.8..4.6).contains(&high));
}
