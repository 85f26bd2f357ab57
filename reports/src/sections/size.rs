//! Flash taken by the predictors, and what accuracy it buys.

use std::collections::BTreeMap;

use enerinfer_artifacts::Target;
use enerinfer_artifacts::record::{BudgetCut, CutOption, Record, SizePoint};

use super::search::params;
use crate::document::{Cell, Figure, Part, Section, Table, heads};
use crate::stats::extent;
use crate::svg::{Legend, Mark, Plot, Scale};
use crate::text::{bytes, number};

/// Table of compiled predictors and, per target, size against accuracy of the efficient trials.
pub(super) fn section(record: &Record) -> Option<Section> {
    let size = &record.size;
    let mut by_target: BTreeMap<Target, Vec<&SizePoint>> = BTreeMap::new();
    for point in &record.details.size_points {
        by_target.entry(point.target).or_default().push(point);
    }
    let figures: Vec<Figure> =
        by_target.iter().filter_map(|(target, points)| figure(*target, points)).collect();
    if size.predictors.is_empty() && figures.is_empty() {
        return None;
    }
    let mut parts = Vec::new();
    if !size.predictors.is_empty() {
        parts.push(Part::Table(table(record)));
    }
    if !size.cuts.is_empty() {
        parts.push(Part::Table(cuts(&size.cuts)));
    }
    if !figures.is_empty() {
        parts.push(Part::Figures(figures));
    }
    Some(Section {
        id: "size".into(),
        title: "Size against accuracy".into(),
        lead: format!(
            "All predictors together are estimated at {} of a budget of {}; each choice (filled) \
             should sit where its front stops falling, not at its far right. Another point of a \
             front is compiled by the option beside it: bytes are those of the compiled predictor.",
            bytes(size.est_bytes),
            bytes(size.budget_bytes)
        ),
        parts,
    })
}

fn table(record: &Record) -> Table {
    Table {
        id: "size".to_owned(),
        caption: "Compiled predictors, estimated for thumbv7em".to_owned(),
        columns: heads([
            "Target",
            "Bytes, compiled",
            "Trees",
            "Distinct nodes",
            "Distinct leaves",
            "Depth",
            "Largest quantisation error",
        ]),
        rows: record
            .size
            .predictors
            .iter()
            .map(|p| {
                vec![
                    Cell::text(p.target.name()),
                    Cell::count(p.est_bytes),
                    Cell::count(p.forest.trees),
                    Cell::count(p.forest.nodes),
                    Cell::count(p.forest.leaves),
                    Cell::count(p.forest.depth),
                    Cell::number(p.quantisation_error, 7),
                ]
            })
            .collect(),
    }
}

/// What the budget took: leaves and accuracy before, after pruning, and of smaller trials.
fn cuts(cuts: &[BudgetCut]) -> Table {
    let cells = |option: Option<CutOption>| {
        [
            Cell::Number(option.map(|o| f64::from(o.leaves)), 0),
            Cell::Number(option.map(|o| o.compiled_bytes as f64), 0),
            Cell::Number(option.map(|o| o.cv_mape_percent), 3),
        ]
    };
    Table {
        id: "cuts".to_owned(),
        caption: "The preferred predictors exceed the budget: pruned, or smaller trials; MAPE of \
                  pruned ones is that of the folds' fits, pruned at the same cost of a leaf, on \
                  the folds' held-out models"
            .to_owned(),
        columns: heads([
            "Target",
            "Leaves, preferred",
            "Bytes",
            "CV MAPE, %",
            "Leaves, pruned",
            "Bytes",
            "CV MAPE, %",
            "Leaves, smaller trial",
            "Bytes",
            "CV MAPE, %",
            "Compiled",
        ]),
        rows: cuts
            .iter()
            .map(|cut| {
                let compiled = if cut.pruned_is_compiled { "pruned" } else { "smaller trial" };
                let mut row = vec![Cell::text(cut.target.name())];
                row.extend(
                    [Some(cut.preferred), cut.pruned, cut.smaller].into_iter().flat_map(cells),
                );
                row.push(Cell::text(compiled));
                row
            })
            .collect(),
    }
}

