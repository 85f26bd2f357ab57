//! A chart with two value axes: points and lines.

use std::fmt::Write as _;

use super::{Anchor, Canvas, Picture, Scale, WIDTH, coord};

pub(super) const LEFT: f64 = 58.0;
pub(super) const RIGHT: f64 = 14.0;
pub(super) const TOP: f64 = 30.0;
pub(super) const BOTTOM: f64 = 48.0;
const HEIGHT: f64 = 350.0;

/// Form of a single point; series differ in form, not only in colour.
#[derive(Clone, Copy)]
pub(crate) enum Mark {
    /// Circle.
    Ring,
    /// Diamond.
    Diamond,
    /// A filled dot.
    Solid,
}

/// One entry of a legend.
pub(crate) struct Legend<'a> {
    /// Series class: `a`, `b` or `c`.
    pub(crate) class: &'static str,
    /// Point form, if the series has points.
    pub(crate) mark: Option<Mark>,
    /// Line class (`line`, `line dash`, `ref`), if the series has a line.
    pub(crate) line: Option<&'static str>,
    /// Name.
    pub(crate) name: &'a str,
}

/// A chart in the making.
pub(crate) struct Plot {
    canvas: Canvas,
    x: Scale,
    y: Scale,
    label: String,
    height: f64,
}

impl Plot {
    /// Draws the frame.
    pub(crate) fn new(label: impl Into<String>, x: Scale, y: Scale) -> Self {
        let mut canvas = Canvas::default();
        y_axis(&mut canvas, &y, HEIGHT);
        let bottom = HEIGHT - BOTTOM;
        for (value, text) in x.ticks() {
            let at = LEFT + x.position(value) * (WIDTH - LEFT - RIGHT);
            canvas.line("grid", (at, TOP), (at, bottom));
            canvas.text("tick", (at, bottom + 17.0), Anchor::Middle, &text);
        }
        canvas.line("axis", (LEFT, bottom), (WIDTH - RIGHT, bottom));
        let middle = LEFT + (WIDTH - LEFT - RIGHT) / 2.0;
        canvas.text("", (middle, HEIGHT - 8.0), Anchor::Middle, &x.label);
        Plot { canvas, x, y, label: label.into(), height: HEIGHT }
    }

    /// Adds the legend above the plot area, beside the name of the vertical axis.
    pub(crate) fn legend(&mut self, entries: &[Legend<'_>]) {
        let mut right = WIDTH - RIGHT;
        for entry in entries.iter().rev() {
            right -= 8.3 * entry.name.chars().count() as f64;
            self.legend_entry(entry, (right, 16.0));
            right -= 40.0;
        }
    }

    /// Adds a legend of any length below the plot, in two columns.
    pub(crate) fn legend_below(&mut self, entries: &[Legend<'_>]) {
        const ROW: f64 = 18.0;
        for (i, entry) in entries.iter().enumerate() {
            let x = LEFT + 28.0 + (i % 2) as f64 * (WIDTH - LEFT) / 2.0;
            self.legend_entry(entry, (x, HEIGHT + 10.0 + ROW * (i / 2) as f64));
        }
        self.height = HEIGHT + ROW * entries.len().div_ceil(2) as f64;
    }

    /// One entry whose name starts at a position.
    fn legend_entry(&mut self, entry: &Legend<'_>, (x, y): (f64, f64)) {
        self.canvas.text("tick", (x, y), Anchor::Start, entry.name);
        let (from, to, y) = (x - 28.0, x - 6.0, y - 4.0);
        if let Some(line) = entry.line {
            self.canvas.line(&format!("{line} {}", entry.class), (from, y), (to, y));
        }
        if let Some(mark) = entry.mark {
            draw_mark(&mut self.canvas, entry.class, mark, ((from + to) / 2.0, y), "");
        }
    }

    /// Many small dots as one element with one tooltip.
    pub(crate) fn dots(
        &mut self,
        class: &str,
        points: impl Iterator<Item = (f64, f64)>,
        tooltip: &str,
    ) {
        let mut data = String::new();
        for point in points {
            let (x, y) = self.at(point);
            // A line of no length with round ends is a dot.
            let _ = write!(data, "M{} {}h0", coord(x), coord(y));
        }
        if !data.is_empty() {
            self.canvas.path(&format!("dot {class}"), &data, tooltip);
        }
    }

    /// One marked point with its own tooltip.
    pub(crate) fn mark(&mut self, class: &str, mark: Mark, point: (f64, f64), tooltip: &str) {
        let at = self.at(point);
        draw_mark(&mut self.canvas, class, mark, at, tooltip);
    }

    /// A line through `points`.
    pub(crate) fn line(&mut self, class: &str, points: impl Iterator<Item = (f64, f64)>) {
        let mut data = String::new();
        for point in points {
            let (x, y) = self.at(point);
            let command = if data.is_empty() { 'M' } else { 'L' };
            let _ = write!(data, "{command}{} {}", coord(x), coord(y));
        }
        if !data.is_empty() {
            self.canvas.path(class, &data, "");
        }
    }

    /// The drawing.
    pub(crate) fn finish(self) -> Picture {
        Picture { height: self.height, label: self.label, body: self.canvas.body }
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (
            LEFT + self.x.position(x) * (WIDTH - LEFT - RIGHT),
            HEIGHT - BOTTOM - self.y.position(y) * (HEIGHT - TOP - BOTTOM),
        )
    }
}

/// Horizontal grid, labels and name of a vertical axis.
pub(super) fn y_axis(canvas: &mut Canvas, y: &Scale, height: f64) {
    let bottom = height - BOTTOM;
    for (value, text) in y.ticks() {
        let at = bottom - y.position(value) * (bottom - TOP);
        canvas.line("grid", (LEFT, at), (WIDTH - RIGHT, at));
        canvas.text("tick", (LEFT - 6.0, at + 4.0), Anchor::End, &text);
    }
    canvas.text("", (6.0, 16.0), Anchor::Start, &y.label);
}

fn draw_mark(canvas: &mut Canvas, class: &str, mark: Mark, (x, y): (f64, f64), tooltip: &str) {
    let (form, data) = match mark {
        Mark::Ring => ("ring", circle(x, y, 3.5)),
        Mark::Solid => ("solid", circle(x, y, 4.0)),
        Mark::Diamond => {
            let (x, y) = (coord(x), coord(y - 4.5));
            ("ring", format!("M{x} {y}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"))
        }
    };
    canvas.path(&format!("{form} {class}"), &data, tooltip);
}

fn circle(x: f64, y: f64, r: f64) -> String {
    let d = 2.0 * r;
    format!("M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0z", coord(x - r), coord(y))
}
