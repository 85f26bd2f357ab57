//! Reports of the EnerInfer toolchain: one evaluation record, many renderings, and gates for CI.
//!
//! A [`Record`] becomes a document of sections, tables and pictures; each output format walks that
//! document, so all of them show the same numbers:
//!
//! - [`html`]: one self-contained page, without scripts or anything fetched;
//! - [`markdown`]: for a CI job summary;
//! - [`summary_table`]: for a terminal of 100 columns;
//! - [`csv_tables`], [`pictures`]: every table and picture as a file of its own.
//!
//! Given a baseline, [`comparison`] and [`html_with_baseline`] show what changed, and [`check`]
//! decides whether a [`Policy`] is kept; [`junit`] writes that for a dashboard. [`index_html`]
//! puts many records on one page.
//!
//! [`exhibits_html`] and [`exhibits_markdown`] show an [`Evaluation`]: the papers' figures and
//! tables for our devices, each value labelled as published or simulated.
//!
//! Rendering cannot fail and is deterministic. Whatever text a record holds is escaped for the
//! format it is written to; simulated results are labelled in every title and caption.

mod bootstrap;
mod code_cost;
mod common;
mod compare;
mod csv_out;
mod document;
mod error;
mod exhibits;
mod gate;
mod html;
mod index;
mod junit;
mod markdown;
mod metric;
mod plain_out;
mod policy;
mod sections;
mod slice;
mod stats;
mod summary;
mod svg;
mod text;

#[cfg(test)]
mod fixture;

pub use enerinfer_artifacts::exhibit::Evaluation;
pub use enerinfer_artifacts::record::Record;
pub use error::Error;
pub use gate::{Check, check};
pub use index::Entry;
pub use policy::Policy;
pub use text::plain;

/// JSON Schema of the record.
pub const SCHEMA: &str = include_str!("../schema/report.schema.json");

/// A self-contained HTML page of the record.
pub fn html(record: &Record) -> String {
    html::render(&sections::document(record))
}

/// The same with what changed since `baseline` in front.
///
/// # Errors
/// If the records are of different platforms, power domains or kinds of data.
pub fn html_with_baseline(record: &Record, baseline: &Record) -> Result<String, Error> {
    Ok(html::render(&document_with_baseline(record, baseline)?))
}

/// The record as GitHub-flavoured Markdown.
pub fn markdown(record: &Record) -> String {
    markdown::render(&sections::document(record), csv_file)
}

/// The same with what changed since `baseline` in front.
///
/// # Errors
/// As [`html_with_baseline`].
pub fn markdown_with_baseline(record: &Record, baseline: &Record) -> Result<String, Error> {
    Ok(markdown::render(&document_with_baseline(record, baseline)?, csv_file))
}

fn csv_file(table: &document::Table) -> String {
    format!("{}.csv", table.id)
}

/// A self-contained HTML page of the exhibits.
pub fn exhibits_html(evaluation: &Evaluation) -> String {
    html::render(&exhibits::document(evaluation))
}

/// The exhibits as GitHub-flavoured Markdown, without pictures.
pub fn exhibits_markdown(evaluation: &Evaluation) -> String {
    markdown::render(&exhibits::document(evaluation), |_| "evaluation.json".to_owned())
}

fn document_with_baseline(record: &Record, baseline: &Record) -> Result<document::Document, Error> {
    compare::require_comparable(baseline, record)?;
    let mut document = sections::document(record);
    document.sections.insert(0, compare::section(baseline, record));
    Ok(document)
}

/// A plain-text summary that fits 100 columns.
pub fn summary_table(record: &Record) -> String {
    summary::render(record)
}

/// What changed from `before` to `after`, as plain text that fits 100 columns.
///
/// # Errors
/// As [`html_with_baseline`].
pub fn comparison(before: &Record, after: &Record) -> Result<String, Error> {
    compare::require_comparable(before, after)?;
    let document = sections::document(after);
    let head = plain(&format!("{} · {}", document.label, document.title));
    let remark = compare::remark(before, after).map(|remark| format!("{remark}\n"));
    let tables = plain_out::render(&compare::section(before, after));
    Ok(format!("{head}\n{}\n{tables}", remark.unwrap_or_default()))
}

