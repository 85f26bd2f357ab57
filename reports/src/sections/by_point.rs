//! Error by operating point.

use enerinfer_artifacts::record::{Record, ScatterPoint};

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::stats::{Pair, mape_percent};
use crate::svg::HeatMap;
use crate::text::mhz;

/// Heat maps of throughput, power and efficiency error over both clocks.
pub(super) fn section(record: &Record) -> Option<Section> {
    let figures: Vec<Figure> = [
        figure(record, "throughput", "Throughput", Pair::throughput),
        figure(record, "power", "Power", Pair::power),
        figure(record, "efficiency", "Efficiency", Pair::efficiency),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!figures.is_empty()).then(|| Section {
        id: "by-point".into(),
        title: "Error by operating point".into(),
        lead: "Darker cells are predicted worse; a dark row or column is a clock level that the \
               predictors have not understood."
            .to_owned(),
        parts: vec![Part::Figures(figures)],
    })
}

fn figure(
    record: &Record,
    id: &str,
    name: &str,
    pair: fn(&ScatterPoint) -> Option<Pair>,
) -> Option<Figure> {
    let clocks = &record.clocks;
    let mut cells: Vec<Vec<Vec<Pair>>> =
        vec![vec![Vec::new(); clocks.accel_khz.len()]; clocks.mem_khz.len()];
    let mut any = false;
    for row in &record.scatter {
        let cell = cells
            .get_mut(usize::from(row.point.mem))
            .and_then(|row_of_cells| row_of_cells.get_mut(usize::from(row.point.accel)));
        if let (Some(cell), Some(pair)) = (cell, pair(row)) {
            cell.push(pair);
            any = true;
        }
    }
    if !any {
        return None;
    }
    let mape: Vec<Vec<Option<f64>>> = cells
        .iter()
        .map(|row| row.iter().map(|cell| mape_percent(cell.iter().copied())).collect())
        .collect();
    let rows = clocks.mem_khz.iter().zip(&mape).flat_map(|(&mem, row)| {
        clocks.accel_khz.iter().zip(row).map(move |(&accel, &value)| {
            vec![Cell::text(mhz(mem)), Cell::text(mhz(accel)), Cell::Number(value, 2)]
        })
    });
    let table = Table {
        id: format!("point_error_{id}"),
        caption: format!("{name} error per operating point"),
        columns: heads(["Memory, MHz", "Accelerator, MHz", "MAPE, %"]),
        rows: rows.collect(),
    };
    let picture = HeatMap {
        label: format!("{name} error by accelerator and memory clock"),
        x_label: "Accelerator clock, MHz",
        y_label: "Memory clock, MHz",
        columns: clocks.accel_khz.iter().map(|&khz| mhz(khz)).collect(),
        // Highest clock on top, as on a vertical axis.
        rows: clocks.mem_khz.iter().rev().map(|&khz| mhz(khz)).collect(),
        values: mape.into_iter().rev().collect(),
        unit: "% MAPE",
    }
    .draw();
    Some(Figure {
        id: format!("heatmap_{id}"),
        caption: format!("{name} MAPE by operating point, %"),
        picture,
        table,
    })
}
