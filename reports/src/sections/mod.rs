//! The sections of a report, one file each.
//!
//! A new section is a function from the record to a [`Section`] (or `None` if the record has
//! nothing for it), added to the list in [`document`].

mod accuracy;
mod by_point;
mod by_shape;
mod closed_loop;
mod compiled_code;
mod designs;
mod families;
mod feature_sets;
mod fronts;
mod importances;
mod provenance;
mod ranking;
pub(crate) mod regret;
mod scatter;
pub(crate) mod search;
mod size;
mod thermal;

use std::collections::BTreeMap;

use enerinfer_artifacts::OperatingPoint;
use enerinfer_artifacts::record::Record;

use crate::document::{Document, Part, Section};
use crate::text::mhz;

/// The report of a record.
pub(crate) fn document(record: &Record) -> Document {
    let id = &record.platform;
    let sections: [Option<Section>; 17] = [
        Some(accuracy::section(record)),
        scatter::section(record),
        by_point::section(record),
        by_shape::section(record),
        ranking::section(record),
        fronts::section(record),
        regret::section(record),
        families::section(record),
        designs::section(record),
        feature_sets::section(record),
        search::section(record),
        size::section(record),
        compiled_code::section(record),
        importances::section(record),
        thermal::section(record),
        closed_loop::section(record),
        Some(provenance::section(record)),
    ];
    let sections: Vec<Section> = sections.into_iter().flatten().collect();
    Document {
        title: format!(
            "EnerInfer predictors for {} · {} · {}",
            id.name, id.engine, id.weight_format
        ),
        label: label(record),
        labels: labels(record, &sections),
        simulated: is_simulated(record),
        notice: if is_simulated(record) {
            "Every value called measured below comes from a simulated device. Nothing here was \
             measured on hardware."
                .to_owned()
        } else {
            "Values were measured on the device.".to_owned()
        } + &thermal::exception(record)
            + compiled_code::exception(record),
        tiles: accuracy::tiles(record),
        sections,
    }
}

/// Where the values come from, for titles and captions.
fn label(record: &Record) -> String {
    if is_simulated(record) { "SIMULATED".to_owned() } else { "measured".to_owned() }
}

/// Labels of tables and pictures whose values come from elsewhere.
fn labels(record: &Record, sections: &[Section]) -> BTreeMap<String, String> {
    let own = [
        (thermal::ID, thermal::own_source(record)),
        (compiled_code::ID, Some(compiled_code::LABEL.to_owned())),
    ];
    let mut labels = BTreeMap::new();
    for (section, label) in own.into_iter().filter_map(|(id, label)| Some((id, label?))) {
        for part in sections.iter().filter(|s| s.id == section).flat_map(|s| &s.parts) {
            let ids: Vec<&String> = match part {
                Part::Table(table) => vec![&table.id],
                Part::Figures(figures) => {
                    figures.iter().flat_map(|f| [&f.id, &f.table.id]).collect()
                }
                Part::List(_) => Vec::new(),
            };
            labels.extend(ids.into_iter().map(|id| (id.clone(), label.clone())));
        }
    }
    labels
}

/// Whether values are simulated. A record that contradicts itself counts as simulated: the other
/// error would be the worse one.
pub(crate) fn is_simulated(record: &Record) -> bool {
    record.data.simulated || record.platform.source.starts_with("simulated")
}

/// Name of a model of the scatter; the record's indices are not trusted.
pub(crate) fn model_name(record: &Record, index: u32) -> String {
    match record.ranking.per_model.get(index as usize) {
        Some(model) => model.model.clone(),
        None => format!("model {index}"),
    }
}

/// Clocks of a point in MHz; its levels if the clock tables do not have it.
fn point_name(record: &Record, point: OperatingPoint) -> String {
    let accel = record.clocks.accel_khz.get(usize::from(point.accel));
    let mem = record.clocks.mem_khz.get(usize::from(point.mem));
    match (accel, mem) {
        (Some(&accel), Some(&mem)) => {
            format!("accelerator {} MHz, memory {} MHz", mhz(accel), mhz(mem))
        }
        _ => format!("accelerator level {}, memory level {}", point.accel, point.mem),
    }
}
