//! Checks as JUnit XML, for test dashboards.

use std::fmt::Write as _;

use enerinfer_artifacts::record::Record;

use crate::gate::Check;
use crate::sections::is_simulated;
use crate::text::xml;

/// One test case per check.
pub(crate) fn render(record: &Record, checks: &[Check]) -> String {
    let id = &record.platform;
    let suite = xml(&format!("enerinfer.{}.{}.{}", id.name, id.engine, id.weight_format));
    let failures = checks.iter().filter(|c| c.breached).count();
    let mut out = String::new();
    let _ = write!(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites tests=\"{0}\" failures=\"{failures}\">\n\
         <testsuite name=\"{suite}\" tests=\"{0}\" failures=\"{failures}\" errors=\"0\">\n\
         <properties>\n<property name=\"data\" value=\"{1}\"/>\n\
         <property name=\"source\" value=\"{2}\"/>\n<property name=\"seed\" value=\"{3}\"/>\n\
         </properties>\n",
        checks.len(),
        if is_simulated(record) { "SIMULATED" } else { "measured" },
        xml(&id.source),
        record.seed,
    );
    for check in checks {
        let (name, detail) = (xml(&check.name), xml(&check.detail));
        let _ = write!(out, "<testcase classname=\"{suite}\" name=\"{name}\">");
        let _ = if check.breached {
            write!(out, "<failure type=\"gate\" message=\"{detail}\">{name}: {detail}</failure>")
        } else {
            write!(out, "<system-out>{detail}</system-out>")
        };
        out.push_str("</testcase>\n");
    }
    out.push_str("</testsuite>\n</testsuites>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{SMALL, record};

    #[test]
    fn failures_are_counted_and_text_is_escaped() {
        let mut record = record(SMALL, 1);
        record.platform.name = "<&\"'\u{1b}".to_owned();
        let check = |breached| Check {
            name: "mean_tau_b <limit>".to_owned(),
            breached,
            detail: "0.1 & \"less\"".to_owned(),
        };
        let text = render(&record, &[check(true), check(false), check(true)]);
        let tree = roxmltree::Document::parse(&text).unwrap();
        let suite = tree.root_element().first_element_child().unwrap();
        assert_eq!(suite.attribute("failures"), Some("2"));
        assert_eq!(suite.attribute("name"), Some("enerinfer.<&\"'\u{fffd}.llama.cpp.q4_k_m"));
        let named = |name| tree.descendants().filter(|n| n.has_tag_name(name)).count();
        assert_eq!((named("testcase"), named("failure")), (3, 2));
    }
}
