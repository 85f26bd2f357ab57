//! Error by size of the model.

use enerinfer_artifacts::record::Record;

use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::metric::mape_by_model;
use crate::stats::{Pair, extent};
use crate::svg::{Legend, Mark, Plot, Scale};
use crate::text::number;

/// Throughput and power error of every held-out model over its parameters.
pub(super) fn section(record: &Record) -> Option<Section> {
    let throughput = mape_by_model(record, None, Pair::throughput);
    let power = mape_by_model(record, None, Pair::power);
    let shapes = &record.details.heldout_shapes;
    let size = |i: usize| shapes.get(i).map(|s| s.dims.total_params as f64 / 1e6);
    let (x_lo, x_hi) = extent((0..shapes.len()).filter_map(size))?;
    let errors = shapes.iter().flat_map(|s| [throughput.get(&s.model), power.get(&s.model)]);
    let (_, y_hi) = extent(errors.flatten().copied())?;
    let mut plot = Plot::new(
        "Error by model size",
        Scale::log("Total parameters, millions", x_lo, x_hi),
        Scale::linear("MAPE, %", 0.0, y_hi),
    );
    let series =
        [("a", Mark::Ring, "throughput", &throughput), ("b", Mark::Diamond, "power", &power)];
    for (class, mark, name, errors) in series {
        for shape in shapes {
            let Some(&error) = errors.get(&shape.model) else { continue };
            let size = shape.dims.total_params as f64 / 1e6;
            let tooltip = format!(
                "{}: {} M parameters, {name} MAPE {} %",
                shape.model,
                number(Some(size), 0),
                number(Some(error), 2)
            );
            plot.mark(class, mark, (size, error), &tooltip);
        }
    }
    plot.legend(&series.map(|(class, mark, name, _)| Legend {
        class,
        mark: Some(mark),
        line: None,
        name,
    }));
    let table = Table {
        id: "shape_error".to_owned(),
        caption: "Error per held-out model and its shape".to_owned(),
        columns: heads([
            "Model",
            "Parameters, M",
            "Layers",
            "Hidden",
            "Heads",
            "KV heads",
            "FFN",
            "Vocabulary",
            "Experts",
            "Throughput MAPE, %",
            "Power MAPE, %",
        ]),
        rows: shapes
            .iter()
            .map(|s| {
                let d = &s.dims;
                vec![
                    Cell::text(&s.model),
                    Cell::number(d.total_params as f64 / 1e6, 1),
                    Cell::count(d.layers),
                    Cell::count(d.hidden),
                    Cell::count(d.heads),
                    Cell::count(d.kv_heads),
                    Cell::count(d.ffn),
                    Cell::count(d.vocab),
                    Cell::count(d.experts),
                    Cell::Number(throughput.get(&s.model).copied(), 2),
                    Cell::Number(power.get(&s.model).copied(), 2),
                ]
            })
            .collect(),
    };
    Some(Section {
        id: "by-shape".into(),
        title: "Error by model size".into(),
        lead: "Each mark is one held-out model; marks that rise to one side show sizes that the \
               training data cover too thinly."
            .to_owned(),
        parts: vec![Part::Figures(vec![Figure {
            id: "shape_error".to_owned(),
            caption: "Error by model size".to_owned(),
            picture: plot.finish(),
            table,
        }])],
    })
}
