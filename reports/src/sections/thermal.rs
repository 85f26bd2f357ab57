//! Accuracy of the thermal model.

use enerinfer_artifacts::record::Record;

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::stats::extent;
use crate::svg::{Mark, Plot, Scale};
use crate::text::number;

/// Error over time ahead.
pub(super) fn section(record: &Record) -> Option<Section> {
    let thermal = record.details.thermal.as_ref()?;
    let summary = Table {
        id: "thermal".to_owned(),
        caption: "Thermal model on held-out segments".to_owned(),
        columns: heads(["Segments", "Mean absolute error, °C", "R²"]),
        rows: vec![vec![
            Cell::count(thermal.segments),
            Cell::number(thermal.mae_c, 3),
            Cell::Number(thermal.r2, 4),
        ]],
    };
    let mut parts = vec![Part::Table(summary)];
    let points = || thermal.by_horizon.iter().map(|h| (h.ahead_s, h.mae_c));
    if let Some(((_, last), (_, worst))) =
        extent(points().map(|p| p.0)).zip(extent(points().map(|p| p.1)))
    {
        let mut plot = Plot::new(
            "Thermal error by time ahead",
            Scale::linear("Time ahead, s", 0.0, last),
            Scale::linear("Mean absolute error, °C", 0.0, worst),
        );
        plot.line("line a", points());
        for (ahead, mae) in points() {
            let tooltip =
                format!("{} s ahead: {} °C", number(Some(ahead), 0), number(Some(mae), 3));
            plot.mark("a", Mark::Ring, (ahead, mae), &tooltip);
        }
        parts.push(Part::Figures(vec![Figure {
            id: "thermal".to_owned(),
            caption: "Error of predicted shell temperature by time ahead".to_owned(),
            picture: plot.finish(),
            table: Table {
                id: "thermal_by_time".to_owned(),
                caption: "Error by time ahead".to_owned(),
                columns: heads(["Time ahead, s", "Mean absolute error, °C"]),
                rows: points()
                    .map(|(ahead, mae)| vec![Cell::number(ahead, 0), Cell::number(mae, 3)])
                    .collect(),
            },
        }]));
    }
    Some(Section {
        id: "thermal".into(),
        title: "Thermal model".into(),
        lead: "How far predicted shell temperatures are off; the error grows with time ahead and \
               should stay well below the 42 °C threshold's margin."
            .to_owned(),
        parts,
    })
}
