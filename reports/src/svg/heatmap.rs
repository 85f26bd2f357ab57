//! A table of coloured cells.

use std::fmt::Write as _;

use super::{Anchor, Canvas, Picture, WIDTH, coord};
use crate::text::{number, xml};

const LEFT: f64 = 64.0;
const TOP: f64 = 30.0;

/// Stops of the cividis map, which is made to look alike with and without colour-vision
/// deficiency, from small to large values.
const CIVIDIS: [[f64; 3]; 5] = [
    [253.0, 231.0, 55.0],
    [187.0, 175.0, 113.0],
    [124.0, 123.0, 120.0],
    [65.0, 77.0, 107.0],
    [0.0, 32.0, 76.0],
];

/// What a heat map shows.
pub(crate) struct HeatMap<'a> {
    /// What a screen reader says.
    pub(crate) label: String,
    /// Name of the columns.
    pub(crate) x_label: &'a str,
    /// Name of the rows.
    pub(crate) y_label: &'a str,
    /// One per column.
    pub(crate) columns: Vec<String>,
    /// One per row, top row first.
    pub(crate) rows: Vec<String>,
    /// `values[row][column]`.
    pub(crate) values: Vec<Vec<Option<f64>>>,
    /// After the value in tooltips.
    pub(crate) unit: &'a str,
}

impl HeatMap<'_> {
    /// The drawing.
    pub(crate) fn draw(&self) -> Picture {
        let mut canvas = Canvas::default();
        let columns = self.columns.len().max(1) as f64;
        let cell_w = (WIDTH - LEFT - 8.0) / columns;
        let cell_h = if self.rows.len() > 12 { 20.0 } else { 30.0 };
        let largest = crate::stats::extent(self.values.iter().flatten().filter_map(|v| *v))
            .map_or(0.0, |(_, hi)| hi);
        canvas.text("", (6.0, 16.0), Anchor::Start, self.y_label);
        for (r, (name, values)) in self.rows.iter().zip(&self.values).enumerate() {
            let y = TOP + cell_h * r as f64;
            canvas.text("tick", (LEFT - 6.0, y + cell_h / 2.0 + 4.0), Anchor::End, name);
            for (c, (column, value)) in self.columns.iter().zip(values).enumerate() {
                let Some(value) = value.filter(|v| v.is_finite()) else { continue };
                let x = LEFT + cell_w * c as f64;
                let share = if largest > 0.0 { value / largest } else { 0.0 };
                let (fill, ink) = colour(share);
                let shown = number(Some(value), if value < 9.95 { 1 } else { 0 });
                let _ = write!(
                    canvas.body,
                    "<g><title>{} {}, {} {}: {} {}</title>\
                     <rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{fill}\"/>",
                    xml(self.y_label),
                    xml(name),
                    xml(self.x_label),
                    xml(column),
                    number(Some(value), 2),
                    xml(self.unit),
                    coord(x + 0.5),
                    coord(y + 0.5),
                    coord(cell_w - 1.0),
                    coord(cell_h - 1.0),
                );
                if cell_w >= 24.0 {
                    let _ = write!(
                        canvas.body,
                        "<text class=\"cell\" x=\"{}\" y=\"{}\" text-anchor=\"middle\" \
                         style=\"fill:{ink}\">{shown}</text>",
                        coord(x + cell_w / 2.0),
                        coord(y + cell_h / 2.0 + 4.0),
                    );
                }
                canvas.body.push_str("</g>");
            }
        }
        let bottom = TOP + cell_h * self.rows.len() as f64;
        // Labels that would touch are left out evenly.
        let every = (44.0 / cell_w).ceil().max(1.0) as usize;
        for (c, name) in self.columns.iter().enumerate().step_by(every) {
            let x = LEFT + cell_w * (c as f64 + 0.5);
            canvas.text("tick", (x, bottom + 17.0), Anchor::Middle, name);
        }
        let middle = LEFT + (WIDTH - LEFT) / 2.0;
        canvas.text("", (middle, bottom + 38.0), Anchor::Middle, self.x_label);
        Picture { height: bottom + 46.0, label: self.label.clone(), body: canvas.body }
    }
}

/// Fill and a text colour that stands out on it, for a share of the largest value.
fn colour(share: f64) -> (String, &'static str) {
    let scaled = share.clamp(0.0, 1.0) * (CIVIDIS.len() - 1) as f64;
    let index = (scaled as usize).min(CIVIDIS.len() - 2);
    let t = scaled - index as f64;
    let [r, g, b] = [0, 1, 2].map(|i| {
        let (from, to) = (CIVIDIS[index][i], CIVIDIS[index + 1][i]);
        (from + (to - from) * t).round() as u8
    });
    let luma = 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b);
    (format!("#{r:02x}{g:02x}{b:02x}"), if luma > 126.0 { "#000" } else { "#fff" })
}

#[cfg(test)]
mod tests {
    use super::colour;

    #[test]
    fn ends_of_the_map() {
        assert_eq!(colour(0.0), ("#fde737".to_owned(), "#000"));
        assert_eq!(colour(1.0), ("#00204c".to_owned(), "#fff"));
    }
}
