//! `CALIBRATION.md`: published against simulated, for every built-in device.

use std::fmt::Write as _;

use enerinfer_datasets::WeightFormat;

use super::recipe;
use super::thermal::{H_PHONE_REST_SHELL_CELSIUS, H_PHONE_STRESS_CORE_CELSIUS, thermal_targets};
use crate::policy::Policy;
use crate::published::{self, Comparison, Quantity};
use crate::{DeviceError, SimulatedDevice, builtin, names, parameters};

const HEAD: &str = include_str!("report_head.md");

/// The text of `CALIBRATION.md`.
///
/// # Errors
/// None for the embedded platforms: they are held sound by tests.
pub fn markdown() -> Result<String, DeviceError> {
    let mut text = String::from(HEAD);
    summary(&mut text)?;
    for platform in names() {
        let _ = write!(text, "\n## {platform}\n\n");
        text += &comparison(platform, |format| SimulatedDevice::builtin(platform, Some(format)))?;
    }
    left_out_levels(&mut text)?;
    thermal(&mut text)?;
    Ok(text)
}

/// Every published value of a platform beside what a device of it does, given by weight format:
/// Markdown.
///
/// # Errors
/// The platform is unknown; as `device`.
pub fn comparison(
    platform: &str,
    device: impl Fn(WeightFormat) -> Result<SimulatedDevice, DeviceError>,
) -> Result<String, DeviceError> {
    let mut text = String::new();
    figures(&mut text, platform, &device)?;
    policies(&mut text, platform, &device)?;
    Ok(text)
}

/// A device by weight format.
type ByFormat<'a> = &'a dyn Fn(WeightFormat) -> Result<SimulatedDevice, DeviceError>;

/// A line of text; writing to a string cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {
        let _ = writeln!($text, $($format)*);
    };
}

fn summary(text: &mut String) -> Result<(), DeviceError> {
    line!(text, "## Summary\n");
    line!(text, "| device | free parameters | published values | mean error | worst error |");
    line!(text, "|---|---|---|---|---|");
    for platform in names() {
        let comparisons = published::compare(platform)?;
        let values = comparisons.len() + published::policy_rows(platform)?.len();
        let (mean, worst) = mean_and_worst(&comparisons);
        let free = recipe::bounds(platform)?.len();
        line!(text, "| {platform} | {free} | {values} | {mean:.1} % | {worst:.1} % |");
    }
    Ok(())
}

fn mean_and_worst(comparisons: &[Comparison]) -> (f64, f64) {
    let errors = comparisons.iter().map(|c| c.error_percent().abs());
    let worst = errors.clone().fold(0.0, f64::max);
    (errors.sum::<f64>() / comparisons.len().max(1) as f64, worst)
}

fn figures(text: &mut String, platform: &str, device: ByFormat<'_>) -> Result<(), DeviceError> {
    line!(
        text,
        "| model | format | memory, accelerator level | quantity | published | simulated | error | \
         tolerance | source |"
    );
    line!(text, "|---|---|---|---|---|---|---|---|---|");
    for figure in published::figures(platform)? {
        let simulated = figure.simulate(&device(figure.format)?);
        let comparison = Comparison { figure, simulated };
        let figure = &comparison.figure;
        line!(
            text,
            "| {} | {} | {}, {} | {} | {} | {} | {:+.1} % | {} % | {} |",
            figure.model,
            figure.format,
            figure.point.mem,
            figure.point.accel,
            figure.quantity.name(),
            figure.value,
            significant(simulated),
            comparison.error_percent(),
            figure.tolerance_percent,
            figure.source,
        );
    }
    Ok(())
}

fn policies(text: &mut String, platform: &str, device: ByFormat<'_>) -> Result<(), DeviceError> {
    let rows = published::policy_rows(platform)?;
    if rows.is_empty() {
        return Ok(());
    }
    line!(text, "\n### {platform}: policies of EnerInfer's Table 2\n");
    line!(
        text,
        "Speed in tokens/s and gain in efficiency over the highest clocks. Deadline is simulated \
         as the slowest fast-enough point, and in brackets as the lowest memory level with a \
         fast-enough point at its lowest accelerator level.\n"
    );
    line!(text, "| model | policy | QoE | published | simulated | level |");
    line!(text, "|---|---|---|---|---|---|");
    for row in rows {
        let table = device(row.format)?.decode_all(&row.shape);
        let Some((point, gain, decode)) = row.simulate(&table) else {
            line!(text, "| {} | {:?} | {} | | none | |", row.model, row.policy, row.qoe_tok_per_s);
            continue;
        };
        let mut simulated = format!("{:.1}, {gain:+.0} %", decode.throughput_tok_per_s);
        if row.policy == Policy::Deadline {
            let by_levels = published::PolicyRow { policy: Policy::DeadlineLevels, ..row.clone() };
            if let Some((_, gain, decode)) = by_levels.simulate(&table) {
                let _ = write!(simulated, " ({:.1}, {gain:+.0} %)", decode.throughput_tok_per_s);
            }
        }
        line!(
            text,
            "| {} | {:?} | {} | {:.1}, {:+.0} % | {simulated} | {}, {} |",
            row.model,
            row.policy,
            row.qoe_tok_per_s,
            row.throughput_tok_per_s,
            row.gain_percent,
            point.mem,
            point.accel,
        );
    }
    Ok(())
}

