//! A bar chart over named or numbered bins.

use std::fmt::Write as _;

use super::plot::{BOTTOM, LEFT, RIGHT, TOP, y_axis};
use super::{Anchor, Canvas, Picture, Scale, WIDTH, coord};
use crate::text::xml;

const HEIGHT: f64 = 300.0;

/// One bar.
pub(crate) struct Bar {
    /// Below the bar; may be empty.
    pub(crate) label: String,
    /// Height.
    pub(crate) value: f64,
    /// Shown on hover.
    pub(crate) tooltip: String,
}

/// A bar chart in the making.
pub(crate) struct Bars {
    canvas: Canvas,
    label: String,
}

impl Bars {
    /// Draws frame and bars.
    pub(crate) fn new(label: impl Into<String>, x_label: &str, y: &Scale, bars: &[Bar]) -> Self {
        let mut canvas = Canvas::default();
        y_axis(&mut canvas, y, HEIGHT);
        let (bottom, width) = (HEIGHT - BOTTOM, WIDTH - LEFT - RIGHT);
        let pitch = width / bars.len().max(1) as f64;
        for (i, bar) in bars.iter().enumerate() {
            let left = LEFT + pitch * i as f64;
            let height = y.position(bar.value) * (bottom - TOP);
            if height > 0.0 {
                let _ = write!(
                    canvas.body,
                    "<rect class=\"bar a\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\">\
                     <title>{}</title></rect>",
                    coord(left + pitch * 0.06),
                    coord(bottom - height),
                    coord(pitch * 0.88),
                    coord(height),
                    xml(&bar.tooltip)
                );
            }
            canvas.text("tick", (left + pitch / 2.0, bottom + 17.0), Anchor::Middle, &bar.label);
        }
        canvas.line("axis", (LEFT, bottom), (WIDTH - RIGHT, bottom));
        canvas.text("", (LEFT + width / 2.0, HEIGHT - 8.0), Anchor::Middle, x_label);
        Bars { canvas, label: label.into() }
    }

    /// A vertical line at a fraction of the width, named above the plot area.
    pub(crate) fn marker(&mut self, fraction: f64, name: &str) {
        let x = LEFT + fraction.clamp(0.0, 1.0) * (WIDTH - LEFT - RIGHT);
        self.canvas.line("ref", (x, TOP - 8.0), (x, HEIGHT - BOTTOM));
        let anchor = if fraction > 0.7 { Anchor::End } else { Anchor::Middle };
        self.canvas.text("tick", (x, TOP - 12.0), anchor, name);
    }

    /// The drawing.
    pub(crate) fn finish(self) -> Picture {
        Picture { height: HEIGHT, label: self.label, body: self.canvas.body }
    }
}
