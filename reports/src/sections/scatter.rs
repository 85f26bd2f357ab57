//! Predicted against measured values on held-out models.

use std::collections::BTreeMap;

use enerinfer_artifacts::record::{Record, ScatterPoint};

use super::model_name;
use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::stats::{Pair, extent, mape_percent, mean};
use crate::svg::{Legend, Plot, Scale};
use crate::text::number;

/// Throughput and power, one dot per held-out row.
pub(super) fn section(record: &Record) -> Option<Section> {
    let figures: Vec<Figure> = [
        figure(record, "throughput", "Throughput", "tok/s", Pair::throughput),
        figure(record, "power", "Power", "W", Pair::power),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!figures.is_empty()).then(|| Section {
        id: "scatter".into(),
        title: "Predicted against measured".into(),
        lead: "Each dot is one held-out model at one operating point; on the dashed diagonal the \
               prediction is exact, and a model whose dots leave it together is mispredicted as a \
               whole."
            .to_owned(),
        parts: vec![Part::Figures(figures)],
    })
}

fn figure(
    record: &Record,
    id: &str,
    name: &str,
    unit: &str,
    pair: fn(&ScatterPoint) -> Option<Pair>,
) -> Option<Figure> {
    let mut by_model: BTreeMap<u32, Vec<Pair>> = BTreeMap::new();
    for row in &record.scatter {
        if let Some(pair) = pair(row) {
            by_model.entry(row.model).or_default().push(pair);
        }
    }
    let pairs = || by_model.values().flatten().copied();
    let (lo, hi) = extent(pairs().flat_map(|p| [p.measured, p.predicted]))?;
    let scale = |what: &str| Scale::log(format!("{what} {}, {unit}", name.to_lowercase()), lo, hi);
    let (x, y) = (scale("Measured"), scale("Predicted"));
    let (from, to) = (x.lo(), x.hi());
    let mape = number(mape_percent(pairs()), 2);
    let mut plot = Plot::new(format!("{name}: predicted against measured, MAPE {mape} %"), x, y);
    plot.line("ref", [(from, from), (to, to)].into_iter());
    for (&model, pairs) in &by_model {
        let mape = number(mape_percent(pairs.iter().copied()), 2);
        let tooltip =
            format!("{}: {} points, MAPE {mape} %", model_name(record, model), pairs.len());
        plot.dots("a", pairs.iter().map(|p| (p.measured, p.predicted)), &tooltip);
    }
    plot.legend(&[Legend { class: "a", mark: None, line: Some("ref"), name: "exact" }]);
    Some(Figure {
        id: format!("scatter_{id}"),
        caption: format!("{name} on held-out models, MAPE {mape} %"),
        picture: plot.finish(),
        table: Table {
            id: format!("model_error_{id}"),
            caption: format!("{name} error per held-out model"),
            columns: heads(["Model", "Points", "MAPE, %", "Mean error, %", "Worst error, %"]),
            rows: by_model
                .iter()
                .map(|(&model, pairs)| {
                    let errors = || pairs.iter().map(|p| p.error_percent());
                    let worst = errors().max_by(|a, b| a.abs().total_cmp(&b.abs()));
                    vec![
                        Cell::text(model_name(record, model)),
                        Cell::Number(Some(pairs.len() as f64), 0),
                        Cell::Number(mape_percent(pairs.iter().copied()), 2),
                        Cell::Number(mean(errors()), 2),
                        Cell::Number(worst, 2),
                    ]
                })
                .collect(),
        },
    })
}
