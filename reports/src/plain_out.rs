//! Tables of a section as plain text, for a terminal.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

use crate::document::{Part, Section, Table};
use crate::summary::{WIDTH, cut, pad};
use crate::text::plain;

/// Text that is wanted in full is narrower than this; longer columns give way.
const NARROW: usize = 16;

/// The tables of `section`; empty ones are left out.
pub(crate) fn render(section: &Section) -> String {
    let mut out = String::new();
    for part in &section.parts {
        match part {
            Part::Table(table) if !table.rows.is_empty() => render_table(&mut out, table),
            _ => {}
        }
    }
    out
}

fn render_table(out: &mut String, table: &Table) {
    let heads = table.columns.iter().map(|head| head.to_string()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(heads)
        .chain(table.rows.iter().map(|row| row.iter().map(|cell| plain(&cell.shown())).collect()))
        .collect();
    let mut widths = vec![0; table.columns.len()];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    let gaps = 2 * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > WIDTH {
        match widths.iter_mut().max() {
            Some(widest) if *widest > NARROW => *widest -= 1,
            _ => break,
        }
    }
    let _ = writeln!(out, "{}", plain(&table.caption));
    for row in &rows {
        let mut line = String::new();
        for (i, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let numeric = table.rows.first().and_then(|r| r.get(i)).is_some_and(|c| c.is_number());
            let cell = cut(cell, width);
            let gap = if i == 0 { "" } else { "  " };
            let fill = " ".repeat(width.saturating_sub(cell.width()));
            let _ = if numeric {
                write!(line, "{gap}{fill}{cell}")
            } else {
                write!(line, "{gap}{}", pad(&cell, width))
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out.push('\n');
}
