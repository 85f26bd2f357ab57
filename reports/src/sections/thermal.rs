//! Accuracy of the thermal model (EnerInfer Figure 11).

use enerinfer_artifacts::record::{Record, ThermalAccuracy, ThermalPoint};

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::stats::extent;
use crate::svg::{Legend, Mark, Plot, Scale};
use crate::text::number;

/// Margin that Figure 11 draws, °C.
const MARGIN_CELSIUS: f64 = 0.5;

/// The section's anchor.
pub(super) const ID: &str = "thermal";

/// Where temperatures come from, if it is not where the clock table comes from, for the labels of
/// the section's tables and pictures: a user's own traces
/// beside a simulated table are no less recorded, and the other way round.
pub(super) fn own_source(record: &Record) -> Option<String> {
    let source = &record.details.thermal.as_ref()?.source;
    if source.starts_with("simulated") {
        return (!super::is_simulated(record)).then(|| "SIMULATED".to_owned());
    }
    source.strip_prefix("file:").map(|file| format!("from {file}"))
}

/// What the report's notice has to add for them.
pub(super) fn exception(record: &Record) -> String {
    let of = |label: String| format!(" Temperatures have another source: {label}.");
    own_source(record).map(of).unwrap_or_default()
}

/// Summary, predicted against true temperatures, error over time ahead.
pub(super) fn section(record: &Record) -> Option<Section> {
    let thermal = record.details.thermal.as_ref()?;
    let mut parts = vec![Part::Table(summary(thermal))];
    let figures: Vec<Figure> =
        [predictions(thermal), by_horizon(thermal)].into_iter().flatten().collect();
    if !figures.is_empty() {
        parts.push(Part::Figures(figures));
    }
    let mut lead = "How far predicted shell temperatures are off; the error grows with time ahead \
                    and should stay well below the 42 °C threshold's margin."
        .to_owned();
    if !thermal.source.is_empty() {
        lead.push_str(&format!(
            " Temperatures come from {}; held out are {}. EnerInfer publishes 0.16 °C and R² 0.988 \
             for its devices and its additive form.",
            thermal.source, thermal.held_out
        ));
    }
    Some(Section { id: ID.into(), title: "Thermal model".into(), lead, parts })
}

fn summary(thermal: &ThermalAccuracy) -> Table {
    let mut rows = vec![vec![
        Cell::text("time with history and power"),
        Cell::count(thermal.segments),
        Cell::number(thermal.mae_c, 3),
        Cell::Number(thermal.r2, 4),
        Cell::Number(thermal.within_half_c_percent, 1),
    ]];
    if let Some(mae_c) = thermal.additive_mae_c {
        rows.push(vec![
            Cell::text("additive (EnerInfer's), not compiled"),
            Cell::count(thermal.segments),
            Cell::number(mae_c, 3),
            Cell::Number(thermal.additive_r2, 4),
            Cell::Number(None, 1),
        ]);
    }
    Table {
        id: "thermal".to_owned(),
        caption: "Thermal model on held-out segments".to_owned(),
        columns: heads(["Form", "Segments", "Mean absolute error, °C", "R²", "Within 0.5 °C, %"]),
        rows,
    }
}

