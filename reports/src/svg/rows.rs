//! Horizontal bars with names beside them.

use std::fmt::Write as _;

use super::{Anchor, Canvas, Picture, Scale, WIDTH, coord};
use crate::text::{number, xml};

const LEFT: f64 = 186.0;
const RIGHT: f64 = 56.0;
const PITCH: f64 = 24.0;
const TOP: f64 = 26.0;
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
    let mut canvas = Canvas::default();
    let (_, hi) = crate::stats::extent(rows.iter().map(|r| r.value)).unwrap_or((0.0, 1.0));
    let scale = Scale::exact(axis, 0.0, hi.max(f64::MIN_POSITIVE));
    canvas.text("", (6.0, 16.0), Anchor::Start, axis);
    for (i, row) in rows.iter().enumerate() {
        let y = TOP + PITCH * i as f64;
        let mut name: String = row.name.chars().take(NAME).collect();
        if name.len() < row.name.len() {
            name.push('…');
        }
        canvas.text("tick", (LEFT - 8.0, y + 15.0), Anchor::End, &name);
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
