//! Horizontal bars with names beside them.

use std::fmt::Write as _;

use super::{Anchor, Canvas, Picture, Scale, WIDTH, coord};
use crate::text::{number, xml};

pub(super) const LEFT: f64 = 186.0;
pub(super) const RIGHT: f64 = 56.0;
const PITCH: f64 = 24.0;
pub(super) const TOP: f64 = 26.0;
/// Names longer than this are cut in the picture; the table has them in full.
const NAME: usize = 28;

/// One bar.
pub(crate) struct Row {
    /// Name.
    pub(crate) name: String,
    /// Length.
    pub(crate) value: f64,
    /// Whether it stands out from the others.
    pub(crate) chosen: bool,
}

/// The picture of `rows`, from top to bottom; `axis` names the value.
pub(crate) fn draw(label: String, axis: &str, decimals: usize, rows: &[Row]) -> Picture {
    draw_with_key(label, axis, decimals, rows, &[])
}

/// The same with a key of series classes and their names above the bars.
pub(crate) fn draw_with_key(
    label: String,
    axis: &str,
    decimals: usize,
    rows: &[Row],
    key: &[(&str, &str)],
) -> Picture {
    let mut canvas = Canvas::default();
    let (_, hi) = crate::stats::extent(rows.iter().map(|r| r.value)).unwrap_or((0.0, 1.0));
    let scale = Scale::exact(axis, 0.0, hi.max(f64::MIN_POSITIVE));
    canvas.text("", (6.0, 16.0), Anchor::Start, axis);
    draw_key(&mut canvas, key);
    for (i, row) in rows.iter().enumerate() {
        let y = TOP + PITCH * i as f64;
        row_name(&mut canvas, y + 15.0, &row.name);
        let length = scale.position(row.value) * (WIDTH - LEFT - RIGHT);
        let shown = number(Some(row.value), decimals);
        let class = if row.chosen { "b" } else { "a" };
        let _ = write!(
            canvas.body,
            "<rect class=\"bar {class}\" x=\"{LEFT}\" y=\"{}\" width=\"{}\" height=\"{}\">\
             <title>{}: {shown}</title></rect>",
            coord(y + 3.0),
            coord(length),
            coord(PITCH - 6.0),
            xml(&row.name)
        );
        canvas.text("tick", (LEFT + length + 5.0, y + 15.0), Anchor::Start, &shown);
    }
    let height = TOP + PITCH * rows.len() as f64;
    canvas.line("axis", (LEFT, TOP), (LEFT, height));
    Picture { height: height + 8.0, label, body: canvas.body }
}

/// The name of a row at the left, cut if it is long.
pub(super) fn row_name(canvas: &mut Canvas, y: f64, name: &str) {
    let mut shown: String = name.chars().take(NAME).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    canvas.text("tick", (LEFT - 8.0, y), Anchor::End, &shown);
}

/// Squares in the colours of the series classes, and their names, from the right.
pub(super) fn draw_key(canvas: &mut Canvas, key: &[(&str, &str)]) {
    let mut right = WIDTH - 8.0;
    for (class, name) in key.iter().rev() {
        right -= 7.5 * name.chars().count() as f64;
        canvas.text("tick", (right, 16.0), Anchor::Start, name);
        let x = coord(right - 14.0);
        let _ = write!(
            canvas.body,
            "<rect class=\"bar {class}\" x=\"{x}\" y=\"7\" width=\"9\" height=\"9\"/>"
        );
        right -= 26.0;
    }
}
