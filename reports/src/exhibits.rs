//! An evaluation's exhibits as a document: one section each, every heading and legend with its
//! provenance.

use enerinfer_artifacts::exhibit::{
    Axis, Chart, DataTable, Drawing, Evaluation, Exhibit, Provenance, Series, Values,
};

use crate::document::{Cell, Document, Figure, Part, Section, Table, heads};
use crate::stats::extent;
use crate::svg::{BoxRow, Legend, Mark, Picture, Plot, Row, Scale, draw_boxes, draw_rows_with_key};
use crate::text::number;

/// Series of more points than this are drawn as one element, and the table behind them counts
/// points instead of listing them.
const MANY_POINTS: usize = 120;

/// Classes of series, in order of the first appearance of their names.
const CLASSES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The document of an evaluation.
pub(crate) fn document(evaluation: &Evaluation) -> Document {
    let found: Vec<Provenance> =
        evaluation.exhibits.iter().flat_map(Exhibit::provenances).collect();
    let parts = evaluation.exhibits.iter().flat_map(|e| {
        let tables = e.tables.iter().map(|t| (&t.id, t.provenances()));
        tables.chain(e.charts.iter().map(|c| (&c.id, c.provenances())))
    });
    let labels = parts.map(|(id, of)| (id.clone(), label(of))).collect();
    let mut sections: Vec<Section> = evaluation.exhibits.iter().map(section).collect();
    sections.push(provenance(evaluation));
    let simulated = found.contains(&Provenance::Simulated);
    let mut notice = "Every column and every series says where its values come from.".to_owned();
    if simulated {
        notice.push_str(
            " What is marked SIMULATED comes from simulated devices, or was predicted by what was \
             learnt from them; it was not measured on hardware.",
        );
    }
    Document {
        title: "Evaluation: the papers' figures and tables for our devices".to_owned(),
        label: label(found),
        labels,
        simulated,
        notice,
        tiles: Vec::new(),
        sections,
    }
}

/// What values of some provenances are, in a few words.
fn label(mut provenances: Vec<Provenance>) -> String {
    provenances.sort_unstable();
    provenances.dedup();
    // What is compared is no source of its own.
    let sources: Vec<&str> =
        provenances.iter().filter(|p| **p != Provenance::Compared).map(|p| p.label()).collect();
    match (sources.is_empty(), provenances.is_empty()) {
        (true, true) => "no values".to_owned(),
        (true, false) => Provenance::Compared.label().to_owned(),
        _ => sources.join(" and "),
    }
}

fn section(exhibit: &Exhibit) -> Section {
    let figures: Vec<Figure> = exhibit.charts.iter().map(figure).collect();
    let mut parts: Vec<Part> = Vec::new();
    if !figures.is_empty() {
        parts.push(Part::Figures(figures));
    }
    parts.extend(exhibit.tables.iter().map(|t| Part::Table(table(t))));
    Section {
        id: exhibit.id.clone().into(),
        title: format!("{} · {}", exhibit.source, exhibit.title).into(),
        lead: exhibit.caption.clone(),
        parts,
    }
}

fn provenance(evaluation: &Evaluation) -> Section {
    let mut items = vec![
        format!("Made by `{}`, version {}.", evaluation.command, evaluation.tool_version),
        match evaluation.trials {
            0 => format!(
                "Nothing here needed predictors to be searched for; seed {}.",
                evaluation.seed
            ),
            trials => format!(
                "Predictors come from a random search of {trials} trials per target and family, \
                 seed {}.",
                evaluation.seed
            ),
        },
    ];
    items.extend(evaluation.notes.iter().cloned());
    Section {
        id: "provenance".into(),
        title: "Provenance".into(),
        lead: "How the report was made, and what to know about it.".to_owned(),
        parts: vec![Part::List(items)],
    }
}

fn table(data: &DataTable) -> Table {
    let rows = data.columns.first().map_or(0, |c| c.values.len());
    let cell = |values: &Values, row: usize| match values {
        Values::Text(texts) => Cell::text(texts.get(row).cloned().unwrap_or_default()),
        Values::Numbers { decimals, values } => {
            Cell::Number(values.get(row).copied().flatten(), usize::from(*decimals))
        }
    };
    Table {
        id: data.id.clone(),
        caption: data.caption.clone(),
        columns: data.columns.iter().map(|c| c.heading().into()).collect(),
        rows: (0..rows)
            .map(|row| data.columns.iter().map(|c| cell(&c.values, row)).collect())
            .collect(),
    }
}

