//! Fits the parameters of a simulated device to the published figures and prints them as TOML.
//!
//! ```text
//! cargo run -p enerinfer-device --release --example calibrate -- orin
//! cargo run -p enerinfer-device --release --example calibrate -- orin --write device/platforms/orin.toml
//! ```
//!
//! `thermal` in place of a platform fits h_phone's thermal model. `--report FILE` writes `CALIBRATION.md` instead. `--refine` starts from the platform file instead of from cold.

use anyhow::{Context as _, Result, bail};
use enerinfer_device::SimulatedDevice;
use enerinfer_device::calibrate::{Effort, Fitted, calibrate, platform_file};
use enerinfer_device::published::{figures, policy_rows};
use toml_edit::{Array, DocumentMut, Item, value};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (mut platform, mut effort, mut write) = (None, Effort::Cold, None);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "thermal" => {
                println!("{:#?}", enerinfer_device::calibrate::calibrate_thermal()?);
                return Ok(());
            }
            "--report" => {
                let path = arguments.next().context("--report needs a file")?;
                let text = enerinfer_device::calibrate::markdown()?;
                enerinfer_artifacts::write_atomic(path.as_ref(), text.as_bytes())?;
                return Ok(());
            }
            "--refine" => effort = Effort::Refine,
            "--write" => write = Some(arguments.next().context("--write needs a file")?),
            name if platform.is_none() => platform = Some(name.to_owned()),
            other => bail!("unexpected argument `{other}`"),
        }
    }
    let Some(platform) = platform else {
        bail!("name a platform: {}", enerinfer_device::names().join(", "));
    };

    let calibration = calibrate(&platform, effort)?;
    eprintln!(
        "{platform}: {} free parameters, {} published values, cost {:.4} (platform file: {:.4})",
        calibration.free_parameters,
        calibration.published_values,
        calibration.fitted_cost,
        calibration.committed_cost,
    );
    for fitted in &calibration.fitted {
        println!("{} = {}", fitted.path.join("."), item(fitted));
    }

    let mut document: DocumentMut = platform_file(&platform)?.parse()?;
    for fitted in &calibration.fitted {
        let mut place = document.as_item_mut();
        for key in &fitted.path {
            place = &mut place[key.as_str()];
        }
        place["value"] = item(fitted);
    }
    let text = document.to_string();
    print_comparison(&platform, &text)?;
    if let Some(path) = write {
        enerinfer_artifacts::write_atomic(path.as_ref(), text.as_bytes())?;
    }
    Ok(())
}

fn print_comparison(platform: &str, text: &str) -> Result<()> {
    eprintln!("published | simulated | error");
    for figure in figures(platform)? {
        let device = SimulatedDevice::from_toml(text, platform, Some(figure.format))?;
        let simulated = figure.simulate(&device);
        eprintln!(
            "{:16} {:6} mem {} accel {:2} {:21} {:9.3} | {simulated:9.3} | {:+5.1} %",
            figure.model,
            figure.format.name(),
            figure.point.mem,
            figure.point.accel,
            figure.quantity.name(),
            figure.value,
            100.0 * (simulated / figure.value - 1.0),
        );
    }
    for row in policy_rows(platform)? {
        let device = SimulatedDevice::from_toml(text, platform, Some(row.format))?;
        let Some((point, gain, decode)) = row.simulate(&device.decode_all(&row.shape)) else {
            eprintln!("{} {:?} QoE {}: none", row.model, row.policy, row.qoe_tok_per_s);
            continue;
        };
        eprintln!(
            "{:16} {:?} QoE {}: {:.1} tok/s {:+.0} % | mem {} accel {} {:.1} tok/s {gain:+.0} %",
            row.model,
            row.policy,
            row.qoe_tok_per_s,
            row.throughput_tok_per_s,
            row.gain_percent,
            point.mem,
            point.accel,
            decode.throughput_tok_per_s,
        );
    }
    Ok(())
}

fn item(fitted: &Fitted) -> Item {
    match fitted.values.as_slice() {
        [single] => value(*single),
        levels => value(levels.iter().copied().collect::<Array>()),
    }
}