/// What h_phone's parameters per level are worth: each inner level in turn takes parameters
/// interpolated from its neighbours instead of its own.
fn left_out_levels(text: &mut String) -> Result<(), DeviceError> {
    let file = parameters::parse(builtin::text("h_phone")?, "platforms/h_phone.toml")?;
    let figure_4: Vec<_> = published::figures("h_phone")?
        .into_iter()
        .filter(|f| f.source.contains("Figure 4"))
        .collect();
    line!(text, "\n## h_phone without one level's own parameters\n");
    line!(
        text,
        "h_phone has parameters per level, because the clocks between the ends are not published. \
         Here each inner level in turn takes the parameters that its neighbours and the assumed \
         clocks give (interpolated in the logarithm), and Figure 4's cells of that level are \
         simulated: mean and worst error.\n"
    );
    line!(text, "| level | throughput | power |");
    line!(text, "|---|---|---|");
    let mem = 1..file.clocks.mem_khz.len() - 1;
    let accel = 1..file.clocks.accel_khz.len() - 1;
    for (is_mem, level) in mem.map(|l| (true, l)).chain(accel.map(|l| (false, l))) {
        let mut without = file.clone();
        let p = &mut without.parameters;
        if is_mem {
            interpolate(&mut p.bandwidth_gb_per_s, &file.clocks.mem_khz, level);
            interpolate(&mut p.background_w, &file.clocks.mem_khz, level);
        } else {
            interpolate(&mut p.effective_mhz, &file.clocks.accel_khz, level);
            interpolate(&mut p.busy_w, &file.clocks.accel_khz, level);
        }
        let Some(device) = SimulatedDevice::of_file(&without, WeightFormat::Q4_0) else { continue };
        let errors = |quantity: Quantity| {
            let cells: Vec<Comparison> = figure_4
                .iter()
                .filter(|f| f.quantity == quantity)
                .filter(|f| level == usize::from(if is_mem { f.point.mem } else { f.point.accel }))
                .map(|f| Comparison { simulated: f.simulate(&device), figure: f.clone() })
                .collect();
            let (mean, worst) = mean_and_worst(&cells);
            format!("{mean:.1} %, {worst:.1} %")
        };
        line!(
            text,
            "| {} {level} | {} | {} |",
            if is_mem { "memory" } else { "accelerator" },
            errors(Quantity::ThroughputTokPerS),
            errors(Quantity::PowerW),
        );
    }
    Ok(())
}

fn thermal(text: &mut String) -> Result<(), DeviceError> {
    line!(text, "\n## h_phone: time to a shell temperature\n");
    line!(
        text,
        "The paper prints no start states. Fitted with the model: a shell at rest of \
         {H_PHONE_REST_SHELL_CELSIUS} °C, and a core {H_PHONE_STRESS_CORE_CELSIUS} K above the \
         shell's 37 °C when the stress test starts. The tolerance is 15 %.\n"
    );
    line!(text, "| source | from shell | power | to | published | simulated |");
    line!(text, "|---|---|---|---|---|---|");
    let model = *SimulatedDevice::builtin("h_phone", None)?.thermal();
    let targets = thermal_targets(H_PHONE_REST_SHELL_CELSIUS, H_PHONE_STRESS_CORE_CELSIUS)?;
    for target in targets {
        let seconds = target.simulate(&model).map_or("never".to_owned(), |s| format!("{s:.0} s"));
        line!(
            text,
            "| {} | {} °C | {:.2} W | {} °C | {} s | {seconds} |",
            target.source,
            target.from.shell_celsius,
            target.power_w,
            target.threshold_celsius,
            target.seconds,
        );
    }
    Ok(())
}

fn interpolate(levels: &mut [f64], khz: &[u32], level: usize) {
    let ln = |k: u32| f64::from(k).ln();
    let share = (ln(khz[level]) - ln(khz[level - 1])) / (ln(khz[level + 1]) - ln(khz[level - 1]));
    let (below, above) = (levels[level - 1].ln(), levels[level + 1].ln());
    levels[level] = (below + share * (above - below)).exp();
}

/// Four significant digits, so that the last bits of a machine's `powf` do not show.
fn significant(value: f64) -> String {
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.digits$}")
}