fn figure(chart: &Chart) -> Figure {
    let caption = chart.caption.clone();
    let (picture, table) = match &chart.drawing {
        Drawing::Lines { x, y, series } => {
            (plot(&caption, x, y, series, true), points(chart, x, y, series))
        }
        Drawing::Points { x, y, series } => {
            (plot(&caption, x, y, series, false), points(chart, x, y, series))
        }
        Drawing::Bars { value, decimals, bars } => {
            let decimals = usize::from(*decimals);
            let key = key(bars.iter().map(|b| b.provenance));
            let class_of = |p| p == Provenance::Published;
            let rows: Vec<Row> = bars
                .iter()
                .map(|b| Row {
                    name: b.name.clone(),
                    value: b.value,
                    chosen: class_of(b.provenance),
                })
                .collect();
            let table = behind(
                chart,
                value,
                bars.iter()
                    .map(|b| (b.name.as_str(), b.provenance, number(Some(b.value), decimals))),
            );
            (draw_rows_with_key(caption.clone(), &value.heading(), decimals, &rows, &key), table)
        }
        Drawing::Boxes { value, boxes } => {
            let key = key(boxes.iter().map(|b| b.provenance));
            let ends = boxes.iter().flat_map(|b| [b.summary.min, b.summary.max]);
            let rows: Vec<BoxRow<'_>> = boxes
                .iter()
                .map(|b| BoxRow { name: &b.name, class: class(b.provenance), summary: b.summary })
                .collect();
            let table = behind(
                chart,
                value,
                boxes.iter().map(|b| {
                    let s = b.summary;
                    let five = [s.min, s.q1, s.median, s.q3, s.max];
                    (b.name.as_str(), b.provenance, five.map(|v| number(Some(v), 3)).join(" · "))
                }),
            );
            (draw_boxes(caption.clone(), &scale(value, ends), &rows, &key), table)
        }
    };
    Figure { id: chart.id.clone(), caption, picture, table }
}

/// Colour of bars and boxes: published values stand out from all others.
fn class(provenance: Provenance) -> &'static str {
    if provenance == Provenance::Published { "b" } else { "a" }
}

/// The key of bars and boxes.
fn key(provenances: impl Iterator<Item = Provenance>) -> Vec<(&'static str, &'static str)> {
    let mut all: Vec<Provenance> = provenances.collect();
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(|p| (class(p), p.label())).collect()
}

fn scale(axis: &Axis, values: impl Iterator<Item = f64>) -> Scale {
    let (lo, hi) = extent(values).unwrap_or((0.0, 1.0));
    if axis.log {
        Scale::log(axis.heading(), lo, hi)
    } else {
        Scale::linear(axis.heading(), lo, hi)
    }
}

/// Lines or points; a name has one colour, and published values have their own form.
fn plot(caption: &str, x: &Axis, y: &Axis, series: &[Series], lines: bool) -> Picture {
    let all = || series.iter().flat_map(|s| &s.points);
    let (xs, ys) = (scale(x, all().map(|p| p.0)), scale(y, all().map(|p| p.1)));
    let mut plot = Plot::new(caption, xs, ys);
    let mut names: Vec<&str> = Vec::new();
    let mut legend: Vec<(&'static str, Mark, String)> = Vec::new();
    for s in series {
        let at = names.iter().position(|n| *n == s.name).unwrap_or_else(|| {
            names.push(&s.name);
            names.len() - 1
        });
        let class = CLASSES[at % CLASSES.len()];
        let mark = mark(s.provenance);
        if lines && s.points.len() > 1 {
            plot.line(&format!("{} {class}", line(s.provenance)), s.points.iter().copied());
        }
        let label = format!("{} ({})", s.name, s.provenance.label());
        if s.points.len() > MANY_POINTS {
            if !lines {
                plot.dots(class, s.points.iter().copied(), &label);
            }
        } else {
            for &(px, py) in &s.points {
                let at = |v| number(Some(v), 3);
                plot.mark(class, mark, (px, py), &format!("{label}: {}, {}", at(px), at(py)));
            }
        }
        legend.push((class, mark, label));
    }
    let entries: Vec<Legend<'_>> = legend
        .iter()
        .zip(series)
        .map(|((class, mark, name), s)| Legend {
            class,
            mark: Some(*mark),
            line: lines.then(|| line(s.provenance)),
            name,
        })
        .collect();
    plot.legend_below(&entries);
    plot.finish()
}

fn mark(provenance: Provenance) -> Mark {
    match provenance {
        Provenance::Published => Mark::Diamond,
        Provenance::Measured => Mark::Solid,
        Provenance::Simulated | Provenance::Compared => Mark::Ring,
    }
}

fn line(provenance: Provenance) -> &'static str {
    if provenance == Provenance::Published { "line dash" } else { "line" }
}

