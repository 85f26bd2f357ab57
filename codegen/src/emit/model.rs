//! `src/model/mod.rs` of the generated crate: what identifies the model, and its predictors.

use std::io::{self, Write};

use enerinfer_artifacts::{Bundle, Domain, Feature, Target};

use super::{GENERATED, feature_variant, literal};
use crate::Lowered;

/// Version of the generated crate's layout and of the meaning of its numbers.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// Shape features in the order in which the device checks them.
const SHAPE_FEATURES: [Feature; 16] = [
    Feature::Layers,
    Feature::Hidden,
    Feature::Heads,
    Feature::KvHeads,
    Feature::Ffn,
    Feature::Vocab,
    Feature::TotalParamsK,
    Feature::ReadParamsK,
    Feature::LmHeadParamsK,
    Feature::FfnParamsK,
    Feature::AttnParamsK,
    Feature::KvWidth,
    Feature::QWidth,
    Feature::Experts,
    Feature::ActiveExperts,
    Feature::HeadDim,
];

/// Range in which every predictor that reads the feature was trained.
pub(crate) fn ranges(lowered: &Lowered) -> Vec<(Feature, Domain)> {
    SHAPE_FEATURES
        .iter()
        .filter_map(|&feature| {
            lowered
                .predictors
                .iter()
                .filter_map(|p| {
                    let column = p.forest.features.iter().position(|&f| f == feature)?;
                    p.domain.get(column).copied()
                })
                .reduce(|a, b| Domain { min: a.min.max(b.min), max: a.max.min(b.max) })
                .map(|domain| (feature, domain))
        })
        .collect()
}

