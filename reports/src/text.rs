//! Escaping of untrusted text, and the one way to print a number.

use enerinfer_artifacts::is_printable;

/// Printed where a value is absent.
pub(crate) const ABSENT: &str = "–";

/// `value` with `decimals` places; [`ABSENT`] if absent or not finite.
pub(crate) fn number(value: Option<f64>, decimals: usize) -> String {
    match value {
        // No unit in use reaches this; all digits would burst every table.
        Some(v) if v.is_finite() && v.abs() >= 1e12 => format!("{v:.1e}"),
        Some(v) if v.is_finite() => {
            let text = format!("{v:.decimals$}");
            // "-0.00" would read as a loss.
            let is_zero =
                text.starts_with('-') && !text.bytes().any(|b| (b'1'..=b'9').contains(&b));
            if is_zero { text[1..].to_owned() } else { text }
        }
        _ => ABSENT.to_owned(),
    }
}

/// With so many every number reads back as it is: the smallest is 5·10⁻³²⁴.
const ALL_DECIMALS: usize = 324;

/// A limit as it was given: all its digits and no more.
pub(crate) fn given(limit: f64) -> String {
    // Neither a thousand zeros nor a thousand decimals.
    let plain = limit == 0.0 || (1e-9..1e12).contains(&limit.abs());
    if plain { format!("{limit}") } else { format!("{limit:e}") }
}

/// Decimals, `least` or more, with which `value` is on the same side of `limit` as it is in full,
/// so that what is printed never contradicts a verdict. `shown` prints the limit.
pub(crate) fn telling_decimals(
    value: f64,
    limit: f64,
    least: usize,
    shown: impl Fn(usize) -> String,
) -> usize {
    let read = |text: String| text.parse::<f64>().ok();
    let order = |decimals| read(judged(value, decimals))?.partial_cmp(&read(shown(decimals))?);
    let wanted = value.partial_cmp(&limit);
    (least..=ALL_DECIMALS).find(|&decimals| order(decimals) == wanted).unwrap_or(least)
}

/// `value` with `decimals` places as [`telling_decimals`] found them; large ones in full.
pub(crate) fn judged(value: f64, decimals: usize) -> String {
    if value.is_finite() && value.abs() >= 1e12 {
        return format!("{value:e}");
    }
    number(Some(value), decimals)
}

/// A size in bytes or KiB.
pub(crate) fn bytes(value: u64) -> String {
    if value < 10 * 1024 {
        format!("{value} B")
    } else {
        format!("{:.1} KiB", value as f64 / 1024.0)
    }
}

