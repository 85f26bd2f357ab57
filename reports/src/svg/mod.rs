//! Pictures as SVG text: a writer, scales with ticks, and the chart frames built on them.
//!
//! Colours are CSS variables of [`STYLE`], so a picture follows the reader's light or dark scheme
//! both inside a page and as a file.

mod bars;
mod boxes;
mod heatmap;
mod plot;
mod rows;
mod scale;

use std::fmt::Write as _;

pub(crate) use bars::{Bar, Bars};
pub(crate) use boxes::{BoxRow, draw as draw_boxes};
pub(crate) use heatmap::HeatMap;
pub(crate) use plot::{Legend, Mark, Plot};
pub(crate) use rows::{Row, draw as draw_rows, draw_with_key as draw_rows_with_key};
pub(crate) use scale::Scale;

use crate::text::xml;

/// Variables and classes that pictures use. Series colours are from the Okabe–Ito palette, which
/// stays distinct under the common colour-vision deficiencies; marks differ in form as well.
pub(crate) const STYLE: &str = "\
:root{color-scheme:light dark;--surface:#fff;--ink:#1b1f24;--muted:#57606a;--grid:#d8dee4;\
--a:#0072b2;--b:#d55e00;--c:#00795a;--d:#a8478a;--e:#7a6200}\
@media(prefers-color-scheme:dark){:root{--surface:#0d1117;--ink:#e6edf3;--muted:#9198a1;\
--grid:#30363d;--a:#56b4e9;--b:#f0a33a;--c:#3fc79a;--d:#e08fc6;--e:#e6d25c}}\
svg{font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif;font-size:13px}\
svg text{fill:var(--ink)}svg .tick{fill:var(--muted);font-size:12px}\
svg .cell{font-size:11px}svg .grid{stroke:var(--grid);stroke-width:1}\
svg .axis{stroke:var(--muted);stroke-width:1}\
svg .ref{stroke:var(--muted);stroke-width:1.2;stroke-dasharray:5 4;fill:none}\
svg .a{--series:var(--a)}svg .b{--series:var(--b)}svg .c{--series:var(--c)}\
svg .d{--series:var(--d)}svg .e{--series:var(--e)}\
svg .box{fill:var(--surface);stroke:var(--series);stroke-width:1.4}\
svg .line{fill:none;stroke:var(--series);stroke-width:2;stroke-linejoin:round}\
svg .dash{stroke-dasharray:7 4}\
svg .dot{fill:none;stroke:var(--series);stroke-width:5;stroke-linecap:round;stroke-opacity:.5}\
svg .dot:hover{stroke-opacity:1;stroke-width:8}\
svg .ring{fill:none;stroke:var(--series);stroke-width:1.6}\
svg .solid{fill:var(--series);stroke:var(--surface);stroke-width:.6}\
svg .bar{fill:var(--series)}svg .bar:hover,svg .ring:hover{stroke:var(--ink)}";

/// Width of every picture in user units.
pub(crate) const WIDTH: f64 = 520.0;

/// A finished drawing.
pub(crate) struct Picture {
    height: f64,
    /// What a screen reader says.
    label: String,
    body: String,
}

impl Picture {
    /// For embedding in a page that carries [`STYLE`].
    pub(crate) fn inline(&self) -> String {
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">{}</svg>",
            self.height,
            xml(&self.label),
            self.body
        )
    }

    /// A file of its own, with its style, background and a caption in the picture.
    pub(crate) fn standalone(&self, caption: &str) -> String {
        let height = self.height + 26.0;
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
             width=\"{WIDTH}\" height=\"{height}\" role=\"img\" aria-label=\"{}\">\
             <style>{STYLE}</style>\
             <rect width=\"100%\" height=\"100%\" style=\"fill:var(--surface)\"/>{}",
            xml(&self.label),
            self.body
        );
        // A long caption is squeezed rather than cut: it carries the SIMULATED label.
        let squeeze = if caption.chars().count() > 76 {
            format!(" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"", WIDTH - 20.0)
        } else {
            String::new()
        };
        let _ = writeln!(
            out,
            "<text x=\"10\" y=\"{}\" class=\"tick\"{squeeze}>{}</text></svg>",
            height - 9.0,
            xml(caption)
        );
        out
    }
}

/// The text of a drawing in the making.
#[derive(Default)]
struct Canvas {
    body: String,
}

/// Where a text is held.
#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

impl Canvas {
    fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let (x1, y1, x2, y2) = (coord(x1), coord(y1), coord(x2), coord(y2));
        let _ = write!(
            self.body,
            "<line class=\"{class}\" x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\"/>"
        );
    }

    fn text(&mut self, class: &str, (x, y): (f64, f64), anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let _ = write!(
            self.body,
            "<text class=\"{class}\" x=\"{}\" y=\"{}\" text-anchor=\"{anchor}\">{}</text>",
            coord(x),
            coord(y),
            xml(text)
        );
    }

    /// A path of absolute commands, with a tooltip unless that is empty.
    fn path(&mut self, class: &str, data: &str, tooltip: &str) {
        let _ = write!(self.body, "<path class=\"{class}\" d=\"{data}\"");
        if tooltip.is_empty() {
            self.body.push_str("/>");
        } else {
            let _ = write!(self.body, "><title>{}</title></path>", xml(tooltip));
        }
    }
}

/// A small line through the values that are present, scaled to their range; empty below two.
pub(crate) fn sparkline(values: &[Option<f64>]) -> String {
    let points =
        || values.iter().enumerate().filter_map(|(i, v)| Some((i, v.filter(|v| v.is_finite())?)));
    let Some((lo, hi)) = crate::stats::extent(points().map(|(_, v)| v)) else {
        return String::new();
    };
    if points().count() < 2 {
        return String::new();
    }
    let y = Scale::exact("", lo, hi);
    let step = 72.0 / (values.len() - 1) as f64;
    let mut data = String::new();
    for (i, value) in points() {
        let command = if data.is_empty() { 'M' } else { 'L' };
        let (x, y) = (4.0 + step * i as f64, 16.0 - 12.0 * y.position(value));
        let _ = write!(data, "{command}{} {}", coord(x), coord(y));
    }
    format!(
        "<svg viewBox=\"0 0 80 20\" aria-hidden=\"true\">\
         <path class=\"line a\" d=\"{data}\"/></svg>"
    )
}

/// A coordinate with at most one decimal: a tenth of a pixel is not seen, but is paid for in every
/// point of a scatter plot.
fn coord(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some("-0") => "0".to_owned(),
        Some(whole) => whole.to_owned(),
        None => text,
    }
}
