//! Horizontal box plots with names beside them.

use enerinfer_artifacts::exhibit::FiveNumbers;

use super::rows::{LEFT, RIGHT, TOP, draw_key, row_name};
use super::{Anchor, Canvas, Picture, Scale, WIDTH, coord};
use crate::text::number;

const PITCH: f64 = 17.0;
const BOTTOM: f64 = 24.0;

/// One box.
pub(crate) struct BoxRow<'a> {
    /// Name.
    pub(crate) name: &'a str,
    /// Class of its series.
    pub(crate) class: &'static str,
    /// What it sums up.
    pub(crate) summary: FiveNumbers,
}

/// The picture of `rows`, from top to bottom, over the value axis `x`; `key` as for bars.
pub(crate) fn draw(label: String, x: &Scale, rows: &[BoxRow<'_>], key: &[(&str, &str)]) -> Picture {
    let mut canvas = Canvas::default();
    let bottom = TOP + PITCH * rows.len() as f64;
    let at = |v: f64| LEFT + x.position(v) * (WIDTH - LEFT - RIGHT);
    canvas.text("", (6.0, 16.0), Anchor::Start, &x.label);
    draw_key(&mut canvas, key);
    for (value, text) in x.ticks() {
        canvas.line("grid", (at(value), TOP), (at(value), bottom));
        canvas.text("tick", (at(value), bottom + 16.0), Anchor::Middle, &text);
    }
    for (i, row) in rows.iter().enumerate() {
        let y = TOP + PITCH * i as f64;
        let middle = y + PITCH / 2.0;
        row_name(&mut canvas, middle + 4.0, row.name);
        let FiveNumbers { min, q1, median, q3, max } = row.summary;
        let class = row.class;
        canvas.line(&format!("line {class}"), (at(min), middle), (at(max), middle));
        let shown = [min, q1, median, q3, max].map(|v| number(Some(v), 3)).join(" · ");
        let (x, top, h) = (coord(at(q1)), coord(y + 3.0), coord(PITCH - 6.0));
        let w = coord((at(q3) - at(q1)).max(1.0));
        let data = format!("M{x} {top}h{w}v{h}h-{w}z");
        canvas.path(&format!("box {class}"), &data, &format!("{}: {shown}", row.name));
        canvas.line(&format!("line {class}"), (at(median), y + 2.0), (at(median), y + PITCH - 2.0));
    }
    canvas.line("axis", (LEFT, TOP), (LEFT, bottom));
    Picture { height: bottom + BOTTOM, label, body: canvas.body }
}
