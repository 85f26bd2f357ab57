//! Pareto fronts of throughput and efficiency, measured and predicted.

use enerinfer_artifacts::record::{FrontPoint, ModelFront, Record};

use super::point_name;
use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::stats::extent;
use crate::svg::{Legend, Mark, Plot, Scale};
use crate::text::number;

/// Pictures beyond these would only repeat; their tables are in the record.
const MOST_MODELS: usize = 6;

/// One picture per model.
pub(super) fn section(record: &Record) -> Option<Section> {
    let figures: Vec<Figure> = record
        .fronts
        .iter()
        .take(MOST_MODELS)
        .enumerate()
        .filter_map(|(i, front)| figure(record, i, front))
        .collect();
    (!figures.is_empty()).then(|| Section {
        id: "fronts".into(),
        title: "Pareto fronts".into(),
        lead: "Only points on the front are worth using; the predicted front (dashed) should run \
               through the same operating points as the measured one."
            .to_owned(),
        parts: vec![Part::Figures(figures)],
    })
}

fn measured(p: &FrontPoint) -> (f64, f64) {
    (p.measured_tok_per_s, p.measured_tok_per_j)
}

fn predicted(p: &FrontPoint) -> (f64, f64) {
    (p.predicted_tok_per_s, p.predicted_tok_per_j)
}

/// Class, line class, mark, value and front membership of a series.
type Series =
    (&'static str, &'static str, Mark, fn(&FrontPoint) -> (f64, f64), fn(&FrontPoint) -> bool);

fn figure(record: &Record, index: usize, front: &ModelFront) -> Option<Figure> {
    let all = || front.points.iter().flat_map(|p| [measured(p), predicted(p)]);
    let (x_lo, x_hi) = extent(all().map(|p| p.0))?;
    let (y_lo, y_hi) = extent(all().map(|p| p.1))?;
    let mut plot = Plot::new(
        format!("Pareto front of {}", front.model),
        Scale::linear("Throughput, tok/s", x_lo, x_hi),
        Scale::linear("Efficiency, tok/J", y_lo, y_hi),
    );
    let series: [Series; 2] = [
        ("a", "line a", Mark::Ring, measured, |p| p.on_measured_front),
        ("b", "line dash b", Mark::Diamond, predicted, |p| p.on_predicted_front),
    ];
    for (class, line, mark, value, on_front) in series {
        let mut on: Vec<(f64, f64)> =
            front.points.iter().filter(|p| on_front(p)).map(value).collect();
        on.sort_by(|p, q| p.0.total_cmp(&q.0).then(p.1.total_cmp(&q.1)));
        plot.line(line, on.into_iter());
        for p in &front.points {
            let (speed, efficiency) = value(p);
            let kind = if class == "a" { record_kind(record) } else { "predicted" };
            let tooltip = format!(
                "{}: {kind} {} tok/s, {} tok/J",
                point_name(record, p.point),
                number(Some(speed), 2),
                number(Some(efficiency), 3)
            );
            plot.mark(class, mark, (speed, efficiency), &tooltip);
        }
    }
    plot.legend(&[
        Legend {
            class: "a",
            mark: Some(Mark::Ring),
            line: Some("line"),
            name: record_kind(record),
        },
        Legend {
            class: "b",
            mark: Some(Mark::Diamond),
            line: Some("line dash"),
            name: "predicted",
        },
    ]);
    Some(Figure {
        id: format!("pareto_{index}"),
        caption: format!("Operating points of {}", front.model),
        picture: plot.finish(),
        table: Table {
            id: format!("pareto_{index}"),
            caption: format!("Operating points of {}", front.model),
            columns: heads([
                "Operating point",
                "Measured, tok/s",
                "Predicted, tok/s",
                "Measured, tok/J",
                "Predicted, tok/J",
                "On measured front",
                "On predicted front",
            ]),
            rows: front
                .points
                .iter()
                .map(|p| {
                    let yes = |on: bool| Cell::text(if on { "yes" } else { "no" });
                    vec![
                        Cell::text(point_name(record, p.point)),
                        Cell::number(p.measured_tok_per_s, 2),
                        Cell::number(p.predicted_tok_per_s, 2),
                        Cell::number(p.measured_tok_per_j, 3),
                        Cell::number(p.predicted_tok_per_j, 3),
                        yes(p.on_measured_front),
                        yes(p.on_predicted_front),
                    ]
                })
                .collect(),
        },
    })
}

/// What the record's "measured" values are called in a legend.
fn record_kind(record: &Record) -> &'static str {
    if super::is_simulated(record) { "simulated" } else { "measured" }
}