/// The first exhibit's tables as plain text that fits 100 columns, and what else there is.
pub fn exhibits_summary(evaluation: &Evaluation) -> String {
    let document = exhibits::document(evaluation);
    let mut text = format!("{} · {}\n\n", plain(&document.label), plain(&document.title));
    if let Some(first) = document.sections.first() {
        text.push_str(&plain_out::render(first));
    }
    let titles = evaluation.exhibits.iter().map(|e| format!("{}: {}", e.source, e.title));
    for title in titles {
        text.push_str(&plain(&title));
        text.push('\n');
    }
    text
}

/// Checks as JUnit XML.
pub fn junit(record: &Record, checks: &[Check]) -> String {
    junit::render(record, checks)
}

/// A page over many records: platform × metric, with trends.
pub fn index_html(entries: &[Entry]) -> String {
    html::render(&index::document(entries))
}

/// Every table as CSV, with full precision: `(file name, content)` in the order of the report.
pub fn csv_tables(record: &Record) -> Vec<(String, String)> {
    csv_out::render(record, &sections::document(record))
}

/// Every picture as a stand-alone SVG: `(file name, content)` in the order of the report.
pub fn pictures(record: &Record) -> Vec<(String, String)> {
    let document = sections::document(record);
    document
        .figures()
        .map(|figure| {
            let caption = format!("{} · {}", document.label_of(&figure.id), figure.caption);
            (format!("{}.svg", figure.id), figure.picture.standalone(&caption))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::fixture::{FULL, SMALL};

    /// Compares with a committed file, or writes it when asked to by `UPDATE_GOLDEN=1`.
    fn golden(name: &str, actual: &str) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
        if std::env::var_os("UPDATE_GOLDEN").is_some_and(|v| v == "1") {
            std::fs::write(&path, actual).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
        assert_eq!(actual, expected, "{name}: look at the change, then UPDATE_GOLDEN=1");
    }

    fn small() -> Record {
        fixture::record(SMALL, 7)
    }

    #[test]
    fn goldens() {
        let record = small();
        golden("orin.json", &record.to_json().unwrap());
        golden("orin.md", &markdown(&record));
        golden("orin.txt", &summary_table(&record));
        golden("compare.txt", &comparison(&record, &fixture::record(SMALL, 8)).unwrap());
        let schema = schemars::schema_for!(Record);
        golden("../../schema/report.schema.json", &format!("{:#}\n", schema.as_value()));
    }

    #[test]
    fn page_is_well_formed_and_self_contained() {
        let record = small();
        let page = html(&record);
        let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
        let tree = roxmltree::Document::parse_with_options(&page, options).unwrap();
        let mut pictures = 0;
        for node in tree.descendants().filter(|n| n.is_element()) {
            let name = node.tag_name().name();
            assert!(!["script", "iframe", "object", "img"].contains(&name), "{name}");
            for attribute in node.attributes() {
                assert!(!attribute.name().starts_with("on"), "{}", attribute.name());
                if ["href", "src"].contains(&attribute.name()) {
                    let value = attribute.value();
                    assert!(value.starts_with('#') || value == "data:,", "{value}");
                }
            }
            if name == "svg" {
                pictures += 1;
                let next = node.next_sibling_element().unwrap();
                assert_eq!(next.tag_name().name(), "figcaption");
                assert!(next.next_sibling_element().unwrap().has_tag_name("details"));
            }
        }
        assert_eq!(pictures, super::pictures(&record).len());
        assert_eq!(sections::document(&record).sections.len(), 17);
        assert!(!page.contains("url("));
    }

    /// An address leads to one thing, and to the same as ever: sections, and pictures by their
    /// file's name.
    #[test]
    fn ids_are_unique_and_every_anchor_leads_somewhere() {
        let record = small();
        let entry = Entry::new("report.json".to_owned(), None, &record);
        for page in [
            html(&record),
            html_with_baseline(&record, &record).unwrap(),
            index_html(&[entry]),
            exhibits_html(&exhibits::tests::evaluation("x")),
        ] {
            let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
            let tree = roxmltree::Document::parse_with_options(&page, options).unwrap();
            let all = |name| tree.descendants().filter_map(move |n| n.attribute(name));
            let ids: std::collections::BTreeSet<&str> = all("id").collect();
            assert_eq!(ids.len(), all("id").count(), "{:?}", all("id").collect::<Vec<_>>());
            let anchors: Vec<&str> = all("href").filter_map(|a| a.strip_prefix('#')).collect();
            assert!(!anchors.is_empty());
            assert!(anchors.iter().all(|anchor| ids.contains(anchor)), "{anchors:?}");
        }
        let page = html(&record);
        for (name, _) in pictures(&record) {
            let id = name.strip_suffix(".svg").unwrap();
            assert_eq!(page.matches(&format!(" id=\"{id}\"")).count(), 1, "{id}");
        }
    }

    /// The label of tables and pictures that show no prediction, measurement or temperature.
    fn own_label(name: &str) -> Option<&'static str> {
        name.starts_with("compiled_code").then_some("compiled code")
    }

    #[test]
    fn pictures_stand_alone() {
        let pictures = pictures(&small());
        assert!(pictures.iter().any(|(name, _)| name == "pareto_0.svg"));
        for (name, svg) in &pictures {
            let tree = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(tree.root_element().has_tag_name(("http://www.w3.org/2000/svg", "svg")));
            assert!(svg.contains(own_label(name).unwrap_or("SIMULATED")), "{name}");
        }
    }

    #[test]
    fn simulated_is_said_in_title_banner_and_every_caption() {
        let page = html(&small());
        assert!(page.contains("<title>SIMULATED"));
        assert!(page.contains("class=\"banner\""));
        let tags = page.matches("<figcaption>").count() + page.matches("<caption>").count();
        let labelled =
            page.matches("<figcaption><span class=\"label simulated\">SIMULATED").count()
                + page.matches("<caption><span class=\"label simulated\">SIMULATED").count();
        let of_code = page.matches("caption><span class=\"label measured\">compiled code").count();
        assert_eq!((tags, of_code), (labelled + of_code, 3));
        for (name, csv) in csv_tables(&small()) {
            let mut lines = csv.lines();
            assert!(lines.next().unwrap().ends_with(",Source"), "{name}");
            let end = format!(",{}", own_label(&name).unwrap_or("SIMULATED"));
            assert!(lines.all(|l| l.ends_with(&end)), "{name}");
        }
        let mut measured = small();
        measured.data.simulated = false;
        measured.platform.source = "measured:tegrastats".to_owned();
        if let Some(thermal) = &mut measured.details.thermal {
            "file:traces.csv".clone_into(&mut thermal.source);
        }
        assert!(!html(&measured).contains("SIMULATED"));
        assert!(!summary_table(&measured).contains("SIMULATED"));
    }

    /// Clock tables and temperatures need not come from the same place.
    #[test]
    fn temperatures_are_labelled_by_their_own_source() {
        for (table_simulated, source, label) in [
            (true, "file:traces.csv", "from traces.csv"),
            (false, "file:traces.csv", "from traces.csv"),
            (false, "simulated:orin", "SIMULATED"),
            (true, "simulated:orin", "SIMULATED"),
            // Records of before the source was kept.
            (true, "", "SIMULATED"),
            (false, "", "measured"),
        ] {
            let mut record = small();
            record.data.simulated = table_simulated;
            if !table_simulated {
                "measured:tegrastats".clone_into(&mut record.platform.source);
            }
            source.clone_into(&mut record.details.thermal.as_mut().unwrap().source);
            let of_table = if table_simulated { "SIMULATED" } else { "measured" };
            let expected = |name: &str| match name.starts_with("thermal") {
                true => label,
                false => own_label(name).unwrap_or(of_table),
            };
            for (name, csv) in csv_tables(&record) {
                let end = format!(",{}", expected(&name));
                assert!(csv.lines().skip(1).all(|l| l.ends_with(&end)), "{source} {name}: {csv}");
            }
            for (name, svg) in pictures(&record) {
                assert!(svg.contains(&format!("{} ·", expected(&name))), "{source} {name}");
            }
            let class = if label == "SIMULATED" { "simulated" } else { "measured" };
            let tag = format!("<span class=\"label {class}\">{label}</span>Thermal model on");
            assert!(html(&record).contains(&tag), "{source}: {tag}");
            assert!(markdown(&record).contains(&format!("{label} · Thermal model on")));
            let excepted = html(&record).contains("Temperatures have another source");
            assert_eq!(excepted, label != of_table, "{source}");
        }
    }

    #[test]
    fn code_that_was_not_measured_is_said_not_to_be() {
        let record = small();
        let page = html(&record);
        assert!(page.contains("Compiled code has another source"));
        let csv = csv_tables(&record).into_iter().find(|(name, _)| name == "compiled_code.csv");
        for (text, row) in [
            (csv.unwrap().1, ",90000,not measured,90000,compiled code"),
            (markdown(&record), "| 90000 | not measured | 90000 |"),
            (page, "90000</td><td>not measured</td><td class=\"n\">90000</td>"),
        ] {
            assert!(text.contains(row), "{row}");
        }
        let mut without = record.clone();
        without.details.compiled_code = None;
        for render in [html, markdown] {
            assert!(render(&record).contains("compiled for thumbv7em, of 128.0 KiB"));
            let text = render(&without);
            assert!(text.contains("estimated, of 128.0 KiB"));
            assert!(!text.contains("Compiled code") && !text.contains("rustc"));
        }
    }

    /// The noiseless mean is largest at another QoE than the mean; all name the same one.
    #[test]
    fn every_summary_gives_regret_at_the_same_qoe() {
        let mut record = small();
        for (i, regret) in (1..).zip(&mut record.regret) {
            let i = f64::from(i);
            (regret.mean_percent, regret.mean_percent_noiseless) = (Some(9.0 - i), Some(i / 4.0));
        }
        assert!(summary_table(&record).contains(
            "mean 8.00 %, worst 2.44 %, mean noiseless 0.25 % (at QoE 2.0 tok/s, the worst)"
        ));
        let note = "mean at QoE 2.0 tok/s, the worst; 0.25 % there without noise";
        for text in [html(&record), markdown(&record)] {
            assert!(text.contains("8.00 %") && text.contains(note), "{text}");
        }
        for regret in &mut record.regret {
            regret.mean_percent_noiseless = None;
        }
        for text in [html(&record), markdown(&record), summary_table(&record)] {
            assert!(!text.contains("without noise") && !text.contains("mean noiseless"));
        }
    }

    #[test]
    fn the_whole_jobs_page_is_below_2_mb() {
        let page = html(&fixture::record(FULL, 7));
        assert!(page.len() < 2_000_000, "{} bytes", page.len());
    }

    #[test]
    fn summary_fits_100_columns_and_is_printable() {
        let mut record = small();
        record.platform.name = "\u{1b}[2J漢字".repeat(40);
        record.targets[0].family = "漢字".repeat(40);
        record.notes.push("long ".repeat(100));
        let summary = summary_table(&record);
        for line in summary.lines() {
            assert!(unicode_width::UnicodeWidthStr::width(line) <= 100, "{line}");
            assert!(!line.contains(char::is_control));
        }
    }

    /// Values that a record cannot hold on disk but a caller can build.
    #[test]
    fn odd_records_render() {
        let mut record = small();
        record.clocks.mem_khz.clear();
        record.ranking.per_model.clear();
        record.combined.throughput_mape_percent = f64::NAN;
        record.regret[0].mean_percent = Some(f64::INFINITY);
        record.regret[1].worst_percent = Some(f64::NEG_INFINITY);
        record.scatter[0].measured_tok_per_s = f64::NAN;
        record.scatter[1].measured_tok_per_s = 0.0;
        record.scatter[2].predicted_tok_per_s = -1.0;
        record.targets[0].trials[0].cv_mape_percent = Some(f64::NAN);
        record.fronts[0].points[0].predicted_tok_per_j = f64::INFINITY;
        record.details.compiled_code.as_mut().unwrap().leaves = 0;
        for text in [html(&record), markdown(&record), summary_table(&record)] {
            assert!(!text.contains("NaN") && !text.contains("inf "), "{text}");
        }
        let mut empty = small();
        empty.targets.clear();
        empty.scatter.clear();
        empty.fronts.clear();
        empty.regret.clear();
        empty.size.predictors.clear();
        empty.ranking.per_model.clear();
        empty.details = Default::default();
        empty.combined.monolithic_mape_percent = None;
        assert_eq!(pictures(&empty).len(), 0);
        assert!(html(&empty).contains("Provenance"));
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(32))]
        #[test]
        fn any_numbers_render(
            values in proptest::collection::vec(proptest::prelude::any::<f64>(), 16),
        ) {
            let mut record = small();
            let mut values = values.into_iter().cycle();
            let mut next = || values.next().unwrap();
            for row in &mut record.scatter {
                row.measured_tok_per_s = next();
                row.predicted_tok_per_s = next();
                row.measured_w = Some(next());
            }
            for target in &mut record.targets {
                target.heldout_mape_percent = next();
                for trial in &mut target.trials {
                    trial.cv_mape_percent = Some(next());
                }
            }
            for model in &mut record.ranking.per_model {
                model.kendall_tau_b = Some(next());
            }
            for regret in &mut record.regret {
                (regret.qoe_tok_per_s, regret.mean_percent) = (next(), Some(next()));
            }
            for p in record.fronts.iter_mut().flat_map(|f| &mut f.points) {
                (p.measured_tok_per_s, p.predicted_tok_per_j) = (next(), next());
            }
            let page = html(&record);
            let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
            roxmltree::Document::parse_with_options(&page, options).unwrap();
            proptest::prop_assert!(!page.contains("NaN"));
            // Drawings stay inside their frames.
            let longest = page
                .split("d=\"")
                .skip(1)
                .flat_map(|d| d.split('"').next().unwrap().split(|c: char| !c.is_ascii_digit()))
                .map(str::len)
                .max();
            proptest::prop_assert!(longest <= Some(3), "{:?}", longest);
            for line in summary_table(&record).lines() {
                proptest::prop_assert!(line.chars().count() <= 100, "{}", line);
            }
            let _ = comparison(&small(), &record).unwrap();
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(16))]
        #[test]
        fn hostile_text_stays_text(text in proptest::prelude::any::<String>()) {
            let attack = format!("{text}\"'><script>alert(1)</script>&<!--]]>");
            let mut record = small();
            record.platform.name = attack.clone();
            record.targets[0].family = attack.clone();
            record.targets[0].params.insert(attack.clone(), attack.clone());
            record.ranking.per_model[0].model = attack.clone();
            record.fronts[0].model = attack.clone();
            let code = record.details.compiled_code.as_mut().unwrap();
            code.options = attack.clone();
            code.costs[0].rustc = Some(attack.clone());
            record.notes.push(attack);
            let page = html(&record);
            let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
            roxmltree::Document::parse_with_options(&page, options).unwrap();
            proptest::prop_assert!(!page.contains("<script"));
            for (_, svg) in pictures(&record) {
                roxmltree::Document::parse(&svg).unwrap();
            }
            proptest::prop_assert!(!markdown(&record).contains("<script"));
        }
    }
}