/// Figure 11: predicted against true temperature, by time ahead.
fn predictions(thermal: &ThermalAccuracy) -> Option<Figure> {
    let points = || thermal.scatter.iter();
    let (lo, hi) = extent(points().flat_map(|p| [p.true_c, p.predicted_c]))?;
    let (lo, hi) = (lo.floor(), hi.ceil());
    let scale = |what: &str| Scale::linear(format!("{what} temperature, °C"), lo, hi);
    let mut plot =
        Plot::new("Predicted against true temperature", scale("True"), scale("Predicted"));
    for offset in [-MARGIN_CELSIUS, MARGIN_CELSIUS] {
        // The part of the line that is inside the frame.
        let (from, to) = (lo + offset.min(0.0).abs(), hi - offset.max(0.0));
        plot.line("ref", [from, to].into_iter().map(|x| (x, x + offset)));
    }
    let mut rows = Vec::new();
    let groups: Vec<&[ThermalPoint]> =
        thermal.scatter.chunk_by(|a, b| a.ahead_s == b.ahead_s).collect();
    // Colours are the near, the middle and the far; tooltips tell the times apart.
    for (i, group) in groups.iter().enumerate() {
        let class = ["a", "c", "b"][i * 3 / groups.len()];
        let errors = || group.iter().map(|p| (p.predicted_c - p.true_c).abs());
        let ahead = group.first().map(|p| p.ahead_s);
        let mae = errors().sum::<f64>() / group.len() as f64;
        let tooltip = format!("{} s ahead: {} °C", number(ahead, 0), number(Some(mae), 3));
        plot.dots(class, group.iter().map(|p| (p.true_c, p.predicted_c)), &tooltip);
        rows.push(vec![
            Cell::Number(ahead, 0),
            Cell::count(group.len() as u32),
            Cell::number(mae, 3),
            Cell::Number(errors().reduce(f64::max), 3),
        ]);
    }
    plot.legend(&[
        Legend { class: "a", mark: Some(Mark::Solid), line: None, name: "near" },
        Legend { class: "b", mark: Some(Mark::Solid), line: None, name: "far" },
        Legend { class: "a", mark: None, line: Some("ref"), name: "±0.5 °C" },
    ]);
    Some(Figure {
        id: "thermal_scatter".to_owned(),
        caption: "Predicted against true shell temperature, by time ahead".to_owned(),
        picture: plot.finish(),
        table: Table {
            id: "thermal_sample".to_owned(),
            caption: "The sample that is drawn".to_owned(),
            columns: heads([
                "Time ahead, s",
                "Predictions",
                "Mean absolute error, °C",
                "Largest, °C",
            ]),
            rows,
        },
    })
}

fn by_horizon(thermal: &ThermalAccuracy) -> Option<Figure> {
    let of = || thermal.by_horizon.iter();
    let points = || of().map(|h| (h.ahead_s, h.mae_c));
    let additive = || of().filter_map(|h| Some((h.ahead_s, h.additive_mae_c?)));
    let (_, last) = extent(points().map(|p| p.0))?;
    let (_, worst) = extent(points().chain(additive()).map(|p| p.1))?;
    let mut plot = Plot::new(
        "Thermal error by time ahead",
        Scale::linear("Time ahead, s", 0.0, last),
        Scale::linear("Mean absolute error, °C", 0.0, worst),
    );
    plot.line("line dash b", additive());
    plot.line("line a", points());
    for (ahead, mae) in points() {
        let tooltip = format!("{} s ahead: {} °C", number(Some(ahead), 0), number(Some(mae), 3));
        plot.mark("a", Mark::Ring, (ahead, mae), &tooltip);
    }
    if additive().next().is_some() {
        plot.legend(&[
            Legend { class: "a", mark: Some(Mark::Ring), line: Some("line"), name: "this model" },
            Legend { class: "b", mark: None, line: Some("line dash"), name: "additive" },
        ]);
    }
    Some(Figure {
        id: "thermal".to_owned(),
        caption: "Error of predicted shell temperature by time ahead".to_owned(),
        picture: plot.finish(),
        table: Table {
            id: "thermal_by_time".to_owned(),
            caption: "Error by time ahead".to_owned(),
            columns: heads(["Time ahead, s", "Mean absolute error, °C", "Additive form, °C"]),
            rows: of()
                .map(|h| {
                    vec![
                        Cell::number(h.ahead_s, 0),
                        Cell::number(h.mae_c, 3),
                        Cell::Number(h.additive_mae_c, 3),
                    ]
                })
                .collect(),
        },
    })
}
