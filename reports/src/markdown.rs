//! A document as GitHub-flavoured Markdown, for CI job summaries.

use std::fmt::Write as _;

use crate::document::{Document, Part, Table};
use crate::text::markdown as escape;

/// Tables with more rows than this are left to the page and to another file.
const MOST_ROWS: usize = 20;

/// The Markdown of `document`; `elsewhere` names the file that has the rows of a long table.
pub(crate) fn render(document: &Document, elsewhere: fn(&Table) -> String) -> String {
    let mut out = String::new();
    let label = escape(&document.label);
    let _ = writeln!(out, "# {label} · {}\n", escape(&document.title));
    let _ = writeln!(out, "> **{label}**: {}\n", escape(&document.notice));
    for tile in &document.tiles {
        let _ = writeln!(
            out,
            "- {}: **{}** ({})",
            escape(tile.name),
            escape(&tile.value),
            escape(&tile.note)
        );
    }
    for section in &document.sections {
        let _ = write!(out, "\n## {}\n\n{}\n", escape(&section.title), escape(&section.lead));
        for part in &section.parts {
            match part {
                Part::Table(table) => render_table(&mut out, document, table, elsewhere),
                Part::Figures(figures) => {
                    for figure in figures {
                        render_table(&mut out, document, &figure.table, elsewhere);
                    }
                }
                Part::List(items) => {
                    out.push('\n');
                    for item in items {
                        let _ = writeln!(out, "- {}", escape(item));
                    }
                }
            }
        }
    }
    out
}

fn render_table(
    out: &mut String,
    document: &Document,
    table: &Table,
    elsewhere: fn(&Table) -> String,
) {
    let label = escape(document.label_of(&table.id));
    let caption = escape(&table.caption);
    if table.rows.len() > MOST_ROWS {
        let file = elsewhere(table);
        let _ = writeln!(out, "\n{label} · {caption}: {} rows in `{file}`", table.rows.len());
        return;
    }
    let _ = writeln!(out, "\n{label} · {caption}\n");
    let (mut heads, mut rule) = ("|".to_owned(), "|".to_owned());
    for (i, head) in table.columns.iter().enumerate() {
        let numeric = table.rows.first().and_then(|r| r.get(i)).is_some_and(|c| c.is_number());
        let _ = write!(heads, " {} |", escape(head));
        rule.push_str(if numeric { "---:|" } else { "---|" });
    }
    let _ = writeln!(out, "{heads}\n{rule}");
    for row in &table.rows {
        out.push('|');
        for cell in row {
            let _ = write!(out, " {} |", escape(&cell.shown()));
        }
        out.push('\n');
    }
}