/// The table behind lines and points.
fn points(chart: &Chart, x: &Axis, y: &Axis, series: &[Series]) -> Table {
    let total: usize = series.iter().map(|s| s.points.len()).sum();
    let caption = chart.caption.clone();
    if total > MANY_POINTS {
        let rows = series.iter().map(|s| {
            vec![
                Cell::text(&s.name),
                Cell::text(s.provenance.label()),
                Cell::count(s.points.len() as u64),
            ]
        });
        let columns = heads(["Series", "Values are", "Points"]);
        return Table { id: chart.id.clone(), caption, columns, rows: rows.collect() };
    }
    let rows = series.iter().flat_map(|s| {
        s.points.iter().map(|&(px, py)| {
            vec![
                Cell::text(&s.name),
                Cell::text(s.provenance.label()),
                Cell::number(px, 3),
                Cell::number(py, 3),
            ]
        })
    });
    let columns =
        vec!["Series".into(), "Values are".into(), x.heading().into(), y.heading().into()];
    Table { id: chart.id.clone(), caption, columns, rows: rows.collect() }
}

/// The table behind bars and boxes.
fn behind<'a>(
    chart: &Chart,
    value: &Axis,
    rows: impl Iterator<Item = (&'a str, Provenance, String)>,
) -> Table {
    Table {
        id: chart.id.clone(),
        caption: chart.caption.clone(),
        columns: vec!["Name".into(), "Value is".into(), value.heading().into()],
        rows: rows
            .map(|(name, provenance, shown)| {
                vec![Cell::text(name), Cell::text(provenance.label()), Cell::text(shown)]
            })
            .collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use enerinfer_artifacts::exhibit::{Bar, Column, EVALUATION_VERSION, FiveNumbers, NamedBox};

    use super::*;

    pub(crate) fn evaluation(text: &str) -> Evaluation {
        let axis = || Axis::new("Speed", "tok/s");
        let series = |name: &str, provenance, n: u32| {
            Series::new(name, provenance, (0..n).map(|i| (f64::from(i), f64::from(i % 7))))
        };
        let drawings = [
            Drawing::Lines {
                x: axis(),
                y: Axis::log("Efficiency", "tok/J"),
                series: vec![
                    series(text, Provenance::Simulated, 5),
                    series(text, Provenance::Published, 5),
                ],
            },
            Drawing::Points {
                x: axis(),
                y: axis(),
                series: vec![series(text, Provenance::Simulated, 1000)],
            },
            Drawing::Bars {
                value: axis(),
                decimals: 1,
                bars: vec![Bar {
                    name: text.to_owned(),
                    provenance: Provenance::Published,
                    value: 2.0,
                }],
            },
            Drawing::Boxes {
                value: axis(),
                boxes: FiveNumbers::of(&[1.0, 2.0])
                    .map(|summary| NamedBox {
                        name: text.to_owned(),
                        provenance: Provenance::Simulated,
                        summary,
                    })
                    .into_iter()
                    .collect(),
            },
        ];
        let charts = drawings.into_iter().enumerate().map(|(i, drawing)| Chart {
            id: format!("c{i}"),
            caption: text.to_owned(),
            drawing,
        });
        Evaluation {
            schema_version: EVALUATION_VERSION,
            tool_version: "0".to_owned(),
            command: text.to_owned(),
            seed: 1,
            trials: 1,
            exhibits: vec![Exhibit {
                id: "fig13".to_owned(),
                title: text.to_owned(),
                source: "EnerInfer Figure 13".to_owned(),
                caption: text.to_owned(),
                tables: vec![DataTable {
                    id: "t".to_owned(),
                    caption: text.to_owned(),
                    columns: vec![
                        Column::key("Model", [text]),
                        Column::numbers("Speed", "tok/s", Provenance::Published, 1, [3.25]),
                        Column::optional("Speed", "tok/s", Provenance::Simulated, 1, [None]),
                    ],
                }],
                charts: charts.collect(),
            }],
            notes: vec![text.to_owned()],
        }
    }

    #[test]
    fn every_heading_and_legend_says_where_values_come_from() {
        let evaluation = evaluation("Qwen2-1.5B");
        evaluation.validate().unwrap();
        let page = crate::exhibits_html(&evaluation);
        for part in [
            "Speed, tok/s (published)</th>",
            "Speed, tok/s (SIMULATED)</th>",
            "Qwen2-1.5B (SIMULATED)</text>",
            "Qwen2-1.5B (published)</text>",
            "<title>published and SIMULATED",
            "EnerInfer Figure 13",
        ] {
            assert!(page.contains(part), "{part}");
        }
        let markdown = crate::exhibits_markdown(&evaluation);
        assert!(markdown.contains("| Speed, tok/s (published) |"), "{markdown}");
        assert!(markdown.contains("EnerInfer Figure 13"));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(16))]
        #[test]
        fn hostile_text_stays_text(text in proptest::prelude::any::<String>()) {
            let page = crate::exhibits_html(&evaluation(&format!("{text}\"'><script>x&<!--]]>")));
            let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
            roxmltree::Document::parse_with_options(&page, options).unwrap();
            proptest::prop_assert!(!page.contains("<script"));
        }
    }
}
