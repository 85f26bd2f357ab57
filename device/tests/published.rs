//! Every simulated device against the published figures; the tables are printed.

use std::collections::BTreeMap;

use enerinfer_datasets::{OperatingPoint, WeightFormat};
use enerinfer_device::published::{Figure, Quantity, figures};
use enerinfer_device::{SimulatedDevice, names};

/// Simulated value and relative error in percent of each published figure.
#[expect(clippy::unwrap_used, reason = "helper of tests")]
fn compare(platform: &str) -> Vec<(Figure, f64, f64)> {
    let mut devices: BTreeMap<WeightFormat, SimulatedDevice> = BTreeMap::new();
    figures(platform)
        .unwrap()
        .into_iter()
        .map(|figure| {
            let device = devices.entry(figure.format).or_insert_with(|| {
                SimulatedDevice::builtin(platform, Some(figure.format)).unwrap()
            });
            let simulated = figure.simulate(device);
            let error_percent = 100.0 * (simulated / figure.value - 1.0);
            (figure, simulated, error_percent)
        })
        .collect()
}

#[test]
fn every_published_figure_is_met_within_its_tolerance() {
    let mut missed = Vec::new();
    for platform in names() {
        println!("{platform}: published | simulated | error");
        for (figure, simulated, error) in compare(platform) {
            let line = format!(
                "{:18} {:7} mem {} accel {:2} {:21} {:9.3} | {simulated:9.3} | {error:+5.1} %  {}",
                figure.model,
                figure.format.name(),
                figure.point.mem,
                figure.point.accel,
                figure.quantity.name(),
                figure.value,
                figure.source,
            );
            println!("{line}");
            if error.is_nan() || error.abs() > figure.tolerance_percent {
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
            .into_iter()
            .filter(|(f, ..)| f.model == "Qwen2-1.5B" && f.quantity == quantity)
            .map(|(.., error)| error.abs())
            .collect();
        let mean = errors.iter().sum::<f64>() / errors.len() as f64;
        let worst = errors.iter().copied().fold(0.0, f64::max);
        println!("{}: mean {mean:.2} %, worst {worst:.2} %", quantity.name());
        assert_eq!(errors.len(), 45);
        assert!(mean <= 2.0 && worst <= 5.0, "mean {mean} %, worst {worst} %");
    }
}

/// Table 2 names no levels, so the policies' choices are made on the simulated tables.
#[test]
fn h_phone_deadline_choices_of_llama2_are_those_of_table_2() {
    let device = SimulatedDevice::builtin("h_phone", None).unwrap();
    let shape =
        compare("h_phone").into_iter().find(|(f, ..)| f.model == "LLaMA2-1.3B").unwrap().0.shape;
    let slowest_meeting = |qoe: f64| -> OperatingPoint {
        let speed = |p: &OperatingPoint| device.decode(&shape, *p).throughput_tok_per_s;
        let points = device.platform().clocks.points();
        points.filter(|p| speed(p) >= qoe).min_by(|a, b| speed(a).total_cmp(&speed(b))).unwrap()
    };
    for (qoe, speed, efficiency) in [(5.0, 8.3, 28.5), (10.0, 11.7, 32.5)] {
        let decode = device.decode(&shape, slowest_meeting(qoe));
        println!("QoE {qoe}: published {speed} tok/s {efficiency} tok/J, simulated {decode:?}");
        assert!((decode.throughput_tok_per_s / speed - 1.0).abs() < 0.06);
        assert!((decode.efficiency_tok_per_j() / efficiency - 1.0).abs() < 0.06);
    }
}
