//! Figures as SVG: panels of grouped bars or boxes. No fonts, scripts or colours from elsewhere.

use std::fmt::Write as _;

use super::figures::{Drawn, Figure, Mark, MarkSeries, Panel};

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 48.0;
const TOP: f64 = 34.0;
const BOTTOM: f64 = 46.0;
const COLOURS: [&str; 3] = ["#4477aa", "#ee6677", "#228833"];

/// The picture of a figure.
pub fn figure_svg(figure: &Figure) -> String {
    let rows = figure.panels.len().div_ceil(figure.per_row);
    let (w, h) = (WIDTH * figure.per_row as f64, 28.0 + HEIGHT * rows as f64);
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" \
         font-family=\"sans-serif\" font-size=\"10\">\n<title>{0}: {1}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"8\" y=\"18\" font-size=\"13\">{0}: {1}</text>",
        escape(figure.name),
        escape(figure.title)
    );
    for (i, panel) in figure.panels.iter().enumerate() {
        let series: Vec<&MarkSeries> = figure.series.iter().filter(|s| s.panel == i).collect();
        let (x, y) =
            (WIDTH * (i % figure.per_row) as f64, 28.0 + HEIGHT * (i / figure.per_row) as f64);
        let _ = writeln!(out, "<g transform=\"translate({x},{y})\">");
        draw_panel(&mut out, panel, &series);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// Value to pixel.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    fn of(panel: &Panel, series: &[&MarkSeries]) -> Self {
        let marks = || series.iter().flat_map(|s| &s.marks);
        let tops = marks().map(|m| match m.drawn {
            Drawn::Bar { value, std } => value + std.filter(|s| s.is_finite()).unwrap_or(0.0),
            Drawn::Box { whiskers, .. } => whiskers[1],
        });
        let high = tops.filter(|v| v.is_finite()).fold(0.0, f64::max) * 1.08;
        let high = if high > 0.0 { high } else { 1.0 };
        let lowest = marks()
            .map(|m| match m.drawn {
                Drawn::Bar { value, .. } => value,
                Drawn::Box { whiskers, .. } => whiskers[0],
            })
            .filter(|v| v.is_finite() && *v > 0.0)
            .fold(high, f64::min);
        let low = if panel.log { lowest / 2.0 } else { 0.0 };
        Axis { low, high, log: panel.log }
    }

    fn y(&self, v: f64) -> f64 {
        let part = if self.log {
            (v.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            v / self.high
        };
        let span = HEIGHT - TOP - BOTTOM;
        TOP + span * (1.0 - part.clamp(0.0, 1.0))
    }
}

fn draw_panel(out: &mut String, panel: &Panel, series: &[&MarkSeries]) {
    let axis = Axis::of(panel, series);
    let (x0, x1, y0) = (LEFT, WIDTH - 10.0, HEIGHT - BOTTOM);
    let _ =
        writeln!(out, "<text x=\"{x0}\" y=\"14\">{} ({})</text>", escape(&panel.title), panel.unit);
    for part in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let v =
            if axis.log { axis.low * (axis.high / axis.low).powf(part) } else { axis.high * part };
        let y = axis.y(v);
        let _ = writeln!(
            out,
            "<path d=\"M{x0} {y:.1}H{x1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{v:.3}</text>",
            x0 - 4.0,
            y + 3.0
        );
    }
    let positions = series.iter().map(|s| s.marks.len()).max().unwrap_or(0).max(1);
    let step = (x1 - x0) / positions as f64;
    let width = step * 0.8 / series.len().max(1) as f64;
    for (k, s) in series.iter().enumerate() {
        let colour = COLOURS[k % COLOURS.len()];
        for (i, mark) in s.marks.iter().enumerate() {
            let x = x0 + step * i as f64 + step * 0.1 + width * k as f64;
            draw_mark(out, mark, &axis, (x, width, y0), colour);
            if k == 0 {
                let _ = writeln!(
                    out,
                    "<text transform=\"translate({:.1},{:.1}) rotate(30)\" font-size=\"8\">{}</text>",
                    x,
                    y0 + 10.0,
                    escape(&mark.at)
                );
            }
        }
        if !s.label.is_empty() {
            let x = x0 + 100.0 * k as f64;
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"19\" width=\"8\" height=\"8\" fill=\"{colour}\"/>\
                 <text x=\"{}\" y=\"27\" font-size=\"9\">{}</text>",
                x + 11.0,
                escape(s.label)
            );
        }
    }
}

fn draw_mark(
    out: &mut String,
    mark: &Mark,
    axis: &Axis,
    (x, w, y0): (f64, f64, f64),
    colour: &str,
) {
    let middle = x + w / 2.0;
    match mark.drawn {
        Drawn::Bar { value, std } if value.is_finite() => {
            let y = axis.y(value);
            let _ = writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>",
                y0 - y
            );
            if let Some(s) = std.filter(|s| s.is_finite()) {
                let (a, b) = (axis.y(value - s), axis.y(value + s));
                let _ = writeln!(out, "<path d=\"M{middle:.1} {a:.1}V{b:.1}\" stroke=\"black\"/>");
            }
        }
        Drawn::Box { quartiles: [q1, median, q3], whiskers: [low, high], n } if n > 0 => {
            let [a, m, b, l, h] = [q1, median, q3, low, high].map(|v| axis.y(v));
            let _ = writeln!(
                out,
                "<path d=\"M{middle:.1} {l:.1}V{h:.1}\" stroke=\"black\"/>\
                 <rect x=\"{x:.1}\" y=\"{b:.1}\" width=\"{w:.1}\" height=\"{:.1}\" fill=\"{colour}\"/>\
                 <path d=\"M{x:.1} {m:.1}h{w:.1}\" stroke=\"white\"/>",
                a - b
            );
        }
        _ => {}
    }
}

fn escape(s: &str) -> String {
    s.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