fn figure(target: Target, points: &[&SizePoint]) -> Option<Figure> {
    // Logarithmic axes; the record's numbers are not trusted.
    let drawn: Vec<&SizePoint> = points
        .iter()
        .copied()
        .filter(|p| p.compiled_bytes > 0 && p.cv_mape_percent > 0.0)
        .filter(|p| p.cv_mape_percent.is_finite())
        .collect();
    let at = |p: &SizePoint| (p.compiled_bytes as f64, p.cv_mape_percent);
    let (x_lo, x_hi) = extent(drawn.iter().map(|p| at(p).0))?;
    let (y_lo, y_hi) = extent(drawn.iter().map(|p| at(p).1))?;
    let name = target.name();
    let mut plot = Plot::new(
        format!("Size against accuracy for {name}"),
        Scale::log("Size, compiled, bytes", x_lo, x_hi),
        Scale::log("CV MAPE, %", y_lo, y_hi),
    );
    let mut front: Vec<(f64, f64)> = drawn.iter().filter(|p| p.on_front).map(|p| at(p)).collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    plot.line("line c", front.into_iter());
    let mut families: Vec<&str> = drawn.iter().map(|p| p.family.as_str()).collect();
    families.dedup();
    let series = [("a", Mark::Ring), ("b", Mark::Diamond)];
    let series_of = |family: &str| {
        let place = families.iter().position(|f| *f == family).unwrap_or(0);
        series[place.min(series.len() - 1)]
    };
    for p in &drawn {
        let (class, mark) = series_of(&p.family);
        let tooltip = format!(
            "{}, trial {}: {} bytes, {} %; {}",
            p.family,
            p.trial,
            p.compiled_bytes,
            number(Some(p.cv_mape_percent), 3),
            params(&p.params)
        );
        if p.chosen {
            plot.mark("c", Mark::Solid, at(p), &format!("chosen, {tooltip}"));
        } else {
            plot.mark(class, mark, at(p), &tooltip);
        }
    }
    let legend = families.iter().map(|&family| {
        let (class, mark) = series_of(family);
        Legend { class, mark: Some(mark), line: None, name: family }
    });
    let front = Legend { class: "c", mark: None, line: Some("line"), name: "front" };
    let chosen = Legend { class: "c", mark: Some(Mark::Solid), line: None, name: "chosen" };
    plot.legend(&legend.chain([front, chosen]).collect::<Vec<_>>());
    Some(Figure {
        id: format!("size_{name}"),
        caption: format!("{name}: size against accuracy of the efficient trials of each family"),
        picture: plot.finish(),
        table: table_of(name, points),
    })
}

fn table_of(name: &str, points: &[&SizePoint]) -> Table {
    Table {
        id: format!("size_{name}"),
        caption: format!("{name}: trials that no smaller one of their family equals"),
        columns: heads([
            "Family",
            "Trial",
            "Bytes, compiled",
            "Bytes, estimated from the folds",
            "CV MAPE, %",
            "To compile it",
            "Parameters",
        ]),
        rows: points
            .iter()
            .map(|p| {
                let option = format!("--pick {name}={}", p.compiled_bytes);
                vec![
                    Cell::text(&p.family),
                    Cell::count(p.trial),
                    Cell::count(p.compiled_bytes),
                    Cell::count(p.est_bytes),
                    Cell::number(p.cv_mape_percent, 3),
                    Cell::text(match (p.chosen, p.on_front) {
                        (true, _) => "chosen".to_owned(),
                        (false, true) => option,
                        (false, false) => "another is as small and better".to_owned(),
                    }),
                    Cell::text(params(&p.params)),
                ]
            })
            .collect(),
    }
}