/// `kHz` as MHz without superfluous zeros: 665600 is `665.6`.
pub(crate) fn mhz(khz: u32) -> String {
    let text = format!("{:.3}", f64::from(khz) / 1000.0);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `text` for a terminal: control characters and marks that reorder or hide text become U+FFFD.
pub fn plain(text: &str) -> String {
    text.chars().map(|c| if is_printable(c) { c } else { '\u{fffd}' }).collect()
}

/// `text` for HTML, SVG and XML, both in content and in quoted attributes.
pub(crate) fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if !is_printable(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// `text` for a paragraph or table cell of GitHub-flavoured Markdown.
pub(crate) fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Harmless inside a cell or sentence, and frequent in names.
            '.' | ',' | '-' | '%' | '(' | ')' | '/' | '+' | '=' | ';' | ':' => out.push(c),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_ascii_punctuation() => {
                out.push('\\');
                out.push(c);
            }
            c if !is_printable(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    // What GitHub turns into links by itself.
    out.replace("://", ":\\/\\/").replace("www.", "www\\.")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers() {
        assert_eq!(number(Some(1.005), 1), "1.0");
        assert_eq!(number(Some(-0.001), 2), "0.00");
        assert_eq!(number(Some(-0.01), 2), "-0.01");
        assert_eq!(number(Some(f64::NAN), 2), ABSENT);
        assert_eq!(number(Some(f64::INFINITY), 2), ABSENT);
        assert_eq!(number(None, 2), ABSENT);
        assert_eq!(number(Some(-1.26e300), 2), "-1.3e300");
        assert_eq!(mhz(665_600), "665.6");
        assert_eq!(mhz(204_000), "204");
        assert_eq!(bytes(131_072), "128.0 KiB");
    }

    #[test]
    fn hostile_names() {
        let name = "<script>alert(1)</script>\u{1b}[2J|`x`\u{202e}";
        assert_eq!(plain(name), "<script>alert(1)</script>\u{fffd}[2J|`x`\u{fffd}");
        assert_eq!(xml(name), "&lt;script&gt;alert(1)&lt;/script&gt;\u{fffd}[2J|`x`\u{fffd}");
        assert_eq!(
            markdown(name),
            "&lt;script&gt;alert(1)&lt;/script&gt;\u{fffd}\\[2J\\|\\`x\\`\u{fffd}"
        );
    }

    #[test]
    fn markdown_makes_no_links() {
        assert_eq!(
            markdown("http://a.example www.b.example"),
            "http:\\/\\/a.example www\\.b.example"
        );
    }

    #[test]
    fn limits_keep_their_digits() {
        for (limit, text) in [
            (1.8855, "1.8855"),
            (131_072.0, "131072"),
            (4.0, "4"),
            (-0.5, "-0.5"),
            (0.0, "0"),
            (1e-12, "1e-12"),
            (1e300, "1e300"),
        ] {
            assert_eq!(given(limit), text);
        }
    }

    proptest! {
        #[test]
        fn printed_values_are_on_the_side_of_the_limit_that_they_are_on(
            limit in any::<f64>().prop_filter("finite", |v| v.is_finite()),
            other in any::<f64>().prop_filter("finite", |v| v.is_finite()),
            near in -3i32..=3,
            small in -10.0..10.0,
        ) {
            let mut neighbour = small;
            for _ in 0..near.abs() {
                neighbour = if near < 0 { f64::next_down(neighbour) } else { neighbour.next_up() };
            }
            for (value, limit) in [(other, limit), (neighbour, small), (small, limit)] {
                let decimals = telling_decimals(value, limit, 2, |_| given(limit));
                let read = |text: String| text.parse::<f64>().expect("a number");
                let printed = read(judged(value, decimals)).partial_cmp(&read(given(limit)));
                prop_assert_eq!(printed, value.partial_cmp(&limit), "{} {}", value, limit);
                // Both rounded: what is a share of a baseline has no digits of its own.
                let decimals = telling_decimals(value, limit, 2, |d| judged(limit, d));
                let printed =
                    read(judged(value, decimals)).partial_cmp(&read(judged(limit, decimals)));
                prop_assert_eq!(printed, value.partial_cmp(&limit), "{} {}", value, limit);
            }
        }

        #[test]
        fn xml_reads_back(text in any::<String>()) {
            let page = format!("<p a=\"{0}\">{0}</p>", xml(&text));
            let tree = roxmltree::Document::parse(&page).expect("well-formed");
            prop_assert_eq!(tree.root_element().text().unwrap_or(""), plain(&text));
            prop_assert_eq!(tree.root_element().attribute("a").unwrap_or(""), plain(&text));
        }

        #[test]
        fn terminal_text_has_no_control(text in any::<String>()) {
            prop_assert!(!plain(&text).chars().any(char::is_control));
        }

        #[test]
        fn markdown_leaves_no_bare_syntax(text in any::<String>()) {
            let escaped = markdown(&text);
            let rest = escaped.replace("&lt;", "").replace("&gt;", "").replace("&amp;", "");
            let mut chars = rest.chars();
            while let Some(c) = chars.next() {
                if c == '\\' {
                    prop_assert!(chars.next().is_some_and(|c| c.is_ascii_punctuation()));
                } else {
                    prop_assert!(!"<>[]|`*_~&!#@\n".contains(c), "{}", escaped);
                }
            }
        }
    }
}