/// Writes the file; the targets `with_points` have code of their own for single operating points.
pub(crate) fn write(
    out: &mut dyn Write,
    bundle: &Bundle,
    lowered: &Lowered,
    with_points: &[Target],
    digest: &str,
) -> io::Result<()> {
    let has = |target| lowered.predictor(target).is_some();
    out.write_all(GENERATED.as_bytes())?;
    writeln!(out)?;
    for target in sorted_targets(lowered) {
        writeln!(out, "mod {};", target.name())?;
        if with_points.contains(&target) {
            writeln!(out, "mod {}_at;", target.name())?;
        }
    }
    let ranges = ranges(lowered);
    let coverage = if ranges.is_empty() { "Range" } else { "{Feature, Range}" };
    writeln!(out, "\nuse crate::coverage::{coverage};")?;
    // Without code of their own, single operating points are taken from the table.
    let from_table = |target| has(target) && !with_points.contains(&target);
    if [Target::Scale, Target::Power, Target::AccelPower].into_iter().any(from_table) {
        writeln!(out, "use crate::predictor::entry;")?;
    }
    writeln!(out, "use crate::shape::Shape;")?;
    writeln!(out, "use crate::thermal_model::ThermalModel;\n")?;
    let ids = [
        ("PLATFORM", "Platform that the predictors were trained for.", &bundle.platform.name),
        ("ENGINE", "Inference engine.", &bundle.platform.engine),
        ("WEIGHT_FORMAT", "Format of the model's weights.", &bundle.platform.weight_format),
        ("POWER_DOMAIN", "What the predicted power comprises.", &bundle.platform.power_domain),
        ("SOURCE", "Where the training measurements came from.", &bundle.platform.source),
    ];
    writeln!(out, "/// Layout of this crate; a change breaks code that relies on the old one.")?;
    writeln!(out, "pub const SCHEMA_VERSION: u32 = {SCHEMA_VERSION};")?;
    writeln!(
        out,
        "/// Identifies the predictions: BLAKE3 of the bundle; with what was left where trees were pruned."
    )?;
    literal::string(out, "MODEL_DIGEST", digest)?;
    for (name, doc, value) in ids {
        writeln!(out, "/// {doc}")?;
        literal::string(out, name, value)?;
    }
    writeln!(out, "/// Whether they came from a simulated device, not from hardware.")?;
    writeln!(out, "pub const SIMULATED: bool = {};", crate::package::is_simulated(bundle))?;
    writeln!(out, "/// Whether power is predicted; without, all powers are zero.")?;
    writeln!(out, "pub const HAS_POWER: bool = {};", has(Target::Power))?;
    writeln!(out, "/// Whether accelerator power is predicted; without, it is zero.")?;
    writeln!(out, "pub const HAS_ACCEL_POWER: bool = {};", has(Target::AccelPower))?;
    let (accel, mem) = (&bundle.clocks.accel_khz, &bundle.clocks.mem_khz);
    writeln!(out, "/// Number of operating points: memory levels times accelerator levels.")?;
    writeln!(out, "pub const POINTS: usize = {};", bundle.clocks.len())?;
    writeln!(out, "/// Accelerator clocks in kHz, lowest first.")?;
    literal::array(out, 0, &format!("pub const ACCEL_KHZ: [u32; {}] = ", accel.len()), accel, ";")?;
    writeln!(out, "/// Memory clocks in kHz, lowest first.")?;
    literal::array(out, 0, &format!("pub const MEM_KHZ: [u32; {}] = ", mem.len()), mem, ";")?;

    thermal(out, bundle)?;
    writeln!(out, "/// Training range of every shape feature that a predictor reads.")?;
    let head = format!("pub(crate) const RANGES: [Range; {}] = [", ranges.len());
    let items: Vec<String> = ranges
        .iter()
        .map(|(feature, Domain { min, max })| {
            let feature = feature_variant(*feature);
            format!("Range {{ feature: Feature::{feature}, min: {min}, max: {max} }}")
        })
        .collect();
    literal::items(out, 0, &head, &items, "];")?;
    writeln!(out)?;

    writeln!(out, "/// Peak throughput in µtok/s.")?;
    writeln!(out, "pub(crate) fn peak(shape: &Shape) -> u32 {{\n    peak::peak(shape)\n}}")?;
    for (target, doc) in [
        (Target::Scale, "Throughput at each operating point relative to peak, in 2⁻³⁰."),
        (Target::Power, "Power at each operating point, in µW."),
        (Target::AccelPower, "Accelerator power at each operating point, in µW."),
    ] {
        let name = target.name();
        writeln!(out, "\n/// {doc}")?;
        if has(target) {
            writeln!(out, "pub(crate) fn {name}(shape: &Shape, out: &mut [u32; POINTS]) {{")?;
            writeln!(out, "    {name}::{name}(shape, out);\n}}")?;
        } else {
            writeln!(out, "pub(crate) fn {name}(_: &Shape, _: &mut [u32; POINTS]) {{}}")?;
        }
        let doc = doc.replace("each operating point", "one operating point");
        writeln!(out, "\n/// {doc}")?;
        if !has(target) {
            writeln!(out, "pub(crate) fn {name}_at(_: &Shape, _: u16) -> u32 {{\n    0\n}}")?;
            continue;
        }
        writeln!(out, "pub(crate) fn {name}_at(shape: &Shape, point: u16) -> u32 {{")?;
        if with_points.contains(&target) {
            writeln!(out, "    {name}::{name}_at(shape, point)\n}}")?;
        } else {
            writeln!(out, "    entry(point, |out| {name}(shape, out))\n}}")?;
        }
    }
    Ok(())
}

/// The thermal model, if one was fitted.
fn thermal(out: &mut dyn Write, bundle: &Bundle) -> io::Result<()> {
    writeln!(out, "/// Model of the shell temperature, if one was fitted.")?;
    let Some(model) = &bundle.thermal else {
        return writeln!(out, "pub const THERMAL: Option<ThermalModel> = None;");
    };
    let model = model.to_int().map_err(io::Error::other)?;
    writeln!(out, "pub const THERMAL: Option<ThermalModel> = Some(ThermalModel {{")?;
    writeln!(out, "    intercept_uc: {},", model.intercept_uc)?;
    literal::array(out, 4, "history_q24: ", &model.history_q24, ",")?;
    writeln!(out, "    power_uc_per_w: {},", model.power_uc_per_w)?;
    writeln!(out, "    time_uc_per_s: {},", model.time_uc_per_s)?;
    writeln!(out, "    time_power_uc_per_ws: {},", model.time_power_uc_per_ws)?;
    literal::array(out, 4, "time_history_q24: ", &model.time_history_q24, ",")?;
    writeln!(out, "}});")
}

/// Targets with a file of their own, by name, as rustfmt orders `mod` lines.
fn sorted_targets(lowered: &Lowered) -> Vec<Target> {
    let mut targets: Vec<Target> = lowered.predictors.iter().map(|p| p.target).collect();
    targets.sort_by_key(|t| t.name());
    targets
}
